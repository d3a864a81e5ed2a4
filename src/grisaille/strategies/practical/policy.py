"""What the default adds to the paper's algorithm: small steps, in the order given below.

Each step takes a plan and what is known, and returns a plan. A step that does not apply returns the
plan it was given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from grisaille.confidence.incumbent import Incumbent
from grisaille.confidence.knowledge import Knowledge
from grisaille.records import TrialKind
from grisaille.solvers.multistart import MultiStart
from grisaille.solvers.search_problem import Solution, Solver, nearby
from grisaille.strategies.auxiliary_problem import solve_auxiliary
from grisaille.strategies.initial_design import sobol_point
from grisaille.strategies.plan import Plan
from grisaille.strategies.practical.band_widening import widen_bands
from grisaille.strategies.practical.costs import leave_out_expensive, stay_within_budget
from grisaille.strategies.practical.feasibility import seek_feasible_point
from grisaille.strategies.practical.gap import NEARLY_CLOSED, gap_of, relative_gap
from grisaille.strategies.practical.recommendation import recommend, repeats
from grisaille.strategies.stepped_choice import settled

# How much learned bands are narrowed to choose by; and after how many trials the bound, which these
# do not give, is worked out with the whole ones.
_NARROWING = 0.5
_BOUND_EVERY = 4
# The last digits are looked for in a small region around the solution.
_FINE_SEARCH = MultiStart(starts=6, samples=256, iterations=40, again=False)
# Distances to failures have kinks, on which a long local search gains little.
_AVOIDING_SEARCH = MultiStart(starts=12, samples=1024, iterations=20, again=False, polish=False)


def narrowed(knowledge: Knowledge, solver: Solver | None) -> Plan | None:
    """The solution for bands half as wide; None if these allow no feasible point.

    Where hyper-parameters are learned, the bands are a guess to begin with. As wide as a bound
    needs them they explore more than pays. The bound itself comes from the whole bands, and is
    worked out every fourth trial.
    """
    plausible = knowledge.plausible.scaled(_NARROWING)
    solution = solve_auxiliary(plausible, knowledge, solver, MultiStart())
    if not solution.feasible:
        return None
    bounding = bounding_solution(knowledge, solver)
    plan = Plan.of(TrialKind.NARROWED, knowledge, solver, plausible, solution, bounding)
    if bounding is None or not _is_worth_exploring(plan, bounding, knowledge):
        return plan
    audited = knowledge.audited
    return Plan.of(TrialKind.OPTIMISTIC, knowledge, solver, audited, bounding, bounding)


def bounding_solution(
    knowledge: Knowledge, solver: Solver | None, always: bool = False
) -> Solution | None:
    """The solution for the audited bands, which bounds the optimum; None if it is not due."""
    chosen = [t.suggestion for t in knowledge.history if t.suggestion.kind.is_chosen]
    known = any(not suggestion.pending for suggestion in chosen)
    due = always or not known or len(knowledge.history) % _BOUND_EVERY == 0
    if knowledge.situation.pending or not due:
        return None
    return solve_auxiliary(knowledge.audited, knowledge, solver)


def _is_worth_exploring(plan: Plan, bounding: Solution, knowledge: Knowledge) -> bool:
    """Whether the solution for the audited bands is worth a trial.

    What keeps the bound low is where a better basin may be. While the narrowed bands still gain,
    every other such solution is tried; once they do not, each one.
    """
    promise = bounding.value if bounding.feasible else None
    gap = relative_gap(knowledge.history, knowledge.incumbent, promise)
    turn = len(knowledge.history) % (2 * _BOUND_EVERY) == 0
    return NEARLY_CLOSED < gap < np.inf and (turn or gap_of(plan, knowledge).is_nearly_closed)


def repeat_best(plan: Plan, knowledge: Knowledge) -> Plan:
    """Evaluate the best point again where that tells whether there is noise.

    Where noise was left out, and no point was tried twice, likelihoods decide, and they can be
    wrong. A few noisy answers of a smooth function can look exact: then both ends of the gap are
    wrong, so one trial tells before a run stops because its gap is closed. Exact answers of a
    function with kinks can look noisy: one trial tells at once.
    """
    situation, incumbent = knowledge.situation, knowledge.incumbent
    if incumbent is None or not (_closes(plan, knowledge, incumbent) or knowledge.suspected):
        return plan
    x = knowledge.history.trials[incumbent.position].x
    if any(np.array_equal(p.suggestion.x, x) for p in situation.pending):
        return plan
    suggestion = replace(plan.suggestion, kind=TrialKind.DOUBTING, x=x)
    return replace(plan, suggestion=suggestion, is_final=True)


def _closes(plan: Plan, knowledge: Knowledge, incumbent: Incumbent) -> bool:
    """Whether a gap seems to be as small as was asked for, by answers that only look exact."""
    gap_tol = knowledge.situation.gap_tol
    if gap_tol is None or plan.promise is None or not knowledge.untested:
        return False
    return incumbent.feasible and incumbent.objective - plan.promise <= gap_tol


def refine(plan: Plan, knowledge: Knowledge) -> Plan:
    """Search once more around the solution when the gap is nearly closed.

    A search is only as exact as the spread of the objective over its region allows, and at the end
    the last digits are all that is left to gain.
    """
    doubting = plan.suggestion.kind is TrialKind.DOUBTING
    if doubting or not gap_of(plan, knowledge).is_nearly_closed:
        return plan
    solution, plausible = plan.solution, plan.plausible
    problem = nearby(plausible.search_problem(), solution.point, plausible.program.size)
    seed = knowledge.situation.trial_seed
    found = _FINE_SEARCH.solve(problem, solution.point.unsqueeze(0), seed)
    if not (found.feasible and found.value < solution.value):
        return plan
    return replace(plan, solution=replace(found, proof=solution.proof))


def avoid_failures(plan: Plan, knowledge: Knowledge) -> Plan:
    """Take the best plausible point away from where black boxes failed.

    The constraint is on the choice, not on the bound: the bound stays one of the whole problem.
    """
    failures, plausible = knowledge.failures, plan.plausible
    point = plan.solution.point.unsqueeze(0)
    if failures is None or (failures.excess(plausible, point) <= 0).all():
        return plan
    problem = failures.avoided_in(plausible.search_problem(), plausible)
    found = _AVOIDING_SEARCH.solve(problem, point, knowledge.situation.trial_seed)
    return replace(plan, solution=replace(found, proof=plan.solution.proof))


def keep_to_steps(plan: Plan, knowledge: Knowledge) -> Plan:
    """Take the best plausible point near the solution that is on the steps of its variables.

    The choice is among points, and the bound stays one of everything between the bounds.
    """
    if not knowledge.program.space.has_steps:
        return plan
    plausible, failures = plan.plausible, knowledge.failures
    problem = plausible.search_problem()
    if failures is not None:
        problem = failures.avoided_in(problem, plausible)
    found = settled(problem, plan.solution, knowledge)
    return replace(plan, solution=replace(plan.solution, point=found.point))


def go_elsewhere(plan: Plan, knowledge: Knowledge) -> Plan:
    """Try a point that fills space instead of one that would teach nothing.

    Where learned bands send us to a point whose answers are known and exact, we see whether the
    bands are right elsewhere.
    """
    found, situation = plan.suggestion, knowledge.situation
    if not knowledge.is_learned or found.probes or not repeats(found.x, knowledge):
        return plan
    found = replace(found, kind=TrialKind.RANDOM, x=sobol_point(situation, is_exact=True))
    return replace(plan, suggestion=found)


Step = Callable[[Plan, Knowledge], Plan]

WHERE_TO_GO: tuple[Step, ...] = (
    seek_feasible_point,
    repeat_best,
    recommend,
    widen_bands,
    refine,
    avoid_failures,
    keep_to_steps,
)
"""Steps that choose the point; before the optimistic states are known (Alg. 1 line 4)."""

WHAT_TO_EVALUATE: tuple[Step, ...] = (go_elsewhere, leave_out_expensive, stay_within_budget)
"""Steps that choose the evaluations, once the optimistic states are known."""

EXPLOITING: frozenset[Step] = frozenset({seek_feasible_point, recommend, go_elsewhere})
"""Steps that only `Optimistic(exploit=True)` takes: they leave the algorithm's own points.

`repeat_best` leaves them, too, but for one trial only."""

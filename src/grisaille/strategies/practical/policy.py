"""The steps that the default adds to the paper's algorithm, in the order given below.

Each step takes a plan and what is known, and returns a plan. A step that does not apply returns
the plan it was given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.design_problem import design_problem, with_tried_parts
from grisaille.belief.incumbent import Incumbent
from grisaille.belief.knowledge import Knowledge
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.language.variable import SAME
from grisaille.records import Situation, TrialKind
from grisaille.search.multistart import MultiStart
from grisaille.search.search_problem import SearchProblem, Solution, Solver, nearby
from grisaille.strategies.acquisition import settled
from grisaille.strategies.auxiliary_problem import solve_auxiliary
from grisaille.strategies.initial_design import sobol_point
from grisaille.strategies.plan import Plan
from grisaille.strategies.practical.costs import leave_out_expensive, stay_within_budget
from grisaille.strategies.practical.doubting import widen_bands
from grisaille.strategies.practical.gap import GAP, gap_of, is_closing, relative_gap

# --- recommendation -------------------------------------------------------------------------------
# Points that are believed feasible and good, and when one is worth a trial.


@dataclass(frozen=True, slots=True)
class PolicyConstants:
    """The constants of the practical policy.

    Attributes:
        pause: Other trials that follow a recommendation that was not the best. Halved: 1 of 5 runs
            changes; doubled: 1 (benchmarks.constants).
        margin: Distance kept from constraints, in their spreads: a search is that exact. Halved: 1
            of 12 runs changes; doubled: 2 (benchmarks.constants).
        sharp: Part of deviations and distances that constraints must bear once the gap is closed.
            Measured: docs/comparison.md, How the default was chosen; Bazaraa went from 2e-5 to
            2e-6.
        near: A point this close to a pending one is better chosen later, in ranges of the
            variables. Halved and doubled: no decision of 12 runs changed (benchmarks.constants).
        many_variables: Variables from which recommendations are searched from more starts while
            nothing is feasible. Measured: two badly scaled problems of 7 and 9 variables; 4 of 16
            searches miss the best point, not 8.
        caution: Audited bands by which to be cautious, as far as the constraints allow. Halved and
            doubled: no decision of 2 runs changed (benchmarks.constants).
        last_trials: Last trials that all look for a feasible point. Halved: 2 of 2 runs change;
            doubled: 0 (benchmarks.constants).
        narrowing: Part of learned bands by which points are chosen. Measured: docs/comparison.md,
            How the default was chosen; Ackley-6 went from 0.34 to 0.006 to 0.016.
        bound_every: Trials after which the bound of whole bands is worked out. Halved: 3 of 12 runs
            change; doubled: 3 (benchmarks.constants).
    """

    pause: int = 3
    margin: float = 1e-6
    sharp: float = 0.01
    near: float = 1e-3
    many_variables: int = 7
    caution: tuple[float, ...] = (2.0, 1.0, 0.3, 0.1, 0.01)
    last_trials: int = 5
    narrowing: float = 0.5
    bound_every: int = 4


POLICY = PolicyConstants()


# A search of the design space alone needs less than one of the auxiliary problem.
_CAUTIOUS_SEARCH = MultiStart(starts=6, samples=512, iterations=40)
# With many variables and no feasible point to start from, it ends in the wrong valley too often. Of
# 16 searches of two badly scaled problems of 7 and 9 variables, 8 ended 0.3 to 0.7 spreads worse
# than the best; from so many starts, 4 did.
_WIDE_SEARCH = MultiStart(starts=24, samples=1024, iterations=40)


def recommend(plan: Plan, knowledge: Knowledge) -> Plan:
    """Try a point that is believed feasible with certainty and good, if one is worth a trial now.

    The algorithm's own points approach active constraints from the infeasible side (paper notes,
    point 6). So the last two trials go to such points, and earlier ones when the point is predicted
    to close half of the gap.
    """
    gap = gap_of(plan, knowledge)
    if gap.is_doubted:
        return plan
    point = recommendation(knowledge, plan.promise, gap.is_closed)
    if point is None:
        return plan
    suggestion = replace(plan.suggestion, kind=TrialKind.RECOMMENDED, x=point)
    return replace(plan, suggestion=suggestion, is_final=True)


def recommendation(knowledge: Knowledge, promise: float | None, closed: bool) -> Array | None:
    """A believed-feasible point worth a trial now, or None.

    Args:
        knowledge: What is known; constraints must hold with its bands.
        promise: What the bands that points are chosen by promise.
        closed: Whether what is left to gain is a matter of digits.
    """
    situation, incumbent = knowledge.situation, knowledge.incumbent
    plausible = knowledge.plausible
    if incumbent is None:
        return None
    latest = [p.suggestion for p in situation.pending]
    if any(s.kind is TrialKind.RECOMMENDED for s in latest):
        return None  # until its answers are in, the next one would be the same
    if not is_closing(situation) and _recommended_in_vain(situation, incumbent):
        return None
    margin = 1.0
    if closed and knowledge.is_exact:
        # Where next to nothing is left to gain, deviations are rounding, answers are exact, and a
        # search nearby is finer.
        plausible, margin = plausible.scaled(POLICY.sharp), POLICY.sharp
    solution = cautious_solution(knowledge, incumbent, plausible, margin, closed)
    if not solution.feasible:
        return None
    if incumbent.feasible and promise is not None:
        gain = incumbent.objective - solution.value
        worth_it = 0.0 if closed else (incumbent.objective - promise) / 2
        if gain <= 0 or (not is_closing(situation) and gain < worth_it):
            return None
    point = knowledge.program.space.to_try(solution.point)
    return None if repeats(point, knowledge) or _is_pending(point, knowledge) else point


def cautious_solution(
    knowledge: Knowledge,
    incumbent: Incumbent,
    plausible: PlausibleSet,
    margin: float = 1.0,
    is_nearby: bool = False,
) -> Solution:
    """The best point where constraints hold with the deviations that bands give them.

    Args:
        knowledge: What is known.
        incumbent: The best point so far, where the search may start.
        plausible: The bands.
        margin: A factor of the distance that is kept beyond that.
        is_nearby: Whether to search around the incumbent only.
    """
    best = torch.tensor(knowledge.history.trials[incumbent.position].x).unsqueeze(0)
    hints = knowledge.program.space.to_search(best)
    distance = margin * POLICY.margin * knowledge.history.constraint_sizes()
    cautious = plausible.cautious_problem(torch.tensor(distance))
    cautious = with_tried_parts(cautious, knowledge.program, knowledge.history)
    if is_nearby:
        cautious = nearby(cautious, hints[0], len(hints[0]))
    if knowledge.failures is not None:
        cautious = knowledge.failures.avoided_in(cautious, plausible)
    many = len(hints[0]) >= POLICY.many_variables
    search = _WIDE_SEARCH if many and not incumbent.feasible else _CAUTIOUS_SEARCH
    solution = search.solve(cautious, hints, knowledge.situation.trial_seed)
    return settled(cautious, solution, knowledge)


def _recommended_in_vain(situation: Situation, incumbent: Incumbent) -> bool:
    """Whether the latest recommendation is too recent for another one.

    One is followed by another kind of trial; if it is not the best point now, by several.
    """
    trials = situation.history.trials
    latest = max(
        (i for i, t in enumerate(trials) if t.suggestion.kind is TrialKind.RECOMMENDED),
        default=None,
    )
    if latest is None:
        return False
    pause = 1 if incumbent.position == latest else POLICY.pause
    return situation.started - trials[latest].number < pause


def repeats(x: Array, knowledge: Knowledge) -> bool:
    """Whether a point was tried, and all black boxes would give the same answers again."""
    return _is_near(x, [trial.x for trial in knowledge.history], SAME, knowledge)


def _is_pending(x: Array, knowledge: Knowledge) -> bool:
    """Whether a pending trial will tell nearly all that a point could."""
    pending = knowledge.situation.pending
    chains = [p.suggestion.x for p in pending if p.suggestion.chain]
    return _is_near(x, chains, POLICY.near, knowledge)


def _is_near(x: Array, others: list[Array], part: float, knowledge: Knowledge) -> bool:
    """Whether a point is so near to another one, in parts of each range, and answers are exact."""
    return knowledge.is_exact and knowledge.program.space.is_among(x, others, part)


# --- feasibility ----------------------------------------------------------------------------------
# Looking for a feasible point while none is known.

# The largest of several constraints has kinks, on which a polish gains nothing.
_KINKED_SEARCH = MultiStart(starts=6, samples=512, iterations=40, polish=False)


def seek_feasible_point(plan: Plan, knowledge: Knowledge) -> Plan:
    """Try the point that is most surely feasible, while no point tried is.

    The algorithm's own points meet constraints only as far as the bands allow, and those of a
    recommendation must meet them with the whole bands, which narrow corners do not leave room for.
    So we are as cautious as the constraints allow. If even the predictions meet them nowhere, we go
    where they are violated least.
    """
    incumbent = knowledge.incumbent
    if incumbent is None or incumbent.feasible or not _is_due(knowledge.situation):
        return plan
    if not len(knowledge.history.constraint_sizes()):  # the objective has no finite value
        return plan
    point = _most_surely_feasible(knowledge, incumbent)
    if repeats(point, knowledge):
        return plan
    suggestion = replace(plan.suggestion, kind=TrialKind.RECOMMENDED, x=point)
    return replace(plan, suggestion=suggestion, is_final=True)


def _is_due(situation: Situation) -> bool:
    """Whether this trial is to look for a feasible point: every other one, and all at the end."""
    latest = [t.suggestion for t in situation.history.trials[-1:]]
    latest += [p.suggestion for p in situation.pending]
    if situation.remaining is not None and situation.remaining <= POLICY.last_trials:
        return not situation.pending
    return not any(s.kind is TrialKind.RECOMMENDED for s in latest)


def _most_surely_feasible(knowledge: Knowledge, incumbent: Incumbent) -> Array:
    """The point of most caution that has one; else the point of least predicted violation."""

    def point_of(caution: float) -> Array | None:
        bands = knowledge.audited.scaled(caution)
        solution = cautious_solution(knowledge, incumbent, bands)
        return knowledge.program.space.to_try(solution.point) if solution.feasible else None

    most, *_, least = POLICY.caution
    found = point_of(most)
    if found is not None:
        return found
    found = point_of(least)
    if found is None:
        return _least_violated(knowledge, incumbent)
    possible = list(POLICY.caution[1:-1])
    while possible:  # each search halves what is possible
        middle = len(possible) // 2
        better = point_of(possible[middle])
        found = found if better is None else better
        possible = possible[middle + 1 :] if better is None else possible[:middle]
    return found


def _least_violated(knowledge: Knowledge, incumbent: Incumbent) -> Array:
    best = torch.tensor(knowledge.history.trials[incumbent.position].x).unsqueeze(0)
    problem, seed = _least_violation(knowledge), knowledge.situation.trial_seed
    solution = _KINKED_SEARCH.solve(problem, knowledge.program.space.to_search(best), seed)
    return knowledge.program.space.to_try(settled(problem, solution, knowledge).point)


def _least_violation(knowledge: Knowledge) -> SearchProblem:
    """Minimize the largest predicted constraint, each in its own size, over x alone."""
    plausible = knowledge.plausible
    sizes = torch.tensor(knowledge.history.constraint_sizes()).clamp_min(1e-300)

    def evaluate(design: Tensor) -> tuple[Tensor, Tensor]:
        _, constraints, _ = plausible.predict(design)
        return (constraints / sizes).amax(1), constraints[:, :0]

    return design_problem(knowledge.program, evaluate)


# --- policy ---------------------------------------------------------------------------------------
# Small steps that the default adds to the paper's algorithm, in the order given below.

# The last digits are looked for in a small region around the solution.
_FINE_SEARCH = MultiStart(starts=6, samples=256, iterations=40, again=False)
# Distances to failures have kinks, on which a long local search gains little.
_AVOIDING_SEARCH = MultiStart(starts=12, samples=1024, iterations=20, again=False, polish=False)


def narrowed(knowledge: Knowledge, solver: Solver | None) -> Plan | None:
    """The solution for bands half as wide; None if these allow no feasible point.

    Where hyper-parameters are learned, the bands are a guess to begin with. As wide as a bound
    needs them they explore more than pays. The bound itself comes from bands that hold everywhere
    at once, and is worked out every fourth trial. Then the solution for the audited bands may be
    worth a trial.
    """
    plausible = knowledge.plausible.scaled(POLICY.narrowing)
    solution = solve_auxiliary(plausible, knowledge, solver, MultiStart())
    if not solution.feasible:
        return None
    bounding = bounding_solution(knowledge, solver)
    plan = Plan.of(TrialKind.NARROWED, knowledge, solver, plausible, solution, bounding)
    if bounding is None or not _may_explore(plan, knowledge):
        return plan
    audited = knowledge.audited
    wide = solve_auxiliary(audited, knowledge, solver)
    if not _is_worth_exploring(wide, knowledge):
        return plan
    return Plan.of(TrialKind.OPTIMISTIC, knowledge, solver, audited, wide, bounding)


def bounding_solution(
    knowledge: Knowledge, solver: Solver | None, always: bool = False
) -> Solution | None:
    """Solve for bands that hold at once, which bounds the optimum; None if that is not due."""
    chosen = [t.suggestion for t in knowledge.history if t.suggestion.kind.is_chosen]
    known = any(not suggestion.pending for suggestion in chosen)
    due = always or not known or len(knowledge.history) % POLICY.bound_every == 0
    if knowledge.situation.pending or not due:
        return None
    return solve_auxiliary(knowledge.confident, knowledge, solver)


def _may_explore(plan: Plan, knowledge: Knowledge) -> bool:
    """Return True if this is the turn of a solution for the audited bands.

    While the narrowed bands still gain, every other such solution is tried; once they do not, each
    one.
    """
    turn = len(knowledge.history) % (2 * POLICY.bound_every) == 0
    return turn or gap_of(plan, knowledge).is_nearly_closed


def _is_worth_exploring(wide: Solution, knowledge: Knowledge) -> bool:
    """Return True if the solution for the audited bands leaves something to gain.

    What keeps the bound low is where a better basin may be.
    """
    promise = wide.value if wide.feasible else None
    gap = relative_gap(knowledge.history, knowledge.incumbent, promise)
    return GAP.nearly_closed < gap < np.inf


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
    """Take the best plausible point near the solution that may be tried.

    The choice is among points, and the bound stays one of everything between the bounds.
    """
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

"""Doubting learned bands that leave next to nothing to gain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from grisaille.belief.audit import DOUBT, MARGIN, Audited
from grisaille.belief.knowledge import Knowledge
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.records import TESTED, Refutation, TrialKind
from grisaille.search.multistart import MultiStart
from grisaille.search.search_problem import Solution, Solver
from grisaille.strategies.auxiliary_problem import solve_auxiliary, try_to_refute
from grisaille.strategies.plan import Plan, is_refuted
from grisaille.strategies.practical.gap import GAP, gap_of, relative_gap, teaches

# How often bands may be doubled at most, and in how many steps the least widening is looked for.
_DOUBLINGS = 3.0
_BISECTIONS = 3
# The part of the audited bands that is widened first.
_NARROWEST = 0.5
# A doubt goes where the deviation of a black box is at least so many times its noise.
_MUCH = 1.0
# Where to doubt need not be known to many digits, and is asked several times in a trial.
_DOUBTING_SEARCH = MultiStart(starts=12, samples=1024, iterations=30, again=False)


def widen_bands(plan: Plan, knowledge: Knowledge) -> Plan:
    """Widen learned bands by as little as leaves something to gain, and go there.

    Learned bands can be wrong. When trials no longer gain anything, or the bands allow no feasible
    point, repeating what they say would waste the rest of the budget.
    """
    refuted = not knowledge.is_declared and is_refuted(plan.solution)
    hopeless = knowledge.is_learned and not plan.solution.feasible
    if not (gap_of(plan, knowledge).is_doubted or refuted or hopeless):
        return plan
    plausible, solution = least_widening(
        knowledge.audited.scaled(_NARROWEST),
        lambda bands: solve_auxiliary(bands, knowledge, plan.solver, _DOUBTING_SEARCH),
        lambda bands, found: _leaves_something(bands, found, knowledge),
        quick=bool(knowledge.situation.pending),
    )
    suggestion = replace(plan.suggestion, kind=TrialKind.DOUBTING)
    return replace(plan, plausible=plausible, solution=solution, suggestion=suggestion)


def doubted_refutation(knowledge: Knowledge, solver: Solver | None) -> Refutation | None:
    """Prove that no point is feasible, also for bands twice as wide as their audit asks for.

    There must be a margin of one standard deviation beyond these, and the bands must hold at all
    points at once. Bands that hold by declaration are not doubted. None if there is no proof, if
    too few answers were predicted (bands that nothing has tested say nothing), or if answers speak
    against a declared noise.
    """
    situation, audited, rule = knowledge.situation, knowledge.audited, knowledge.rule
    if rule._width is not None:
        if knowledge.complaint or any(row.answers < TESTED for row in knowledge.calibration):
            return None
        rule = Audited(rule._width, DOUBT * situation.widening, MARGIN, rule._confidence)
        audited = knowledge.everywhere(audited.scaled(DOUBT).widened(MARGIN))
    solution = try_to_refute(audited, knowledge, solver)
    if solution.proof is None or not is_refuted(solution):
        return None
    return Refutation(situation.problem, situation.history, rule, solution.proof.refuted_regions)


def least_widening(
    plausible: PlausibleSet,
    solve: Callable[[PlausibleSet], Solution],
    gains: Callable[[PlausibleSet, Solution], bool],
    quick: bool,
) -> tuple[PlausibleSet, Solution]:
    """Wider bands, and the solution of their auxiliary problem.

    The least widening is the most plausible one, so if the widest bands leave something to gain,
    narrower ones are tried.

    Args:
        plausible: The bands.
        solve: Solves the auxiliary problem.
        gains: Whether a solution for some bands leaves something to gain.
        quick: Whether to double once, whatever it gives.
    """
    least, most = 0.0, 1.0 if quick else _DOUBLINGS
    wider = plausible.scaled(2**most)
    solution = solve(wider)
    if quick or not gains(wider, solution):
        return wider, solution
    for _ in range(_BISECTIONS):
        middle = (least + most) / 2
        narrower = plausible.scaled(2**middle)
        found = solve(narrower)
        if gains(narrower, found):
            most, wider, solution = middle, narrower, found
        else:
            least = middle
    return wider, solution


def _leaves_something(plausible: PlausibleSet, solution: Solution, knowledge: Knowledge) -> bool:
    """Whether a solution of the auxiliary problem leaves something to gain, and to learn."""
    promise, incumbent = solution.value if solution.feasible else None, knowledge.incumbent
    if promise is None and (incumbent is None or not incumbent.feasible):
        return False
    if not teaches(plausible, solution, knowledge, _MUCH):
        return False
    return relative_gap(knowledge.history, incumbent, promise) > GAP.nearly_closed

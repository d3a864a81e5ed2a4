"""Points that are believed feasible and good, and when one is worth a trial."""

from __future__ import annotations

from dataclasses import replace

import torch

from grisaille.array_types import Array
from grisaille.confidence.incumbent import Incumbent
from grisaille.confidence.knowledge import Knowledge
from grisaille.confidence.plausible_set import PlausibleSet
from grisaille.confidence.read_together import with_tried_parts
from grisaille.records import Situation, TrialKind
from grisaille.solvers.multistart import MultiStart
from grisaille.solvers.search_problem import Solution, nearby
from grisaille.strategies.plan import Plan
from grisaille.strategies.practical.gap import gap_of, is_closing
from grisaille.strategies.stepped_choice import SAME, design_of, is_among, settled

# How many other trials follow a recommendation that was not the best.
_PAUSE = 3
# Distance kept from constraints, in their spreads: the search is that exact, and no more.
_MARGIN = 1e-6
# The part of their deviations and distances that constraints must bear once the gap is closed.
_SHARP = 0.01
# Points closer than this to a pending one are better chosen when its answers are in.
_NEAR = 1e-3

# A search of the design space alone needs less than one of the auxiliary problem.
_CAUTIOUS_SEARCH = MultiStart(starts=6, samples=512, iterations=40)
# With many variables and no feasible point to start from, it ends in the wrong valley too often. Of
# 16 searches of two badly scaled problems of 7 and 9 variables, 8 ended 0.3 to 0.7 spreads worse
# than the best; from so many starts, 4 did.
_WIDE_SEARCH = MultiStart(starts=24, samples=1024, iterations=40)
_MANY_VARIABLES = 7


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
        plausible, margin = plausible.scaled(_SHARP), _SHARP
    solution = cautious_solution(knowledge, incumbent, plausible, margin, closed)
    if not solution.feasible:
        return None
    if incumbent.feasible and promise is not None:
        gain = incumbent.objective - solution.value
        worth_it = 0.0 if closed else (incumbent.objective - promise) / 2
        if gain <= 0 or (not is_closing(situation) and gain < worth_it):
            return None
    point = design_of(solution, knowledge)
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
    distance = margin * _MARGIN * knowledge.history.constraint_sizes()
    cautious = plausible.cautious_problem(torch.tensor(distance))
    cautious = with_tried_parts(cautious, knowledge.program, knowledge.history)
    if is_nearby:
        cautious = nearby(cautious, hints[0], len(hints[0]))
    if knowledge.failures is not None:
        cautious = knowledge.failures.avoided_in(cautious, plausible)
    many = len(hints[0]) >= _MANY_VARIABLES
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
    pause = 1 if incumbent.position == latest else _PAUSE
    return situation.started - trials[latest].number < pause


def repeats(x: Array, knowledge: Knowledge) -> bool:
    """Whether a point was tried, and all black boxes would give the same answers again."""
    return _is_near(x, [trial.x for trial in knowledge.history], SAME, knowledge)


def _is_pending(x: Array, knowledge: Knowledge) -> bool:
    """Whether a pending trial will tell nearly all that a point could."""
    pending = knowledge.situation.pending
    chains = [p.suggestion.x for p in pending if p.suggestion.chain]
    return _is_near(x, chains, _NEAR, knowledge)


def _is_near(x: Array, others: list[Array], part: float, knowledge: Knowledge) -> bool:
    """Whether a point is so near to another one, in parts of each range, and answers are exact."""
    return knowledge.is_exact and is_among(knowledge.program.space, x, others, part)

"""The initial design: points tried before there is anything to learn hyper-parameters from.

All strategies share it, so that with the same seed they start from the same points.
"""

from __future__ import annotations

from collections.abc import Collection

import torch

from grisaille.array_types import Array
from grisaille.checks import check_count
from grisaille.records import Situation, Suggestion, TrialKind
from grisaille.strategies.stepped_choice import is_among, taken_designs

_MOST_POINTS = 20
# How far the sequence is looked through for a point that is not taken.
_LATER_POINTS = 256


def check_initial(who: str, initial: object) -> None:
    """Raise ModelError if the number of initial points is neither None nor at least 1."""
    check_count(who, "initial", initial, optional=True)


def initial_points(situation: Situation, wanted: int | None) -> int:
    """How many points: as many as wanted, or 2 (n + 1) for n variables, at most 20.

    Nobody wants to spend more than a third of the trials on them.
    """
    if wanted is not None:
        return wanted
    usual = min(2 * (situation.problem.program.size + 1), _MOST_POINTS)
    if situation.remaining is None:
        return usual
    return max(1, min(usual, (situation.started + situation.remaining) // 3))


def still_initial(situation: Situation, wanted: int | None, learned: Collection[str]) -> bool:
    """Whether there is too little to learn from.

    Args:
        situation: The situation.
        wanted: How many points were asked for; None for the usual number.
        learned: Names of the black boxes whose hyper-parameters are learned.
    """
    if not learned:
        return False
    points = initial_points(situation, wanted)
    seen = [o.box for o in situation.history.loose]
    known = len(situation.history) + min(seen.count(name) for name in learned)
    # Answers that are still to come count, but they cannot be learned from.
    return known + len(situation.pending) < points or known < (points + 1) // 2


def initial_suggestion(situation: Situation) -> Suggestion:
    """The next point of the initial design."""
    point = sobol_point(situation)
    return Suggestion(TrialKind.INITIAL, point, pending=len(situation.pending))


def sobol_point(situation: Situation, is_exact: bool | None = None) -> Array:
    """The point that a scrambled Sobol sequence of the study's seed has for this trial.

    On the steps of its variables. Where these leave few points, it may be taken already, and then
    a later point of the sequence is used.

    Args:
        situation: The situation.
        is_exact: Whether a point that was tried would give the same answers again; as declared by
            default.
    """
    program = situation.problem.program
    engine = torch.quasirandom.SobolEngine(program.size, scramble=True, seed=situation.design_seed)
    unit: Array = engine.draw(situation.started + 1, dtype=torch.float64)[-1].numpy()
    space = program.space
    lower, upper = space.search_lower, space.search_upper
    point = space.spread(lower + (upper - lower) * unit)
    if space.has_steps and (situation.problem.is_exact if is_exact is None else is_exact):
        taken = taken_designs(situation)
        later = engine.draw(_LATER_POINTS, dtype=torch.float64).numpy()
        points = [point, *(space.spread(lower + (upper - lower) * row) for row in later)]
        return next((p for p in points if not is_among(space, p, taken)), point)
    return point

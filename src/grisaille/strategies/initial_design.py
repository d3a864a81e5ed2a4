"""The initial design: points tried before there is anything to learn hyper-parameters from.

All strategies share it, so that with the same seed they start from the same points.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from grisaille.array_types import Array
from grisaille.checks import attribute_of, check_count, is_finite, real_numbers
from grisaille.errors import ModelError, shortened
from grisaille.language.design_points import own_points
from grisaille.language.elimination import points_to_try
from grisaille.language.problem import Problem
from grisaille.language.unknowns import unknown_entries
from grisaille.language.value_kinds import Value
from grisaille.records import History, Situation, Suggestion, TrialKind
from grisaille.strategies.likely_unknowns import with_likely_unknowns
from grisaille.strategies.restricted_design import is_restricted, restricted_sequence
from grisaille.strategies.stepped_choice import is_among, taken_designs

_MOST_POINTS = 20
# How far the sequence is looked through for a point that is not taken.
_LATER_POINTS = 256


@dataclass(frozen=True, slots=True)
class InitialPoints:
    """An initial design of the user's own.

    Attributes:
        rows: One row per point.
        columns: The design entries that the columns are; empty for all of them in their order.
    """

    rows: tuple[tuple[Value, ...], ...]
    columns: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def points(self, problem: Problem) -> Array:
        """The points (m, n), in the order of the problem's variables; NaN for unknowns left out.

        Raises:
            ModelError: They are not points of this problem.
        """
        given: Any = self.rows
        if self.columns:
            given = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        origin = problem.origin
        if origin is None:
            return own_points(problem.program, given, "initial")
        # Users write points of the problem that they wrote.
        fill = partial(with_likely_unknowns, origin.original, History())
        full = points_to_try(origin.original, given, "initial", fill)
        return np.array([origin.reduced(point) for point in full])


Initial = int | InitialPoints | None
"""How many points to try first, or which; None for the usual number."""


def as_initial(who: str, initial: Any) -> Initial:
    """The initial design that a user asked for.

    Args:
        who: The strategy, as messages name it.
        initial: None, a number of points, an array with one row per point, or a DataFrame whose
            columns are design entries.

    Raises:
        ModelError: It is none of these.
    """
    if initial is None or isinstance(initial, InitialPoints):
        return initial
    try:
        rows, columns = _table(initial), attribute_of(initial, "columns")
        names = () if columns is None else tuple(columns)
    except Exception as error:  # of NumPy, or of a class of the user's own
        raise _no_design(who, initial) from error
    if rows.ndim == 0:
        check_count(who, "initial", initial)
        return int(rows)
    if rows.ndim == 1 and not names:
        rows = rows[None]
    texts = all(isinstance(name, str) for name in names)
    values = rows.ravel().tolist()
    if (
        rows.ndim != 2
        or not values
        or not all(isinstance(v, str) or is_finite(v) for v in values)
        or not texts
    ):
        raise _no_design(who, initial)
    plain = ((v if isinstance(v, str) else float(v) for v in row) for row in rows.tolist())
    return InitialPoints(tuple(map(tuple, plain)), names)


def _table(initial: Any) -> NDArray[Any]:
    """Numbers, or numbers and labels."""
    try:
        return real_numbers(initial)
    except (TypeError, ValueError):
        rows: NDArray[Any] = np.array(initial, dtype=object)
        if not any(isinstance(value, str) for value in rows.ravel()):
            raise
        return rows


def _no_design(who: str, initial: object) -> ModelError:
    return ModelError(
        f"{who}(initial={shortened(initial)}): pass how many points to try first, or an array with "
        "one row per point, or a DataFrame whose columns are the variables"
    )


def check_design(initial: Initial, problem: Problem) -> None:
    """Raise ModelError if initial points are not points of a problem."""
    if isinstance(initial, InitialPoints):
        initial.points(problem)


def usual_points(entries: int) -> int:
    """How many points are tried first in a problem with so many entries of decisions."""
    return min(2 * (entries + 1), _MOST_POINTS)


def initial_points(situation: Situation, wanted: Initial) -> int:
    """How many points: as many as wanted, or 2 (n + 1) for n decisions, at most 20.

    Nobody wants to spend more than a third of the trials on them.
    """
    if wanted is not None:
        return len(wanted) if isinstance(wanted, InitialPoints) else wanted
    program = situation.problem.program
    usual = usual_points(program.size - len(unknown_entries(program)))
    if situation.remaining is None:
        return usual
    return max(1, min(usual, (situation.started + situation.remaining) // 3))


def still_initial(situation: Situation, wanted: Initial, learned: Collection[str]) -> bool:
    """Whether there is too little to learn from.

    Args:
        situation: The situation.
        wanted: The design that was asked for; None for the usual number of points.
        learned: Names of the black boxes whose hyper-parameters are learned.
    """
    if not learned:
        return False
    points = initial_points(situation, wanted)
    seen = [o.box for o in situation.history.loose]
    known = len(situation.history) + min(seen.count(name) for name in learned)
    # Answers that are still to come count, but they cannot be learned from.
    return known + len(situation.pending) < points or known < (points + 1) // 2


def initial_suggestion(situation: Situation, wanted: Initial = None) -> Suggestion:
    """The next point of the initial design: of the user's own, as long as it has more."""
    point = sobol_point(situation)
    if isinstance(wanted, InitialPoints):
        tried = [*situation.history, *situation.pending]
        place = sum(trial.suggestion.kind is TrialKind.INITIAL for trial in tried)
        own = wanted.points(situation.problem)[place + situation.incomplete :]
        point = own[0] if len(own) else point
        if np.isnan(point).any():
            point = with_likely_unknowns(situation.problem, situation.history, point)
    return Suggestion(TrialKind.INITIAL, point, pending=len(situation.pending))


def sobol_point(situation: Situation, is_exact: bool | None = None) -> Array:
    """The point that a scrambled Sobol sequence of the study's seed has for this trial.

    On the steps of its variables. Where these leave few points, it may be taken already, and then
    a later point of the sequence is used. Where linear inequalities of the variables leave only a
    part of the space, the sequence is one that fills this part. Elsewhere unknowns are where
    equations and, once they were spread, the latest answers put them.

    Args:
        situation: The situation.
        is_exact: Whether a point that was tried would give the same answers again; as declared by
            default.
    """
    program = situation.problem.program
    if is_restricted(program):
        return _restricted_point(situation, is_exact)
    engine = torch.quasirandom.SobolEngine(program.size, scramble=True, seed=situation.design_seed)
    unit: Array = engine.draw(situation.started + 1, dtype=torch.float64)[-1].numpy()
    space = program.space
    lower, upper = space.search_lower, space.search_upper
    point = space.spread(lower + (upper - lower) * unit)
    point = with_likely_unknowns(situation.problem, situation.history, point, is_spread=True)
    if space.has_steps and (situation.problem.is_exact if is_exact is None else is_exact):
        taken = taken_designs(situation)
        later = engine.draw(_LATER_POINTS, dtype=torch.float64).numpy()
        points = [point, *(space.spread(lower + (upper - lower) * row) for row in later)]
        return next((p for p in points if not is_among(space, p, taken)), point)
    return point


def _restricted_point(situation: Situation, is_exact: bool | None) -> Array:
    """The point of this trial in a sequence that meets the linear inequalities."""
    program, space = situation.problem.program, situation.problem.program.space
    looks = space.has_steps and (situation.problem.is_exact if is_exact is None else is_exact)
    count = situation.started + 1 + (_LATER_POINTS if looks else 0)
    points = restricted_sequence(program, situation.design_seed, count)[situation.started :]
    taken = taken_designs(situation) if looks else []
    return next((p for p in points if not is_among(space, p, taken)), points[0])

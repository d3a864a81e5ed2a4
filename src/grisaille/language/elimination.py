"""Linear equalities of the variables: solved for some entries, which are then no longer searched.

`np.sum(fractions) == 1` leaves one number less to choose. The reduced problem has the other entries
as its variables; what is solved for is a linear formula of them, and its bounds are linear
constraints. Black boxes and all other constraints stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grisaille.array_types import Array, Flags
from grisaille.errors import ModelError
from grisaille.language.constraint import Constraint
from grisaille.language.design_points import own_points
from grisaille.language.linear_rows import LinearRows, linear_rows
from grisaille.language.linear_system import LinearSystem, linear_system
from grisaille.language.pivots import Pivots
from grisaille.language.problem import Problem, reduced_by
from grisaille.language.reduced_problem import reduced_problem
from grisaille.language.subject_to import DEFAULT_TOLERANCE

# A point of the user's own may miss an equality by its tolerance, and by so much more.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Elimination:
    """How a problem with linear equalities becomes one without them, and points go back.

    Attributes:
        original: The problem as the user wrote it.
        problem: The reduced problem.
        equalities: The equalities that are solved, each with its rows, which must be 0.
        kept: Flat positions of the entries that remain, in their order.
        solved: Flat positions of the others.
        slopes: (solved, kept); what is solved for is `slopes @ x[kept] + constants`.
        constants: (solved,).
        system: The linear equalities and inequalities, and the bounds.
        same_rows: Which scalar constraints of the original are constraints of the reduced problem.
        added: Its further constraints, which keep what is solved for between its bounds.
        calls: For each call of the original, which call of the reduced problem it is.
    """

    original: Problem
    problem: Problem
    equalities: tuple[tuple[Constraint, LinearRows], ...]
    kept: NDArray[np.int64]
    solved: NDArray[np.int64]
    slopes: Array
    constants: Array
    system: LinearSystem
    same_rows: Flags
    added: LinearRows
    calls: tuple[int, ...]

    def reduced(self, x: Array) -> Array:
        """The entries of a design point that remain."""
        return x[self.kept]

    def expanded(self, x: Array) -> Array:
        """The design point of the original for one of the reduced problem.

        It meets the equalities to rounding, and is between its bounds: where what is solved for
        leaves them, the nearest point that does not is taken.
        """
        space = self.original.program.space
        full = np.empty(self.original.program.size)
        full[self.kept] = x
        full[self.solved] = self.slopes @ x + self.constants
        # What is solved for may be on steps, too, which rounding must not leave.
        found = np.where(space.stepped, space.on_steps(full), full)
        if ((full >= space.lower) & (full <= space.upper)).all():
            return found
        # Steps of the other entries stay, if they can.
        near = self.system.corrected(found)
        return self._nearest(full) if near is None else near

    def constraints_at(self, x: Array, constraints: Array) -> Array:
        """Values of the reduced problem's constraints, given those of the original at a point."""
        added = self.added.matrix @ x[self.kept] + self.added.constants
        return np.concatenate([constraints[self.same_rows], added])

    def allowed_at(self, x: Array, allowed: Array | None) -> Array:
        """`Trial.allowed` of the reduced problem, given that of the original at a point."""
        sizes = np.abs(self.added.matrix) @ np.abs(x[self.kept]) + np.abs(self.added.constants)
        same = np.zeros(len(self.same_rows)) if allowed is None else allowed
        return np.concatenate([same[self.same_rows], DEFAULT_TOLERANCE * sizes])

    def is_met(self, x: Array) -> bool:
        """Whether a design point of the original meets the equalities within their tolerances."""
        return self._broken(x) is None

    def point_to_try(self, x: Array, who: str) -> Array:
        """A point of the user's own, moved so little that it meets the equalities to rounding.

        Raises:
            ModelError: It breaks one by more than its tolerance.
        """
        broken = self._broken(x)
        if broken is not None:
            constraint, missed = broken
            raise ModelError(
                f"{who}: a point breaks {constraint!r}, whose sides differ by {missed:.6g} there "
                f"(allowed: {constraint.tolerance:g}): every point that is tried meets it, so pass "
                "points that do"
            )
        near = self.system.corrected(x)
        return self._nearest(x) if near is None else near

    def _broken(self, x: Array) -> tuple[Constraint, float] | None:
        for constraint, rows in self.equalities:
            missed = float(np.abs(rows.matrix @ x + rows.constants).max())
            if missed > constraint.tolerance * (1 + _ROUNDING) + _ROUNDING:
                return constraint, missed
        return None

    def _nearest(self, x: Array) -> Array:
        near = self.system.nearest(x)
        if near is not None:  # with 0.3 on a step, not 0.30000000000000004
            return self.original.program.space.on_steps(near)
        names = ", ".join(repr(constraint) for constraint, _ in self.equalities)
        raise ModelError(
            f"no point on the steps of the variables was found that meets {names}: leave step= out "
            "for one of them, or change its bounds"
        )


def points_to_try(
    problem: Problem, x: Any, who: str, with_unknowns: Callable[[Array], Array]
) -> Array:
    """Points (points, n) of the user's own, as `own_points` has them, on the equalities.

    Args:
        problem: The problem.
        x: The points.
        who: The function that was called, for messages.
        with_unknowns: Gives a point (n,) with NaN for its unknowns values of these.

    Raises:
        ModelError: They are no points of the problem, or break a linear equality.
    """
    points = own_points(problem.program, x, who)
    points = np.array([with_unknowns(p) if np.isnan(p).any() else p for p in points])
    elimination = problem.elimination
    if elimination is None:
        return points
    return np.array([elimination.point_to_try(point, who) for point in points])


def elimination_of(problem: Problem) -> Elimination | None:
    """How the linear equalities of a problem are solved; None if it has none that can be.

    An equality is solved for an entry that may be any number between its bounds, that of an unknown
    first; or for one on steps, such as an integer, that is on its steps whenever the others are.
    Nothing is solved if that would leave nothing to choose.
    """
    if problem.causal is not None or not problem.equalities or problem.origin is not None:
        return None
    space = problem.program.space
    unknown = np.concatenate([np.full(v.size, v.is_unknown) for v in problem.variables])
    pivots = Pivots(space, unknown)
    taken: list[tuple[Constraint, LinearRows]] = []
    for equality in problem.equalities:
        rows = linear_rows(equality.residual, problem.variables)
        if rows is not None and pivots.solve(rows):
            taken.append((equality, rows))
    if not taken or len(pivots.places) in (0, problem.program.size):
        return None
    solved = np.array(pivots.places)
    kept = np.setdiff1d(np.arange(problem.program.size), solved)
    slopes = -pivots.matrix[:, kept]
    made = reduced_problem(problem, [c for c, _ in taken], kept, solved, slopes, pivots.values)
    elimination = Elimination(
        original=problem,
        problem=made.problem,
        equalities=tuple(taken),
        kept=kept,
        solved=solved,
        slopes=slopes,
        constants=pivots.values,
        system=linear_system(problem, taken),
        same_rows=made.same_rows,
        added=made.added,
        calls=made.calls,
    )
    reduced_by(made.problem, elimination)
    return elimination

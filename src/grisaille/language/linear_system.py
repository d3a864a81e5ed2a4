"""Points that meet linear equalities and inequalities: whether there are any, and the nearest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grisaille.array_types import Array, Flags
from grisaille.language.constraint import Constraint
from grisaille.language.linear_rows import LinearRows, linear_restrictions

if TYPE_CHECKING:
    from grisaille.language.problem import Problem

# What counts as rounding, in parts of the ranges: what corrections aim at, and what is enough.
_ROUNDING = 1e-15
_NEARLY = 1e-12
# How long the search for whole numbers may be: counted in nodes, so that it is repeatable.
_NODES = 10_000


@dataclass(frozen=True, slots=True)
class LinearSystem:
    """Points x with `equal @ x == values`, `less @ x <= limits` and `lower <= x <= upper`.

    Attributes:
        equal: (m, n).
        values: (m,).
        less: (k, n).
        limits: (k,).
        lower: (n,).
        upper: (n,).
        steps: (n,), x is lower plus a whole number of steps; 0 where it may be anything.
    """

    equal: Array
    values: Array
    less: Array
    limits: Array
    lower: Array
    upper: Array
    steps: Array

    def has_point(self, bounded: bool = True) -> bool:
        """Whether all equalities and inequalities can be met together; steps do not count.

        Args:
            bounded: Whether the bounds count.
        """
        from scipy.optimize import linprog

        if not len(self.equal) and not len(self.less):
            return True
        # In parts of the ranges, and with rows of the same size, tolerances mean the same.
        width = self.upper - self.lower
        values = self.values - self.equal @ self.lower
        limits = self.limits - self.less @ self.lower
        equal, less = self.equal * width, self.less * width
        sizes = [np.maximum(np.abs(part).sum(1), 1e-300) for part in (equal, less)]
        found = linprog(
            np.zeros(len(width)),
            less / sizes[1][:, None] if len(less) else None,
            limits / sizes[1] if len(less) else None,
            equal / sizes[0][:, None] if len(equal) else None,
            values / sizes[0] if len(equal) else None,
            bounds=(0, 1) if bounded else (None, None),
            method="highs",
        )
        return bool(found.status != 2)

    def missed(self, x: Array) -> float:
        """By how much a point misses the worst equality or bound, in parts of its size."""
        width = self.upper - self.lower
        sizes = np.maximum(np.abs(self.equal) @ width, 1e-300)
        misses = np.abs(self.equal @ x - self.values) / sizes
        outside = np.maximum(self.lower - x, x - self.upper) / width
        return float(max(misses.max(initial=0.0), outside.max(initial=0.0)))

    def corrected(self, x: Array) -> Array | None:
        """A point near x on the equalities and between the bounds, found by small corrections.

        Entries without steps share what is missing, each in proportion to its squared range. Those
        at a bound stay there, if that is possible: a part that is left out stays left out. None if
        corrections do not lead to a point.
        """
        x = np.clip(x, self.lower, self.upper)
        anything: Flags = self.steps == 0
        inside = anything & (x > self.lower) & (x < self.upper)
        found = self._with_share(x, inside)
        return self._with_share(x, anything) if found is None else found

    def _with_share(self, x: Array, free: Flags) -> Array | None:
        """The point with some entries corrected; those that would leave their bounds stay there."""
        width = self.upper - self.lower
        for _ in range(len(x) + 1):
            if self.missed(x) <= _ROUNDING or not free.any():
                break
            columns = self.equal[:, free] * width[free]
            missing = self.values - self.equal @ x
            moved = x.copy()
            moved[free] += width[free] * np.linalg.lstsq(columns, missing, rcond=1e-10)[0]
            x = np.clip(moved, self.lower, self.upper)
            free = free & (x == moved)
        return x if self.missed(x) <= _NEARLY else None

    def nearest(self, x: Array) -> Array | None:
        """The point nearest to x that meets everything; None if none is found.

        Near is meant in the sum of distances, in ranges of the entries.
        """
        from scipy.optimize import LinearConstraint, milp

        found = self.corrected(x)
        if found is not None and (self.less @ found <= self.limits).all():
            return found
        n, width = len(x), self.upper - self.lower
        scale = np.where(self.steps > 0, self.steps, width)
        # The unknowns are (x - lower) / scale, and the distance of each.
        one = np.eye(n)
        target = (x - self.lower) / scale
        rows = [
            LinearConstraint(np.hstack([one, -one]), -np.inf, target),
            LinearConstraint(np.hstack([one, one]), target, np.inf),
        ]
        if len(self.equal):
            ends = self.values - self.equal @ self.lower
            matrix = np.hstack([self.equal * scale, np.zeros_like(self.equal)])
            rows.append(LinearConstraint(matrix, ends, ends))
        if len(self.less):
            matrix = np.hstack([self.less * scale, np.zeros_like(self.less)])
            rows.append(LinearConstraint(matrix, -np.inf, self.limits - self.less @ self.lower))
        answer = milp(
            np.concatenate([np.zeros(n), scale / width]),
            integrality=np.concatenate([self.steps > 0, np.zeros(n)]),
            bounds=(np.zeros(2 * n), np.concatenate([width / scale, np.full(n, np.inf)])),
            constraints=rows,
            options={"node_limit": _NODES},
        )
        if answer.x is None:
            return None
        parts = np.where(self.steps > 0, np.rint(answer.x[:n]), answer.x[:n])
        near: Array = self.lower + scale * parts
        return self.corrected(near)


def linear_system(
    problem: Problem, equalities: Sequence[tuple[Constraint, LinearRows]]
) -> LinearSystem:
    """Some linear equalities of a problem with its linear inequalities and its bounds."""
    space, less = problem.program.space, linear_restrictions(problem.program)
    return LinearSystem(
        equal=np.concatenate([rows.matrix for _, rows in equalities]),
        values=-np.concatenate([rows.constants for _, rows in equalities]),
        less=less.matrix,
        limits=-less.constants,
        lower=space.lower,
        upper=space.upper,
        steps=space.steps,
    )

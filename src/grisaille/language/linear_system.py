"""Linear equalities and inequalities of the variables: rows, points, contradictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array, Flags
from grisaille.errors import ModelError
from grisaille.language.expression import Constraint, Expression
from grisaille.language.program import BoxCall, Program, linear_nodes
from grisaille.language.variable import Variable

if TYPE_CHECKING:
    from grisaille.language.problem import Problem


# --- linear rows ----------------------------------------------------------------------------------
# Formulas that are linear in the variables and read no black box, and their coefficients.


@dataclass(frozen=True, slots=True)
class LinearRows:
    """Formulas `matrix @ x + constants`, one per row, x a flat design point.

    Attributes:
        matrix: (rows, n).
        constants: (rows,).
    """

    matrix: Array
    constants: Array

    def __len__(self) -> int:
        return len(self.constants)


def linear_rows(expression: Expression, variables: Sequence[Variable]) -> LinearRows | None:
    """The entries of an expression as linear formulas of the variables.

    None if it reads a black box, or if an operation in it is not linear: what happens to be linear
    because terms cancel is not found.
    """
    program = Program([expression], variables)
    if program.calls or not _is_linear(program):
        return None

    def values(x: Tensor) -> Tensor:
        (found,) = program.run(x.unsqueeze(0), _no_call)
        return found.reshape(-1)

    origin = torch.zeros(program.size, dtype=torch.float64)
    constants = values(origin).numpy()
    slopes = torch.autograd.functional.jacobian(values, origin, vectorize=False)
    matrix = np.asarray(slopes).reshape(len(constants), program.size)
    if not (np.isfinite(matrix).all() and np.isfinite(constants).all()):
        return None
    return LinearRows(matrix, constants)


def linear_restrictions(program: Program) -> LinearRows:
    """The constraints of a problem's program that are linear inequalities of variables alone.

    They are met where the rows are at most 0. The halves of equalities are left out: they leave
    next to nothing to draw points from.
    """
    found = [LinearRows(np.zeros((0, program.size)), np.zeros(0))]
    start = 0
    for position in program.outputs[1:]:
        body = program.nodes[position].expression
        is_half = bool((program.equality_tolerances[start : start + body.size] > 0).any())
        start += body.size
        rows = None if is_half else linear_rows(body, program.variables)
        if rows is not None:
            found.append(rows)
    matrix = np.concatenate([rows.matrix for rows in found])
    constants = np.concatenate([rows.constants for rows in found])
    told = matrix.any(1)
    return LinearRows(matrix[told], constants[told])


def _is_linear(program: Program) -> bool:
    """Return True if every operation that leads to the last node is linear."""
    return all(node.is_linear for node in linear_nodes(program, lambda _: True))


def _no_call(call: BoxCall, _states: Tensor) -> Tensor:
    raise AssertionError(f"a linear formula reads {call.box!r}")


# --- linear system --------------------------------------------------------------------------------
# Points that meet linear equalities and inequalities: whether there are any, and the nearest.

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


# --- linear contradictions ------------------------------------------------------------------------
# Linear constraints that cannot be met: found and named when a problem is made.

_Item = tuple[Constraint, LinearRows]


def check_linear_constraints(problem: Problem) -> None:
    """Raise ModelError if linear constraints of a problem cannot be met.

    An inequality of the variables alone between their bounds; equalities there, too, with one
    another, or with the inequalities. Inequalities that contradict one another are left to the
    study, which says so with a certificate.
    """
    others = _linear(problem, [c for c in problem.constraints if not c.is_half])
    for item in others:
        if _least(problem, item) > 0 and not _has_point(problem, [], [item]):
            raise _not_between_bounds(problem, [item], "constraint")
    equalities = _linear(problem, problem.equalities)
    if not equalities or _has_point(problem, equalities, others):
        return
    # What is not needed for the contradiction is left out of the message.
    for item in [*others, *equalities]:
        fewer = [one for one in equalities if one is not item]
        less = [one for one in others if one is not item]
        if not _has_point(problem, fewer, less):
            equalities, others = fewer, less
    if not equalities:
        return
    if not _has_point(problem, equalities, others, bounded=False):
        raise ModelError(
            f"{_names([*equalities, *others])} contradict one another: no point meets them all; "
            "leave one out"
        )
    raise _not_between_bounds(problem, [*equalities, *others], "equality")


def _names(items: list[_Item]) -> str:
    return " and ".join(repr(constraint) for constraint, _ in items)


def _least(problem: Problem, item: _Item) -> float:
    """Return the least value between the bounds of the row that is largest there."""
    rows, space = item[1], problem.program.space
    least = np.minimum(rows.matrix * space.lower, rows.matrix * space.upper).sum(1)
    return float((least + rows.constants).max(initial=-np.inf))


def _not_between_bounds(problem: Problem, items: list[_Item], kind: str) -> ModelError:
    read = np.abs(_stacked(items, problem.program.size)[0]).sum(0) > 0
    columns = problem.program.columns.items()
    ends = ", ".join(
        f"{v.name!r} from {v.lower.min():g} to {v.upper.max():g}"
        for v, where in columns
        if read[where].any()
    )
    return ModelError(
        f"{_names(items)} cannot be met between the bounds of the variables ({ends}): change the "
        f"bounds, or the {kind}"
    )


def _linear(problem: Problem, constraints: Sequence[Constraint]) -> list[_Item]:
    """Those of some constraints that are linear and read no black box."""
    found: list[_Item] = []
    for constraint in constraints:
        body = constraint.residual if constraint.is_equality else constraint.body
        rows = linear_rows(body, problem.variables)
        if rows is not None:
            found.append((constraint, rows))
    return found


def _has_point(
    problem: Problem, equalities: list[_Item], others: list[_Item], bounded: bool = True
) -> bool:
    space = problem.program.space
    equal, less = (_stacked(items, len(space.lower)) for items in (equalities, others))
    system = LinearSystem(*equal, *less, space.lower, space.upper, space.steps)
    return system.has_point(bounded)


def _stacked(items: list[_Item], entries: int) -> tuple[Array, Array]:
    """All rows of some constraints, and what they must be equal to, or at most."""
    matrix = np.concatenate([np.zeros((0, entries)), *(rows.matrix for _, rows in items)])
    return matrix, -np.concatenate([np.zeros(0), *(rows.constants for _, rows in items)])

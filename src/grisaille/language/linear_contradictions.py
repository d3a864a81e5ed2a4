"""Linear constraints that cannot be met: found and named when a problem is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from grisaille.array_types import Array
from grisaille.errors import ModelError
from grisaille.language.constraint import Constraint
from grisaille.language.linear_rows import LinearRows, linear_rows
from grisaille.language.linear_system import LinearSystem

if TYPE_CHECKING:
    from grisaille.language.problem import Problem

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

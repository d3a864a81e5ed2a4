"""Linear equalities that cannot be met: found and named when a problem is made."""

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


def check_linear_equalities(problem: Problem) -> None:
    """Raise ModelError if the linear equalities of a problem cannot be met.

    With one another, with its linear inequalities of the variables alone, or between its bounds.
    """
    equalities = _linear(problem, problem.equalities)
    if not equalities:
        return
    others = _linear(problem, [c for c in problem.constraints if not c.is_half])
    if _has_point(problem, equalities, others):
        return
    # What is not needed for the contradiction is left out of the message.
    for item in [*others, *equalities]:
        fewer = [one for one in equalities if one is not item]
        less = [one for one in others if one is not item]
        if not _has_point(problem, fewer, less):
            equalities, others = fewer, less
    if not equalities:  # inequalities alone: the study says that, with a certificate
        return
    names = " and ".join(repr(constraint) for constraint, _ in [*equalities, *others])
    if not _has_point(problem, equalities, others, bounded=False):
        raise ModelError(f"{names} contradict one another: no point meets them all; leave one out")
    read = np.abs(_stacked([*equalities, *others], problem.program.size)[0]).sum(0) > 0
    columns = problem.program.columns.items()
    ends = ", ".join(
        f"{v.name!r} from {v.lower.min():g} to {v.upper.max():g}"
        for v, where in columns
        if read[where].any()
    )
    raise ModelError(
        f"{names} cannot be met between the bounds of the variables ({ends}): change the bounds, "
        "or the equality"
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

"""Unknowns and the equations that determine them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching
from torch import Tensor

from grisaille.array_types import Array
from grisaille.errors import ModelError, counted
from grisaille.language import operations
from grisaille.language.constraint import EQUALITY_TOLERANCE, Constraint
from grisaille.language.expression import Expression, Operation
from grisaille.language.program import BoxCall, Program
from grisaille.language.tables import entry_names
from grisaille.language.variable import Unknown, Variable

CLOSED = 1e-3
"""The part of an unknown's range by which a trial may miss its equation and still count as closed.

Plants and simulators close a recycle to about as much. Searches aim at `_AIM`, so that no point
uses up what is allowed.
"""
# The part of an unknown's range by which both sides of its equation differ in a search.
_AIM = 1e-6


def unknowns_of(expression: Expression) -> list[Unknown]:
    """The unknowns that an expression reads."""
    return Program([expression]).unknowns


def checked_equations(equations: tuple[Constraint, ...]) -> tuple[Constraint, ...]:
    """What is passed as `equations=`.

    Raises:
        ModelError: One is not an equality, or reads no unknown.
    """
    for equation in equations:
        if not equation.is_equality:
            raise ModelError(
                f"equations= has {equation!r}: an equation is written a == b; put other "
                "constraints in subject_to="
            )
        if not unknowns_of(equation.residual):
            raise ModelError(
                f"equation {equation!r} reads no unknown, so it determines none: put it in "
                "subject_to=, or write it with a gs.Unknown"
            )
    return equations


def check_unknowns(variables: Iterable[Variable], equalities: Sequence[Constraint]) -> None:
    """Raise ModelError if equations do not determine every unknown.

    Each entry of an unknown needs a scalar equation of its own that reads it.
    """
    unknowns = [v for v in variables if isinstance(v, Unknown)]
    if not unknowns:
        return
    rows = [unknowns_of(e.residual) for e in equalities for _ in range(e.residual.size)]
    entries = [u for u in unknowns for _ in range(u.size)]
    reads = [[any(u is other for other in row) for u in entries] for row in rows]
    table = csr_matrix(np.array(reads, dtype=int).reshape(len(rows), len(entries)))
    matched = maximum_bipartite_matching(table, perm_type="row") if rows else []
    free = [u for u, row in zip(entries, matched, strict=True) if row < 0] if rows else entries
    if free:
        unknown = free[0]
        have = sum(any(unknown is other for other in row) for row in rows)
        raise ModelError(
            f"unknown {unknown.name!r} has {counted(unknown.size, 'number')} and is read "
            f"by {counted(have, 'equation')}, which do not determine it: add subject_to="
            f"[{unknown.name} == ...], or make it a gs.Variable if it is a decision"
        )


def with_usual_tolerance(constraint: Constraint) -> Constraint:
    """An equation `t == ...` with a tolerance that fits the range of the unknown t."""
    unknown = solved_for(constraint)
    if unknown is None or constraint.tolerance != EQUALITY_TOLERANCE:
        return constraint
    width = float(np.min(_width(unknown)))
    return constraint.replaced(tolerance=_AIM * width, lenience=(CLOSED - _AIM) * width)


def solved_for(constraint: Constraint) -> Expression | None:
    """The side of an equality that is an unknown, or entries of one; None if neither is."""
    if not constraint.is_equality:
        return None
    return next((side for side in (constraint.left, constraint.right) if _is_unknown(side)), None)


def _is_unknown(side: Expression) -> bool:
    if isinstance(side, Operation) and side.atom is operations.take:
        side = side.arguments[0]
    return isinstance(side, Unknown)


def _width(side: Expression) -> Array:
    program = Program([side])
    return (program.upper - program.lower)[entries_of(side, program.variables)]


def unknown_entries(program: Program) -> list[int]:
    """Flat positions, in a design point, of all entries of unknowns."""
    places = [program.columns[v] for v in program.variables if v.is_unknown]
    return [place for columns in places for place in range(columns.start, columns.stop)]


def entries_of(side: Expression, variables: Sequence[Variable]) -> list[int]:
    """Flat positions, in a design point, of an unknown or of entries of one (`solved_for`)."""
    found = Program([side], variables).design_entries(side)
    return [entry for entry in found if entry is not None]


def names_at_bounds(variables: Sequence[Variable], x: Array) -> list[str]:
    """Return the entries of unknowns that lie at a bound, such as `recycle at its upper bound 60`.

    Args:
        variables: All variables of a design point.
        x: The point, flat.
    """
    found, start = [], 0
    names = [name for v in variables for name in entry_names(v.name, v.shape)]
    for variable in variables:
        ends = np.ravel(variable.lower), np.ravel(variable.upper)
        for entry in range(variable.size if variable.is_unknown else 0):
            low, high = (float(end[entry]) for end in ends)
            near = _AIM * (high - low)
            if x[start + entry] <= low + near or x[start + entry] >= high - near:
                side, end = ("lower", low) if x[start + entry] <= low + near else ("upper", high)
                found.append(f"{names[start + entry]} at its {side} bound {end:g}")
        start += variable.size
    return found


def _no_answer(call: BoxCall, _states: Tensor) -> Tensor:
    raise AssertionError(f"an unknown is read, and {call.box!r} is none")


def read_by_boxes(program: Program) -> set[Unknown]:
    """The unknowns that a black box reads, directly or through known parts."""
    found: set[Unknown] = set()
    if not program.unknowns:
        return found
    for call in program.calls:
        found |= set(Program(call.arguments).unknowns)
    return found


def unknowns_in_loops(program: Program) -> list[Unknown]:
    """The unknowns that a black box reads, in the order of the program."""
    read = read_by_boxes(program)
    return [v for v in program.unknowns if v in read]


def refuse_unknowns(who: str, variables: Iterable[Variable]) -> None:
    """Raise ModelError if there are unknowns, which only optimism solves for."""
    unknown = next((v for v in variables if v.is_unknown), None)
    if unknown is not None:
        raise ModelError(
            f"{who} knows no equations, and {unknown.name!r} is an unknown: use gs.Optimistic(), "
            "or write the loop as one black box of the decisions that converges by itself"
        )

"""Writing a problem in terms of the entries that remain when linear equalities are solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grisaille.array_types import Array, Flags
from grisaille.language import atoms
from grisaille.language.columns import entry_names
from grisaille.language.constraint import Constraint
from grisaille.language.expression import Call, Constant, Expression, Operation
from grisaille.language.linear_rows import LinearRows
from grisaille.language.named import labelled
from grisaille.language.problem import Problem, rewritten
from grisaille.language.program import Program
from grisaille.language.variable import Integer, Unknown, Variable

# A bound counts as implied by those of other entries if it is missed by this part of the range.
_ROUNDING = 1e-12


class Bounded(Operation):
    """An operation whose value the constraints of its problem keep between bounds.

    Attributes:
        lower: The least value, a number.
        upper: The greatest.
    """

    __slots__ = ("lower", "upper")

    def __init__(self, value: Operation, lower: float, upper: float) -> None:
        super().__init__(value.atom, value.arguments, value.parameters)
        self.lower = lower
        self.upper = upper


@dataclass(frozen=True, slots=True)
class ReducedProblem:
    """A problem in terms of fewer entries.

    Attributes:
        problem: The problem.
        same_rows: Which scalar constraints of the original it has.
        added: Its further constraints.
        calls: For each call of the original, which of its calls that is.
    """

    problem: Problem
    same_rows: Flags
    added: LinearRows
    calls: tuple[int, ...]


def reduced_problem(
    problem: Problem,
    taken: Sequence[Constraint],
    kept: NDArray[np.int64],
    solved: NDArray[np.int64],
    slopes: Array,
    constants: Array,
) -> ReducedProblem:
    """The problem without equalities that are solved for some entries.

    Args:
        problem: The problem.
        taken: The equalities.
        kept: Flat positions of the entries that remain.
        solved: Flat positions of the others.
        slopes: (solved, kept); what is solved for is `slopes @ x[kept] + constants`.
        constants: (solved,).
    """
    entries, variables = _entries(problem, kept, solved)
    for row, place in enumerate(solved.tolist()):
        parts = [entries[i] for i in kept[slopes[row] != 0].tolist()]
        value = _formula(slopes[row][slopes[row] != 0], constants[row], parts)
        ends = problem.program.space.lower[place], problem.program.space.upper[place]
        if isinstance(value, Operation):
            value = Bounded(value, *map(float, ends))
        entries[place] = value
    written = _as_written(problem)
    same = [c for c in written if not any(c is one for one in taken)]
    program = Program(
        [problem.objective, *(side for c in same for side in (c.left, c.right))], problem.variables
    )
    made = _substituted(program, _stand_ins(problem, entries, solved))
    where = program.position
    constraints = [
        c.replaced(
            left=_called(c.left, made[where[c.left]]), right=_called(c.right, made[where[c.right]])
        )
        for c in same
    ]
    given = f"given {taken[0]!r}" if len(taken) == 1 else "given the linear equalities"
    bounds, added = _bounds(problem, entries, kept, solved, slopes, constants, given)
    reduced = rewritten(
        problem, made[where[problem.objective]], [*constraints, *bounds], variables=variables
    )
    node_of_key = {node.key: i for i, node in enumerate(program.nodes)}
    number_of_key = {call.key: i for i, call in enumerate(reduced.program.calls)}
    alone = (Program([made[node_of_key[c.key]]], variables) for c in problem.program.calls)
    stays = [any(c is one for one in same) for c in written]
    sizes = [(1 + c.is_equality) * c.body.size for c in written]
    return ReducedProblem(
        problem=reduced,
        same_rows=np.repeat(np.array(stays, dtype=bool), sizes),
        added=added,
        # Calls may have become equal to others.
        calls=tuple(number_of_key[one.calls[-1].key] for one in alone),
    )


def _entries(
    problem: Problem, kept: NDArray[np.int64], solved: NDArray[np.int64]
) -> tuple[dict[int, Expression], list[Variable]]:
    """The entries that remain, by their flat positions, and the variables that they belong to.

    A variable that remains as a whole stays itself; of others, each entry becomes a variable.
    """
    entries: dict[int, Expression] = {}
    variables: list[Variable] = []
    for variable, columns in problem.program.columns.items():
        places = np.arange(columns.start, columns.stop)
        flat = variable if not variable.shape else variable.ravel()
        if not np.isin(places, solved).any():
            variables.append(variable)
            entries |= {int(p): flat[i] if variable.shape else flat for i, p in enumerate(places)}
            continue
        names = entry_names(variable.name, variable.shape)
        for offset in np.flatnonzero(np.isin(places, kept)).tolist():
            entry = _one_entry(variable, names[offset], offset)
            variables.append(entry)
            entries[int(places[offset])] = entry
    return entries, variables


def _one_entry(variable: Variable, name: str, offset: int) -> Variable:
    """An entry of a variable as a variable of its own."""
    lower, upper = float(variable.lower.ravel()[offset]), float(variable.upper.ravel()[offset])
    if isinstance(variable, Integer):
        return Integer(name, lower=lower, upper=upper)
    if isinstance(variable, Unknown):
        return Unknown(name, lower=lower, upper=upper, contraction=variable.contraction)
    step = None if variable.step is None else float(variable.step.ravel()[offset])
    return Variable(name, lower=lower, upper=upper, step=step, log=variable.log)


def _formula(slopes: Array, constant: float, parts: Sequence[Expression]) -> Expression:
    """`constant + slopes @ parts`, written as simply as it can be."""
    if not len(parts):
        return Constant(constant)
    if len(parts) == 1 and slopes[0] == 1 and constant == 0:
        return parts[0]  # so that black boxes called with both are called once
    joined = Operation(atoms.join, tuple(parts))
    if (slopes == -1).all():
        return Operation(atoms.subtract, (Constant(constant), joined.sum()))
    scaled = joined if (slopes == 1).all() else Constant(slopes) * joined
    return Operation(atoms.add, (Constant(constant), scaled.sum()))


def _stand_ins(
    problem: Problem, entries: dict[int, Expression], solved: NDArray[np.int64]
) -> dict[Variable, Expression]:
    """What stands in place of the variables of which entries are solved for."""
    found: dict[Variable, Expression] = {}
    for variable, columns in problem.program.columns.items():
        places = range(columns.start, columns.stop)
        if np.isin(solved, places).any():
            parts = tuple(entries[place] for place in places)
            joined = Operation(atoms.join, parts)
            found[variable] = joined.reshape(variable.shape) if variable.shape else parts[0]
    return found


def _substituted(program: Program, stand_ins: dict[Variable, Expression]) -> list[Expression]:
    """What becomes of each node of a program."""
    made: list[Expression] = []
    for node in program.nodes:
        arguments = tuple(made[a] for a in node.arguments)
        expression = node.expression
        if isinstance(expression, Operation):
            made.append(Operation(expression.atom, arguments, expression.parameters))
        elif isinstance(expression, Call):
            made.append(Call(expression.box, arguments))
        elif isinstance(expression, Variable):
            made.append(stand_ins.get(expression, expression))
        else:
            made.append(expression)
    return made


def _called(original: Expression, made: Expression) -> Expression:
    """An expression with the text of the one that it stands for."""
    return made if made is original else labelled(made, repr(original), original.unit)


def _as_written(problem: Problem) -> list[Constraint]:
    """The constraints of a problem in their order, with equalities in place of their halves."""
    equalities = iter(problem.equalities)
    return [
        next(equalities) if part.is_half else part
        for part in problem.constraints
        if not (part.is_half and part.flipped)
    ]


def _bounds(
    problem: Problem,
    entries: dict[int, Expression],
    kept: NDArray[np.int64],
    solved: NDArray[np.int64],
    slopes: Array,
    constants: Array,
    given: str,
) -> tuple[list[Constraint], LinearRows]:
    """Constraints that keep what is solved for between its bounds, where others do not imply it."""
    space = problem.program.space
    names = [name for v in problem.variables for name in entry_names(v.name, v.shape)]
    low, high = slopes * space.lower[kept], slopes * space.upper[kept]
    least = constants + np.minimum(low, high).sum(1)
    most = constants + np.maximum(low, high).sum(1)
    made: list[Constraint] = []
    rows = [np.zeros((0, len(kept)))]
    limits = []
    for row, place in enumerate(solved.tolist()):
        lower, upper = space.lower[place], space.upper[place]
        slack = _ROUNDING * (upper - lower)
        if least[row] < lower - slack:
            name = f"{names[place]} >= {lower:g} {given}"
            made.append((entries[place] >= lower).replaced(name=name))
            rows.append(-slopes[row : row + 1])
            limits.append(lower - constants[row])
        if most[row] > upper + slack:
            name = f"{names[place]} <= {upper:g} {given}"
            made.append((entries[place] <= upper).replaced(name=name))
            rows.append(slopes[row : row + 1])
            limits.append(constants[row] - upper)
    return made, LinearRows(np.concatenate(rows), np.array(limits, dtype=float))

"""A program over search coordinates: u = log x is branched on for a variable with `log=True`.

Known parts read x = exp(u). A black box that is learned in the logarithm reads u itself, so that
its bands are bounded as those of any other black box.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from grisaille.array_types import Array, Flags
from grisaille.confidence.logarithmic_inputs import learned_in_logarithm
from grisaille.language import atoms
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import Call, Expression, Operation
from grisaille.language.program import Program
from grisaille.language.variable import Variable


def in_search_coordinates(program: Program) -> tuple[list[Expression], tuple[Variable, ...]]:
    """What a program computes as expressions of its search coordinates, and these as variables."""
    expressions = [program.nodes[p].expression for p in program.outputs]
    if not program.space.logarithmic.any():
        return expressions, program.variables
    return _Rewriting(program).of_all(expressions)


class _Rewriting:
    """What stands in place of the expressions of a program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._searched = {v: _search_variable(program, v) for v in program.variables if v.log}
        flags = {box: learned_in_logarithm(program, box) for box in program.boxes}
        self._learned = {box: (_of_logarithms(box, f), f) for box, f in flags.items() if f.any()}
        self._done: dict[Expression, Expression] = {}

    def of_all(
        self, expressions: list[Expression]
    ) -> tuple[list[Expression], tuple[Variable, ...]]:
        # Nodes come in the order of their arguments, and equal ones are merged.
        made: list[Expression] = []
        for node in self._program.nodes:
            arguments = tuple(made[a] for a in node.arguments)
            made.append(self._rewritten(node.expression, arguments))
            self._done[node.expression] = made[-1]
        position = self._program.position
        variables = tuple(self._searched.get(v, v) for v in self._program.variables)
        return [made[position[e]] for e in expressions], variables

    def _rewritten(self, expression: Expression, arguments: tuple[Expression, ...]) -> Expression:
        if isinstance(expression, Variable) and expression.log:
            return Operation(atoms.exp, (self._searched[expression],))
        if isinstance(expression, Operation):
            return Operation(expression.atom, arguments, expression.parameters)
        if not isinstance(expression, Call):
            return expression
        if expression.box not in self._learned:
            return Call(expression.box, arguments)
        box, flags = self._learned[expression.box]
        logarithms = [self._in_logarithms(a) for a in expression.arguments]
        both = Operation(atoms.join, (*arguments, *logarithms))
        place = np.arange(len(flags)) + len(flags) * flags
        return Call(box, (both[place],))

    def _in_logarithms(self, expression: Expression) -> Expression:
        """The same with entries of variables with `log=True` as their search coordinates."""
        if isinstance(expression, Variable) and expression.log:
            return self._searched[expression]
        if isinstance(expression, Operation) and expression.atom in (atoms.take, atoms.join):
            parts = tuple(self._in_logarithms(a) for a in expression.arguments)
            return Operation(expression.atom, parts, expression.parameters)
        # What else a black box reads it is not learned in the logarithm of.
        return self._done.get(expression, expression)


def _search_variable(program: Program, variable: Variable) -> Variable:
    space, columns = program.space, program.columns[variable]
    ends = (end[columns] for end in (space.search_lower, space.search_upper))
    lower, upper = (end.reshape(variable.shape) for end in ends)
    return Variable(variable.name, variable.shape, lower=lower, upper=upper)


def _of_logarithms(box: BlackBox, flags: Flags) -> BlackBox:
    """The same black box with the logarithms of the inputs that it accepts."""
    same = copy(box)
    same.input_lower = _logarithm(box.input_lower, flags)
    same.input_upper = _logarithm(box.input_upper, flags)
    return same


def _logarithm(ends: Array | None, flags: Flags) -> Array | None:
    if ends is None:
        return None
    ends = np.broadcast_to(ends, flags.shape)
    positive = np.where(flags & (ends > 0), ends, 1.0)
    return np.where(flags, np.where(ends > 0, np.log(positive), -np.inf), ends)

"""Units on the graph of a problem: which ones are shown, and whether they fit.

Units are followed from variables, black boxes and named parts through every known operation. A
number without a unit, and whatever else has none, fits anything: prices, conversion factors and
coefficients are usually written as bare numbers. So a product with one has an unknown unit, and an
unknown unit fits anything again. What is left to refuse is a real mistake.

One pass serves two algebras: texts, to show units, and pint, to check them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grisaille.errors import ModelError
from grisaille.language import operations
from grisaille.language.constraint import Constraint
from grisaille.language.expression import Call, Constant, Expression, Operation, Unit
from grisaille.language.operations import Shape
from grisaille.language.program import Program
from grisaille.language.text import formula, unnamed
from grisaille.language.units import (
    Algebra,
    MisfitError,
    Physical,
    Texts,
    UnknownUnitError,
    pint_is_there,
)
from grisaille.language.variable import Variable

if TYPE_CHECKING:
    from grisaille.language.problem import Problem

Entries = NDArray[np.object_]
"""The unit of each entry, None where it is unknown; an array without axes if all have the same."""

_UNCHANGED = (operations.negative, operations.absolute, operations.floor, operations.ceil)
_POWERS = {operations.sqrt: 0.5, operations.square: 2.0, operations.reciprocal: -1.0}
_OF_PLAIN_NUMBERS = (
    *(
        operations.exp,
        operations.expm1,
        operations.log,
        operations.log1p,
        operations.log2,
        operations.log10,
    ),
    *(
        operations.sin,
        operations.cos,
        operations.tan,
        operations.arcsin,
        operations.arccos,
        operations.arctan,
    ),
    *(
        operations.sinh,
        operations.cosh,
        operations.tanh,
        operations.arcsinh,
        operations.arccosh,
        operations.arctanh,
    ),
)


def shown_units(expression: Expression, declared: Unit = None) -> list[str | None]:
    """The unit of each entry as text: the declared one, or what operations leave unchanged.

    It is the same with and without pint.
    """
    following = _Following(Texts())
    if declared is not None:
        entries = following.read("", declared, expression.shape)
    else:
        program = Program([expression])
        if not _mentions_units(program):
            return [None] * expression.size
        following.follow(program)
        entries = following.found[expression]
    return np.broadcast_to(entries, expression.shape).ravel().tolist()


def check_units(problem: Problem) -> None:
    """Raise ModelError where the units of a problem do not fit.

    Nothing is checked without pint, and nothing in a problem that mentions no unit.
    """
    declared = [c for c in problem.constraints if c.unit is not None]
    if not (declared or _mentions_units(problem.program)) or not pint_is_there():
        return
    following = _Following(Physical(), problem.constraints)
    following.follow(problem.program)
    for constraint in declared:
        following.check_declared(constraint)


def _mentions_units(program: Program) -> bool:
    return any(expression.unit for expression in program.position)


class _Following:
    """Follows units through a program, from arguments to what reads them.

    Args:
        algebra: How units combine.
        constraints: The constraints of the problem, which messages name.

    Attributes:
        found: The units of each expression followed so far.
    """

    def __init__(self, algebra: Algebra[Any], constraints: Iterable[Constraint] = ()) -> None:
        self.found: dict[Expression, Entries] = {}
        self._algebra = algebra
        self._relations: dict[Expression, Constraint] = {}
        for constraint in constraints:
            body = constraint.body.arguments[0] if constraint.tolerance else constraint.body
            sides = (constraint.left, constraint.right)
            if len(body.arguments) == 2 and all(map(operator.is_, body.arguments, sides)):
                self._relations[body] = constraint

    def follow(self, program: Program) -> None:
        """Find the units of every expression of a program."""
        for expression in program.position:  # arguments come before what reads them
            computed = self._computed(expression)
            declared = self.read(_owner(expression), expression.unit, expression.shape)
            try:
                self.found[expression] = self._entrywise(self._agreed, declared, computed)
            except MisfitError as misfit:
                raise ModelError(
                    f"{_owner(expression)} is declared in {misfit.args[0]}, but "
                    f"{formula(unnamed(expression))} is in {misfit.args[1]}: correct one of the "
                    "units, or convert the value"
                ) from None

    def check_declared(self, constraint: Constraint) -> None:
        """Raise ModelError unless the declared unit of a constraint is that of its sides."""
        who = f"constraint {constraint.name!r}"
        units = self.read(who, constraint.unit, constraint.body.shape)
        try:
            self._entrywise(self._alike, units, self.found[constraint.body])
        except MisfitError as misfit:
            raise ModelError(
                f"{who} is declared in {misfit.args[0]}, but the sides of "
                f"{constraint.describe()} are in {misfit.args[1]}: correct one of the units"
            ) from None

    def read(self, owner: str, unit: Unit, shape: Shape) -> Entries:
        """A declared unit; `owner` is who has it, for messages."""
        try:
            if isinstance(unit, tuple):
                each = [None if u is None else self._algebra.read(u) for u in unit]
                return _array(each).reshape(shape)
            return _array(None if unit is None else self._algebra.read(unit))
        except UnknownUnitError as unknown:
            raise ModelError(
                f"{owner} has the unit {str(unknown)!r}, which pint does not know: write it as "
                "pint does, for example 'kg/s', 'degC' or '$/h', or leave the unit out"
            ) from None

    def _computed(self, expression: Expression) -> Entries:
        if isinstance(expression, Call):
            box = expression.box
            return self.read(f"black box {box.name!r}", box.unit, expression.shape)
        if not isinstance(expression, Operation) or not all(e.size for e in expression.arguments):
            return _array(None)
        relation = self._relations.get(expression)
        try:
            entries = self._operation(expression, relation is not None)
        except MisfitError as misfit:
            raise ModelError(_sentence(expression, relation, misfit)) from None
        return np.broadcast_to(entries, expression.shape) if entries.ndim else entries

    def _operation(self, expression: Operation, is_relation: bool) -> Entries:
        atom, parts = expression.atom, expression.arguments
        units = [self.found[part] for part in parts]
        if atom in _UNCHANGED:
            return units[0]
        if atom in (operations.add, operations.subtract, operations.minimum, operations.maximum):
            return self._entrywise(self._pairing(atom, is_relation), *units)
        if atom is operations.where:
            return self._entrywise(self._alike, *units[1:])
        if atom is operations.multiply:
            return self._entrywise(self._product, *units)
        if atom is operations.divide:
            return self._entrywise(lambda a, b: self._product(a, self._power(b, -1.0)), *units)
        if atom is operations.matmul:
            # Rows of a matrix with several units are left alone.
            several = units[0].ndim or units[1].ndim
            return _array(None) if several else self._entrywise(self._product, *units)
        if atom is operations.power:
            return self._raised(units, parts[1])
        if atom in _POWERS:
            return self._entrywise(lambda unit: self._power(unit, _POWERS[atom]), units[0])
        if atom in _OF_PLAIN_NUMBERS:
            return self._entrywise(self._plain, units[0])
        if atom is operations.arctan2:
            return self._entrywise(self._angle, *units)
        if atom in (operations.total, operations.largest, operations.smallest, operations.norm):
            return self._reduced(self._alike, units[0], expression.parameters[0])
        if atom is operations.product and units[0].ndim:
            return self._reduced(self._product, units[0], expression.parameters[0])
        if atom is operations.product:
            factors = parts[0].size / expression.size
            return self._entrywise(lambda unit: self._power(unit, factors), units[0])
        if atom is operations.take:
            positions, shape = expression.parameters
            return units[0].ravel()[list(positions)].reshape(shape) if units[0].ndim else units[0]
        if atom is operations.join:
            return _joined(units, parts)
        return _array(None)  # a function of the user's own

    def _pairing(self, atom: operations.Atom, is_relation: bool) -> Callable[[Any, Any], Any]:
        if is_relation or atom not in (operations.add, operations.subtract):
            return self._alike
        combine = self._algebra.added if atom is operations.add else self._algebra.subtracted

        def combined(a: Any, b: Any) -> Any:
            if a is None or b is None:
                known = b if a is None else a
                return None if known is None else self._algebra.shifted(known)
            return combine(a, b)

        return combined

    def _agreed(self, declared: Any, computed: Any) -> Any:
        unit = self._alike(declared, computed)
        return unit if declared is None else declared

    def _alike(self, a: Any, b: Any) -> Any:
        return b if a is None else a if b is None else self._algebra.alike(a, b)

    def _product(self, a: Any, b: Any) -> Any:
        return None if a is None or b is None else self._algebra.product(a, b)

    def _power(self, unit: Any, exponent: float) -> Any:
        return None if unit is None else self._algebra.power(unit, exponent)

    def _plain(self, unit: Any) -> Any:
        return None if unit is None else self._algebra.plain(unit)

    def _angle(self, a: Any, b: Any) -> Any:
        self._alike(a, b)
        return None if a is None or b is None else self._algebra.read("")

    def _raised(self, units: list[Entries], exponent: Expression) -> Entries:
        self._entrywise(self._plain, units[1])
        if isinstance(exponent, Constant):
            return self._entrywise(self._power, units[0], exponent.value.astype(object))
        return self._entrywise(self._plain, units[0])  # only a plain number has any power

    def _reduced(
        self, combine: Callable[[Any, Any], Any], entries: Entries, axes: tuple[int, ...]
    ) -> Entries:
        for axis in sorted(axes, reverse=True) if entries.ndim else ():
            entries = _array(np.frompyfunc(combine, 2, 1).reduce(entries, axis=axis))
        return entries

    @staticmethod
    def _entrywise(function: Callable[..., Any], *entries: Any) -> Entries:
        return _array(np.frompyfunc(function, len(entries), 1)(*entries))


def _array(units: Any) -> Entries:
    return np.array(units, dtype=object)


def _joined(units: list[Entries], parts: tuple[Expression, ...]) -> Entries:
    if not any(u.ndim for u in units) and all(u[()] == units[0][()] for u in units):
        return units[0]
    flat = [np.broadcast_to(u, p.shape).ravel() for u, p in zip(units, parts, strict=True)]
    return np.concatenate(flat)


def _owner(expression: Expression) -> str:
    """What a declared unit belongs to."""
    if isinstance(expression, Variable):
        return f"variable {expression.name!r}"
    if expression.name is None and isinstance(expression, Call):
        return f"black box {expression.box.name!r}"
    return repr(expression.name)


def _sentence(expression: Operation, relation: Constraint | None, misfit: MisfitError) -> str:
    """What is wrong with the units of an operation, and what to do."""
    atom, parts, units = expression.atom, expression.arguments, misfit.args
    where = formula(unnamed(expression))
    if len(units) == 1:
        needed = f"{formula(parts[0])} is in {units[0]}, and {atom.name} takes a plain number"
        remedy = f"divide by a value in {units[0]} first"
        if atom is operations.power:
            needed = f"a power takes plain numbers unless its exponent is fixed, not {units[0]}"
        if atom in (operations.sin, operations.cos, operations.tan):
            needed, remedy = f"{needed} of radians", "convert it first"
        return f"{where}: {needed}; {remedy}, or correct the unit"
    done = {operations.add: "added", operations.subtract: "subtracted"}
    done |= {operations.total: "added", operations.norm: "added"}
    verb = "compared" if relation is not None else done.get(atom, "compared")
    if relation is not None:
        where = f"constraint {relation!r}"
    left, right = map(formula, parts[-2:]) if len(parts) > 1 else ("an entry", "another one")
    return (
        f"{where}: {left} is in {units[0]} and {right} in {units[1]}, and numbers in different "
        f"units cannot be {verb}; convert one of them, or correct its unit"
    )

"""Units on the graph of a problem: which ones are shown, and whether they fit.

Units are followed from variables, black boxes and named parts through every known operation. A
number without a unit, and whatever else has none, fits anything: prices, conversion factors and
coefficients are usually written as bare numbers. So a product with one has an unknown unit, and an
unknown unit fits anything again. What is left to refuse is a real mistake.

The rules are a column of the table of operations (`unit_rules`). One pass serves two algebras:
texts, to show units, and pint, to check them.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grisaille.errors import ModelError
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import Algebra, Constraint, Expression, Operation, Unit
from grisaille.language.operations import Shape
from grisaille.language.program import Program
from grisaille.language.text import formula, unnamed
from grisaille.language.unit_rules import ALIKE, Combining, Entries, array_of, entrywise
from grisaille.language.units import Algebra as UnitAlgebra
from grisaille.language.units import (
    MisfitError,
    Physical,
    Texts,
    UnknownUnitError,
    pint_is_there,
)

if TYPE_CHECKING:
    from grisaille.language.problem import Problem


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

    def __init__(self, algebra: UnitAlgebra[Any], constraints: Iterable[Constraint] = ()) -> None:
        self.found: dict[Expression, Entries] = {}
        self._algebra = algebra
        self._combining = Combining(algebra)
        self._relations: dict[Expression, Constraint] = {}
        for constraint in constraints:
            body = constraint.body.arguments[0] if constraint.tolerance else constraint.body
            sides = (constraint.left, constraint.right)
            if len(body.arguments) == 2 and all(map(operator.is_, body.arguments, sides)):
                self._relations[body] = constraint

    def follow(self, program: Program) -> None:
        """Find the units of every expression of a program."""
        computing: Algebra[Expression, Entries] = Algebra(
            variable=lambda _: array_of(None),
            constant=lambda _: array_of(None),
            operation=self._operation,
            call=lambda call, _: self.read(_called(call.box), call.box.unit, call.shape),
        )
        for expression in program.position:  # arguments come before what reads them
            computed = expression._become(computing, expression.arguments)
            declared = self.read(_owner(expression), expression.unit, expression.shape)
            try:
                self.found[expression] = entrywise(self._agreed, declared, computed)
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
            entrywise(self._combining.alike, units, self.found[constraint.body])
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
                return array_of(each).reshape(shape)
            return array_of(None if unit is None else self._algebra.read(unit))
        except UnknownUnitError as unknown:
            raise ModelError(
                f"{owner} has the unit {str(unknown)!r}, which pint does not know: write it as "
                "pint does, for example 'kg/s', 'degC' or '$/h', or leave the unit out"
            ) from None

    def _operation(self, expression: Operation, parts: Sequence[Expression]) -> Entries:
        if not all(part.size for part in parts):
            return array_of(None)
        relation = self._relations.get(expression)
        rule = expression.atom.unit if relation is None else ALIKE
        try:
            entries = rule.follow(self._combining, expression, [self.found[p] for p in parts])
        except MisfitError as misfit:
            raise ModelError(_sentence(expression, relation, misfit)) from None
        return np.broadcast_to(entries, expression.shape) if entries.ndim else entries

    def _agreed(self, declared: Any, computed: Any) -> Any:
        unit = self._combining.alike(declared, computed)
        return unit if declared is None else declared


def _owner(expression: Expression) -> str:
    """Return what a declared unit belongs to."""
    naming: Algebra[Any, str] = Algebra(
        variable=lambda variable: f"variable {variable.name!r}",
        constant=lambda constant: repr(constant.name),
        operation=lambda operation, _: repr(operation.name),
        call=lambda call, _: _called(call.box) if call.name is None else repr(call.name),
    )
    return expression._become(naming, ())


def _called(box: BlackBox) -> str:
    return f"black box {box.name!r}"


def _sentence(expression: Operation, relation: Constraint | None, misfit: MisfitError) -> str:
    """What is wrong with the units of an operation, and what to do."""
    atom, parts, units = expression.atom, expression.arguments, misfit.args
    where = formula(unnamed(expression))
    rule = atom.unit
    if len(units) == 1:
        words = {"argument": formula(parts[0]), "unit": units[0], "name": atom.name}
        needed, remedy = rule.needs.format(**words), rule.remedy.format(**words)
        return f"{where}: {needed}; {remedy}, or correct the unit"
    verb = "compared" if relation is not None else rule.verb
    if relation is not None:
        where = f"constraint {relation!r}"
    left, right = map(formula, parts[-2:]) if len(parts) > 1 else ("an entry", "another one")
    return (
        f"{where}: {left} is in {units[0]} and {right} in {units[1]}, and numbers in different "
        f"units cannot be {verb}; convert one of them, or correct its unit"
    )

"""Names and units: what expressions and constraints are called where they are shown.

A name is a label. It changes neither what a program computes nor the fingerprint of a problem.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, TypeVar, overload

from grisaille.checks import check_name, is_flag
from grisaille.errors import ModelError
from grisaille.language.constraint import Constraint
from grisaille.language.declared_unit import declared_unit
from grisaille.language.expression import Expression, Unit, as_expression
from grisaille.language.variable import Variable

Labelled = TypeVar("Labelled", bound=Expression)


@overload
def named(
    name: str, value: Constraint, *, unit: str | Sequence[str | None] | None = None
) -> Constraint: ...
@overload
def named(
    name: str, value: Any, *, unit: str | Sequence[str | None] | None = None
) -> Expression: ...
def named(
    name: str, value: Any, *, unit: str | Sequence[str | None] | None = None
) -> Expression | Constraint:
    """Give an expression, a constraint or a constant a name, and perhaps a unit.

    Texts, tables and plots show the name instead of the formula. What is computed and decided stays
    the same.

    Args:
        name: The name. Those of the constraints of one problem must differ.
        value: An expression, a constraint `a <= b`, or numbers: a constant with a unit.
        unit: Its unit, such as "$/s", or one for each entry; "" for a plain number. That of a
            constraint is the unit of both sides.
    """
    check_name("gs.named", name, "gs.named('profit', ...)")
    if isinstance(value, Constraint):
        shape = value.body.shape
        return value.replaced(name=name, unit=declared_unit(f"gs.named({name!r})", unit, shape))
    if isinstance(value, Variable):
        raise ModelError(
            f"gs.named({name!r}, {value.name}): a variable has its own name; pass that name and "
            f"the unit to gs.Variable({name!r}, unit=...)"
        )
    if is_flag(value):
        raise ModelError(
            f"gs.named({name!r}, {value}): {value} is a plain value; it compares numbers, not "
            "expressions"
        )
    expression = as_expression(value)
    return labelled(expression, name, declared_unit(f"gs.named({name!r})", unit, expression.shape))


def labelled(expression: Labelled, name: str | None, unit: Unit) -> Labelled:
    """The expression with a name and a unit; it is the same node of every program."""
    if isinstance(expression, Variable) or (name is None and unit is None):
        return expression  # variables are compared by identity, and have their own labels
    made = copy.copy(expression)
    made.name = name
    made.unit = expression.unit if unit is None else unit
    return made

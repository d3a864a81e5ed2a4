"""Formulas, names and units as people read them, in messages, diagrams and reports.

A name is a label on a copy of an expression. The copy merges to the same node of a program, so that
a name changes nothing that is computed or decided.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from grisaille.array_types import Array
from grisaille.checks import check_name, is_flag
from grisaille.errors import ModelError
from grisaille.language.expression import Algebra, Constraint, Expression, Unit, as_expression
from grisaille.language.formula_text import ATOMIC, Text
from grisaille.language.units import declared_unit, unit_text
from grisaille.language.variable import Variable

# --- formula text ---------------------------------------------------------------------------------
# Formulas as a person would write them, for messages, diagrams and reports.

_LONGEST = 72
_DEEPEST = 12


def formula(expression: Expression, names: Mapping[Expression, str] | None = None) -> str:
    """The expression as text, with `names` in place of the expressions they are given for."""
    text = _write(expression, names or {}, itertools.count(), depth=0)[0]
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def definition(expression: Expression, names: Mapping[Expression, str] | None = None) -> str:
    """The expression as text; that of a named one with its name, unit and formula."""
    plain = unnamed(expression)
    if plain is expression:
        return formula(expression, names)
    unit = unit_text(expression.unit).strip().removeprefix("[").removesuffix("]")
    label = f"{expression.name} [{unit}]" if unit else expression.name
    return f"{label} = {formula(plain, names)}"


def unnamed(expression: Expression) -> Expression:
    """The expression without its own name, to write what it is; its parts keep theirs."""
    if expression.name is None or isinstance(expression, Variable):
        return expression
    made = copy.copy(expression)
    made.name = None
    return made


def _write(
    expression: Expression, names: Mapping[Expression, str], written: Iterator[int], depth: int
) -> Text:
    """Write an expression; `written` counts the parts so far."""
    if expression in names:
        return names[expression], ATOMIC
    if expression.name is not None:
        return expression.name, ATOMIC
    if expression._known is not None:
        return _number(expression._known)
    # Every part adds a letter, so what comes this late or this deep is beyond the longest text;
    # writing it out regardless would take forever where parts are shared many times over.
    if depth > _DEEPEST or next(written) > _LONGEST + _DEEPEST:
        return "...", ATOMIC

    def write(part: Expression, binding: int = 0) -> str:
        text, own = _write(part, names, written, depth + 1)
        return text if own >= binding else f"({text})"

    writing: Algebra[Expression, Text] = Algebra(
        variable=lambda variable: (variable.name, ATOMIC),
        constant=lambda constant: _number(constant.value),
        operation=lambda operation, _: operation.atom.text(operation, write),
        call=lambda call, parts: (f"{call.box.name}({', '.join(map(write, parts))})", ATOMIC),
    )
    return expression._become(writing, expression.arguments)


def _number(value: Array) -> Text:
    if value.shape == ():
        return f"{float(value):.6g}", ATOMIC if value >= 0 else 1
    if value.size <= 4:
        return np.array2string(value, precision=3, separator=", "), ATOMIC
    return "const" + str(list(value.shape)).replace(", ", "x"), ATOMIC


# --- named ----------------------------------------------------------------------------------------
# Names and units: what expressions and constraints are called where they are shown.
#
# A name is a label. It changes neither what a program computes nor the fingerprint of a
# problem.

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

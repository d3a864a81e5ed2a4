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

from grisaille.checks import check_name, is_flag
from grisaille.errors import ModelError
from grisaille.language import operations
from grisaille.language.constraint import Constraint
from grisaille.language.expression import Call, Constant, Expression, Operation, Unit, as_expression
from grisaille.language.units import declared_unit, unit_text
from grisaille.language.variable import Variable

# --- formula text ---------------------------------------------------------------------------------
# Formulas as a person would write them, for messages, diagrams and reports.

_BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "@": 2, "**": 3}
_ATOMIC = 4
_LONGEST = 72
_DEEPEST = 12


def formula(expression: Expression, names: Mapping[Expression, str] | None = None) -> str:
    """The expression as text, with `names` in place of the expressions they are given for."""
    text = _write(expression, names or {}, itertools.count(), depth=0)[0]
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def definition(expression: Expression, names: Mapping[Expression, str] | None = None) -> str:
    """The expression as text; that of a named one with its name, unit and formula."""
    if expression.name is None or isinstance(expression, Variable):
        return formula(expression, names)
    unit = unit_text(expression.unit).strip().removeprefix("[").removesuffix("]")
    label = f"{expression.name} [{unit}]" if unit else expression.name
    return f"{label} = {formula(unnamed(expression), names)}"


def unnamed(expression: Expression) -> Expression:
    """The expression without its own name, to write what it is; its parts keep theirs."""
    if expression.name is None or isinstance(expression, Variable):
        return expression
    made = copy.copy(expression)
    made.name = None
    return made


def _write(
    expression: Expression, names: Mapping[Expression, str], written: Iterator[int], depth: int
) -> tuple[str, int]:
    """Text and how tightly it binds; `written` counts the parts so far."""
    if expression in names:
        return names[expression], _ATOMIC
    if expression.name is not None:
        return expression.name, _ATOMIC
    if isinstance(expression, Constant):
        return _number(expression)
    # Every part adds a letter, so what comes this late or this deep is beyond the longest text;
    # writing it out regardless would take forever where parts are shared many times over.
    if depth > _DEEPEST or next(written) > _LONGEST + _DEEPEST:
        return "...", _ATOMIC

    def write(part: Expression) -> str:
        return _write(part, names, written, depth + 1)[0]

    def bound(part: Expression, binding: int) -> str:
        text, own = _write(part, names, written, depth + 1)
        return text if own >= binding else f"({text})"

    if isinstance(expression, Call):
        return f"{expression.box.name}({', '.join(map(write, expression.arguments))})", _ATOMIC
    assert isinstance(expression, Operation)
    atom, parts = expression.atom, expression.arguments
    if atom is operations.take and len(expression.parameters[0]) == 1 and parts[0].ndim == 1:
        position = expression.parameters[0][0]
        inner = parts[0]
        label = str(position)
        if isinstance(inner, Call) and inner.box.output_names:
            label = repr(inner.box.output_names[position])
        return f"{bound(inner, _ATOMIC)}[{label}]", _ATOMIC
    if atom is operations.take:
        return f"{bound(parts[0], _ATOMIC)}[...]", _ATOMIC
    if atom is operations.join:
        return f"[{', '.join(map(write, parts))}]", _ATOMIC
    if atom is operations.negative:
        return f"-{bound(parts[0], 2)}", 1
    if atom.infix:
        binding = _BINDING[atom.infix]
        left = bound(parts[0], binding + (atom.infix == "**"))
        right = bound(parts[1], binding + (atom.infix != "+"))
        sign = atom.infix if atom.infix == "**" else f" {atom.infix} "
        return f"{left}{sign}{right}", binding
    if atom is operations.where:
        condition, yes, no = map(write, parts)
        return f"where({condition} <= 0, {yes}, {no})", _ATOMIC
    return f"{atom.name}({', '.join(map(write, parts))})", _ATOMIC


def _number(constant: Constant) -> tuple[str, int]:
    if constant.shape == ():
        value = float(constant.value)
        return f"{value:.6g}", _ATOMIC if value >= 0 else 1
    if constant.size <= 4:
        return np.array2string(constant.value, precision=3, separator=", "), _ATOMIC
    return "const" + str(list(constant.shape)).replace(", ", "x"), _ATOMIC


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

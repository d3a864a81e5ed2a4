"""Formulas of known operations, as a person would write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from grisaille.language.expression import Expression, Operation

Text = tuple[str, int]
"""A formula and how tightly it binds."""

ATOMIC = 4
"""The binding strength of a name or a call."""

_BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "@": 2, "**": 3}


class Write(Protocol):
    """Writes a part of a formula, in parentheses if it binds less tightly than asked."""

    def __call__(self, part: Expression, binding: int = 0) -> str:
        """Return the formula of a part."""


TextRule = Callable[["Operation", Write], Text]
"""Writes an operation."""


def as_call(operation: Operation, write: Write) -> Text:
    """Write a function of its arguments."""
    return f"{operation.atom.name}({', '.join(map(write, operation.arguments))})", ATOMIC


def infix(sign: str) -> TextRule:
    """Return a rule that writes a sign between two arguments."""
    binding = _BINDING[sign]
    between = sign if sign == "**" else f" {sign} "

    def rule(operation: Operation, write: Write) -> Text:
        left, right = operation.arguments
        first = write(left, binding + (sign == "**"))
        return f"{first}{between}{write(right, binding + (sign != '+'))}", binding

    return rule


def negative(operation: Operation, write: Write) -> Text:
    """Write a minus sign."""
    return f"-{write(operation.arguments[0], 2)}", 1


def where(operation: Operation, write: Write) -> Text:
    """Write a choice between two values."""
    condition, yes, no = map(write, operation.arguments)
    return f"where({condition} <= 0, {yes}, {no})", ATOMIC


def take(operation: Operation, write: Write) -> Text:
    """Write an entry of a vector; of other picks, only what they are from."""
    (source,), (positions, _shape) = operation.arguments, operation.parameters
    single = len(positions) == 1 and source.ndim == 1
    label = source._entry_label(positions[0]) if single else "..."
    return f"{write(source, ATOMIC)}[{label}]", ATOMIC


def join(operation: Operation, write: Write) -> Text:
    """Write a list."""
    return f"[{', '.join(map(write, operation.arguments))}]", ATOMIC

"""Values as people read and write them: labels, whole numbers, and numbers.

Inside, everything is a row of floats. A design point holds the position of a label among its
labels; the inputs of a black box hold one number per label, 1 for the chosen one and 0 for others.
This is the one place that turns either into what people see, and back.

This keeps points short, and makes every kernel one of labels without new code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grisaille.array_types import Array
from grisaille.checks import is_finite, is_number, is_one_of
from grisaille.errors import ModelError, shortened
from grisaille.language.variable import Variable, no_such_label

Value = float | int | str
"""What people read and write: a number, a whole number or a label."""

WHOLE = "whole"
"""Stands for a whole number where kinds are stored."""


@dataclass(frozen=True, slots=True)
class ValueKind:
    """What one value can be.

    Attributes:
        labels: The labels of a choice; none for a number.
        is_whole: Whether a number is whole.
    """

    labels: tuple[str, ...] = ()
    is_whole: bool = False

    @property
    def width(self) -> int:
        """How many inputs of a black box it is."""
        return len(self.labels) or 1

    def shown(self, number: float) -> Value:
        """The value that a number stands for: the label at a position, an int, or the number.

        A number that stands for none, because the problem was another one then, is shown as it is.
        """
        position = round(number) if np.isfinite(number) else -1
        if self.labels and 0 <= position < len(self.labels):
            return self.labels[position]
        if self.is_whole and position == number:
            return position
        return float(number)

    def number(self, value: Any, name: str) -> float:
        """The number that stands for a value.

        Args:
            value: A label, or a number. A number that is written like a label counts as this
                label: tables make numbers of texts such as "10".
            name: What the value is called, for messages.

        Raises:
            ModelError: It is not among the labels, not whole, or not one finite number.
        """
        if self.labels:
            text = f"{value:.15g}" if is_number(value) else value
            if not is_one_of(text, self.labels):
                raise no_such_label(name, value, self.labels)
            return float(self.labels.index(text))
        if not is_finite(value):
            raise ModelError(f"{name} is {shortened(value)}: pass a finite number")
        if self.is_whole and value != round(value):
            raise not_whole(name, value)
        return float(value)

    def members(self, lower: float, upper: float) -> str:
        """What it can be, as a set: `{A, B, C}`, `{3, ..., 12}`; empty for plain numbers."""
        if self.labels:
            return f"{{{', '.join(self.labels)}}}"
        if not self.is_whole:
            return ""
        between = "" if upper <= lower + 1 else ", ..."
        return f"{{{lower:.15g}{between}, {upper:.15g}}}"

    @property
    def plain(self) -> list[str] | str | None:
        """Itself as JSON can hold it."""
        return list(self.labels) or (WHOLE if self.is_whole else None)


def not_whole(name: str, value: object) -> ModelError:
    """What is wrong with a number that is not whole."""
    return ModelError(f"{name} is {shortened(value)}: it is a whole number, so pass one")


def kinds_from_plain(plain: Sequence[Any] | None, count: int) -> list[ValueKind]:
    """The kinds that were stored as `ValueKind.plain`; so many numbers if none were."""
    if plain is None:
        return [ValueKind()] * count
    return [
        ValueKind(labels=tuple(kind)) if isinstance(kind, list) else ValueKind((), kind == WHOLE)
        for kind in plain
    ]


def kinds_to_plain(kinds: Sequence[ValueKind]) -> list[Any] | None:
    """Kinds as JSON can hold them; None if all are plain numbers."""
    plain = [kind.plain for kind in kinds]
    return plain if any(plain) else None


def design_kinds(variables: Iterable[Variable]) -> list[ValueKind]:
    """The kind of each entry of a flat design point."""
    return [
        ValueKind(v.labels, v.is_whole and not v.labels) for v in variables for _ in range(v.size)
    ]


def readable(kinds: Sequence[ValueKind], numbers: Array) -> list[Value]:
    """A flat design point as people read it."""
    return [kind.shown(number) for kind, number in zip(kinds, numbers.tolist(), strict=True)]


# --- inputs of black boxes ---------------------------------------------------------------------
def condensed(kinds: Sequence[ValueKind], inputs: Array) -> Array:
    """Inputs (..., d) with one number per value: of a choice, the position of its label."""
    if not any(kind.labels for kind in kinds):
        return inputs
    parts, start = [], 0
    for kind in kinds:
        own = inputs[..., start : start + kind.width]
        parts.append(np.argmax(own, -1)[..., None] if kind.labels else own)
        start += kind.width
    return np.concatenate(parts, -1).astype(float)


def expanded(kinds: Sequence[ValueKind], values: Array) -> Array:
    """The inputs (..., d) whose condensed form has these values."""
    if not any(kind.labels for kind in kinds):
        return values
    return np.concatenate(
        [
            np.eye(kind.width)[own.astype(int)] if kind.labels else own[..., None]
            for kind, own in zip(kinds, np.moveaxis(values, -1, 0), strict=True)
        ],
        -1,
    )


def readable_inputs(kinds: Sequence[ValueKind], inputs: Array) -> list[Value]:
    """Flat inputs of a black box as people read them: one value per number or label.

    They are shown as they are if the black box had other inputs when they were recorded.
    """
    if sum(kind.width for kind in kinds) != inputs.size:
        return list(inputs.tolist())
    return readable(kinds, condensed(kinds, inputs))


def check_indicators(kinds: Sequence[ValueKind], inputs: Array, who: str) -> None:
    """Raise ModelError unless each choice among inputs (..., d) has a 1 and otherwise 0."""
    if not np.array_equal(expanded(kinds, condensed(kinds, inputs)), inputs):
        labels = next(kind.labels for kind in kinds if kind.labels)
        raise ModelError(
            f"{who}: a choice is one number per label, 1 for the chosen one and 0 for the others "
            f"({', '.join(map(repr, labels))}): pass that, or the label itself"
        )

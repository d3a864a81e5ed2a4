"""The inputs of a black box, value by value: what they are called, and which variables they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grisaille.array_types import Array
from grisaille.language.black_box import BlackBox
from grisaille.language.columns import entry_names
from grisaille.language.expression import Expression
from grisaille.language.value_kinds import Value, ValueKind, readable_inputs
from grisaille.language.variable import Variable


def input_kinds(box: BlackBox) -> list[ValueKind]:
    """The kind of each value that a black box takes, all arguments side by side."""
    kinds: list[ValueKind] = []
    parts = zip(box.argument_shapes or (), box.argument_labels, box.argument_is_whole, strict=True)
    for shape, labels, is_whole in parts:
        kinds += [ValueKind(labels)] if labels else [ValueKind((), is_whole)] * int(np.prod(shape))
    return kinds


def value_names(box: BlackBox, names: Sequence[str]) -> list[str]:
    """A name for each value of a black box whose arguments are called so."""
    arguments = zip(names, box.argument_shapes or (), box.argument_labels, strict=False)
    return [
        entry
        for name, shape, labels in arguments
        for entry in entry_names(name, () if labels else shape)
    ]


def input_number_names(box: BlackBox, names: Sequence[str]) -> list[str]:
    """A name for each input number, from those of the values: `catalyst=A` for each label."""
    return [
        f"{name}={label}" if label else name
        for name, kind in zip(names, input_kinds(box), strict=True)
        for label in kind.labels or [""]
    ]


def shown_inputs(box: BlackBox, inputs: Array) -> list[Value]:
    """Flat inputs as people read them."""
    return readable_inputs(input_kinds(box), inputs)


def argument_sources(box: BlackBox, arguments: Sequence[Expression]) -> list[Expression]:
    """The expressions that a black box was called with: choices where their indicators stand."""
    return [
        _choice(argument) if labels else argument
        for argument, labels in zip(arguments, box.argument_labels, strict=True)
    ]


def _choice(indicators: Expression) -> Expression:
    """The choice behind its indicators: the only variable that they read."""
    part = indicators
    while not isinstance(part, Variable):
        part = next(a for a in part.arguments if a.arguments or isinstance(a, Variable))
    return part

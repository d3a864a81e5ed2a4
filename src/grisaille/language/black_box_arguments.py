"""What a black box is called with, from the flat numbers that stand for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from grisaille.array_types import Array
from grisaille.errors import counted
from grisaille.language.atoms import Shape

# Longer arguments are shown in messages by their first and last numbers.
_MOST_SHOWN = 50


def argument_values(
    inputs: Array, shapes: Sequence[Shape], labels: Sequence[tuple[str, ...]], whole: Sequence[bool]
) -> list[Any]:
    """Flat inputs as the values a function is called with.

    Args:
        inputs: The numbers of all arguments in a row; a choice is one number per label.
        shapes: The shape of each argument.
        labels: The labels of each argument that is a choice; nothing for others.
        whole: Which arguments are whole numbers.
    """
    values: list[Any] = []
    start = 0
    for shape, own, is_whole in zip(shapes, labels, whole, strict=True):
        size = int(np.prod(shape))
        part = inputs[start : start + size]
        start += size
        if own:
            values.append(own[int(np.argmax(part))])
            continue
        if is_whole and (part == np.rint(part)).all():
            part = part.astype(int)
        values.append(part[0].item() if shape == () else np.array(part).reshape(shape))
    return values


def values_text(values: Sequence[Any]) -> str:
    """The values a function is called with, for messages."""
    return ", ".join(
        v
        if isinstance(v, str)
        else np.array2string(np.asarray(v), precision=6, threshold=_MOST_SHOWN)
        for v in values
    )


def kind_text(labels: tuple[str, ...]) -> str:
    """What an argument is, for messages."""
    return f"a choice of {', '.join(map(repr, labels))}" if labels else "numbers"


def counts_text(shapes: Sequence[Shape]) -> str:
    """How many numbers arguments are, and of which shapes, for messages."""
    total = sum(int(np.prod(s)) for s in shapes)
    detail = ", ".join("scalar" if s == () else str(list(s)) for s in shapes)
    return f"{counted(total, 'number')} ({detail})"

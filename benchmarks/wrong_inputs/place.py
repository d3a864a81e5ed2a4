"""A place where a user passes a value, and what is right there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from benchmarks.wrong_inputs.wrong_values import KINDS

NONE = {"none"}
NOTHING = {"empty", "empty array", "empty set"}
FLAG = {"true", "false", "numpy truth"}
COUNT = {"one", "whole"}
SEED = {"zero", "one", "whole", "long whole", "huge whole"}
POSITIVE = {"one", "whole", "long whole", "fraction", "above one", "tiny", "giant"}
NOT_NEGATIVE = POSITIVE | {"zero"}
FINITE = NOT_NEGATIVE | {"negative", "negative whole", "negative giant"}
VECTOR = {"numbers", "range", "series", "long vector"}
NUMBER = FINITE | {"inf", "negative inf"}
TEXT = {"text", "digits", "markup", "right to left"}
ANY_TEXT = TEXT | {"lines", "long text", "strange text"}
FUNCTION = {"function", "function of many", "class", "black box"}


@dataclass(frozen=True)
class Place:
    """One argument of one public call.

    Attributes:
        name: The call and its argument, such as `Grid(points=)`.
        call: Makes the call, which is right but for this argument.
        right: Kinds of values that are right there, or may be; they are not tried.
        words: What a message about this argument may call it.
    """

    name: str
    call: Callable[[Any], object]
    right: frozenset[str]
    words: tuple[str, ...]


def place(
    name: str, call: Callable[[Any], object], right: Iterable[str] = (), *words: str
) -> Place:
    """A place; by default its argument is called like the last word of its name."""
    unknown = set(right) - KINDS
    assert not unknown, f"{name}: no such kinds of values: {unknown}"
    argument = name.rstrip("=)[]{}").replace("(", " ").replace(",", " ").split()[-1]
    return Place(name, call, frozenset(right), words or (argument,))

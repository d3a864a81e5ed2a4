"""What declaring a black box and declaring a white box have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from grisaille.errors import ModelError
from grisaille.language.atoms import Shape
from grisaille.language.expression import Constraint, Expression


def functools_target(fn: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """The function behind a partial, or the function itself."""
    return getattr(fn, "func", fn)


def name_of(fn: Callable[..., Any] | None, given: str | None, kind: str) -> str:
    """The name of a box: the given one, else that of its function."""
    if fn is not None and (not callable(fn) or hasattr(fn, "output_shape")):
        raise ModelError(f"a {kind} needs a function, got {fn!r}")
    if given:
        return given
    name = getattr(functools_target(fn), "__name__", None) or type(fn).__name__
    if fn is None or name == "<lambda>":
        raise ModelError(f"a {kind} without a named function needs a name: pass name='...'")
    return name


def output_shape(outputs: int | Sequence[str], who: str) -> tuple[tuple[str, ...], Shape]:
    """Names of the outputs, () if they have none, and the shape of the expression they make."""
    if isinstance(outputs, int | np.integer) and not isinstance(outputs, bool) and outputs >= 1:
        return (), () if outputs == 1 else (int(outputs),)
    if isinstance(outputs, list | tuple) and outputs and all(isinstance(o, str) for o in outputs):
        if len(set(outputs)) < len(outputs):
            raise ModelError(f"{who} has outputs={list(outputs)}: names must differ")
        return tuple(outputs), (len(outputs),)
    raise ModelError(f"{who} has outputs={outputs!r}: pass a number of at least 1, or names")


def is_symbolic(value: Any) -> bool:
    """Whether a value is, or holds, an expression."""
    if isinstance(value, list | tuple):
        return any(is_symbolic(v) for v in value)
    return isinstance(value, Expression | Constraint)

"""Wrapping of user functions, shared by black and white boxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any, Protocol, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from grisaille.checks import attribute_of, check_name, is_count
from grisaille.errors import ModelError, counted, shortened
from grisaille.language.expression import Constraint, Expression
from grisaille.language.operations import Shape

Box = TypeVar("Box", covariant=True)

_DIRECTIONS = {"increasing": 1.0, "decreasing": -1.0, None: 0.0}
_ONE = {"lipschitz": "one number", "monotone": "one word"}


class Decorator(Protocol[Box]):
    """A decorator that is written with or without options."""

    @overload
    def __call__(self, fn: Callable[..., Any], /, **options: Any) -> Box: ...
    @overload
    def __call__(self, **options: Any) -> Callable[[Callable[..., Any]], Box]: ...


def decorator(declare: Callable[..., Box]) -> Decorator[Box]:
    """Let a function `declare(fn, **options)` be used as `@declare` and as `@declare(...)`."""

    @wraps(declare)
    def with_or_without_options(fn: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        return partial(declare, **options) if fn is None else declare(fn, **options)

    return cast(Decorator[Box], with_or_without_options)


def functools_target(fn: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """The function behind a partial, or the function itself."""
    return getattr(fn, "func", fn)


def name_of(fn: Callable[..., Any] | None, given: str | None, kind: str) -> str:
    """The name of a box: the given one, else that of its function."""
    if fn is not None and (not callable(fn) or attribute_of(fn, "output_shape") is not None):
        raise ModelError(f"a {kind} needs a function, got {shortened(fn)}")
    if given is not None:
        check_name(f"a {kind}", given, "pass name='...'")
        return given
    name = getattr(functools_target(fn), "__name__", None) or type(fn).__name__
    if fn is None or name == "<lambda>":
        raise ModelError(f"a {kind} without a named function needs a name: pass name='...'")
    return name


def output_shape(outputs: int | Sequence[str], who: str) -> tuple[tuple[str, ...], Shape]:
    """Names of the outputs, () if they have none, and the shape of the expression they make."""
    if is_count(outputs):
        return (), () if outputs == 1 else (int(outputs),)  # type: ignore[arg-type]
    if isinstance(outputs, list | tuple) and outputs and all(isinstance(o, str) for o in outputs):
        for name in outputs:
            check_name(f"an output of {who}", name)
        if len(set(outputs)) < len(outputs):
            raise ModelError(f"{who} has outputs={shortened(list(outputs))}: names must differ")
        return tuple(outputs), (len(outputs),)
    raise ModelError(
        f"{who} has outputs={shortened(outputs)}: pass a number of at least 1, or names"
    )


def directions(monotone: object, who: str) -> NDArray[np.float64] | None:
    """1 for "increasing", -1 for "decreasing" and 0 for None, in nested lists; None for None."""
    if monotone is None:
        return None
    try:
        words = np.array(monotone, dtype=object)
        return np.asarray(np.vectorize(_DIRECTIONS.__getitem__, otypes=[float])(words))
    except Exception as error:  # NumPy's own, and those of what a user has passed
        raise ModelError(
            f"{who} has monotone={shortened(monotone)}: pass 'increasing', 'decreasing' or None, "
            "one for all inputs, one per input, or nested lists (outputs, inputs)"
        ) from error


def check_shape_of_slopes(
    what: str,
    slopes: NDArray[np.float64] | None,
    outputs: int,
    inputs: int,
    who: str,
    hint: str = "",
) -> None:
    """Raise ModelError unless slopes are one, one per input, or (outputs, inputs).

    Args:
        what: The option.
        slopes: What was given for it.
        outputs: How many outputs there are.
        inputs: How many inputs.
        who: Whose they are, for messages.
        hint: What else to say about the inputs.
    """
    shapes = ((), (inputs,), (outputs, inputs))
    if slopes is not None and slopes.shape not in shapes:
        raise ModelError(
            f"{who} has {counted(outputs, 'output')} of {counted(inputs, 'input')}{hint}, but "
            f"{what} has shape {slopes.shape}: pass {_ONE[what]}, one per input, or an array of "
            f"shape {shapes[-1]}"
        )


def is_symbolic(value: Any) -> bool:
    """Whether a value is, or holds, an expression."""
    if isinstance(value, list | tuple):
        return any(is_symbolic(v) for v in value)
    return isinstance(value, Expression | Constraint)

"""Checks of numbers: Python's and NumPy's count, booleans and text do not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grisaille.errors import shortened

_NOT_NUMBERS = (str, bytes, complex, np.complexfloating, np.datetime64, np.timedelta64)
_PLAIN = {int, float, np.float64}


def is_number(value: object) -> bool:
    """Whether a value is one real number."""
    return is_whole(value) or isinstance(value, float | np.floating)


def is_whole(value: object) -> bool:
    """Whether a value is one whole number."""
    # NumPy counts time differences among the integers.
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def real_numbers(value: Any, *, truth_values: bool = False) -> NDArray[np.float64]:
    """A new array of floats.

    Args:
        value: A number, or an array or nested lists of numbers; None among others becomes NaN.
        truth_values: Whether True and False count as 1 and 0, as in NumPy's arithmetic.

    Raises:
        TypeError: `value` is None, or holds text (even "3"), complex numbers, times or masked
            entries.
        ValueError: NumPy cannot make an array of it.
    """
    refused = _NOT_NUMBERS if truth_values else (*_NOT_NUMBERS, bool, np.bool_)
    # NumPy makes numbers of what is masked or a truth value when it makes an array of a list.
    if value is None or any(_is_refused(leaf, refused) for leaf in _leaves(value)):
        raise TypeError(_complaint(value))
    array = np.asarray(value)
    if array.dtype.kind == "O":
        if any(_is_refused(leaf, refused) for leaf in array.flat):
            raise TypeError(_complaint(value))
    elif array.dtype.kind not in ("biuf" if truth_values else "iuf"):
        raise TypeError(_complaint(value))
    try:
        return array.astype(float)
    except OverflowError as error:
        raise ValueError(f"{shortened(value)} is too large for a float") from error


def first_strange(value: Any) -> Any:
    """The first entry of what `real_numbers` refuses that is no number, for messages."""
    entries = np.asarray(value, dtype=object).ravel()
    return next((entry for entry in entries if not is_number(entry)), value)


def _leaves(value: Any) -> Iterator[Any]:
    """What nested lists hold, less lists of plain numbers."""
    if isinstance(value, list | tuple):
        if not _PLAIN.issuperset(map(type, value)):  # quick: known functions give thousands
            for entry in value:
                yield from _leaves(entry)
    else:
        yield value


def _is_refused(leaf: Any, refused: tuple[type, ...]) -> bool:
    if isinstance(leaf, np.ma.MaskedArray):  # `np.ma.masked` is one, too
        return bool(np.ma.is_masked(leaf))
    if isinstance(leaf, np.ndarray):
        return leaf.dtype.kind == "b" and bool in refused
    return isinstance(leaf, refused)


def _complaint(value: Any) -> str:
    return f"{shortened(value)} is not made of real numbers"

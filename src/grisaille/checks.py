"""Checks of numbers: Python's and NumPy's count, booleans and text do not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_number(value: object) -> bool:
    """Whether a value is one real number."""
    return is_whole(value) or isinstance(value, float | np.floating)


def is_whole(value: object) -> bool:
    """Whether a value is one whole number."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def real_numbers(value: Any) -> NDArray[np.float64]:
    """A new array of floats.

    Raises:
        TypeError: `value` holds text (even "3"), complex numbers or None.
        ValueError: NumPy cannot make an array of it.
    """
    array = np.asarray(value)
    if value is None or array.dtype.kind not in "biufO":
        raise TypeError(f"{value!r} is not made of real numbers")
    return array.astype(float)

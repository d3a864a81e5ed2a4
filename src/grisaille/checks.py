"""What counts as a number: Python's own and NumPy's, but no booleans."""

from __future__ import annotations

import numpy as np


def is_number(value: object) -> bool:
    """Whether a value is one real number."""
    return is_whole(value) or isinstance(value, float | np.floating)


def is_whole(value: object) -> bool:
    """Whether a value is one whole number."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)

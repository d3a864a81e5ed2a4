"""The types of arrays that signatures name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""An array of floats; docstrings give the shape."""

Flags = NDArray[np.bool_]
"""An array of booleans."""

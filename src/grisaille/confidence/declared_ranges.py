"""Values moved into what was declared."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grisaille.language.black_box import BlackBox

Array = NDArray[np.float64]


def accepted(box: BlackBox, states: Tensor) -> Tensor:
    """States moved into the input range that a black box accepts."""
    return _moved_into(states, box.input_lower, box.input_upper)


def returned(box: BlackBox, outputs: Tensor) -> Tensor:
    """Outputs moved into the range that a black box was declared with."""
    return _moved_into(outputs, box.lower, box.upper)


def _moved_into(values: Tensor, lower: Array | None, upper: Array | None) -> Tensor:
    if lower is not None:
        values = torch.maximum(values, torch.tensor(lower))
    if upper is not None:
        values = torch.minimum(values, torch.tensor(upper))
    return values

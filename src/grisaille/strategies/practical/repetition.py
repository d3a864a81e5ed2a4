"""Whether a trial would only ask again what is known already."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grisaille.records import Situation

# Points closer than this part of each range are the same.
_SAME = 1e-9


def repeats(x: NDArray[np.float64], situation: Situation) -> bool:
    """Whether a point was tried, and all black boxes would give the same answers again."""
    program = situation.problem.program
    if not situation.problem.is_exact:
        return False
    reach = _SAME * (program.upper - program.lower)
    return any((np.abs(trial.x - x) <= reach).all() for trial in situation.history)

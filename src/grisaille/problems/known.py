"""What is known about a known problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grisaille.modeling.problem import Problem


@dataclass(frozen=True, slots=True)
class KnownProblem:
    """A problem whose answer is known.

    Attributes:
        name: What it is called.
        problem: The problem.
        optimum: Its optimal objective, in its own sense.
        x: A point where it is attained, flat.
        source: Where the problem comes from.
    """

    name: str
    problem: Problem
    optimum: float
    x: NDArray[np.float64]
    source: str

    def regret(self, value: float) -> float:
        """How much worse than the optimum a value is; negative if it is better."""
        return self.problem.sense * (value - self.optimum)

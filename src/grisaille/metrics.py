"""The paper's measures of a sequence of points, when the optimum is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grisaille.array_types import Array
from grisaille.checks import is_finite, real_numbers
from grisaille.errors import ModelError, shortened


def _numbers(what: str, given: ArrayLike) -> Array:
    try:
        return real_numbers(given)
    except (TypeError, ValueError) as error:
        raise ModelError(f"Metrics with {what} {shortened(given)}: pass numbers") from error


# What a loop costs that is as open as is allowed, in standard deviations of the objectives.
_OPEN = 0.1


def merits(objectives: ArrayLike, openness: ArrayLike) -> Array:
    """Return what trials are chosen by as the answer: objectives, and a price of open loops.

    The objective of a trial whose loop is open is one of no plant, and may be better than the
    optimum. The price is larger than what an open loop can gain, and next to nothing where a plant
    is as closed as plants are.

    Args:
        objectives: Of all trials, minimized.
        openness: `Trial.openness` of each.
    """
    values, parts = np.asarray(objectives, dtype=float), np.asarray(openness, dtype=float)
    if not parts.any():
        return values
    with np.errstate(over="ignore"):
        spread = float(values[np.isfinite(values)].std()) if np.isfinite(values).any() else 0.0
    return np.where(parts > 0, values + _OPEN * spread * parts, values)


def violations(constraints: Array, allowed: Array | float = 0.0) -> Array:
    """[g]^+ of constraint bodies of any shape; 0 where a body is at most `allowed`."""
    return np.where(constraints <= allowed, 0.0, constraints)


@dataclass(frozen=True, slots=True, init=False)
class Metrics:
    """Regret and violations of the points x^1, ..., x^T.

    Attributes:
        objectives: f(x^t), (T,), minimized.
        constraints: g_k(x^t), (T, K), met when <= 0.
        optimum: f(x*), minimized.
    """

    objectives: Array
    constraints: Array
    optimum: float

    def __init__(self, objectives: ArrayLike, constraints: ArrayLike, optimum: float) -> None:
        values = _numbers("objectives", objectives)
        bodies = _numbers("constraints", constraints)
        if not bodies.size:
            bodies = np.zeros((values.size, 0))
        if values.ndim != 1 or bodies.ndim != 2 or len(bodies) != len(values):
            raise ModelError(
                f"Metrics of objectives of shape {values.shape} and constraints of shape "
                f"{bodies.shape}: pass one objective per point, and one row of constraints"
            )
        if not is_finite(optimum):
            raise ModelError(f"Metrics with optimum {shortened(optimum)}: pass a finite optimum")
        object.__setattr__(self, "objectives", values)
        object.__setattr__(self, "constraints", bodies)
        object.__setattr__(self, "optimum", float(optimum))

    @property
    def regret(self) -> Array:
        """f(x^t) - f(x*), (T,); negative where an infeasible point beats the optimum."""
        return self.objectives - self.optimum

    @property
    def positive_regret(self) -> Array:
        """[f(x^t) - f(x*)]^+, (T,)."""
        return np.maximum(self.regret, 0.0)

    @property
    def violations(self) -> Array:
        """[g_k(x^t)]^+, (T, K)."""
        return violations(self.constraints)

    @property
    def cumulative_regret(self) -> Array:
        """R_t, the sum of regrets up to each step, (T,)."""
        return np.cumsum(self.regret)

    @property
    def cumulative_positive_regret(self) -> Array:
        """The sum of positive regrets up to each step, (T,)."""
        return np.cumsum(self.positive_regret)

    @property
    def cumulative_violations(self) -> Array:
        """V_{k,t}, the sum of violations of each constraint up to each step, (T, K)."""
        return np.cumsum(self.violations, axis=0)

    @property
    def shortfall(self) -> Array:
        """[f(x^t) - f(x*)]^+ + |[g(x^t)]^+|_1, (T,)."""
        return np.asarray(self.positive_regret + self.violations.sum(1))

    @property
    def constrained_regret(self) -> Array:
        """CR_t, the least shortfall up to each step, (T,)."""
        return np.asarray(np.fmin.accumulate(self.shortfall))

    @property
    def best_iterate(self) -> int:
        """Position of the point with the least shortfall, counted from 0."""
        if np.isnan(self.shortfall).all():
            raise ModelError("no point has a value, so none is the best")
        return int(np.nanargmin(self.shortfall))

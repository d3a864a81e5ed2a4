"""Kernels: linear, squared-exponential and Matérn, each with a length-scale per input.

A kernel with `lengthscale` and `variance` is used as it is, in the user's own units and with zero
prior mean, as in the paper. One without them is a family whose hyper-parameters are learned.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from grisaille.checks import is_number, real_numbers
from grisaille.errors import ModelError, shortened
from grisaille.surrogates.kernel import Kernel


class Radial(Protocol):
    """A kernel of the distance alone, with what bounds over regions need.

    As a function of q = |s - s'|^2 its correlation is convex and decreasing: it is a mixture of
    squared-exponential kernels.
    """

    @property
    def order(self) -> int:
        """Up to which order functions in its space have derivatives of finite norm."""

    def profile(self, squared: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Correlation at squared scaled distances, and its first two derivatives there.

        Derivatives beyond those that `order` allows may be infinite at 0.
        """
        ...

    def remainder(self, radius: Tensor) -> Tensor:
        """How far a function of norm 1 can be from its Taylor polynomial of order `order`.

        The norm of f -> f(s) - polynomial(s) in the space of the correlation, at scaled distance
        `radius` from the centre; it grows with the radius.
        """
        ...


@dataclass(frozen=True, slots=True, init=False)
class SquaredExponential(Kernel):
    """k(s, s') = variance * exp(-|(s - s') / lengthscale|^2 / 2)."""

    lengthscale: tuple[float, ...] | None
    variance: float | None

    def __init__(self, lengthscale: ArrayLike | None = None, variance: float | None = None) -> None:
        _set_hyperparameters(self, lengthscale, variance)

    def correlation(self, first: Tensor, second: Tensor) -> Tensor:
        """Correlations of scaled inputs, (..., n, d) and (..., m, d) to (..., n, m)."""
        return torch.exp(-0.5 * _distance(first, second).square())

    @property
    def order(self) -> int:
        """2: Taylor polynomials of order 2 are used, although all orders exist."""
        return 2

    def profile(self, squared: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Correlation at squared scaled distances, and its first two derivatives there."""
        value = torch.exp(-0.5 * squared)
        return value, -0.5 * value, 0.25 * value

    def remainder(self, radius: Tensor) -> Tensor:
        """How far a function of norm 1 can be from its Taylor polynomial of order 2.

        The variance of f(r) - f(0) - r f'(0) - r^2 f''(0) / 2 for a process of this kernel.
        """
        half = 0.5 * radius.square()
        exact = 2 + 3 * half**2 - torch.exp(-half) * (2 + 2 * half + 4 * half**2)
        return _root_of_least(exact, 2 + 3 * half**2, (10 / 3) * half**3)


@dataclass(frozen=True, slots=True, init=False)
class Matern(Kernel):
    """The Matérn kernel of smoothness 1/2, 3/2 or 5/2, with r = |(s - s') / lengthscale|.

    variance * exp(-r), (1 + a) exp(-a) with a = sqrt(3) r, and (1 + a + a^2 / 3) exp(-a) with
    a = sqrt(5) r.
    """

    smoothness: float
    lengthscale: tuple[float, ...] | None
    variance: float | None

    def __init__(
        self,
        smoothness: float = 2.5,
        lengthscale: ArrayLike | None = None,
        variance: float | None = None,
    ) -> None:
        if not is_number(smoothness) or smoothness not in (0.5, 1.5, 2.5):
            raise ModelError(
                f"Matern smoothness {shortened(smoothness)} is not there: use 0.5, 1.5 or 2.5"
            )
        object.__setattr__(self, "smoothness", float(smoothness))
        _set_hyperparameters(self, lengthscale, variance)

    def correlation(self, first: Tensor, second: Tensor) -> Tensor:
        """Correlations of scaled inputs, (..., n, d) and (..., m, d) to (..., n, m)."""
        scaled = math.sqrt(2 * self.smoothness) * _distance(first, second)
        decay = torch.exp(-scaled)
        if self.smoothness == 0.5:
            return decay
        if self.smoothness == 1.5:
            return (1 + scaled) * decay
        return (1 + scaled + scaled * scaled / 3) * decay

    @property
    def order(self) -> int:
        """0, 1 or 2: the smoothness rounded down."""
        return int(self.smoothness)

    def profile(self, squared: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Correlation at squared scaled distances, and its first two derivatives there."""
        scaled = (2 * self.smoothness * squared).sqrt()
        decay = torch.exp(-scaled)
        if self.smoothness == 0.5:
            slope = -decay / (2 * scaled)
            return decay, slope, -slope * (1 + 1 / scaled) / (2 * scaled)
        if self.smoothness == 1.5:
            return (1 + scaled) * decay, -1.5 * decay, 2.25 * decay / scaled
        value = (1 + scaled + scaled * scaled / 3) * decay
        return value, -(5 / 6) * (1 + scaled) * decay, (25 / 12) * decay

    def remainder(self, radius: Tensor) -> Tensor:
        """How far a function of norm 1 can be from its Taylor polynomial of order `order`.

        The variance of f(r) - f(0) - ... for a process of this kernel, as in
        `SquaredExponential.remainder`.
        """
        a = math.sqrt(2 * self.smoothness) * radius
        decay = torch.exp(-a)
        if self.smoothness == 0.5:
            return _root_of_least(2 - 2 * decay, 2 + 0 * a, 2 * a)
        if self.smoothness == 1.5:
            exact = 2 + a**2 - decay * (2 + 2 * a + 2 * a**2)
            return _root_of_least(exact, 2 + a**2, (4 / 3) * a**3)
        exact = 2 + a**4 / 4 - decay * (2 + 2 * a + a**2 + a**3 / 3 + a**4 / 3)
        return _root_of_least(exact, 2 + a**4 / 4, (4 / 15) * a**5)


@dataclass(frozen=True, slots=True, init=False)
class Linear(Kernel):
    """k(s, s') = variance * sum_j s_j s'_j / lengthscale_j^2: linear functions."""

    lengthscale: tuple[float, ...] | None
    variance: float | None

    def __init__(self, lengthscale: ArrayLike | None = None, variance: float | None = None) -> None:
        _set_hyperparameters(self, lengthscale, variance)

    def correlation(self, first: Tensor, second: Tensor) -> Tensor:
        """Inner products of scaled inputs, (..., n, d) and (..., m, d) to (..., n, m)."""
        return first @ second.transpose(-1, -2)

    def diagonal(self, inputs: Tensor) -> Tensor:
        """Squared lengths: (..., n, d) to (..., n)."""
        return (inputs * inputs).sum(-1)


def _set_hyperparameters(
    kernel: object, lengthscale: ArrayLike | None, variance: float | None
) -> None:
    if (lengthscale is None) != (variance is None):
        raise ModelError(
            f"a {type(kernel).__name__} kernel needs both lengthscale and variance, or neither to "
            f"have them learned; got lengthscale={shortened(lengthscale)} and "
            f"variance={shortened(variance)}"
        )
    scales = None
    if lengthscale is not None and variance is not None:
        try:
            scales = tuple(float(v) for v in np.atleast_1d(real_numbers(lengthscale)))
            variance = float(real_numbers(variance).item())
            positive = len(scales) > 0 and all(
                np.isfinite(v) and v > 0 for v in (*scales, variance)
            )
        except (TypeError, ValueError):
            positive = False
        if not positive:
            raise ModelError(
                f"a {type(kernel).__name__} kernel has lengthscale={shortened(lengthscale)} and "
                f"variance={shortened(variance)}: they must be positive numbers, length-scales one "
                "or one per input"
            )
    object.__setattr__(kernel, "lengthscale", scales)
    object.__setattr__(kernel, "variance", variance)


def _root_of_least(exact: Tensor, size: Tensor, leading: Tensor) -> Tensor:
    """The root of a variance, from above.

    The closed form loses all its digits at small radii; its leading term, which is never smaller,
    takes over there.

    Args:
        exact: The closed form.
        size: Magnitude of the terms that it subtracts.
        leading: A bound that is exact in the limit.
    """
    rounding = 16 * torch.finfo(exact.dtype).eps * size
    return torch.minimum(exact.clamp_min(0) + rounding, leading).sqrt()


def _distance(first: Tensor, second: Tensor) -> Tensor:
    # From the differences themselves: with a matrix product, rounding would move neighbours so far
    # apart, far from the origin, that no Cholesky factor exists. Where two inputs coincide, the
    # derivative is 0.
    return torch.cdist(first, second, compute_mode="donot_use_mm_for_euclid_dist")

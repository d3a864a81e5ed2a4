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

from grisaille.errors import ModelError


class Kernel(Protocol):
    """A covariance function: variance * correlation(s / lengthscale, s' / lengthscale)."""

    @property
    def lengthscale(self) -> tuple[float, ...] | None:
        """One per input or one for all; None to learn them."""

    @property
    def variance(self) -> float | None:
        """The factor; None to learn it."""

    def __hash__(self) -> int: ...

    def correlation(self, first: Tensor, second: Tensor) -> Tensor:
        """Correlations of scaled inputs, (..., n, d) and (..., m, d) to (..., n, m)."""
        ...

    def diagonal(self, inputs: Tensor) -> Tensor:
        """Correlation of each scaled input with itself, (..., n, d) to (..., n)."""
        ...


@dataclass(frozen=True, slots=True, init=False)
class SquaredExponential:
    """k(s, s') = variance * exp(-|(s - s') / lengthscale|^2 / 2)."""

    lengthscale: tuple[float, ...] | None
    variance: float | None

    def __init__(self, lengthscale: ArrayLike | None = None, variance: float | None = None) -> None:
        _set_hyperparameters(self, lengthscale, variance)

    def correlation(self, first: Tensor, second: Tensor) -> Tensor:
        """Correlations of scaled inputs, (..., n, d) and (..., m, d) to (..., n, m)."""
        return torch.exp(-0.5 * _distance(first, second).square())

    def diagonal(self, inputs: Tensor) -> Tensor:
        """Ones: (..., n, d) to (..., n)."""
        return torch.ones_like(inputs[..., 0])


@dataclass(frozen=True, slots=True, init=False)
class Matern:
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
        if smoothness not in (0.5, 1.5, 2.5):
            raise ModelError(f"Matern smoothness {smoothness!r} is not there: use 0.5, 1.5 or 2.5")
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

    def diagonal(self, inputs: Tensor) -> Tensor:
        """Ones: (..., n, d) to (..., n)."""
        return torch.ones_like(inputs[..., 0])


@dataclass(frozen=True, slots=True, init=False)
class Linear:
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


def check_kernel(kernel: object, box: str, inputs: int | None = None) -> None:
    """Refuse what is not a kernel, or, for a known number of inputs, has too many length-scales.

    Raises:
        ModelError: Says which black box it is and what to pass.
    """
    if not isinstance(kernel, SquaredExponential | Matern | Linear):
        raise ModelError(
            f"black box {box!r} has kernel={kernel!r}: pass gs.SquaredExponential(), gs.Matern() "
            "or gs.Linear()"
        )
    if inputs is None or kernel.lengthscale is None:
        return
    if len(kernel.lengthscale) not in (1, inputs):
        raise ModelError(
            f"black box {box!r} takes {inputs} numbers, but its kernel has "
            f"{len(kernel.lengthscale)} length-scales: pass one, or one per input"
        )


def _set_hyperparameters(
    kernel: object, lengthscale: ArrayLike | None, variance: float | None
) -> None:
    if (lengthscale is None) != (variance is None):
        raise ModelError(
            f"a {type(kernel).__name__} kernel needs both lengthscale and variance, or neither to "
            f"have them learned; got lengthscale={lengthscale!r} and variance={variance!r}"
        )
    scales = None
    if lengthscale is not None and variance is not None:
        try:
            scales = tuple(float(v) for v in np.atleast_1d(np.asarray(lengthscale, dtype=float)))
            variance = float(variance)
            positive = all(np.isfinite(v) and v > 0 for v in (*scales, variance))
        except (TypeError, ValueError):
            positive = False
        if not positive:
            raise ModelError(
                f"a {type(kernel).__name__} kernel has lengthscale={lengthscale!r} and variance="
                f"{variance!r}: they must be positive numbers, length-scales one or one per input"
            )
    object.__setattr__(kernel, "lengthscale", scales)
    object.__setattr__(kernel, "variance", variance)


def _distance(first: Tensor, second: Tensor) -> Tensor:
    # From the differences themselves: by way of a matrix product, rounding would move neighbours
    # far from the origin so far apart that no Cholesky factor exists. Where two inputs coincide
    # the derivative is taken as 0.
    return torch.cdist(first, second, compute_mode="donot_use_mm_for_euclid_dist")

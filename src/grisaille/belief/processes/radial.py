"""Posterior mean and deviation for kernels of the distance, with slopes in closed form.

A search asks for thousands of them with slopes, and on small arrays nearly all time goes into
calling functions. NumPy and BLAS take a fraction of PyTorch's time for that, and the slopes take a
few matrix products where automatic differentiation would take a step for each step forward.

Slopes are carried forward through a program (`run_sloped` in `language/program.py`) where all
operations have a rule and all kernels are plain ones of the distance. PyTorch differentiates
everything else, such as white boxes, sums of kernels, norm bounds and process noise.
`SearchProblem.evaluate` carries the slopes, so that a problem that wraps another one loses them
instead of having wrong ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.linalg.blas import dtrsm
from scipy.spatial.distance import cdist
from torch import Tensor
from torch.autograd.function import once_differentiable

from grisaille.array_types import Array
from grisaille.belief.processes.kernels import Radial

# Rounding may leave a variance barely negative; this part of the kernel variance is its floor, far
# below any real one.
LEAST_VARIANCE = 1e-14
# Covariances between observations and states that are worked on at once: they fit into the cache of
# a processor, so that many observations take little memory and less time.
_AT_ONCE = 2**14


@dataclass(frozen=True, slots=True)
class RadialGroup:
    """Outputs with the same hyper-parameters, given n observations of d inputs.

    Attributes:
        kernel: A kernel of the distance.
        outputs: Their positions, g of them.
        lengthscale: (d,).
        variance: The variance of the kernel.
        mean: (g,), the prior means.
        scaled: (n, d), the observed inputs in length-scales from the origin.
        factor: L, (n, n), the Cholesky factor of K + lambda I, in the order of Fortran.
        weights: alpha = (K + lambda I)^-1 (y - m), (g, n).
    """

    kernel: Radial
    outputs: list[int]
    lengthscale: Array
    variance: float
    mean: Array
    scaled: Array
    factor: Array
    weights: Array

    def moments(self, places: Array) -> tuple[Array, Array]:
        """Means (g, batch) and the deviation (batch,) at places (batch, d) from the origin."""
        distance = cdist(self.scaled, places / self.lengthscale)
        return self._moments(self.kernel._at_distance(distance)[0])[:2]

    def with_slopes(self, places: Array) -> tuple[Array, Array, Array, Array]:
        """Means (g, batch), the deviation (batch,), and their slopes (g, batch, d) and (batch, d).

        With r the scaled distance and c_i = k'(r_i) / r_i, the slope of a sum of w_i k(r_i) over
        observations s_i is the sum of w_i c_i (s - s_i), in length-scales. The weights are alpha
        for the mean and -2 (K + lambda I)^-1 k(s) for the variance.
        """
        scaled = places / self.lengthscale
        distance = cdist(self.scaled, scaled)
        correlation, rate = self.kernel._at_distance(distance)
        mean, deviation, solved = self._moments(correlation)
        rate *= self.variance
        rates = np.empty((len(mean) + 1, *rate.shape))  # (g + 1, n, batch)
        np.multiply(self.weights[:, :, None], rate, out=rates[:-1])
        inner = dtrsm(1.0, self.factor, solved, lower=1, trans_a=1, overwrite_b=1)
        np.multiply(inner, rate, out=rates[-1])
        slopes = rates.sum(1)[:, :, None] * scaled - rates.transpose(0, 2, 1) @ self.scaled
        slopes /= self.lengthscale
        # Below the floor, a deviation is constant.
        constant = deviation <= math.sqrt(LEAST_VARIANCE * self.variance)
        slopes[-1] *= np.where(constant, 0.0, -1 / deviation)[:, None]
        return mean, deviation, slopes[:-1], slopes[-1]

    def _moments(self, correlation: Array) -> tuple[Array, Array, Array]:
        """Means (g, batch), the deviation (batch,), and L^-1 k(s), (n, batch)."""
        cross = self.variance * correlation
        mean = self.mean[:, None] + self.weights @ cross
        solved = dtrsm(1.0, self.factor, cross, lower=1)
        variance = self.variance - np.einsum("ij,ij->j", solved, solved)
        return mean, np.sqrt(np.maximum(variance, LEAST_VARIANCE * self.variance)), solved


class RadialPosterior:
    """Independent Gaussian processes for k outputs, frozen into arrays.

    Args:
        groups: The outputs, those with the same hyper-parameters together.
    """

    def __init__(self, groups: list[RadialGroup]) -> None:
        self.groups = groups
        self.outputs = sum(len(group.outputs) for group in groups)

    def predict(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """Means and deviations (batch, k) at places (batch, d): inputs from the origin of all."""
        if places.requires_grad and torch.is_grad_enabled():
            mean, deviation = _Prediction.apply(places, self)  # type: ignore[no-untyped-call]
            return mean, deviation
        with np.errstate(all="ignore"):  # far away, a state may overflow: what follows is told
            return self._predict(places.detach().numpy())

    def _predict(self, places: Array) -> tuple[Tensor, Tensor]:
        mean, deviation = np.empty((2, len(places), self.outputs))
        for group in self.groups:
            size = max(1, _AT_ONCE // max(1, len(group.scaled)))
            for start in range(0, len(places), size):
                part = slice(start, start + size)
                means, deviations = group.moments(places[part])
                mean[part, group.outputs] = means.T
                deviation[part, group.outputs] = deviations[:, None]
        return torch.from_numpy(mean), torch.from_numpy(deviation)

    def with_slopes(self, places: Array) -> tuple[Array, Array, Array, Array]:
        """Means and deviations (batch, k), and the slopes (batch, k, d) of both."""
        batch, d = places.shape
        mean, deviation = np.empty((2, batch, self.outputs))
        by_mean, by_deviation = np.empty((2, batch, self.outputs, d))
        for group in self.groups:
            found = group.with_slopes(places)
            outputs = group.outputs if len(self.groups) > 1 else slice(None)
            mean[:, outputs] = found[0].T
            deviation[:, outputs] = found[1][:, None]
            by_mean[:, outputs] = found[2].transpose(1, 0, 2)
            by_deviation[:, outputs] = found[3][:, None]
        return mean, deviation, by_mean, by_deviation


class _Prediction(torch.autograd.Function):
    """Means and deviations whose slopes are known when they are worked out."""

    @staticmethod
    def forward(ctx: Any, places: Tensor, posterior: RadialPosterior) -> tuple[Tensor, Tensor]:
        array = places.detach().numpy()
        copies = ctx.copies = _copies(array)
        with np.errstate(all="ignore"):
            mean, deviation, *slopes = posterior.with_slopes(array[::copies])
        ctx.slopes = np.concatenate(slopes, 1)
        if copies > 1:
            mean, deviation = mean.repeat(copies, 0), deviation.repeat(copies, 0)
        return torch.from_numpy(mean), torch.from_numpy(deviation)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_mean: Tensor, by_deviation: Tensor) -> tuple[Tensor, None]:
        batch, columns, d = ctx.slopes.shape
        given = np.concatenate([by_mean.numpy(), by_deviation.numpy()], 1)
        with np.errstate(all="ignore"):
            slopes = given.reshape(batch, ctx.copies, columns) @ ctx.slopes
        return torch.from_numpy(slopes.reshape(-1, d)), None


def _copies(places: Array) -> int:
    """How many copies of each place, (batch, d), there are one after the other.

    A search asks for a place once for each slope it needs; one answer serves all of them.
    """
    if len(places) < 2 or (places[1] != places[0]).any():
        return 1
    other = (places != places[0]).any(1)
    count = int(other.argmax()) or len(places)
    if len(places) % count:
        return 1
    groups = places.reshape(-1, count, places.shape[1])
    return count if bool((groups == groups[:, :1]).all()) else 1

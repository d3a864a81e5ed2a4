"""Functions of known norm, and problems made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import grisaille as gs
from grisaille.language.program import BoxCall

Array = NDArray[np.float64]

KERNELS = {
    "squared exponential": gs.SquaredExponential(0.4, 1.0),
    "Matérn 5/2": gs.Matern(2.5, 0.5, 1.0),
    "Matérn 3/2": gs.Matern(1.5, 0.6, 0.8),
    "linear": gs.Linear(1.5, 1.0),
}


def covariance(kernel: Any, first: Array, second: Array) -> Array:
    """k(s, s') of points (n, d) and (m, d), written down once more."""
    scale = np.asarray(kernel.lengthscale)
    a, b = first / scale, second / scale
    if isinstance(kernel, gs.Linear):
        return kernel.variance * a @ b.T
    r = np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1))
    if isinstance(kernel, gs.SquaredExponential):
        return kernel.variance * np.exp(-(r**2) / 2)
    u = np.sqrt(2 * kernel.smoothness) * r
    polynomial = {0.5: 1.0, 1.5: 1 + u, 2.5: 1 + u + u**2 / 3}[kernel.smoothness]
    return kernel.variance * polynomial * np.exp(-u)


class KnownNorm:
    """sum_j a_j k(c_j, .): its squared norm is a' K a, and the weights are scaled to a given norm.

    Called with one value per argument it answers with noise, as a black box would; `values` is the
    function itself.
    """

    def __init__(
        self,
        kernel: Any,
        norm: float,
        generator: np.random.Generator,
        dimension: int = 1,
        centers: int = 12,
        noise: float = 0.0,
        width: float = 1.0,
    ) -> None:
        self.kernel = kernel
        self.noise = noise
        self.generator = generator
        self.centers = generator.uniform(-width, width, (centers, dimension))
        weights = generator.standard_normal(centers)
        squared = weights @ covariance(kernel, self.centers, self.centers) @ weights
        self.weights = weights * norm / np.sqrt(squared)

    def values(self, points: Array) -> Array:
        return covariance(self.kernel, points, self.centers) @ self.weights

    def __call__(self, *arguments: Any) -> float:
        point = np.concatenate([np.atleast_1d(a) for a in arguments])
        value = float(self.values(point[None])[0])
        return value + self.noise * self.generator.standard_normal()


def box(function: KnownNorm, name: str, norm: float, **options: Any) -> gs.BlackBox:
    """A black box that declares everything the theorems ask for."""
    return gs.BlackBox(
        function,
        name=name,
        noise=function.noise,
        kernel=function.kernel,
        norm_bound=norm,
        **options,
    )


def truth(call: BoxCall, states: Tensor) -> Tensor:
    """A resolver: the functions themselves, without noise."""
    return torch.tensor(call.box.fn.values(states.numpy()))[:, None]


def true_outputs(problem: gs.Problem, x: Array) -> Array:
    """Objective and constraints at x, (batch, n), to (batch, 1 + K)."""
    with torch.no_grad():
        outputs = problem.program.run(torch.tensor(x), truth)
    return np.concatenate([o.reshape(len(x), -1).numpy() for o in outputs], axis=1)


def deviation(kernel: Any, seen: Array, points: Array, regularization: float) -> Array:
    """Posterior standard deviation by the textbook formula (Eq. mean_cov)."""
    prior = np.array([covariance(kernel, p[None], p[None])[0, 0] for p in points])
    if not len(seen):
        return np.sqrt(prior)
    cross = covariance(kernel, seen, points)
    gram = covariance(kernel, seen, seen) + regularization * np.eye(len(seen))
    return np.sqrt(prior - (cross * np.linalg.solve(gram, cross)).sum(0))


def grid_points(problem: gs.Problem, points: int) -> Array:
    """The design points that `gs.Grid(points)` searches."""
    low, high = problem.program.lower, problem.program.upper
    axes = [np.linspace(a, b, points) for a, b in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(low))

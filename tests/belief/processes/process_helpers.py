"""Kernels in plain NumPy, and the posterior by the textbook formula."""

from __future__ import annotations

import numpy as np
import torch

import grisaille as gs
from grisaille.belief.processes.kernels import Hyperparameters, Kernel

FAMILIES = [gs.SquaredExponential(), gs.Matern(0.5), gs.Matern(1.5), gs.Matern(2.5), gs.Linear()]
STATIONARY = FAMILIES[:-1]


def label(kernel: Kernel) -> str:
    """How a parametrized test names a kernel."""
    return f"{type(kernel).__name__}{getattr(kernel, 'smoothness', '')}"


def numpy_covariance(
    kernel: Kernel, first: np.ndarray, second: np.ndarray, lengthscale: object, variance: float
) -> np.ndarray:
    """The covariance of every pair, (n, d) and (m, d) to (n, m), from the formulas."""
    scale = np.asarray(lengthscale, float)
    if isinstance(kernel, gs.Linear):
        return variance * np.einsum("id,jd->ij", first / scale, second / scale)
    r = np.sqrt((((first[:, None, :] - second[None, :, :]) / scale) ** 2).sum(-1))
    if isinstance(kernel, gs.SquaredExponential):
        return variance * np.exp(-(r**2) / 2)
    correlation = {
        0.5: np.exp(-r),
        1.5: (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r),
        2.5: (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r),
    }
    return variance * correlation[kernel.smoothness]


def textbook(
    kernel: Kernel,
    inputs: np.ndarray,
    outputs: np.ndarray,
    at: np.ndarray,
    *,
    lengthscale: object,
    variance: float,
    noise: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of one output (Eq. mean_cov) by a general linear solver."""
    system = numpy_covariance(kernel, inputs, inputs, lengthscale, variance)
    system = system + noise * np.eye(len(inputs))
    cross = numpy_covariance(kernel, inputs, at, lengthscale, variance)
    prior = np.diag(numpy_covariance(kernel, at, at, lengthscale, variance))
    mean = cross.T @ np.linalg.solve(system, outputs)
    covariance = prior - np.einsum("ij,ij->j", cross, np.linalg.solve(system, cross))
    return mean, np.sqrt(covariance)


def hyperparameters(
    *,
    lengthscale: object,
    variance: object = 1.0,
    noise: object = 0.0,
    mean: object = 0.0,
    center: object | None = None,
) -> Hyperparameters:
    """Hyper-parameters from numbers: lengthscale (k, d), noise a variance."""
    scale = torch.tensor(np.atleast_2d(np.asarray(lengthscale, float)))
    k, d = scale.shape

    def per_output(value: object) -> torch.Tensor:
        return torch.tensor(np.broadcast_to(np.asarray(value, float), (k,)).copy())

    origin = np.zeros(d) if center is None else np.asarray(center, float)
    return Hyperparameters(
        scale, per_output(variance), per_output(noise), per_output(mean), torch.tensor(origin)
    )

"""Gaussian processes of causal effects: a mean and a deviation known before any intervention.

The causal Gaussian process of "Causal Bayesian optimization" (Aglietti, Lu, Paleyes and Gonzalez
2020), in plain tensors: f ~ GP(m(x), v exp(-|(x - x') / l|^2 / 2) + s(x) s(x')).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.processes.kernels import SquaredExponential


@dataclass(frozen=True, slots=True)
class EffectConstants:
    """The constants of the model of effects.

    Priors are narrow: with few answers, length-scales would grow and variances shrink.

    Attributes:
        lengthscale: Median length-scale of one input, as a part of its range. Halved: 1 of 1 run
            changes; doubled: 1 (benchmarks.constants).
        width: Width of the priors of length-scales and variances. Halved: 1 of 1 run changes;
            doubled: 1 (benchmarks.constants).
        noise_width: Width of the prior of the noise, of which less is known. Halved and doubled: no
            decision of 1 run changed (benchmarks.constants).
        starts: Where searches for length-scales start, relative to their median. Halved: 1 of 1 run
            changes; doubled: 1 (benchmarks.constants).
        least_noise: The least noise variance, relative to the prior. Halved and doubled: no
            decision of 1 run changed (benchmarks.constants).
        least_variance: The least variance, relative to the prior. Halved and doubled: no decision
            of 1 run changed (benchmarks.constants).
    """

    lengthscale: float = 0.07
    width: float = 0.35
    noise_width: float = 1.0
    starts: tuple[float, ...] = (0.3, 1.0, 3.0)
    least_noise: float = 1e-8
    least_variance: float = 1e-14


EFFECTS = EffectConstants()


_CORRELATION = SquaredExponential()


@dataclass(frozen=True, slots=True)
class EffectHyperparameters:
    """Hyper-parameters of an effect with d inputs.

    Attributes:
        lengthscale: l, (d,), as parts of the inputs' ranges.
        variance: v.
        noise: Variance of one answer's noise, where it is not known.
    """

    lengthscale: tuple[float, ...]
    variance: float
    noise: float


@dataclass(frozen=True, slots=True)
class EffectData:
    """Answers and prior of an effect at n inputs.

    Attributes:
        inputs: (n, d), in the unit box.
        outputs: (n,), as answered.
        mean: (n,), the prior mean m(x).
        deviation: (n,), the prior deviation s(x).
        noise: (n,), variance of each answer's noise; None to learn one for all.
    """

    inputs: Array
    outputs: Array
    mean: Array
    deviation: Array
    noise: Array | None

    def __len__(self) -> int:
        return len(self.inputs)


def learned_effect(data: EffectData, scale: float) -> EffectHyperparameters:
    """The hyper-parameters of maximum posterior probability; those of the prior without data.

    log l_j ~ N(log(0.07 sqrt(d)), 0.35^2), log v ~ N(log scale^2, 0.35^2), log noise ~
    N(log scale^2, 1).

    Args:
        data: What was answered.
        scale: Standard deviation of the output as far as it is known.
    """
    d = data.inputs.shape[1]
    variance = scale**2
    if not len(data):
        return EffectHyperparameters((EFFECTS.lengthscale * d**0.5,) * d, variance, variance)
    arrays = (data.inputs, data.outputs - data.mean, data.deviation)
    noise = None if data.noise is None else data.noise.tobytes()
    return _learned(*(np.ascontiguousarray(a).tobytes() for a in arrays), noise, d, scale)


@lru_cache(maxsize=1024)
def _learned(
    input_bytes: bytes,
    residual_bytes: bytes,
    deviation_bytes: bytes,
    noise_bytes: bytes | None,
    d: int,
    scale: float,
) -> EffectHyperparameters:
    from scipy.optimize import minimize

    # In units of the output's deviation, so that the search does not depend on its units.
    residual = torch.tensor(np.frombuffer(residual_bytes)) / scale
    deviation = torch.tensor(np.frombuffer(deviation_bytes)) / scale
    inputs = torch.tensor(np.frombuffer(input_bytes).reshape(len(residual), d))
    noise = None if noise_bytes is None else torch.tensor(np.frombuffer(noise_bytes)) / scale**2
    known = noise is not None
    median = EFFECTS.lengthscale * d**0.5
    widths = torch.tensor([EFFECTS.width] * (d + 1) + [EFFECTS.noise_width] * (not known))

    def loss(flat: Array) -> tuple[float, Array]:
        offsets = torch.tensor(flat, requires_grad=True)
        lengthscale, variance = median * offsets[:d].exp(), offsets[d].exp()
        level = noise if noise is not None else offsets[d + 1].exp().expand(len(residual))
        covariance = _covariance(inputs, inputs, deviation, deviation, lengthscale, variance)
        covariance = covariance + torch.diag(_noise(level, variance, deviation))
        factor = torch.linalg.cholesky(covariance)
        solved = torch.linalg.solve_triangular(factor, residual.unsqueeze(1), upper=False)
        value = 0.5 * solved.square().sum() + factor.diagonal().log().sum()
        value = value + 0.5 * (offsets / widths).square().sum()
        (gradient,) = torch.autograd.grad(value, offsets)
        return value.item(), gradient.numpy()

    best: Any = None
    for start in EFFECTS.starts if d else (1.0,):
        first = np.zeros(d + (1 if known else 2))
        first[:d] = np.log(start)
        found = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=[(-5, 5)] * len(first))
        if best is None or found.fun < best.fun:
            best = found
    offsets = np.exp(best.x)
    variance = float(offsets[d] * scale**2)
    return EffectHyperparameters(
        tuple((median * offsets[:d]).tolist()),
        variance,
        scale**2 if known else float(offsets[d + 1] * scale**2),
    )


class EffectProcess:
    """The posterior of one effect.

    mean(x) = m(x) + k(x)' (K + N)^-1 (y - m), variance(x) = k(x, x) - k(x)' (K + N)^-1 k(x), with
    k(x, x') = v exp(-|(x - x') / l|^2 / 2) + s(x) s(x') and N the diagonal of noise variances.

    Args:
        hyperparameters: l, v and the noise of answers whose noise is not known.
        data: What was answered.
    """

    def __init__(self, hyperparameters: EffectHyperparameters, data: EffectData) -> None:
        self.hyperparameters = hyperparameters
        self.data = data
        self._lengthscale = torch.tensor(hyperparameters.lengthscale, dtype=torch.float64)
        self._variance = torch.tensor(hyperparameters.variance, dtype=torch.float64)
        self._inputs, self._deviation = torch.tensor(data.inputs), torch.tensor(data.deviation)
        level = np.full(len(data), hyperparameters.noise) if data.noise is None else data.noise
        noise = _noise(torch.tensor(level), self._variance, self._deviation)
        covariance = self._between(self._inputs, self._deviation)
        self._factor = torch.linalg.cholesky(covariance + torch.diag(noise))
        residual = torch.tensor(data.outputs - data.mean).unsqueeze(1)
        self._weights = torch.cholesky_solve(residual, self._factor)

    def predict(self, inputs: Tensor, mean: Tensor, deviation: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior mean and standard deviation, (batch,) each.

        Args:
            inputs: (batch, d), in the unit box.
            mean: (batch,), the prior mean there.
            deviation: (batch,), the prior deviation there.
        """
        cross = self._between(inputs, deviation)  # (n, batch)
        solved = torch.linalg.solve_triangular(self._factor, cross, upper=False)
        prior = self._variance + deviation.square()
        variance = torch.maximum(prior - solved.square().sum(0), EFFECTS.least_variance * prior)
        return mean + (self._weights * cross).sum(0), variance.sqrt()

    def _between(self, inputs: Tensor, deviation: Tensor) -> Tensor:
        return _covariance(
            self._inputs, inputs, self._deviation, deviation, self._lengthscale, self._variance
        )


def _covariance(
    first: Tensor,
    second: Tensor,
    first_deviation: Tensor,
    second_deviation: Tensor,
    lengthscale: Tensor,
    variance: Tensor,
) -> Tensor:
    """Prior covariances of inputs (n, d) and (m, d), to (n, m)."""
    correlation = _CORRELATION.correlation(first / lengthscale, second / lengthscale)
    return variance * correlation + torch.outer(first_deviation, second_deviation)


def _noise(level: Tensor, variance: Tensor, deviation: Tensor) -> Tensor:
    """Noise variances as used: not less than rounding needs."""
    return torch.maximum(level, EFFECTS.least_noise * (variance + deviation.square()))

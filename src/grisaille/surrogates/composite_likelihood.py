"""The posterior density of the hyper-parameters of a kernel with several parts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.surrogates.composite import Composite
from grisaille.surrogates.likelihood import LogNormal
from grisaille.surrogates.posterior import LEAST_NOISE


class CompositeLikelihood:
    """Minus the log posterior density of the hyper-parameters of one output, as `Likelihood`.

    A function of the logarithms of all length-scales, part by part, then of the variances of those
    parts that have one, then of the noise variance unless it is known. PyTorch differentiates the
    covariance; what follows from it is in closed form.

    Args:
        kernel: The kernel.
        inputs: (n, d), in the unit cube.
        outputs: (n,), standardized.
        noise: The noise variance; None if it is a parameter.
        scales: A prior of the length-scales of each part; None for a flat one.
        variance: Prior of each variance.
        noise_prior: Prior of the noise variance; None for a flat one.
    """

    def __init__(
        self,
        kernel: Composite,
        inputs: Array,
        outputs: Array,
        noise: float | None,
        scales: Sequence[LogNormal | None],
        variance: LogNormal,
        noise_prior: LogNormal | None,
    ) -> None:
        self.kernel = kernel
        self.inputs = inputs
        self.outputs = outputs
        self.noise = noise
        self.dimensions = [len(p.inputs) for p in kernel.parts for _ in p.inputs]
        self.variances = sum(part.has_variance for part in kernel.parts)
        self.typical_variance = math.exp(variance.mean)
        self._points, self._outputs = torch.tensor(inputs), torch.tensor(outputs)
        self._priors: list[tuple[slice, LogNormal]] = []
        start = 0
        for part, prior in zip(kernel.parts, scales, strict=True):
            end = start + len(part.inputs)
            if prior is not None:
                self._priors.append((slice(start, end), prior))
            start = end
        self._priors.append((slice(start, start + self.variances), variance))
        if noise_prior is not None:
            self._priors.append((slice(start + self.variances, None), noise_prior))

    def __call__(self, logarithms: Array) -> tuple[float, Array]:
        """The loss and its gradient; (inf, zeros) where the covariance has no Cholesky factor."""
        parameters = torch.tensor(logarithms, requires_grad=True)
        with torch.enable_grad():
            covariance = self._covariance(parameters)
        factor, failed = torch.linalg.cholesky_ex(covariance.detach())
        if failed or not covariance.isfinite().all():
            return math.inf, np.zeros_like(logarithms)
        inverse = torch.cholesky_inverse(factor)
        residual = self._outputs - self._best_mean(inverse)
        weights = inverse @ residual
        loss = 0.5 * float(residual @ weights) + float(factor.diagonal().log().sum())
        # d loss = tr(W dK) / 2 with W = K^-1 - K^-1 r r' K^-1; the best mean adds nothing.
        sensitivity = inverse - torch.outer(weights, weights)
        (slopes,) = torch.autograd.grad(covariance, parameters, sensitivity / 2)
        gradient = slopes.numpy()
        for part, prior in self._priors:
            more, derivative = prior.loss(logarithms[part])
            loss += more
            gradient[part] += derivative
        return loss, gradient

    def values(self, logarithms: Array) -> tuple[Array, float, float]:
        """Length-scales (columns,), the whole variance and the noise variance."""
        scales, whole, _, noise = self._sizes(torch.tensor(logarithms))
        return scales.numpy(), float(whole), float(noise)

    def shares(self, logarithms: Array) -> Array | None:
        """The share (parts,) of each part in the variance."""
        shares: Array = self._sizes(torch.tensor(logarithms))[2][0].numpy()
        return shares

    def mean(self, logarithms: Array) -> float:
        """The constant prior mean of largest likelihood; 0 if the covariance has no factor."""
        factor, failed = torch.linalg.cholesky_ex(self._covariance(torch.tensor(logarithms)))
        return 0.0 if failed else self._best_mean(torch.cholesky_inverse(factor))

    def _best_mean(self, inverse: Tensor) -> float:
        ones = inverse.sum(0)
        return float(ones @ self._outputs / ones.sum())

    def _sizes(self, logarithms: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Length-scales (columns,), whole variance (1,), shares (1, parts), noise variance."""
        values = logarithms.exp()
        scales = values[: len(self.dimensions)]
        learned = list(values[len(self.dimensions) : len(self.dimensions) + self.variances])
        one = torch.ones((), dtype=torch.float64)
        variances = [learned.pop(0) if p.has_variance else one for p in self.kernel.parts]
        noise = values[-1] if self.noise is None else one * self.noise
        return scales, *self.kernel.sizes(torch.stack(variances).unsqueeze(0)), noise

    def _covariance(self, logarithms: Tensor) -> Tensor:
        """The covariance of the answers (n, n), noise included."""
        scales, whole, shares, noise = self._sizes(logarithms)
        scaled = self.kernel.scale(self._points, scales.unsqueeze(0), shares)
        level = (noise + LEAST_NOISE * whole) * torch.eye(len(self._points), dtype=torch.float64)
        return whole * self.kernel.correlation(scaled, scaled)[0] + level

"""The posterior density of hyper-parameters that many outputs share, with its gradient."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.surrogates.composite import Branch, Composite, Part
from grisaille.surrogates.composite_likelihood import CompositeLikelihood
from grisaille.surrogates.kernel import Kernel
from grisaille.surrogates.kernels import Linear
from grisaille.surrogates.likelihood import LogNormal
from grisaille.surrogates.posterior import LEAST_NOISE


def as_composite(kernel: Kernel, inputs: int) -> Composite:
    """A kernel as one of parts, possibly of a single one."""
    if isinstance(kernel, Composite):
        return kernel
    part = Part(kernel, tuple(range(inputs)), not isinstance(kernel, Linear))
    return Composite((part,), Branch(False, (0,)))


def effective_outputs(outputs: Array) -> float:
    """How many independent outputs say as much as the given ones, (n, k), at least 1.

    (sum e_i)^2 / sum e_i^2, with e the eigenvalues of their covariance: k for k independent outputs
    that vary alike, 1 for outputs that are multiples of each other.
    """
    if not outputs.size:
        return 1.0
    values = np.linalg.svd(outputs - outputs.mean(0), compute_uv=False) ** 2
    squares = float(np.sum(np.square(values)))
    return max(1.0, float(np.sum(values)) ** 2 / squares) if squares > 0 else 1.0


class SharedLikelihood(CompositeLikelihood):
    """Minus the log posterior density of the hyper-parameters of all outputs together.

    -c / k sum_j log p(y_j | l, v, lambda) - log p(l, v, lambda), where c is how many independent
    outputs the k outputs are worth: a thousand neighbours on a curve say little more than a few.
    One factor serves all outputs: the sum needs only K^-1 Y, and its gradient K^-1 Y Y' K^-1.

    Args:
        kernel: The kernel.
        inputs: (n, d), in the unit cube.
        outputs: (n, k), standardized.
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
        super().__init__(kernel, inputs, outputs, noise, scales, variance, noise_prior)
        self._count = effective_outputs(outputs)
        self._share = self._count / max(outputs.shape[1], 1)
        # Only Y Y' matters, so that n columns stand for any number of outputs.
        left, sizes, _ = np.linalg.svd(outputs, full_matrices=False)
        self._columns = torch.tensor(left * sizes)

    def __call__(self, logarithms: Array) -> tuple[float, Array]:
        """The loss and its gradient; (inf, zeros) where the covariance has no Cholesky factor."""
        parameters = torch.tensor(logarithms, requires_grad=True)
        with torch.enable_grad():
            covariance = self._covariance(parameters)
        factor, failed = torch.linalg.cholesky_ex(covariance.detach())
        if failed or not covariance.isfinite().all():
            return math.inf, np.zeros_like(logarithms)
        inverse = torch.cholesky_inverse(factor)
        residual = self._columns - _best_means(inverse, self._columns)
        weights = inverse @ residual
        fit = 0.5 * self._share * float((residual * weights).sum())
        loss = fit + self._count * float(factor.diagonal().log().sum())
        sensitivity = self._count * inverse - self._share * (weights @ weights.T)
        (slopes,) = torch.autograd.grad(covariance, parameters, sensitivity / 2)
        gradient = slopes.numpy()
        for part, prior in self._priors:
            more, derivative = prior.loss(logarithms[part])
            loss += more
            gradient[part] += derivative
        return loss, gradient

    def independent_parts(self, logarithms: Array, outputs: Array) -> tuple[Array, Array, Array]:
        """Standardized answers (n, k) in parts that are independent of each other.

        Returns:
            The means m (k,) of largest likelihood; Q' (y - m), (n, k); and the eigenvalues D (n,)
            of the correlations Q D Q', so that part i of an output of variance v has variance
            v D_i and its noise.
        """
        parameters = torch.tensor(logarithms)
        _, whole, _, noise = self._sizes(parameters)
        covariance, answers = self._covariance(parameters), torch.tensor(outputs)
        factor, failed = torch.linalg.cholesky_ex(covariance)
        means = answers.new_zeros(answers.shape[1])
        if not failed and len(answers):
            means = _best_means(torch.cholesky_inverse(factor), answers)
        values, vectors = torch.linalg.eigh(covariance)
        values = ((values - noise) / whole).clamp_min(LEAST_NOISE)
        return means.numpy(), (vectors.T @ (answers - means)).numpy(), values.numpy()

    def mean(self, _logarithms: Array) -> float:
        """0: there is a mean for each output (`independent_parts`)."""
        return 0.0


def _best_means(inverse: Tensor, outputs: Tensor) -> Tensor:
    """The constant prior mean of largest likelihood of each output, (n, k) to (k,)."""
    ones = inverse.sum(0)
    return ones @ outputs / ones.sum()

"""Learning of hyper-parameters: their posterior density, its gradient and its maximum.

Learning uses inputs scaled to the unit cube and standardized outputs, for which BoTorch's priors
are made. The results are in the user's units. Learning never fails: every parameter is bounded,
and where no search ends in a number, the values that the priors favour are used and a remark says
so.

The fit is our own, with BoTorch's priors. Bounded parameters and gradients in closed form cannot
leave the support of a prior, which used to end studies. And the verdict on noise compares two fits,
which BoTorch does not offer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import numpy as np
import torch
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.processes.kernels import (
    Composite,
    Hyperparameters,
    Kernel,
    Linear,
    Radial,
    compiled,
    length_scales,
)
from grisaille.belief.processes.noise import NoiseVerdict, judge_noise
from grisaille.belief.processes.posterior import LEAST_NOISE

# --- prior ----------------------------------------------------------------------------------------
# Covariances of a kernel whose hyper-parameters are given, in the user's own units.


def given_sizes(kernel: Composite) -> tuple[Tensor, Tensor, Tensor]:
    """Length-scales (1, columns), whole variance (1,) and shares (1, parts) as they were given."""
    given = [part.kernel.variance for part in kernel.parts]
    variances = torch.tensor([given], dtype=torch.float64)
    return torch.tensor([kernel.lengthscale], dtype=torch.float64), *kernel.sizes(variances)


def prior_covariance(kernel: Kernel, first: Tensor, second: Tensor) -> Tensor:
    """Covariances k(s, s') of states (n, d) and (m, d), as (n, m)."""
    kernel = compiled(kernel, first.shape[-1])
    if isinstance(kernel, Composite):
        scale, whole, shares = given_sizes(kernel)
        a, b = (kernel._scale(states, scale, shares) for states in (first, second))
        return whole * kernel.correlation(a, b)[0]
    scale = torch.tensor(length_scales(kernel), dtype=torch.float64)
    assert kernel.variance is not None
    return kernel.variance * kernel.correlation(first / scale, second / scale)


def prior_variance(kernel: Kernel, states: Tensor) -> Tensor:
    """Variances k(s, s) of states (n, d), as (n,)."""
    kernel = compiled(kernel, states.shape[-1])
    if isinstance(kernel, Composite):
        scale, whole, shares = given_sizes(kernel)
        return whole * kernel.diagonal(kernel._scale(states, scale, shares))[0]
    assert kernel.variance is not None
    scale = torch.tensor(length_scales(kernel), dtype=torch.float64)
    return kernel.variance * kernel.diagonal(states / scale)


# --- likelihood -----------------------------------------------------------------------------------
# The posterior density of a Gaussian process's hyper-parameters, with its gradient.
#
# The gradient is in closed form: with tens of observations this takes a fraction of a
# millisecond, and automatic differentiation would take several times as long.


@dataclass(frozen=True, slots=True)
class LogNormal:
    """A log-normal prior: the logarithm has this mean and this standard deviation."""

    mean: float
    deviation: float

    def loss(self, logarithm: Array) -> tuple[float, Array]:
        """Minus the log density, up to a constant, and its derivative by the logarithm."""
        standard = (logarithm - self.mean) / self.deviation
        loss = float((standard * standard / 2 + logarithm).sum())
        return loss, standard / self.deviation + 1


class Likelihood:
    """Minus the log posterior density of the hyper-parameters of one output.

    -log p(y | l, v, lambda) - log p(l, v, lambda), as a function of the logarithms of the
    length-scales l, the variance v (a linear kernel has none of its own) and the noise variance
    lambda (unless it is known). The constant mean m = 1' K^-1 y / 1' K^-1 1 is the one of largest
    likelihood.

    Args:
        kernel: The kernel family.
        inputs: (n, d), in the unit cube.
        outputs: (n,), standardized.
        noise: The noise variance; None if it is a parameter.
        lengthscale: Prior of each length-scale; None for a flat one.
        variance: Prior of the variance.
        noise_prior: Prior of the noise variance; None for a flat one.

    Attributes:
        dimensions: For each length-scale, how many inputs its kernel has.
        variances: How many variances there are to learn.
        typical_variance: Where a search for them starts.
    """

    typical_variance = 1.0

    def __init__(
        self,
        kernel: Kernel,
        inputs: Array,
        outputs: Array,
        noise: float | None,
        lengthscale: LogNormal | None,
        variance: LogNormal,
        noise_prior: LogNormal | None,
    ) -> None:
        self.kernel = kernel
        self.inputs = inputs
        self.outputs = outputs
        self.noise = noise
        self.has_variance = kernel._is_radial
        self.dimensions = [inputs.shape[1]] * inputs.shape[1]
        self.variances = int(self.has_variance)
        self._priors = (lengthscale, variance if self.has_variance else None, noise_prior)

    def __call__(self, logarithms: Array) -> tuple[float, Array]:
        """The loss and its gradient; (inf, zeros) where the covariance has no Cholesky factor."""
        lengthscale, variance, noise = self.values(logarithms)
        d = self.inputs.shape[1]
        scaled = self.inputs / lengthscale
        covariance, slope = self._covariance(scaled, variance)
        gradient = np.zeros_like(logarithms)
        factor, failed = self._factor(covariance, variance, noise)
        if failed:
            return math.inf, gradient
        inverse = _inverse(factor)
        residual = self.outputs - self._best_mean(inverse)
        weights = inverse @ residual
        loss = 0.5 * float(residual @ weights) + float(np.log(factor.diagonal()).sum())
        # d loss = tr(W dK) / 2 with W = K^-1 - K^-1 r r' K^-1; the best mean adds nothing.
        sensitivity = inverse
        sensitivity -= np.multiply.outer(weights, weights)
        trace = float(np.trace(sensitivity))
        gradient[:d] = self._by_lengthscale(scaled, sensitivity * slope)
        if self.has_variance:
            by_kernel = float((sensitivity * covariance).sum())
            gradient[d] = (by_kernel + LEAST_NOISE * variance * trace) / 2
        if self.noise is None:
            gradient[-1] = noise * trace / 2
        end = d + self.has_variance
        parts = (slice(d), slice(d, end), slice(end, None))
        for part, prior in zip(parts, self._priors, strict=True):
            if prior is not None:
                more, derivative = prior.loss(logarithms[part])
                loss += more
                gradient[part] += derivative
        return loss, gradient

    def values(self, logarithms: Array) -> tuple[Array, float, float]:
        """Length-scales (d,), variance and noise variance."""
        d = self.inputs.shape[1]
        values = np.exp(logarithms)
        variance = float(values[d]) if self.has_variance else 1.0
        noise = float(values[-1]) if self.noise is None else self.noise
        return values[:d], variance, noise

    def shares(self, _logarithms: Array) -> Array:
        """Return 1: one kernel has the whole variance."""
        return np.ones(1)

    def mean(self, logarithms: Array) -> float:
        """The constant prior mean of largest likelihood; 0 if the covariance has no factor."""
        lengthscale, variance, noise = self.values(logarithms)
        covariance, _ = self._covariance(self.inputs / lengthscale, variance)
        factor, failed = self._factor(covariance, variance, noise)
        return 0.0 if failed else self._best_mean(_inverse(factor))

    def _best_mean(self, inverse: Array) -> float:
        ones = inverse.sum(0)
        return float(ones @ self.outputs / ones.sum())

    def _factor(self, covariance: Array, variance: float, noise: float) -> tuple[Array, bool]:
        """The Cholesky factor of the answers' covariance, and whether there is none."""
        whole = covariance.copy(order="F")
        whole.flat[:: len(whole) + 1] += noise + LEAST_NOISE * variance
        factor, failed = dpotrf(whole, lower=1, clean=1, overwrite_a=1)
        return factor, failed != 0 or not np.isfinite(factor).all()

    def _covariance(self, scaled: Array, variance: float) -> tuple[Array, Array | float]:
        """Covariances (n, n), and their derivatives by the squared distance (or by products)."""
        if not self.has_variance:
            return scaled @ scaled.T, 1.0
        # The slope of a Matérn kernel of smoothness 1/2 is infinite where inputs coincide, but a
        # length-scale changes nothing about a distance of 0.
        value, rate = cast(Radial, self.kernel)._at_distance(cdist(scaled, scaled))
        return variance * value, (variance / 2) * rate

    def _by_lengthscale(self, scaled: Array, weighted: Array) -> Array:
        """Half of the sum over pairs of W_ik dK_ik / d log l_j, for each j."""
        product = (scaled * (weighted @ scaled)).sum(0)
        if not self.has_variance:
            return np.asarray(-product)
        # The sum of W_ik (s_ij - s_kj)^2 by its parts, without an array of all differences.
        return np.asarray(-2 * (weighted.sum(1) @ (scaled * scaled) - product))


def _inverse(factor: Array) -> Array:
    """The inverse (n, n) of a matrix with this Cholesky factor."""
    lower, _ = dpotri(factor, lower=1)
    return np.asarray(lower + np.tril(lower, -1).T)


# --- composite likelihood -------------------------------------------------------------------------
# The posterior density of the hyper-parameters of a kernel with several parts.


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

    def shares(self, logarithms: Array) -> Array:
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
        scaled = self.kernel._scale(self._points, scales.unsqueeze(0), shares)
        level = (noise + LEAST_NOISE * whole) * torch.eye(len(self._points), dtype=torch.float64)
        return whole * self.kernel.correlation(scaled, scaled)[0] + level


# --- fitting --------------------------------------------------------------------------------------
# Hyper-parameters: taken from the kernel when given, else learned from observations.

# Noise variance, in standardized units, that learning assumes for a noise-free black box.
NOISE_FREE = 1e-6
# BoTorch trusts the standardized outputs and has no variance. Here outputs cluster around the
# optimum, so that their spread is far too small; the likelihood finds the variance.
VARIANCE_PRIOR = LogNormal(0.0, 1.0)
NOISE_PRIOR = LogNormal(-4.0, 1.0)
# Answers that vary by less are learned as if they varied by this much: the least variance that is
# learned, a 1e-20th of its square as a floor of posterior variances, is then still a normal float.
_LEAST_SPREAD = 1e-140
# In the unit cube, and for standardized outputs.
_LENGTHSCALES = (2.5e-2, 1e3)
_VARIANCES = (1e-6, 1e6)
# Less noise than a noise-free box is given is no sign of noise.
_NOISES = (NOISE_FREE, 1e2)
# Where searches start: length-scales, in widths of the unit cube's diagonal.
_STARTS = (0.2, 1.0)
_MOST_ITERATIONS = 200


def given(kernel: Kernel, noise: Array | None, inputs: int, outputs: int) -> Hyperparameters:
    """The hyper-parameters a kernel was given with; zero prior mean (the paper's setting)."""
    deviation = torch.zeros(outputs, dtype=torch.float64) if noise is None else torch.tensor(noise)
    zeros = torch.zeros(outputs, dtype=torch.float64)
    center = torch.zeros(inputs, dtype=torch.float64)
    if isinstance(kernel, Composite):
        scales, whole, shares = (v.repeat_interleave(outputs, 0) for v in given_sizes(kernel))
        return Hyperparameters(scales, whole, deviation**2, zeros, center, shares=shares)
    assert kernel.lengthscale is not None
    assert kernel.variance is not None
    lengthscale = torch.tensor(kernel.lengthscale, dtype=torch.float64).expand(outputs, inputs)
    variance = torch.full((outputs,), kernel.variance, dtype=torch.float64)
    return Hyperparameters(lengthscale.clone(), variance, deviation**2, zeros, center)


class Data:
    """The data that hyper-parameters are learned from. Equal data are learned once (`learn`).

    Args:
        kernel: The kernel family.
        noise: Standard deviation of the noise per output, (k,); None to learn whether there is any,
            and how much.
        inputs: (n, d).
        outputs: (n, k).
        lower: (d,), lower ends of the ranges that inputs are scaled by.
        upper: (d,), upper ends.
        surely_noisy: Whether noise that is to be learned cannot be 0.

    Attributes:
        unit: The inputs in the unit cube, (n, d).
        standard: The outputs, standardized, (n, k).
        declared: The noise variances of these, (k,); None to learn them.
    """

    def __init__(
        self,
        kernel: Kernel,
        noise: Array | None,
        inputs: Array,
        outputs: Array,
        lower: Array,
        upper: Array,
        surely_noisy: bool = False,
    ) -> None:
        self.kernel = kernel
        self.surely_noisy = surely_noisy
        arrays = [np.array(v, dtype=float, order="C") for v in (inputs, outputs, lower, upper)]
        inputs, outputs, self._lower, self._width = *arrays[:3], arrays[3] - arrays[2]
        self._center, self._spread = center_and_spread(outputs)
        self.unit = (inputs - self._lower) / self._width
        self.standard = (outputs - self._center) / self._spread
        self.declared = None if noise is None else (np.array(noise) / self._spread) ** 2
        told = None if noise is None else tuple(noise.tolist())
        self._key = (kernel, told, surely_noisy, outputs.shape, *(v.tobytes() for v in arrays))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Data) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def found(
        self,
        lengthscale: Array,
        variance: Array,
        noise: Array,
        mean: Array,
        shares: Array,
        remarks: Iterable[str],
    ) -> Hyperparameters:
        """Return hyper-parameters in the user's units, from those of the unit cube.

        Args:
            lengthscale: (k, columns).
            variance: (k,).
            noise: (k,), noise variances.
            mean: (k,).
            shares: (k, parts), used for a composite kernel only.
            remarks: What was concluded; empty ones and repeated ones are left out.
        """
        kernel = self.kernel if isinstance(self.kernel, Composite) else None
        width = self._width if kernel is None else self._width[kernel.columns]
        return Hyperparameters(
            lengthscale=torch.tensor(lengthscale * width),
            variance=torch.tensor(variance * self._spread**2),
            noise=torch.tensor(noise * self._spread**2),
            mean=torch.tensor(self._center + mean * self._spread),
            center=torch.tensor(self._lower),
            remarks=tuple(dict.fromkeys(filter(None, remarks))),
            shares=None if kernel is None else torch.tensor(shares),
        )


@lru_cache(maxsize=1024)  # an audit asks again for what every earlier decision learned
def learn(data: Data) -> Hyperparameters:
    """Return hyper-parameters of maximum posterior probability, for each output by itself."""
    fits, verdict = _fit(data)
    level = [fit.noise for fit in fits] if data.declared is None else data.declared
    if verdict is not None and verdict.is_exact:
        level = np.zeros(len(fits))
    return data.found(
        np.array([fit.lengthscale for fit in fits]),
        np.array([fit.variance for fit in fits]),
        np.asarray(level),
        np.array([fit.mean for fit in fits]),
        np.array([fit.shares for fit in fits]),
        ["" if verdict is None else verdict.reason, *(fit.remark for fit in fits)],
    )


def center_and_spread(outputs: Array) -> tuple[Array, Array]:
    """What outputs are standardized by, (k,) each; constant ones by their size."""
    k = outputs.shape[1]
    if not len(outputs):
        return np.zeros(k), np.ones(k)
    center = outputs.mean(0)
    spread = outputs.std(0, ddof=1) if len(outputs) > 1 else np.zeros(k)
    size = np.where(center == 0, 1.0, np.abs(center))
    spread = np.where(spread > 1e-12 * np.abs(center), spread, size)
    return center, np.maximum(spread, _LEAST_SPREAD)


class Fit:
    """The hyper-parameters of one output, in the unit cube and standardized.

    Attributes:
        likelihood: Its posterior density.
        logarithms: Where that is largest.
        loss: Minus its logarithm there.
        remark: What was done if it could not be found; else empty.
    """

    def __init__(self, likelihood: Likelihood | CompositeLikelihood) -> None:
        self.likelihood = likelihood
        self.loss, self.logarithms = math.inf, np.zeros(0)
        self.remark = ""
        starts = _starts(likelihood)
        for start in starts:
            found = minimize(
                likelihood,
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=_bounds(likelihood),
                options={"maxiter": _MOST_ITERATIONS},
            )
            if np.isfinite(found.x).all() and found.fun < self.loss:
                self.loss, self.logarithms = float(found.fun), found.x
        if not np.isfinite(self.loss):
            self.logarithms = starts[0]
            self.remark = (
                "its hyper-parameters could not be learned: no search came to an end, so typical "
                "values are used"
            )
        self.lengthscale, self.variance, self.noise = likelihood.values(self.logarithms)
        self.shares = likelihood.shares(self.logarithms)
        self.mean = likelihood.mean(self.logarithms) if len(likelihood.outputs) else 0.0


def _fit(data: Data) -> tuple[list[Fit], NoiseVerdict | None]:
    """Return a fit of each output, and the verdict about noise that was left out, if it was."""

    def fits(levels: Iterable[float | None], prior: LogNormal | None) -> list[Fit]:
        likelihoods = [
            _likelihood(data.kernel, data.unit, column, level, prior)
            for column, level in zip(data.standard.T, levels, strict=True)
        ]
        return [Fit(likelihood) for likelihood in likelihoods]

    k = data.standard.shape[1]
    if data.declared is not None:
        return fits(np.maximum(data.declared, NOISE_FREE), None), None
    exact = [] if data.surely_noisy else fits([NOISE_FREE] * k, None)
    noisy = fits([None] * k, NOISE_PRIOR)
    if data.surely_noisy:
        return noisy, None
    # The prior of the noise favours noise of a certain size; the verdict is to rest on the data.
    gains = [
        fit.loss - (other.loss - NOISE_PRIOR.loss(other.logarithms[-1:])[0])
        for fit, other in zip(exact, noisy, strict=True)
    ]
    verdict = judge_noise(data.unit, data.standard, np.nan_to_num(gains))
    return (exact if verdict.is_exact else noisy), verdict


def _likelihood(
    kernel: Kernel,
    inputs: Array,
    outputs: Array,
    noise: float | None,
    noise_prior: LogNormal | None,
) -> Likelihood | CompositeLikelihood:
    """The density of the hyper-parameters of one output."""
    if not isinstance(kernel, Composite):
        scales = scale_prior(kernel, inputs.shape[1])
        return Likelihood(kernel, inputs, outputs, noise, scales, VARIANCE_PRIOR, noise_prior)
    priors = [scale_prior(part.kernel, len(part.inputs)) for part in kernel.parts]
    # Together, the parts of a sum vary as much as one kernel would.
    many = sum(part.has_variance for part in kernel.parts)
    variance = LogNormal(VARIANCE_PRIOR.mean - math.log(max(many, 1)), VARIANCE_PRIOR.deviation)
    return CompositeLikelihood(kernel, inputs, outputs, noise, priors, variance, noise_prior)


def scale_prior(kernel: Kernel, inputs: int) -> LogNormal | None:
    """BoTorch's prior of each length-scale; its linear kernel has no prior of its weights."""
    if isinstance(kernel, Linear):
        return None
    return LogNormal(math.sqrt(2) + math.log(inputs) / 2, math.sqrt(3))


def _starts(likelihood: Likelihood | CompositeLikelihood) -> list[Array]:
    """Logarithms where searches start."""
    others = [math.log(likelihood.typical_variance)] * likelihood.variances
    others += [NOISE_PRIOR.mean] * (likelihood.noise is None)
    return [
        np.array([math.log(s * math.sqrt(d)) for d in likelihood.dimensions] + others)
        for s in _STARTS
    ]


def _bounds(likelihood: Likelihood | CompositeLikelihood) -> list[tuple[float, float]]:
    ends = [_LENGTHSCALES] * len(likelihood.dimensions) + [_VARIANCES] * likelihood.variances
    ends += [_NOISES] * (likelihood.noise is None)
    return [(math.log(low), math.log(high)) for low, high in ends]

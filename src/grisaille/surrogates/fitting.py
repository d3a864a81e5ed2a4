"""Hyper-parameters: taken from the kernel when given, else learned from observations.

Learning uses inputs scaled to the unit cube and standardized outputs, for which BoTorch's priors
are made. The results are in the user's units. Learning never fails: every parameter is bounded, and
where no search ends in a number, the values that the priors favour are used and a remark says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import torch
from scipy.optimize import minimize

from grisaille.array_types import Array
from grisaille.surrogates.composite import Composite
from grisaille.surrogates.composite_likelihood import CompositeLikelihood
from grisaille.surrogates.hyperparameters import Hyperparameters
from grisaille.surrogates.kernel import Kernel
from grisaille.surrogates.kernels import Linear
from grisaille.surrogates.likelihood import Likelihood, LogNormal
from grisaille.surrogates.noise_evidence import NoiseVerdict, judge_noise
from grisaille.surrogates.prior import given_sizes

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


def learned(
    kernel: Kernel,
    noise: Array | None,
    inputs: Array,
    outputs: Array,
    lower: Array,
    upper: Array,
    surely_noisy: bool = False,
) -> Hyperparameters:
    """Hyper-parameters of maximum posterior probability, given observations.

    Args:
        kernel: The kernel family.
        noise: Standard deviation of the noise per output, (k,); None to learn whether there is any,
            and how much.
        inputs: (n, d).
        outputs: (n, k).
        lower: (d,), lower ends of the ranges that inputs are scaled by.
        upper: (d,), upper ends.
        surely_noisy: Whether noise that is to be learned cannot be 0.
    """
    return _learned(
        kernel,
        None if noise is None else tuple(noise.tolist()),
        *(np.ascontiguousarray(a, dtype=float).tobytes() for a in (inputs, outputs, lower, upper)),
        inputs.shape[1],
        outputs.shape[1],
        surely_noisy,
    )


@lru_cache(maxsize=1024)  # an audit asks again for what every earlier decision learned
def _learned(
    kernel: Kernel,
    noise: tuple[float, ...] | None,
    input_bytes: bytes,
    output_bytes: bytes,
    lower_bytes: bytes,
    upper_bytes: bytes,
    d: int,
    k: int,
    surely_noisy: bool,
) -> Hyperparameters:
    lower, upper = np.frombuffer(lower_bytes), np.frombuffer(upper_bytes)
    inputs = np.frombuffer(input_bytes).reshape(-1, d)
    outputs = np.frombuffer(output_bytes).reshape(-1, k)
    center, spread = center_and_spread(outputs)
    standard = (outputs - center) / spread
    unit = (inputs - lower) / (upper - lower)
    declared = None if noise is None else (np.array(noise) / spread) ** 2
    fits, verdict = _fit(kernel, unit, standard, declared, surely_noisy)
    level = [fit.noise for fit in fits] if declared is None else declared
    if verdict is not None and verdict.is_exact:
        level = np.zeros(k)
    remarks = tuple(dict.fromkeys(fit.remark for fit in fits if fit.remark))
    width, shares = upper - lower, None
    if isinstance(kernel, Composite):
        width = width[kernel.columns]
        shares = torch.tensor(np.array([fit.shares for fit in fits]))
    return Hyperparameters(
        lengthscale=torch.tensor(np.array([fit.lengthscale for fit in fits]) * width),
        variance=torch.tensor(np.array([fit.variance for fit in fits]) * spread**2),
        noise=torch.tensor(np.asarray(level) * spread**2),
        mean=torch.tensor(center + np.array([fit.mean for fit in fits]) * spread),
        center=torch.tensor(lower),
        remarks=remarks if verdict is None else (verdict.reason, *remarks),
        shares=shares,
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


def _fit(
    kernel: Kernel, inputs: Array, outputs: Array, noise: Array | None, surely_noisy: bool
) -> tuple[list[Fit], NoiseVerdict | None]:
    """A fit of each output, and the verdict about noise that was left out (None if declared).

    Args:
        kernel: The kernel family.
        inputs: (n, d) in the unit cube.
        outputs: (n, k), standardized.
        noise: Noise variances (k,); None to learn them.
        surely_noisy: Whether noise that is to be learned cannot be 0.
    """

    def fits(levels: Iterable[float | None], prior: LogNormal | None) -> list[Fit]:
        likelihoods = [
            _likelihood(kernel, inputs, column, level, prior)
            for column, level in zip(outputs.T, levels, strict=True)
        ]
        return [Fit(likelihood) for likelihood in likelihoods]

    k = outputs.shape[1]
    if noise is not None:
        return fits(np.maximum(noise, NOISE_FREE), None), None
    exact = [] if surely_noisy else fits([NOISE_FREE] * k, None)
    noisy = fits([None] * k, NOISE_PRIOR)
    if surely_noisy:
        return noisy, None
    # The prior of the noise favours noise of a certain size; the verdict is to rest on the data.
    gains = [
        fit.loss - (other.loss - NOISE_PRIOR.loss(other.logarithms[-1:])[0])
        for fit, other in zip(exact, noisy, strict=True)
    ]
    verdict = judge_noise(inputs, outputs, np.nan_to_num(gains))
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

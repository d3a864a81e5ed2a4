"""Hyper-parameters that all outputs of a black box share, learned from all of them together.

Length-scales and noise are those of largest posterior probability for all standardized outputs
(`SharedLikelihood`). Then each output has a variance of its own, and noise if that is to be
learned, by its own likelihood. What is learned of one output of a thousand is uncertain, so that
the common size counts as well.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import torch

from grisaille.array_types import Array
from grisaille.surrogates.composite import Composite
from grisaille.surrogates.fitting import (
    NOISE_FREE,
    NOISE_PRIOR,
    VARIANCE_PRIOR,
    Fit,
    center_and_spread,
    scale_prior,
)
from grisaille.surrogates.hyperparameters import Hyperparameters
from grisaille.surrogates.kernel import Kernel
from grisaille.surrogates.likelihood import LogNormal
from grisaille.surrogates.noise_evidence import NoiseVerdict, judge_noise
from grisaille.surrogates.shared_likelihood import SharedLikelihood, as_composite

# Sizes that are tried for each output, in sizes that are common to all.
_SIZES = np.concatenate(
    [np.geomspace(1e-12, 1e-4, 40, endpoint=False), np.geomspace(1e-4, 1e4, 81)]
)
_TURNS = 3
# Outputs of which noise is a larger part say little about length-scales.
_MOSTLY_NOISE = 0.5


def learned_together(
    kernel: Kernel,
    noise: Array | None,
    inputs: Array,
    outputs: Array,
    lower: Array,
    upper: Array,
) -> Hyperparameters:
    """Hyper-parameters of maximum posterior probability that all outputs share.

    Args:
        kernel: The kernel family.
        noise: Standard deviation of the noise per output, (k,); None to learn whether there is any,
            and how much.
        inputs: (n, d).
        outputs: (n, k).
        lower: (d,), lower ends of the ranges that inputs are scaled by.
        upper: (d,), upper ends.
    """
    return _learned(
        kernel,
        None if noise is None else tuple(noise.tolist()),
        *(np.ascontiguousarray(a, dtype=float).tobytes() for a in (inputs, outputs, lower, upper)),
        inputs.shape[1],
        outputs.shape[1],
    )


@lru_cache(maxsize=128)  # an audit asks again for what every earlier decision learned
def _learned(
    kernel: Kernel,
    noise: tuple[float, ...] | None,
    input_bytes: bytes,
    output_bytes: bytes,
    lower_bytes: bytes,
    upper_bytes: bytes,
    d: int,
    k: int,
) -> Hyperparameters:
    lower, upper = np.frombuffer(lower_bytes), np.frombuffer(upper_bytes)
    inputs = np.frombuffer(input_bytes).reshape(-1, d)
    outputs = np.frombuffer(output_bytes).reshape(-1, k)
    center, spread = center_and_spread(outputs)
    standard = (outputs - center) / spread
    unit = (inputs - lower) / (upper - lower)
    declared = None if noise is None else (np.array(noise) / spread) ** 2
    together = as_composite(kernel, d)
    fit, verdict = _fit(together, unit, standard, declared)
    is_exact = verdict is not None and verdict.is_exact
    levels = np.full(k, fit.noise) if declared is None else np.maximum(declared, NOISE_FREE)
    is_known = declared is not None or is_exact
    means, variance, levels = _own_sizes(fit, standard, levels, is_known)
    if not is_known and (levels >= _MOSTLY_NOISE).any():
        # Outputs that are mostly noise made the others look rough: learn once more without them.
        fit, _ = _fit(together, unit, standard, levels)
        means, variance, levels = _own_sizes(fit, standard, levels, False)
    if is_known:
        levels = np.zeros(k) if declared is None else declared
    width, shares = upper - lower, None
    if isinstance(kernel, Composite):
        width = width[kernel.columns]
        shares = torch.tensor(fit.shares).expand(k, -1)
    return Hyperparameters(
        lengthscale=torch.tensor(fit.lengthscale * width).expand(k, -1),
        variance=torch.tensor(variance * spread**2),
        noise=torch.tensor(levels * spread**2),
        mean=torch.tensor(center + means * spread),
        center=torch.tensor(lower),
        remarks=tuple(filter(None, ("" if verdict is None else verdict.reason, fit.remark))),
        shares=shares,
    )


def _fit(
    kernel: Composite, inputs: Array, outputs: Array, noise: Array | None
) -> tuple[Fit, NoiseVerdict | None]:
    """The fit, and the verdict about noise that was left out (None if declared).

    Args:
        kernel: The kernel family.
        inputs: (n, d) in the unit cube.
        outputs: (n, k), standardized.
        noise: Noise variances (k,); None to learn whether there is any.
    """
    share = np.zeros(outputs.shape[1]) if noise is None else noise
    telling = outputs.any(0) & (share < _MOSTLY_NOISE)  # constant outputs tell nothing, too
    some = outputs[:, telling] if telling.any() else outputs

    priors = [scale_prior(part.kernel, len(part.inputs)) for part in kernel.parts]
    # Together, the parts of a sum vary as much as one kernel would.
    many = sum(part.has_variance for part in kernel.parts)
    variance = LogNormal(VARIANCE_PRIOR.mean - math.log(max(many, 1)), VARIANCE_PRIOR.deviation)

    def fit(level: float | None, prior: LogNormal | None) -> Fit:
        return Fit(SharedLikelihood(kernel, inputs, some, level, priors, variance, prior))

    if noise is not None:
        level = float(noise[telling].mean()) if telling.any() else float(noise.mean())
        return fit(max(level, NOISE_FREE), None), None
    exact, noisy = fit(NOISE_FREE, None), fit(None, NOISE_PRIOR)
    # The prior of the noise favours noise of a certain size; the verdict is to rest on the data.
    gain = exact.loss - (noisy.loss - NOISE_PRIOR.loss(noisy.logarithms[-1:])[0])
    verdict = judge_noise(inputs, outputs, np.nan_to_num([gain]))
    return (exact if verdict.is_exact else noisy), verdict


def _own_sizes(
    fit: Fit, outputs: Array, noise: Array, is_known: bool
) -> tuple[Array, Array, Array]:
    """The mean, variance and noise variance of each output, (k,) each, given length-scales.

    Sizes are those of largest likelihood among some that are tried, where part i of an output is a
    normal number of variance v D_i + lambda. Noise that is not known is learned in turns with v.

    Args:
        fit: The fit of all outputs together.
        outputs: (n, k), standardized.
        noise: (k,), noise variances.
        is_known: Whether the noise variances stay as they are.
    """
    assert isinstance(fit.likelihood, SharedLikelihood)
    means, parts, values = fit.likelihood.independent_parts(fit.logarithms, outputs)
    shape = np.broadcast_to(values[:, None], parts.shape)
    ones = np.ones_like(parts)
    variance = _likeliest(parts, shape, noise * ones, fit.variance)
    if is_known:
        return means, variance, noise
    level = float(np.median(noise)) if len(noise) else NOISE_FREE
    for _ in range(_TURNS):
        noise = np.maximum(_likeliest(parts, ones, variance * shape, level), NOISE_FREE)
        variance = _likeliest(parts, shape, noise * ones, fit.variance)
    return means, variance, noise


def _likeliest(parts: Array, shape: Array, others: Array, common: float) -> Array:
    """The size a of largest likelihood, (k,), where parts have variances a * shape + others.

    The prior is that of a variance, in common sizes: an output that never changes may be small.

    Args:
        parts: (n, k).
        shape: (n, k).
        others: (n, k).
        common: The common size.
    """
    tried = common * _SIZES
    losses = np.empty((len(tried), parts.shape[1]))
    for place, size in enumerate(tried):
        spreads = size * shape + others
        loss = (np.log(spreads) + parts**2 / spreads).sum(0)
        losses[place] = loss + 2 * VARIANCE_PRIOR.loss(np.log([size / common]))[0]
    return np.asarray(tried[losses.argmin(0)])

"""The information gain of given points, and an upper bound of its maximum over a domain.

The theorems use the maximum over all sets of as many points (gamma, Eq. max_inf_gain), not the gain
of the observed points.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.stats import poisson
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.processes.kernels import (
    Composite,
    Kernel,
    Linear,
    SquaredExponential,
    as_composite,
    check_inputs,
    is_plain,
    length_scales,
    own_kernels,
)
from grisaille.belief.processes.likelihood import prior_covariance, prior_variance
from grisaille.checks import attribute_of, check_count, has_method, is_finite, real_numbers
from grisaille.errors import ModelError, shortened


@dataclass(frozen=True, slots=True)
class InformationConstants:
    """The constants of the information gain.

    Attributes:
        candidates: Points of the grid that represents the domain. Not measured.
        choices: Greedy choices; beyond them, finitely many features bound it. Not measured.
        degree: The highest degree of the features. Not measured.
    """

    candidates: int = 4096
    choices: int = 512
    degree: int = 128


INFORMATION = InformationConstants()


def information_gain(kernel: Kernel, points: ArrayLike, regularization: float) -> float:
    """The information gain of given points: log det(I + K / lambda) / 2.

    Args:
        kernel: A kernel with hyper-parameters.
        points: (t, d).
        regularization: lambda.
    """
    _check(kernel, regularization)
    inputs = torch.tensor(_numbers("points", points))
    if inputs.ndim != 2 or not torch.isfinite(inputs).all():
        raise ModelError(
            f"information_gain of points of shape {tuple(inputs.shape)}: pass an array (t, d) of "
            "finite numbers"
        )
    _check_dimension(kernel, inputs.shape[1])
    covariance = prior_covariance(kernel, inputs, inputs) / regularization
    identity = torch.eye(len(inputs), dtype=torch.float64)
    return float(torch.linalg.slogdet(identity + covariance).logabsdet) / 2


def maximum_information_gain(
    kernel: Kernel, lower: ArrayLike, upper: ArrayLike, count: int, regularization: float
) -> float:
    """An upper bound of gamma, the largest information gain of `count` points in a domain.

    The least of three bounds. Each is valid for the whole domain, not only for the grid on which it
    is computed, because a posterior deviation changes by no more than the kernel's own distance:

    - greedy choice reaches at least 1 - (1 - 1/T)^T >= 1 - 1/e of the maximum;
    - D features that leave a variance of at most r: D log(1 + T k / (lambda D)) / 2
      + T r / (2 lambda), for the best D;
    - T log(1 + k / lambda) / 2, as if every point were the first.

    Args:
        kernel: A kernel with hyper-parameters.
        lower: (d,), the domain.
        upper: (d,).
        count: T, the number of points.
        regularization: lambda.
    """
    _check(kernel, regularization)
    low = np.atleast_1d(_numbers("the domain: lower", lower))
    high = np.atleast_1d(_numbers("the domain: upper", upper))
    if low.ndim != 1 or low.shape != high.shape:
        raise ModelError(
            f"a domain with {low.size} lower and {high.size} upper bounds: pass one of each per "
            "input"
        )
    _check_dimension(kernel, len(low))
    if own := own_kernels(kernel):
        raise ModelError(
            f"the largest variance of your own kernel {shortened(own[0])} in a domain is not "
            "known, and so no largest information gain: use gs.information_gain of given points"
        )
    if not (np.isfinite(low) & np.isfinite(high) & (low <= high)).all():
        raise ModelError(
            f"the domain [{shortened(low.tolist())}, {shortened(high.tolist())}] is unbounded or "
            "empty: pass finite bounds, lower ones at most as large as upper ones"
        )
    check_count("maximum_information_gain", "count", count, 0)
    count = int(count)
    if count == 0:
        return 0.0
    domain = _Domain(kernel, tuple(low.tolist()), tuple(high.tolist()))
    most = domain.largest_variance
    bounds = [count * math.log1p(most / regularization) / 2]
    features, left = _features(domain)
    spread = features * np.log1p(count * most / (regularization * np.maximum(features, 1)))
    bounds.append(float((spread + count * left / regularization).min()) / 2)
    if count <= INFORMATION.choices:
        # Few different lengths make the cache useful.
        length = min(INFORMATION.choices, 1 << (count - 1).bit_length())
        bounds.append(_greedy_bound(domain, length, regularization, count))
    return min(bounds)


@dataclass(frozen=True, slots=True)
class _Domain:
    """A kernel, and the bounds of its inputs."""

    kernel: Kernel
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    @property
    def largest_variance(self) -> float:
        """The largest k(s, s)."""
        far = np.maximum(np.abs(self.lower), np.abs(self.upper))
        return largest_variance(self.kernel, far)

    def scaled_widths(self) -> Array:
        """The widths of the domain, in length-scales: of several parts, in the shortest ones."""
        widths = np.asarray(self.upper) - np.asarray(self.lower)
        kernel = as_composite(self.kernel, len(widths))
        per_input = np.full(len(widths), np.inf)
        np.minimum.at(per_input, kernel.columns, np.asarray(kernel.lengthscale))
        return np.asarray(widths / per_input)

    def candidates(self) -> tuple[Tensor, float]:
        """A grid of points, and the largest kernel distance from any point of the domain to it.

        A linear kernel's deviation is convex in s, so the corners are enough. For products there is
        no such distance, and no grid.
        """
        widths = self.scaled_widths()
        kernel = as_composite(self.kernel, len(widths))
        if not kernel.is_sum:
            return torch.zeros(0, len(widths), dtype=torch.float64), math.inf
        linear = isinstance(self.kernel, Linear)
        counts = [2] * len(widths) if linear else _grid_counts(widths)
        if math.prod(counts) > INFORMATION.candidates:
            return torch.zeros(0, len(widths), dtype=torch.float64), math.inf
        axes = [
            torch.linspace(a, b, n, dtype=torch.float64)
            for a, b, n in zip(self.lower, self.upper, counts, strict=True)
        ]
        points = torch.cartesian_prod(*axes).reshape(-1, len(axes))
        if linear:
            return points, 0.0
        if not is_plain(self.kernel):
            cell = (np.asarray(self.upper) - np.asarray(self.lower)) / np.maximum(
                np.array(counts) - 1, 1
            )
            return points, math.sqrt(sum(_squared_distances(kernel, cell / 2)))
        # Half the diagonal of a cell, in length-scales, and the correlation at that distance.
        radius = math.hypot(*(w / max(n - 1, 1) / 2 for w, n in zip(widths, counts, strict=True)))
        center = torch.zeros(1, 1, dtype=torch.float64)
        near = self.kernel.correlation(center, torch.full_like(center, radius))
        assert self.kernel.variance is not None
        return points, math.sqrt(2 * self.kernel.variance * (1 - float(near)))


def _squared_distances(kernel: Composite, half: Array) -> Iterator[float]:
    """The squared kernel distance k(s, s) + k(s', s') - 2 k(s, s') of each part of a sum.

    `half` (d,) is how far s and s' are apart in each input.
    """
    for part in kernel.parts:
        scales = np.asarray(length_scales(part.kernel))
        radius = math.hypot(*(half[list(part.inputs)] / scales))
        assert part.kernel.variance is not None
        if isinstance(part.kernel, Linear):
            yield part.kernel.variance * radius**2
            continue
        center = torch.zeros(1, 1, dtype=torch.float64)
        near = part.kernel.correlation(center, torch.full_like(center, radius))
        yield 2 * part.kernel.variance * (1 - float(near))


def largest_variance(kernel: Kernel, far: Array) -> float:
    """The largest k(s, s) over |s_j| <= far_j, (d,)."""
    return float(prior_variance(kernel, torch.tensor(far).unsqueeze(0)))


def _grid_counts(widths: Array) -> list[int]:
    """Points per axis, more along wide axes, as many as `_CANDIDATES` allows."""
    counts = [1 if w == 0 else 2 for w in widths]
    while True:
        steps = [w / max(n - 1, 1) for w, n in zip(widths, counts, strict=True)]
        axis = int(np.argmax(steps))
        larger = [n + (j == axis) for j, n in enumerate(counts)]
        if math.prod(larger) > INFORMATION.candidates or steps[axis] == 0:
            return counts
        counts = larger


@lru_cache(maxsize=256)
def _greedy_bound_parts(
    domain: _Domain, length: int, regularization: float
) -> tuple[Array, Array] | None:
    """Gains of greedy choices, and how far each may be below the best in the domain."""
    candidates, reach = domain.candidates()
    if not len(candidates):
        return None
    gains, misses = [], []
    deviations = _largest_deviations(domain.kernel, candidates, regularization)
    for deviation in itertools.islice(deviations, length):
        gain = math.log1p(deviation**2 / regularization) / 2
        gains.append(gain)
        misses.append(math.log1p((deviation + reach) ** 2 / regularization) / 2 - gain)
    return np.array(gains), np.array(misses)


def _greedy_bound(domain: _Domain, length: int, regularization: float, count: int) -> float:
    """The maximum <= (greedy gain + weighted misses) / (1 - (1 - 1/count)^count)."""
    parts = _greedy_bound_parts(domain, length, regularization)
    if parts is None:
        return math.inf
    gains, misses = (p[:count] for p in parts)
    keeps = (1 - 1 / count) ** np.arange(count - 1, -1, -1.0)
    reached = 1 - (1 - 1 / count) ** count
    return float((gains.sum() + (keeps * misses).sum()) / reached)


@lru_cache(maxsize=64)
def _features(domain: _Domain) -> tuple[Array, Array]:
    """Numbers of features D, and bounds on the variance that so many leave in the domain."""
    most = domain.largest_variance
    if isinstance(domain.kernel, Linear):  # the coordinates leave no variance
        return np.array([len(domain.lower)]), np.array([0.0])
    counts, left = [0.0], [most]
    # Features k(s, .) at chosen points leave the posterior variance without noise.
    candidates, reach = domain.candidates()
    chosen = _largest_deviations(domain.kernel, candidates, 1e-10 * most)
    for count, deviation in enumerate(itertools.islice(chosen, 1, INFORMATION.choices), 1):
        counts.append(count)
        left.append(min((deviation + reach) ** 2, most))
        if deviation**2 <= 1e-8 * most:
            break
    if isinstance(domain.kernel, SquaredExponential):
        # exp(-(u - v)^2 / 2) is the sum over j of p_j(u) p_j(v), where p_j(u)^2 is the probability
        # of j under a Poisson law of mean u^2. Polynomials up to a degree leave the tails.
        halves = domain.scaled_widths() / 2
        for degree in range(1, INFORMATION.degree):
            counts.append(float(degree) ** len(halves))
            left.append(most * min(1.0, float(poisson.sf(degree - 1, halves**2).sum())))
    return np.array(counts), np.array(left)


def _largest_deviations(
    kernel: Kernel, candidates: Tensor, regularization: float
) -> Iterator[float]:
    """The largest posterior deviation, which is where the next point is chosen, in turn."""
    if not len(candidates):
        return
    variance = prior_variance(kernel, candidates)
    rows: list[Tensor] = []
    while True:
        chosen = int(variance.argmax())
        deviation = math.sqrt(max(float(variance[chosen]), 0.0))
        yield deviation
        # The next row of the Cholesky factor of K + lambda I, for all candidates at once.
        column = prior_covariance(kernel, candidates, candidates[chosen : chosen + 1])[:, 0]
        if rows:
            stacked = torch.stack(rows)
            column = column - stacked[:, chosen] @ stacked
        row = column / math.sqrt(deviation**2 + regularization)
        rows.append(row)
        variance = (variance - row * row).clamp_min(0)


def _check_dimension(kernel: Kernel, dimension: int) -> None:
    if not is_plain(kernel):
        check_inputs(kernel, "the information gain", dimension)
        return
    assert kernel.lengthscale is not None
    if len(kernel.lengthscale) not in (1, dimension):
        raise ModelError(
            f"points of {dimension} numbers, but a kernel of {len(kernel.lengthscale)} "
            "length-scales: pass one, or one per input"
        )


def _check(kernel: Kernel, regularization: float) -> None:
    if not has_method(kernel, "correlation") or attribute_of(kernel, "lengthscale") is None:
        raise ModelError(
            f"the information gain of {shortened(kernel)} needs a kernel with hyper-parameters: "
            "pass lengthscale= and variance="
        )
    if not (is_finite(regularization) and regularization > 0):
        raise ModelError(
            f"regularization={shortened(regularization)}: lambda must be a positive number"
        )


def _numbers(what: str, given: ArrayLike) -> Array:
    try:
        return real_numbers(given)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{what} is {shortened(given)}: pass numbers") from error

"""Separable quadratics below the band of a black box, over many regions at once.

Kernels that are smooth enough, such as Matérn 5/2, are expanded to second order. Every bound
subtracts its own rounding error, for any lambda.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor

from grisaille.belief.processes.kernels import (
    Composite,
    Kernel,
    Radial,
    as_composite,
    is_plain,
    total,
)
from grisaille.belief.processes.radial import LEAST_VARIANCE

if TYPE_CHECKING:
    from grisaille.belief.processes.posterior import Posterior

# --- kernel minorants -----------------------------------------------------------------------------
# Separable quadratics below functions gamma'k of one kernel, over many regions at once.
#
# m = gamma'k - (ratio / 2) k(s, s) has a quadratic below it on a region in one of two ways:
#
# 1. m has norm sqrt(gamma'K gamma) in the kernel's space, which bounds its distance from its Taylor
#    polynomial at the centre of the region. This bound stays small when gamma is large with
#    alternating signs. Gershgorin's argument then splits the quadratic into one per input.
# 2. Radial kernels are convex in q = |s - s_i|^2: a tangent in q where gamma_i > 0 and a secant
#    where
#    gamma_i < 0 give another separable quadratic, which is better for large regions.

_EPSILON = torch.finfo(torch.float64).eps


@dataclass(frozen=True, slots=True)
class MinorantConstants:
    """The constants of minorants of bands.

    Attributes:
        typical: Added distance of typical points from the observations, as a part of the squared
            half diagonal. Measured: values nearby do as well.
        near: An observation is in the Taylor polynomial if the error of its chord is this multiple
            of the remainder. Halved and doubled: no decision of 9 runs changed
            (benchmarks.constants); without it, last digits of proved points change.
        in_cache: Distances that a processor works on at a time. Halved and doubled: no decision of
            9 runs changed (benchmarks.constants).
        on_device: Distances that a graphics processor works on at a time. Not measured.
    """

    typical: float = 0.05
    near: float = 1.2
    in_cache: int = 2**17
    on_device: int = 2**26


MINORANTS = MinorantConstants()


@dataclass(frozen=True, slots=True)
class Quadratics:
    """constant + slope'd + sum_j curvature_j d_j^2 / 2, with d the offset from a region's centre.

    Attributes:
        constant: (..., regions).
        slope: (..., regions, inputs).
        curvature: (..., regions, inputs).
        slack: (..., regions), how much was subtracted from the constant for rounding.
    """

    constant: Tensor
    slope: Tensor
    curvature: Tensor
    slack: Tensor

    def least(self, half: Tensor) -> Tensor:
        """The minimum over |d| <= half, (regions, inputs) to (..., regions)."""
        return self.constant + least_of(self.slope, self.curvature, half).sum(-1)

    def replaced(self, rows: Tensor, others: Quadratics) -> Quadratics:
        """The same with others in some regions, (..., rows)."""
        if len(rows) == self.constant.shape[-1]:
            return others
        return Quadratics(
            self.constant.index_copy(-1, rows, others.constant),
            self.slope.index_copy(-2, rows, others.slope),
            self.curvature.index_copy(-2, rows, others.curvature),
            self.slack.index_copy(-1, rows, others.slack),
        )


def least_of(slope: Tensor, curvature: Tensor, half: Tensor) -> Tensor:
    """The minimum of slope d + curvature d^2 / 2 over |d| <= half, entry by entry."""
    steep = slope.abs()
    inside = steep < curvature * half
    vertex = -0.5 * slope * slope / torch.where(inside, curvature, 1.0)
    end = half * (0.5 * curvature * half - steep)
    if not half.isfinite().all():  # 0 times infinity: 0 for a zero function, else no bound
        flat = (slope == 0) & (curvature == 0)
        end = torch.where(flat, 0.0, torch.where(end.isnan(), -torch.inf, end))
    return torch.where(inside, vertex, end)


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights gamma = alpha + ratio v of the observations, for each sign of the band.

    Attributes:
        sign: (signs, 1, 1, 1), 1 for l and -1 for -u.
        alpha: (signs, k, 1, n), the weights of the mean, times the sign.
        ratio: (k, regions), beta / t.
        v: (k, regions, n); None where beta is 0, so that gamma is alpha everywhere.
        gamma: (signs, k, regions, n).
        size: (signs, k, regions), the sum of |gamma|.
    """

    sign: Tensor
    alpha: Tensor
    ratio: Tensor
    v: Tensor | None
    gamma: Tensor
    size: Tensor

    @staticmethod
    def of(sign: Tensor, weights: Tensor, ratio: Tensor, v: Tensor | None) -> Weights:
        """Work out gamma and its size."""
        alpha = sign * weights
        if v is None:
            size = alpha.abs().sum(-1).expand(*alpha.shape[:2], ratio.shape[-1])
            return Weights(
                sign, alpha, ratio, None, alpha.expand(*size.shape, alpha.shape[-1]), size
            )
        gamma = alpha + ratio.unsqueeze(-1) * v
        return Weights(sign, alpha, ratio, v, gamma, gamma.abs().sum(-1))


@dataclass(frozen=True, slots=True)
class Regions:
    """Regions in the scaled inputs of one kernel.

    Attributes:
        center: (k, regions, d), in length-scales.
        reach: (k, regions, d), half-widths in length-scales.
        touch: (k, regions, d), where bounds should be tightest.
    """

    center: Tensor
    reach: Tensor
    touch: Tensor


class KernelMinorants:
    """Quadratics below gamma'k - (ratio / 2) k(s, s) for one kernel, or one part of a sum.

    Args:
        kernel: A linear or a radial kernel.
        variance: (k, 1), its variance for each output.
        inputs: (k, n, d), the observed inputs in its length-scales.
        mean_weights: (k, n, 1), alpha, the weights of the posterior mean.
    """

    def __init__(
        self, kernel: Kernel, variance: Tensor, inputs: Tensor, mean_weights: Tensor
    ) -> None:
        self.kernel = kernel
        self.variance = variance
        self.inputs = inputs
        self.is_linear = not kernel._is_radial
        self.matrix = variance.unsqueeze(-1) * kernel.correlation(inputs, inputs)
        self._columns = inputs.transpose(-1, -2).unsqueeze(1).contiguous()  # (k, 1, d, n)
        self._product = (self.matrix @ mean_weights).transpose(-1, -2)  # K alpha, (k, 1, n)

    def typical(self, regions: Regions) -> tuple[Tensor, Tensor, Tensor]:
        """K(s) at a typical point of each region, k(s, s) there, and what its width adds to that.

        Returns:
            (k, n, regions), (k, regions) and (k, regions).
        """
        radius = regions.reach.square().sum(-1)
        wide = MINORANTS.typical * self.variance * radius
        if self.is_linear:
            correlation = self.kernel.correlation(self.inputs, regions.touch)
            prior = self.variance * regions.touch.square().sum(-1)
            return self.variance.unsqueeze(-1) * correlation, prior, wide
        touching = (regions.touch.unsqueeze(-1) - self._columns).square_().sum(-2)
        shifted = touching.add_(MINORANTS.typical * radius.unsqueeze(-1))
        correlation = cast(Radial, self.kernel).profile(shifted)[0].transpose(-1, -2)
        return self.variance.unsqueeze(-1) * correlation, self.variance.expand_as(radius), wide

    def largest_prior(self, regions: Regions) -> Tensor:
        """The largest k(s, s) in each region, (k, regions)."""
        if self.is_linear:
            return self.variance * (regions.center.abs() + regions.reach).square().sum(-1)
        return self.variance.expand(-1, regions.center.shape[1])

    def below(
        self, constant: Tensor, weights: Weights, product: Tensor | None, regions: Regions
    ) -> Quadratics:
        """The quadratics below constant + gamma'k - (ratio / 2) k(s, s), in length-scales.

        Args:
            constant: (signs, k, regions).
            weights: The weights.
            product: K v of this kernel, (k, regions, n); None without v.
            regions: The regions.
        """
        if self.is_linear:
            return self._linear(constant, weights, regions)
        return self._radial(constant, weights, product, regions)

    def _linear(self, constant: Tensor, weights: Weights, regions: Regions) -> Quadratics:
        """The linear kernel needs no expansion: everything but k(s, s) is linear in s."""
        variance, scaled = self.variance.unsqueeze(-1), regions.center
        direction = variance * (weights.gamma @ self.inputs)  # (signs, k, regions, d)
        curvature = (-weights.ratio.unsqueeze(-1) * variance).expand_as(direction)
        value = (direction * scaled).sum(-1) + 0.5 * (curvature * scaled.square()).sum(-1)
        slope = direction + curvature * scaled
        return Quadratics(constant + value, slope, curvature, torch.zeros_like(value))

    def _radial(
        self, constant: Tensor, weights: Weights, product: Tensor | None, regions: Regions
    ) -> Quadratics:
        kernel, reach = cast(Radial, self.kernel), regions.reach
        distance = regions.center.unsqueeze(-1) - self._columns  # (k, regions, d, n)
        squared = distance.square().sum(-2)
        radius = reach.square().sum(-1)  # (k, regions), squared
        chords = _Chords(kernel, distance, squared, reach)
        remainder = kernel.remainder(radius.sqrt())
        gamma = weights.gamma * self.variance.unsqueeze(-1)
        near = chords.error > MINORANTS.near * remainder.unsqueeze(-1)
        near, lost = self._expanded(weights, product, chords.error, near, remainder)
        value, first, second = kernel.profile(squared)
        rising = gamma >= 0
        level = torch.where(near, value, torch.where(rising, chords.below, chords.above))
        chord = torch.where(rising, chords.tangent, chords.secant)
        # Twice the derivative in q, times gamma: Taylor polynomials and chords share their form.
        if kernel.order >= 1:
            turned = (2 * gamma) * torch.where(near, first, chord)
        else:
            turned = torch.where(near, 0.0, 2 * gamma * chord)
        slope = (distance @ turned.unsqueeze(-1)).squeeze(-1)
        if kernel.order == 1:
            turned = torch.where(near, 0.0, turned)
        curvature = turned.sum(-1, keepdim=True).expand_as(slope)
        if kernel.order == 2 and near.any():
            weighted = torch.where(near, 4 * gamma * second, 0.0)
            hessian = (distance * weighted.unsqueeze(-2)) @ distance.transpose(-1, -2)
            curvature = curvature + _separable(hessian, reach)
        constant = constant - 0.5 * weights.ratio * self.variance + (gamma * level).sum(-1)
        return Quadratics(constant - lost, slope, curvature, torch.zeros_like(constant))

    def _expanded(
        self,
        weights: Weights,
        product: Tensor | None,
        error: Tensor,
        near: Tensor,
        remainder: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Which observations to expand around the centre of a region, and what that loses.

        Large weights that cancel one another must stay together: then all are expanded.

        Args:
            weights: The weights.
            product: K v of this kernel, (k, regions, n).
            error: (k, regions, n), the error of chords.
            near: (k, regions, n), observations whose chords are bad.
            remainder: (k, regions), of a function of norm 1.

        Returns:
            (signs, k, regions, n), and the remainder that counts, (signs, k, regions).
        """
        unit = self.variance.sqrt() * remainder
        far = torch.where(near, 0.0, error).expand_as(weights.gamma)
        chords = self.variance * (weights.gamma.abs() * far).sum(-1)
        whole = self._whole_norm(weights, product) * unit
        open_still = (chords < whole) & near.any(-1)
        norm = torch.zeros_like(whole)
        if open_still.any():
            left = open_still.any(0).any(0)  # regions for which the part's norm is needed
            part = torch.where(near, weights.gamma, 0.0)[:, :, left]
            norm[:, :, left] = self.norm(part) * unit[:, left]
        together = chords + norm > whole
        lost = torch.where(together, whole, norm)
        return near | together.unsqueeze(-1), lost

    def product(self, v: Tensor) -> Tensor:
        """K v of this kernel, (k, regions, n) to (k, regions, n)."""
        return v @ self.matrix

    def _whole_norm(self, weights: Weights, product: Tensor | None) -> Tensor:
        """An upper bound of sqrt(gamma'K gamma) from K alpha and K v, (signs, k, regions)."""
        known = weights.sign * self._product
        size = weights.alpha.abs().sum(-1)
        if product is not None and weights.v is not None:
            known = known + weights.ratio.unsqueeze(-1) * product
            size = size + weights.ratio * weights.v.abs().sum(-1)
        squared = (weights.gamma * known).sum(-1).clamp_min(0)
        return squared.sqrt() + (weights.size * size * self._product_error()).sqrt()

    def norm(self, gamma: Tensor) -> Tensor:
        """An upper bound of sqrt(gamma'K gamma), (signs, k, regions, n) to (signs, k, regions)."""
        squared = (gamma * (gamma @ self.matrix)).sum(-1).clamp_min(0)
        return squared.sqrt() + gamma.abs().sum(-1) * self._product_error().sqrt()

    def _product_error(self) -> Tensor:
        """Bound on the rounding error of a'K b for sums of |a| and |b| of 1, (k, 1)."""
        return self.entry_error() + (self.matrix.shape[-1] + 4) * _EPSILON * self.variance

    def entry_error(self) -> Tensor:
        """Bound on the rounding error of an entry of the kernel matrix, (k, 1)."""
        return self._error_at(self.inputs.abs().amax((1, 2)) if self.inputs.numel() else None)

    def evaluation_error(self, size: Tensor, regions: Regions) -> Tensor:
        """Bound on the rounding error of gamma'k(s) and its derivatives, (signs, k, regions).

        Args:
            size: (signs, k, regions), the sum of |gamma|.
            regions: The regions.
        """
        largest = torch.maximum(regions.center.abs().amax((1, 2)), self.inputs.abs().amax((1, 2)))
        extent = 1 + regions.reach.sum(-1)
        per_entry = self._error_at(largest) + self.inputs.shape[1] * _EPSILON * self.variance
        return size * per_entry * extent * extent

    def _error_at(self, size: Tensor | None) -> Tensor:
        inputs = self.inputs.shape[-1]
        shift = 0.0 if size is None else 4 * size.unsqueeze(-1)
        linear = self.is_linear and size is not None
        scale = size.unsqueeze(-1).square() * inputs if linear and size is not None else 1.0
        return _EPSILON * self.variance * (8 + 4 * inputs + shift) * scale


def _separable(hessian: Tensor, reach: Tensor) -> Tensor:
    """Curvatures of a separable quadratic below d'H d / 2, (..., d, d) to (..., d).

    |H_ij d_i d_j| <= |H_ij| (d_i^2 h_j / h_i + d_j^2 h_i / h_j) / 2 for half-widths h.
    """
    diagonal = hessian.diagonal(dim1=-2, dim2=-1)
    others = (hessian.abs() @ reach.unsqueeze(-1)).squeeze(-1) - diagonal.abs() * reach
    return diagonal - torch.where(reach > 0, others / reach.clamp_min(1e-300), 0.0)


class _Chords:
    """Point 2: tangents and secants of a kernel in the squared distances from each observation.

    Args:
        kernel: The kernel.
        distance: (k, regions, d, n), from each observation to the centres of the regions.
        squared: (k, regions, n).
        reach: (k, regions, d), half-widths.

    Attributes:
        tangent: (k, regions, n), derivative in q of a line below the kernel.
        below: (k, regions, n), this line at the centre of the region.
        secant: (k, regions, n), derivative in q of a line above the kernel.
        above: (k, regions, n), this line at the centre of the region.
        error: (k, regions, n), by how much they differ there.
    """

    def __init__(self, kernel: Radial, distance: Tensor, squared: Tensor, reach: Tensor) -> None:
        side, half = distance.abs(), reach.unsqueeze(-1)
        nearest = (side - half).clamp_min_(0).square_().sum(-2)
        farthest = side.add_(half).square_().sum(-2)
        # A Matérn kernel of low smoothness has no slope at distance 0: the tangent touches nearby.
        touch = torch.maximum(squared, 1e-3 * farthest).clamp_min_(1e-30)
        value, self.tangent, _ = kernel.profile(touch)
        low, high = kernel.profile(nearest.clamp_min(1e-30))[0], kernel.profile(farthest)[0]
        width = farthest - nearest
        self.secant = torch.where(width > 1e-30, (high - low) / width.clamp_min(1e-30), 0.0)
        self.below = value + self.tangent * (squared - touch)
        self.above = low + self.secant * (squared - nearest)
        self.error = self.above - self.below


# --- band minorants -------------------------------------------------------------------------------
# Separable quadratics below the confidence bands of a posterior, over many regions at once.
#
# A global solver needs lower bounds of l = mu - beta sigma and of -u = -mu - beta sigma over a
# region of inputs. Both need only an upper bound of sigma. With A = K + lambda I:
#
# 1. sigma(s)^2 <= k(s, s) - 2 v'k(s) + v'A v for every vector v, with equality at v = A^-1 k(s).
# 2. sqrt(y) <= t/2 + y/(2t) for every t > 0.
# 3. Hence l(s) >= constant + gamma'k(s) - beta/(2t) k(s, s) with gamma = alpha + (beta/t) v. A poor
#    v or t costs tightness, never validity.
# 4. The kernel of a sum is the sum of its parts, so that the bounds of the parts add up
#    (`KernelMinorants`).

BOTH = slice(0, 2)
"""Both ends of a band: l, then -u."""


def can_be_bounded(kernel: Kernel) -> bool:
    """Whether bands of a kernel can be bounded: it is a given one, or a sum of given ones."""
    composite = as_composite(kernel, 0)
    return composite.is_sum and all(is_plain(part.kernel) for part in composite.parts)


class BandMinorants:
    """Quadratics below l and below -u of every output of a posterior.

    Args:
        posterior: The posterior; its kernel can be bounded.
        beta: (k,), half-width of the bands in standard deviations.
    """

    def __init__(self, posterior: Posterior, beta: Tensor) -> None:
        self.posterior = posterior
        self.beta = beta.unsqueeze(-1)
        self._uses_deviation = bool((beta != 0).any())
        self._floor: Tensor | None = None
        self._variance = posterior.hyperparameters.variance.unsqueeze(-1)
        self._noise = posterior.regularization(posterior.scaled)
        self._set_parts()
        self._signs = torch.tensor([1.0, -1.0], dtype=torch.float64, device=beta.device)
        self._mean = self._signs[:, None, None] * posterior.hyperparameters.mean[None, :, None]
        self._weights = posterior.weights.transpose(-1, -2)  # (k, 1, n)
        self._residual = self._residual_of_weights()

    def _set_parts(self) -> None:
        """Split kernel, observations and length-scales: one part, or those of a sum."""
        kernel, shares = self.posterior.kernel, self.posterior.hyperparameters.shares
        lengthscale = self.posterior.hyperparameters.lengthscale.unsqueeze(1)
        inputs, weights = self.posterior.scaled, self.posterior.weights
        self._columns: list[list[int] | None] = [None]  # which inputs a part reads; None for all
        if not isinstance(kernel, Composite) or shares is None:
            self._parts = [KernelMinorants(kernel, self._variance, inputs, weights)]
            self._lengthscales = [lengthscale]
            return
        variances = (self._variance * shares).split(1, -1)
        self._parts = [
            KernelMinorants(part.kernel, variance, own, weights)
            for part, variance, (own, _) in zip(
                kernel.parts, variances, kernel.split(inputs), strict=True
            )
        ]
        self._columns = [list(part.inputs) for part in kernel.parts]
        sizes = [len(part.inputs) for part in kernel.parts]
        self._lengthscales = list(lengthscale.split(sizes, -1))

    def __call__(
        self, center: Tensor, half: Tensor, touch: Tensor, sides: slice = BOTH
    ) -> Quadratics:
        """Quadratics below l and -u over the regions center ± half, (regions, d) each.

        Args:
            center: (regions, d).
            half: (regions, d).
            touch: (regions, d), where in each region the bound should be tightest: near the
                minimizer of the bounded function, or the centre if nothing is known.
            sides: Which of l and -u are needed.

        Returns:
            Shapes (2, k, regions) and (2, k, regions, d); the first axis is l, then -u, or only
            those that are needed.
        """
        # Parts of a batch fit into the processor's cache.
        entries = self.posterior.inputs.numel() + 1
        step = max(1, (MINORANTS.on_device if center.is_cuda else MINORANTS.in_cache) // entries)
        if len(center) <= step:
            return self._below(center, half, touch, sides)
        parts = [
            self._below(center[i : i + step], half[i : i + step], touch[i : i + step], sides)
            for i in range(0, len(center), step)
        ]
        return Quadratics(
            constant=torch.cat([part.constant for part in parts], 2),
            slope=torch.cat([part.slope for part in parts], 2),
            curvature=torch.cat([part.curvature for part in parts], 2),
            slack=torch.cat([part.slack for part in parts], 2),
        )

    def _below(self, center: Tensor, half: Tensor, touch: Tensor, sides: slice) -> Quadratics:
        origin = self.posterior.hyperparameters.center
        regions = [
            Regions(*(_read(v, columns) / scale for v in (center - origin, half, touch - origin)))
            for columns, scale in zip(self._columns, self._lengthscales, strict=True)
        ]
        weights, products, constant, slack = self._gamma(regions, sides)
        slack = slack + self._evaluation_error(weights, regions)
        slopes, curvatures = [], []
        for part, region, product, columns, scale in zip(
            self._parts, regions, products, self._columns, self._lengthscales, strict=True
        ):
            below = part.below(constant, weights, product, region)
            constant = below.constant
            slopes.append(_placed(below.slope / scale, columns, center.shape[1]))
            curvature = below.curvature / (scale * scale)
            curvatures.append(_placed(curvature, columns, center.shape[1]))
        return Quadratics(constant - slack, total(slopes), total(curvatures), slack)

    def floor(self) -> Tensor:
        """A constant below l and -u for inputs without known bounds, (2, k, 1)."""
        if any(part.is_linear for part in self._parts):
            return torch.full_like(self._mean, -torch.inf)
        if self._floor is None:
            weights = self._weights.squeeze(1)
            squared = total([part.product(self._weights).squeeze(1) for part in self._parts])
            squared = (weights * squared).sum(-1, keepdim=True).clamp_min(0)
            error = weights.abs().sum(-1, keepdim=True) * self._product_error().sqrt()
            reach = self._variance.sqrt() * (squared.sqrt() + error + self.beta) * (1 + 1e-9)
            self._floor = self._mean - reach
        return self._floor

    def _gamma(
        self, regions: Sequence[Regions], sides: slice
    ) -> tuple[Weights, Sequence[Tensor | None], Tensor, Tensor]:
        """The weights for v = A^-1 typical, K v of each part, and their constant and slack."""
        sign, mean = self._signs[sides, None, None, None], self._mean[sides]
        if not self._uses_deviation:
            ratio = self._variance.new_zeros(len(self._variance), len(regions[0].center[0]))
            weights = Weights.of(sign, self._weights, ratio, None)
            constant = mean.expand_as(weights.size)
            return weights, [None] * len(self._parts), constant, 8 * _EPSILON * constant.abs()
        terms = [part.typical(r) for part, r in zip(self._parts, regions, strict=True)]
        # k(s) and k(s, s) at a typical point, and what the width adds to the variance there.
        typical, prior, wide = (total(term) for term in zip(*terms, strict=True))
        v = torch.cholesky_solve(typical, self.posterior.factor)
        spread = prior - (typical * v).sum(1) + wide
        t = spread.clamp_min(1e-12 * self._variance).sqrt()
        ratio = self.beta / t
        v = v.transpose(-1, -2).contiguous()  # (k, regions, n)
        products = [part.product(v) for part in self._parts]
        quadratic = (v * (total(products) + self._noise.unsqueeze(1) * v)).sum(-1)
        # predict() keeps sigma^2 above this floor; max(a, b) <= a + b.
        floor = LEAST_VARIANCE * self._variance
        constant = mean - 0.5 * (self.beta * t + ratio * (quadratic + floor))
        # v'A v sums n^2 products, and every entry of A has its own rounding error.
        noise = self._noise.amax(1, keepdim=True) if v.shape[-1] else 0.0
        per_entry = self._product_error() + (v.shape[-1] + 4) * _EPSILON * noise
        error = v.abs().sum(-1).square() * per_entry
        size = constant.abs() + self.beta * t + ratio * prior
        slack = 0.5 * ratio * error + 8 * _EPSILON * size
        return Weights.of(sign, self._weights, ratio, v), products, constant, slack

    def _product_error(self) -> Tensor:
        """Bound on the rounding error of a'K b for sums of |a| and |b| of 1, (k, 1)."""
        terms = self._weights.shape[-1] + 4 + (len(self._parts) - 1)
        return self._entry_error() + terms * _EPSILON * self._variance

    def _entry_error(self) -> Tensor:
        """Bound on the rounding error of an entry of the kernel matrix, (k, 1)."""
        error = total([part.entry_error() for part in self._parts])
        # The shares of a sum and their roots are rounded too.
        return error if self._columns[0] is None else 2 * error

    def _evaluation_error(self, weights: Weights, regions: Sequence[Regions]) -> Tensor:
        """Bound on the rounding error of gamma'k(s) and its derivatives, (signs, k, regions)."""
        if not weights.gamma.shape[-1]:
            return torch.zeros_like(weights.size)
        both = list(zip(self._parts, regions, strict=True))
        computed = total([part.evaluation_error(weights.size, region) for part, region in both])
        prior = total([part.largest_prior(region) for part, region in both])
        # |k(s)'(alpha - exact)| = |k(s)'A^-1 r| <= sqrt(k(s, s)) |r| / sqrt(lambda).
        return computed + prior.sqrt() * self._residual

    def _residual_of_weights(self) -> Tensor:
        """|r| / sqrt(lambda) for the residual r = y - m - A alpha of computed weights, (k, 1)."""
        posterior = self.posterior
        weights = posterior.weights
        if not weights.shape[1]:
            return torch.zeros_like(self.beta)
        target = (posterior.outputs - posterior.hyperparameters.mean).T.unsqueeze(-1)
        noise = self._noise.unsqueeze(-1)
        known = total([part.product(self._weights) for part in self._parts]).transpose(-1, -2)
        residual = target - known - noise * weights
        per_entry = self._entry_error() + weights.shape[1] * _EPSILON * self._variance
        rounding = weights.abs().sum(1, keepdim=True) * per_entry.unsqueeze(-1)
        rounding = rounding + 4 * _EPSILON * (target.abs() + noise * weights.abs())
        length = (residual.abs() + rounding).square().sum((1, 2)).sqrt().unsqueeze(-1)
        return length / self._noise.amin(1, keepdim=True).sqrt()


def _read(values: Tensor, columns: list[int] | None) -> Tensor:
    """The inputs (regions, d) that a part reads."""
    return values if columns is None else values[:, columns]


def _placed(values: Tensor, columns: list[int] | None, inputs: int) -> Tensor:
    """What a part says of its inputs, (..., d_p), as (..., d) with 0 for all others."""
    if columns is None:
        return values
    placed = values.new_zeros(*values.shape[:-1], inputs)
    placed[..., columns] = values
    return placed

"""Separable quadratics below functions gamma'k of one kernel, over many regions at once.

m = gamma'k - (ratio / 2) k(s, s) has a quadratic below it on a region in one of two ways:

1. m has norm sqrt(gamma'K gamma) in the kernel's space, which bounds its distance from its Taylor
   polynomial at the centre of the region. This bound stays small when gamma is large with
   alternating signs. Gershgorin's argument then splits the quadratic into one per input.
2. Radial kernels are convex in q = |s - s_i|^2: a tangent in q where gamma_i > 0 and a secant where
   gamma_i < 0 give another separable quadratic, which is better for large regions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from grisaille.surrogates.kernel import Kernel
from grisaille.surrogates.kernels import Linear, Radial

_EPSILON = torch.finfo(torch.float64).eps
# Typical points are somewhat farther from the observations than the touching point, by this share
# of the squared half diagonal of the region. Measured: values nearby do as well.
_TYPICAL = 0.05
# An observation is left out of the Taylor polynomial when the error of its chord is less than this
# multiple of the remainder of a function of norm 1.
_NEAR = 1.2


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
    """

    def __init__(self, kernel: Kernel, variance: Tensor, inputs: Tensor) -> None:
        self.kernel = kernel
        self.variance = variance
        self.inputs = inputs
        self.is_linear = isinstance(kernel, Linear)
        self.matrix = variance.unsqueeze(-1) * kernel.correlation(inputs, inputs)

    def typical(self, regions: Regions) -> tuple[Tensor, Tensor, Tensor]:
        """K(s) at a typical point of each region, k(s, s) there, and what its width adds to that.

        Returns:
            (k, n, regions), (k, regions) and (k, regions).
        """
        radius = regions.reach.square().sum(-1)
        wide = _TYPICAL * self.variance * radius
        if self.is_linear:
            correlation = self.kernel.correlation(self.inputs, regions.touch)
            prior = self.variance * regions.touch.square().sum(-1)
            return self.variance.unsqueeze(-1) * correlation, prior, wide
        touching = (regions.touch.unsqueeze(1) - self.inputs.unsqueeze(2)).square().sum(-1)
        shifted = touching + _TYPICAL * radius.unsqueeze(1)
        correlation = cast(Radial, self.kernel).profile(shifted)[0]
        return self.variance.unsqueeze(-1) * correlation, self.variance.expand_as(radius), wide

    def largest_prior(self, regions: Regions) -> Tensor:
        """The largest k(s, s) in each region, (k, regions)."""
        if self.is_linear:
            return self.variance * (regions.center.abs() + regions.reach).square().sum(-1)
        return self.variance.expand(-1, regions.center.shape[1])

    def below(self, constant: Tensor, gamma: Tensor, ratio: Tensor, regions: Regions) -> Quadratics:
        """The quadratics below constant + gamma'k - (ratio / 2) k(s, s), in length-scales.

        Args:
            constant: (2, k, regions).
            gamma: (2, k, n, regions).
            ratio: (k, regions).
            regions: The regions.
        """
        if self.is_linear:
            return self._linear(constant, gamma, ratio, regions)
        return self._radial(constant, gamma, ratio, regions)

    def _linear(
        self, constant: Tensor, gamma: Tensor, ratio: Tensor, regions: Regions
    ) -> Quadratics:
        """The linear kernel needs no expansion: everything but k(s, s) is linear in s."""
        variance, scaled = self.variance.unsqueeze(-1), regions.center
        direction = variance * (gamma.transpose(2, 3) @ self.inputs)  # (2, k, regions, d)
        curvature = (-ratio.unsqueeze(-1) * variance).expand_as(direction)
        value = (direction * scaled).sum(-1) + 0.5 * (curvature * scaled.square()).sum(-1)
        slope = direction + curvature * scaled
        return Quadratics(constant + value, slope, curvature, torch.zeros_like(value))

    def _radial(
        self, constant: Tensor, gamma: Tensor, ratio: Tensor, regions: Regions
    ) -> Quadratics:
        kernel, reach = cast(Radial, self.kernel), regions.reach
        distance = regions.center.unsqueeze(1) - self.inputs.unsqueeze(2)  # (k, n, regions, d)
        squared = distance.square().sum(-1)
        radius = reach.square().sum(-1)  # (k, regions), squared
        chords = _Chords(kernel, distance, squared, reach)
        remainder = kernel.remainder(radius.sqrt())
        unit = self.variance.sqrt() * remainder
        gamma_variance = gamma * self.variance.unsqueeze(-1)
        near = chords.error > _NEAR * remainder.unsqueeze(1)
        norm, whole = self.norm(torch.where(near, gamma, 0.0)), self.norm(gamma)
        # Large weights that cancel one another must stay together.
        apart = torch.where(near, 0.0, gamma_variance.abs() * chords.error).sum(2) + norm * unit
        together = apart > whole * unit
        near = near | together.unsqueeze(2)
        norm = torch.where(together, whole, norm)
        far = chords.below(torch.where(near, 0.0, gamma_variance))
        taylor = _taylor(kernel, torch.where(near, gamma_variance, 0.0), distance, squared, reach)
        constant = constant - 0.5 * ratio * self.variance
        return Quadratics(
            constant + far.constant + taylor.constant - norm * unit,
            far.slope + taylor.slope,
            far.curvature + taylor.curvature,
            torch.zeros_like(constant),
        )

    def norm(self, gamma: Tensor) -> Tensor:
        """An upper bound of sqrt(gamma'K gamma), (2, k, n, regions) to (2, k, regions)."""
        return norm_above(self.matrix, gamma, self.entry_error(), self.variance)

    def entry_error(self) -> Tensor:
        """Bound on the rounding error of an entry of the kernel matrix, (k, 1)."""
        return self._error_at(self.inputs.abs().amax((1, 2)) if self.inputs.numel() else None)

    def evaluation_error(self, gamma: Tensor, regions: Regions) -> Tensor:
        """Bound on the rounding error of gamma'k(s) and its derivatives, (2, k, regions)."""
        size = torch.maximum(regions.center.abs().amax((1, 2)), self.inputs.abs().amax((1, 2)))
        extent = 1 + regions.reach.sum(-1)
        per_entry = self._error_at(size) + gamma.shape[2] * _EPSILON * self.variance
        return gamma.abs().sum(2) * per_entry * extent * extent

    def _error_at(self, size: Tensor | None) -> Tensor:
        inputs = self.inputs.shape[-1]
        shift = 0.0 if size is None else 4 * size.unsqueeze(-1)
        linear = self.is_linear and size is not None
        scale = size.unsqueeze(-1).square() * inputs if linear and size is not None else 1.0
        return _EPSILON * self.variance * (8 + 4 * inputs + shift) * scale


def norm_above(matrix: Tensor, gamma: Tensor, entry_error: Tensor, variance: Tensor) -> Tensor:
    """An upper bound of sqrt(gamma'K gamma), (2, k, n, regions) to (2, k, regions).

    Args:
        matrix: K, (k, n, n).
        gamma: (2, k, n, regions).
        entry_error: (k, 1), bound on the error of an entry of K.
        variance: (k, 1).
    """
    squared = (gamma * (matrix @ gamma)).sum(2).clamp_min(0)
    per_entry = entry_error + (gamma.shape[2] + 4) * _EPSILON * variance
    return squared.sqrt() + gamma.abs().sum(2) * per_entry.sqrt()


def _taylor(
    kernel: Radial, gamma_variance: Tensor, distance: Tensor, squared: Tensor, reach: Tensor
) -> Quadratics:
    """Point 1: the Taylor polynomial of gamma'k at the centre, made separable."""
    value, first, second = kernel.profile(squared)
    constant = (gamma_variance * value).sum(2)
    slope = constant.new_zeros((*constant.shape, distance.shape[-1]))
    curvature = slope
    if kernel.order >= 1:
        weighted = 2 * gamma_variance * first
        slope = (weighted.unsqueeze(-1) * distance).sum(2)
    if kernel.order == 2:
        outer = (4 * gamma_variance * second).unsqueeze(-1) * distance  # (2, k, n, regions, d)
        hessian = outer.permute(0, 1, 3, 4, 2) @ distance.permute(0, 2, 1, 3)
        diagonal = hessian.diagonal(dim1=-2, dim2=-1)
        # |H_ij d_i d_j| <= |H_ij| (d_i^2 h_j / h_i + d_j^2 h_i / h_j) / 2 for half-widths h.
        others = (hessian.abs() @ reach.unsqueeze(-1)).squeeze(-1) - diagonal.abs() * reach
        mixed = torch.where(reach > 0, others / reach.clamp_min(1e-300), 0.0)
        curvature = diagonal + weighted.sum(2).unsqueeze(-1) - mixed
    return Quadratics(constant, slope, curvature, torch.zeros_like(constant))


class _Chords:
    """Point 2: tangents and secants of a kernel in the squared distances from each observation."""

    def __init__(self, kernel: Radial, distance: Tensor, squared: Tensor, reach: Tensor) -> None:
        self._distance = distance
        side = distance.abs()
        nearest = (side - reach.unsqueeze(1)).clamp_min(0).square().sum(-1)
        farthest = (side + reach.unsqueeze(1)).square().sum(-1)
        # A Matérn kernel of low smoothness has no slope at distance 0: the tangent touches nearby.
        touch = torch.maximum(squared, 1e-3 * farthest).clamp_min(1e-30)
        value, self._tangent, _ = kernel.profile(touch)
        low, high = kernel.profile(nearest.clamp_min(1e-30))[0], kernel.profile(farthest)[0]
        width = farthest - nearest
        self._secant = torch.where(width > 1e-30, (high - low) / width.clamp_min(1e-30), 0.0)
        # Values at the centre of the region.
        self._below = value + self._tangent * (squared - touch)
        self._above = low + self._secant * (squared - nearest)
        self.error = self._above - self._below

    def below(self, gamma_variance: Tensor) -> Quadratics:
        """A quadratic below gamma'k, (2, k, n, regions)."""
        rising = gamma_variance >= 0
        slope = gamma_variance * torch.where(rising, self._tangent, self._secant)
        constant = (gamma_variance * torch.where(rising, self._below, self._above)).sum(2)
        linear = 2 * (slope.unsqueeze(-1) * self._distance).sum(2)
        curvature = (2 * slope.sum(2).unsqueeze(-1)).expand_as(linear)
        return Quadratics(constant, linear, curvature, torch.zeros_like(constant))

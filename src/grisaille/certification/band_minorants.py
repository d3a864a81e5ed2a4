"""Separable quadratics below the confidence bands of a posterior, over many regions at once.

A global solver needs lower bounds of l = mu - beta sigma and of -u = -mu - beta sigma over a region
of inputs. Both need only an upper bound of sigma. With A = K + lambda I:

1. sigma(s)^2 <= k(s, s) - 2 v'k(s) + v'A v for every vector v, with equality at v = A^-1 k(s).
2. sqrt(y) <= t/2 + y/(2t) for every t > 0.
3. Hence l(s) >= constant + gamma'k(s) (- beta/(2t) k(s, s)) with gamma = alpha + (beta/t) v. A poor
   v or t costs tightness, never validity.
4. m = gamma'k has norm sqrt(gamma'K gamma) in the kernel's space, which bounds its distance from
   its Taylor polynomial at the centre of the region. This bound stays small when gamma is large
   with alternating signs. Gershgorin's argument then splits the quadratic into one per input.
5. Radial kernels are convex in q = |s - s_i|^2: a tangent in q where gamma_i > 0 and a secant where
   gamma_i < 0 give another separable quadratic, which is better for large regions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from grisaille.surrogates.kernels import Linear, Radial
from grisaille.surrogates.posterior import LEAST_VARIANCE, Posterior

_EPSILON = torch.finfo(torch.float64).eps
# v and t are chosen for points somewhat farther from the observations than the touching point, by
# this share of the squared half diagonal of the region. Measured: values nearby do as well.
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


class BandMinorants:
    """Quadratics below l and below -u of every output of a posterior.

    Args:
        posterior: The posterior.
        beta: (k,), half-width of the bands in standard deviations.
    """

    def __init__(self, posterior: Posterior, beta: Tensor) -> None:
        self.posterior = posterior
        self.beta = beta.unsqueeze(-1)
        self._variance = posterior.hyperparameters.variance.unsqueeze(-1)
        self._inputs = posterior.scaled  # (k, n, d)
        self._kernel_matrix = posterior.covariance(self._inputs, self._inputs)
        self._noise = posterior.regularization(self._inputs)
        self._signs = torch.tensor([1.0, -1.0], dtype=torch.float64, device=beta.device)
        prior_mean = posterior.hyperparameters.mean
        self._mean = self._signs[:, None, None] * prior_mean[None, :, None]
        self._weights = self._signs[:, None, None, None] * posterior.weights  # (2, k, n, 1)
        self._residual = self._residual_of_weights()

    def __call__(self, center: Tensor, half: Tensor, touch: Tensor) -> Quadratics:
        """Quadratics below l and -u over the regions center ± half, (regions, d) each.

        Args:
            center: (regions, d).
            half: (regions, d).
            touch: (regions, d), where in each region the bound should be tightest: near the
                minimizer of the bounded function, or the centre if nothing is known.

        Returns:
            Shapes (2, k, regions) and (2, k, regions, d); the first axis is l, then -u.
        """
        posterior = self.posterior
        lengthscale = posterior.hyperparameters.lengthscale.unsqueeze(1)
        scaled, reach, touch = posterior.scale(center), half / lengthscale, posterior.scale(touch)
        kernel = posterior.kernel
        if isinstance(kernel, Linear):
            found = self._linear(scaled, reach, touch)
        else:
            found = self._radial(cast(Radial, kernel), scaled, reach, touch)
        return Quadratics(
            found.constant - found.slack,
            found.slope / lengthscale,
            found.curvature / (lengthscale * lengthscale),
            found.slack,
        )

    def floor(self) -> Tensor:
        """A constant below l and -u for inputs without known bounds, (2, k, 1)."""
        if isinstance(self.posterior.kernel, Linear):
            return torch.full_like(self._mean, -torch.inf)
        deviation = self._variance.sqrt()
        return self._mean - deviation * (self._norm(self._weights) + self.beta) * (1 + 1e-9)

    def _gamma(
        self, typical: Tensor, prior: Tensor, radius: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Gamma, constant, slack and beta/t for v = A^-1 typical.

        Args:
            typical: k(s) at a typical point of each region, (k, n, regions).
            prior: k(s, s) there, (k, regions).
            radius: Squared half diagonal of the regions in length-scales, (k, regions).
        """
        v = torch.cholesky_solve(typical, self.posterior.factor)
        spread = prior - (typical * v).sum(1) + _TYPICAL * self._variance * radius
        t = spread.clamp_min(1e-12 * self._variance).sqrt()
        ratio = self.beta / t
        quadratic = (v * (self._kernel_matrix @ v + self._noise.unsqueeze(-1) * v)).sum(1)
        gamma = self._weights + ratio.unsqueeze(1) * v
        # predict() keeps sigma^2 above this floor; max(a, b) <= a + b.
        floor = LEAST_VARIANCE * self._variance
        constant = self._mean - 0.5 * (self.beta * t + ratio * (quadratic + floor))
        # v'A v sums n^2 products, and every entry of A has its own rounding error.
        noise = self._noise.amax(1, keepdim=True) if v.shape[1] else 0.0
        per_entry = self._entry_error() + (v.shape[1] + 4) * _EPSILON * (self._variance + noise)
        error = v.abs().sum(1).square() * per_entry
        size = constant.abs() + self.beta * t + ratio * prior
        return gamma, constant, 0.5 * ratio * error + 8 * _EPSILON * size, ratio

    def _radial(self, kernel: Radial, scaled: Tensor, reach: Tensor, touch: Tensor) -> Quadratics:
        distance = scaled.unsqueeze(1) - self._inputs.unsqueeze(2)  # (k, n, regions, d)
        squared = distance.square().sum(-1)
        radius = reach.square().sum(-1)  # (k, regions), squared
        touching = (touch.unsqueeze(1) - self._inputs.unsqueeze(2)).square().sum(-1)
        typical = kernel.profile(touching + _TYPICAL * radius.unsqueeze(1))[0]
        prior = self._variance.expand_as(radius)
        gamma, constant, slack, ratio = self._gamma(
            self._variance.unsqueeze(-1) * typical, prior, radius
        )
        constant = constant - 0.5 * ratio * prior
        slack = slack + self._evaluation_error(gamma, scaled, reach, prior)
        chords = _Chords(kernel, distance, squared, reach)
        remainder = kernel.remainder(radius.sqrt())
        unit = self._variance.sqrt() * remainder
        gamma_variance = gamma * self._variance.unsqueeze(-1)
        near = chords.error > _NEAR * remainder.unsqueeze(1)
        norm, whole = self._norm(torch.where(near, gamma, 0.0)), self._norm(gamma)
        # Large weights that cancel one another must stay together.
        apart = torch.where(near, 0.0, gamma_variance.abs() * chords.error).sum(2) + norm * unit
        together = apart > whole * unit
        near = near | together.unsqueeze(2)
        norm = torch.where(together, whole, norm)
        far = chords.below(torch.where(near, 0.0, gamma_variance))
        taylor = _taylor(kernel, torch.where(near, gamma_variance, 0.0), distance, squared, reach)
        return Quadratics(
            constant + far.constant + taylor.constant - norm * unit,
            far.slope + taylor.slope,
            far.curvature + taylor.curvature,
            slack,
        )

    def _norm(self, gamma: Tensor) -> Tensor:
        """An upper bound of sqrt(gamma'K gamma), (2, k, n, regions) to (2, k, regions)."""
        squared = (gamma * (self._kernel_matrix @ gamma)).sum(2).clamp_min(0)
        per_entry = self._entry_error() + (gamma.shape[2] + 4) * _EPSILON * self._variance
        return squared.sqrt() + gamma.abs().sum(2) * per_entry.sqrt()

    def _linear(self, scaled: Tensor, reach: Tensor, touch: Tensor) -> Quadratics:
        """The linear kernel needs no expansion: everything but k(s, s) is linear in s."""
        cross = self.posterior.covariance(self._inputs, touch)
        prior = self._variance * touch.square().sum(-1)
        gamma, constant, slack, ratio = self._gamma(cross, prior, reach.square().sum(-1))
        most = self._variance * (scaled.abs() + reach).square().sum(-1)
        slack = slack + self._evaluation_error(gamma, scaled, reach, most)
        variance = self._variance.unsqueeze(-1)
        direction = variance * (gamma.transpose(2, 3) @ self._inputs)  # (2, k, regions, d)
        curvature = (-ratio.unsqueeze(-1) * variance).expand_as(direction)
        value = (direction * scaled).sum(-1) + 0.5 * (curvature * scaled.square()).sum(-1)
        return Quadratics(constant + value, direction + curvature * scaled, curvature, slack)

    def _entry_error(self) -> Tensor:
        """Bound on the rounding error of an entry of the kernel matrix, (k, 1)."""
        return self._error_at(self._inputs.abs().amax((1, 2)) if self._inputs.numel() else None)

    def _error_at(self, size: Tensor | None) -> Tensor:
        inputs = self._inputs.shape[-1]
        shift = 0.0 if size is None else 4 * size.unsqueeze(-1)
        linear = isinstance(self.posterior.kernel, Linear) and size is not None
        scale = size.unsqueeze(-1).square() * inputs if linear and size is not None else 1.0
        return _EPSILON * self._variance * (8 + 4 * inputs + shift) * scale

    def _evaluation_error(
        self, gamma: Tensor, scaled: Tensor, reach: Tensor, prior: Tensor
    ) -> Tensor:
        """Bound on the rounding error of gamma'k(s) and its derivatives, (2, k, regions).

        `prior` is the largest k(s, s) in each region, (k, regions).
        """
        if not gamma.shape[2]:
            return torch.zeros(gamma.shape[:2] + gamma.shape[3:], dtype=torch.float64)
        size = torch.maximum(scaled.abs().amax((1, 2)), self._inputs.abs().amax((1, 2)))
        extent = 1 + reach.sum(-1)
        per_entry = self._error_at(size) + gamma.shape[2] * _EPSILON * self._variance
        computed = gamma.abs().sum(2) * per_entry * extent * extent
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
        residual = target - self._kernel_matrix @ weights - noise * weights
        per_entry = self._entry_error() + weights.shape[1] * _EPSILON * self._variance
        rounding = weights.abs().sum(1, keepdim=True) * per_entry.unsqueeze(-1)
        rounding = rounding + 4 * _EPSILON * (target.abs() + noise * weights.abs())
        length = (residual.abs() + rounding).square().sum((1, 2)).sqrt().unsqueeze(-1)
        return length / self._noise.amin(1, keepdim=True).sqrt()


def _taylor(
    kernel: Radial, gamma_variance: Tensor, distance: Tensor, squared: Tensor, reach: Tensor
) -> Quadratics:
    """Point 4: the Taylor polynomial of gamma'k at the centre, made separable."""
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
    """Point 5: tangents and secants of a kernel in the squared distances from each observation."""

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

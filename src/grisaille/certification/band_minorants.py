"""Separable quadratics below the confidence bands of a posterior, over many regions at once.

A global solver needs lower bounds of l = mu - beta sigma and of -u = -mu - beta sigma over a region
of inputs. Both need only an upper bound of sigma. With A = K + lambda I:

1. sigma(s)^2 <= k(s, s) - 2 v'k(s) + v'A v for every vector v, with equality at v = A^-1 k(s).
2. sqrt(y) <= t/2 + y/(2t) for every t > 0.
3. Hence l(s) >= constant + gamma'k(s) - beta/(2t) k(s, s) with gamma = alpha + (beta/t) v. A poor
   v or t costs tightness, never validity.
4. The kernel of a sum is the sum of its parts, so that the bounds of the parts add up
   (`kernel_minorants`).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from grisaille.certification.kernel_minorants import (
    KernelMinorants,
    Quadratics,
    Regions,
    Weights,
)
from grisaille.surrogates.composite import Composite, is_plain
from grisaille.surrogates.kernel import Kernel, total
from grisaille.surrogates.posterior import LEAST_VARIANCE, Posterior

_EPSILON = torch.finfo(torch.float64).eps
# How many distances, regions times observations times inputs, are worked on at a time.
_IN_CACHE = 2**17
_ON_DEVICE = 2**26
BOTH = slice(0, 2)
"""Both ends of a band: l, then -u."""


def can_be_bounded(kernel: Kernel) -> bool:
    """Whether bands of a kernel can be bounded: it is a given one, or a sum of given ones."""
    if not isinstance(kernel, Composite):
        return is_plain(kernel)
    return kernel.is_sum and all(is_plain(part.kernel) for part in kernel.parts)


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
        step = max(1, (_ON_DEVICE if center.is_cuda else _IN_CACHE) // entries)
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

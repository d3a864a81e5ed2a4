"""Sums of separable quadratics in the branching variables, and their minima over regions."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from grisaille.certification.kernel_minorants import Quadratics, least_of
from grisaille.certification.propagation import Affine, split_signs, times
from grisaille.enclosures.interval import EPSILON, Enclosure


@dataclass(frozen=True, slots=True)
class Minimum:
    """The least values of weighted sums over regions.

    Attributes:
        values: (regions, weights).
        minimizer: (regions, D), of the row of weights with the best bound on the objective.
        slack: (regions, weights), what was subtracted for rounding.
        weights: By the node of each call, the weights of its outputs in that row, (regions, k).
    """

    values: Tensor
    minimizer: Tensor
    slack: Tensor
    weights: dict[int, Tensor]


class SeparableSum:
    """A separable quadratic in the branching variables for each region and each row of weights.

    The sum has a constant, slopes and curvatures about the centre of each region, the slack that
    its parts have subtracted for rounding, and the total size of all terms, which bounds the
    rounding of the additions themselves.
    """

    def __init__(self, center: Tensor, half: Tensor, weights: int) -> None:
        regions, self._dimensions = center.shape
        self._center, self._half = center.unsqueeze(1), half.unsqueeze(1)
        self._constant = center.new_zeros(regions, weights)
        self._slope = center.new_zeros(regions, weights, self._dimensions)
        self._curvature = self._slope
        self._slack = self._constant
        self._size = self._constant

    def add_constants(self, terms: Tensor) -> None:
        """Add terms of shape (regions or 1, weights, ...)."""
        self._constant = self._constant + terms.sum(-1)
        self._size = self._size + terms.detach().abs().sum(-1)

    def add_variables(self, columns: list[int], weight: Tensor) -> None:
        """Add branching variables times weights, (regions or 1, weights, columns)."""
        self.add_constants(weight * self._center[:, :, columns])
        self.add_quadratic(columns, weight, None)

    def add_quadratic(self, columns: list[int], slope: Tensor, curvature: Tensor | None) -> None:
        """Add slopes and curvatures of some branching variables; a column may occur twice."""
        picked = slope.new_zeros(len(columns), self._dimensions)
        picked[range(len(columns)), columns] = 1.0
        half = self._half[:, :, columns]
        self._slope = self._slope + slope @ picked
        self._size = self._size + (slope.detach().abs() * half).sum(-1)
        if curvature is not None:
            self._curvature = self._curvature + curvature @ picked
            self._size = self._size + (curvature.detach().abs() * half.square()).sum(-1)

    def add_bands(self, bands: Quadratics, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Add the quadratics below l, or below -u where the weight of an output is negative.

        Args:
            bands: Quadratics, (2, k, regions).
            weight: (regions or 1, weights, k).

        Returns:
            Slopes and curvatures of the states, (regions, weights, d).
        """
        rising, falling = split_signs(weight)
        both = torch.stack([rising, -falling]).permute(0, 3, 1, 2)

        def combine(part: Tensor) -> Tensor:  # (2, k, regions, ...) to (regions, weights, ...)
            coefficient = both.reshape(*both.shape, *(1,) * (part.ndim - 3))
            return times(coefficient, part.unsqueeze(3)).sum((0, 1))

        self._constant = self._constant + combine(bands.constant)
        with torch.no_grad():
            self._size = self._size + combine(bands.constant.abs())
            self._slack = self._slack + combine(bands.slack)
        return combine(bands.slope), combine(bands.curvature)

    def through(self, clip: Enclosure, weight: Tensor) -> Tensor:
        """Turn weights of clipped states into weights of the states, (regions, weights, d)."""
        rising, falling = split_signs(weight)
        low, high = clip.lower, clip.upper
        self.add_constants(
            rising * low.constant.unsqueeze(1) + falling * high.constant.unsqueeze(1)
        )
        return rising * low.slopes[0].unsqueeze(1) + falling * high.slopes[0].unsqueeze(1)

    def add_affine(self, affine: Affine) -> None:
        """Add an affine function of the design variables."""
        n = affine.slopes.shape[-1]
        self._constant = self._constant + affine.constant - affine.error
        self._slack = self._slack + affine.error
        self._size = self._size + affine.constant.detach().abs()
        self.add_variables(list(range(n)), affine.slopes)

    def minimum(self, weights: Tensor, passed: dict[int, Tensor]) -> Minimum:
        """The minimum over each region, minus the rounding error."""
        rounding = 16 * EPSILON * self._size
        slack = (self._slack + rounding).detach()
        # The slack of the parts is subtracted already.
        least = least_of(self._slope, self._curvature, self._half).sum(-1)
        values = self._constant + least - rounding
        values = torch.where(values.isnan(), -torch.inf, values)
        objective = torch.where(weights[:, 0] > 0, values.detach(), -torch.inf)
        pick = (torch.arange(len(values)), objective.argmax(1))
        step = _argmin(
            self._slope.detach()[pick], self._curvature.detach()[pick], self._half.squeeze(1)
        )
        of_calls = {node: w.expand(len(values), -1, -1)[pick] for node, w in passed.items()}
        return Minimum(values, self._center.squeeze(1) + step, slack, of_calls)


def _argmin(slope: Tensor, curvature: Tensor, half: Tensor) -> Tensor:
    """Where slope d + curvature d^2 / 2 is least in |d| <= half."""
    inside = slope.abs() < curvature * half
    vertex = -slope / torch.where(inside, curvature, 1.0)
    return torch.where(inside, vertex, -torch.sign(slope) * half)

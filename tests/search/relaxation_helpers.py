"""Relaxations written down by hand, whose optima are known."""

from __future__ import annotations

import math

import torch
from torch import Tensor


class Lipschitz:
    """Functions with known Lipschitz constants in the maximum norm, times half the width.

    Args:
        lower: (D,).
        upper: (D,).
        functions: The objective, then constraints: points (batch, D) to (batch,).
        slopes: A Lipschitz constant of each.
        forbidden: Regions (batch, D) twice to whether they contain no point of the problem.
        groups: Variables that play different roles; all play the same if left out.
        whole: (D,), which variables are whole numbers.
    """

    def __init__(self, lower, upper, functions, slopes, forbidden=None, groups=None, whole=None):
        self.lower = torch.tensor(lower, dtype=torch.float64)
        self.upper = torch.tensor(upper, dtype=torch.float64)
        self.constraints = len(functions) - 1
        self.groups = groups or [list(range(len(self.lower)))]
        self.whole = None if whole is None else torch.tensor(whole)
        self.functions = functions
        self.slopes = torch.tensor(slopes, dtype=torch.float64)
        self.forbidden = forbidden
        self.seen: list[tuple[Tensor, Tensor]] = []

    def values(self, points: Tensor) -> Tensor:
        return torch.stack([f(points) for f in self.functions], 1)

    def over(self, lower: Tensor, upper: Tensor) -> LipschitzRegions:
        self.seen.append((lower, upper))
        return LipschitzRegions(self, lower, upper)

    def starts(self, lower: Tensor, upper: Tensor) -> Tensor:
        return (lower + upper) / 2


class LipschitzRegions:
    def __init__(self, relaxation, lower, upper):
        self.lower, self.upper = lower, upper
        self.slack = 1e-9
        nowhere = torch.zeros(len(lower), dtype=torch.bool)
        self.empty = nowhere if relaxation.forbidden is None else relaxation.forbidden(lower, upper)
        center = (lower + upper) / 2
        half = (upper - lower).amax(1, keepdim=True) / 2
        self._below = relaxation.values(center) - half * relaxation.slopes
        # The group of the variable that is widest beside the whole range.
        share = (upper - lower) / (relaxation.upper - relaxation.lower).clamp_min(1e-300)
        self.looser = torch.stack([share[:, g].amax(1) for g in relaxation.groups]).argmax(0)

    def bound(self, weights: Tensor, target: float = math.inf) -> Tensor:
        return self._below @ weights.T

    dual = bound


def waves(x):
    return torch.cos(3 * x).sum(1) + 0.3 * x.sum(1)


def valley(x):
    return x[:, 0] ** 4 - 2 * x[:, 0] ** 2 + 0.3 * x[:, 0] + (x[:, 1:] ** 2).sum(1)


def ring(x):
    return 1.5 - (x**2).sum(1)


def half_plane(x):
    return x.sum(1) - 1


def free(dimensions=2, objective=waves, slope=None):
    slope = 3.3 * dimensions if slope is None else slope
    return Lipschitz([-2.0] * dimensions, [2.0] * dimensions, [objective], [slope])


def ringed():
    return Lipschitz([-2.0, -2.0], [2.0, 2.0], [valley, ring], [28.0 + 4.3 + 4.0, 8.0])


def doubly():
    return Lipschitz([-2.0, -2.0], [2.0, 2.0], [waves, ring, half_plane], [6.6, 8.0, 2.0])


def hopeless(margin=0.2):
    # Outside a circle of radius 3 in a square of half-width 2: the corners come closest.
    return Lipschitz(
        [-2.0, -2.0],
        [2.0, 2.0],
        [waves, lambda x: 8.0 + margin - (x**2).sum(1), half_plane],
        [6.6, 8.0, 2.0],
    )


class Linear(Lipschitz):
    """Affine functions, rows (constant, slopes): bounds are exact whatever the weights."""

    def __init__(self, lower, upper, rows):
        self.rows = torch.tensor(rows, dtype=torch.float64)
        functions = [lambda x, row=row: row[0] + x @ row[1:] for row in self.rows]
        super().__init__(lower, upper, functions, [0.0] * len(rows))

    def over(self, lower, upper):
        regions = super().over(lower, upper)
        center, half = (lower + upper) / 2, (upper - lower) / 2

        def bound(weights, target=math.inf):
            combined = weights @ self.rows
            value = combined[:, 0] + center @ combined[:, 1:].T
            return value - half @ combined[:, 1:].abs().T

        regions.bound = regions.dual = bound
        return regions


def torn(margin=0.1):
    """Two constraints that can each be met, but not together: x + y <= -m and x + y >= m."""
    rows = [[0.0, 1.0, 2.0], [margin, 1.0, 1.0], [margin, -1.0, -1.0]]
    return Linear([-1.0, -1.0], [1.0, 1.0], rows)


def brute_force(relaxation, per_dimension=801) -> float:
    axes = [
        torch.linspace(a, b, per_dimension, dtype=torch.float64)
        for a, b in zip(relaxation.lower.tolist(), relaxation.upper.tolist(), strict=True)
    ]
    values = relaxation.values(torch.cartesian_prod(*axes).reshape(-1, len(axes)))
    feasible = (values[:, 1:] <= 0).all(1)
    return float(values[feasible, 0].min()) if feasible.any() else math.inf


PROBLEMS = {
    "one variable": lambda: free(1),
    "two variables": lambda: free(2),
    "polynomial": lambda: free(2, valley, 36.3),
    "one constraint": ringed,
    "two constraints": doubly,
}

"""Grid search: the paper's first suggestion for the auxiliary problem, in low dimensions."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from grisaille.checks import check_count
from grisaille.errors import ModelError
from grisaille.solvers.search_problem import (
    Scale,
    SearchProblem,
    Solution,
    best_of,
    evaluate_in_chunks,
)

_MOST_POINTS = 20_000_000
_BLOCK = 262_144


@dataclass(frozen=True, slots=True)
class Grid:
    """Evaluates every point of a regular grid, bounds included, and the hints.

    Attributes:
        points: Points per dimension of the search space.
    """

    points: int = 21

    def __post_init__(self) -> None:
        check_count("Grid", "points", self.points, 2)

    def solve(self, problem: SearchProblem, hints: Tensor, seed: int) -> Solution:
        """Search the grid; `seed` is not used."""
        dimensions = len(problem.lower)
        total = self.points**dimensions
        if total > _MOST_POINTS:
            raise ModelError(
                f"a grid of {self.points} points in each of {dimensions} dimensions has "
                f"{self.points}^{dimensions} points: use at least 2 per dimension and at most "
                f"{_MOST_POINTS:,} in all, or gs.MultiStart()"
            )
        width = problem.upper - problem.lower
        best = [torch.clamp(hints, problem.lower, problem.upper)]
        scale: Scale | None = None
        for start in range(0, total, _BLOCK):
            # The digits of a point's number in base `points` are its grid coordinates.
            number = torch.arange(start, min(start + _BLOCK, total))
            digits = [number // self.points**j % self.points for j in range(dimensions)]
            block = problem.lower + width * torch.stack(digits, 1) / (self.points - 1)
            objectives, constraints = evaluate_in_chunks(problem, block)
            if scale is None:
                scale = Scale.of(objectives, constraints)
            best.append(best_of(block, objectives, constraints, scale, total).point.unsqueeze(0))
        assert scale is not None
        candidates = torch.cat(best)
        evaluations = total + len(candidates)
        return best_of(candidates, *evaluate_in_chunks(problem, candidates), scale, evaluations)

"""Grid search: the paper's first suggestion for the auxiliary problem, in low dimensions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from grisaille.checks import check_count
from grisaille.errors import ModelError
from grisaille.search.search_problem import (
    Scale,
    SearchProblem,
    Solution,
    best_of,
    evaluate_in_chunks,
    rounded,
)

_MOST_POINTS = 20_000_000
_BLOCK = 262_144


@dataclass(frozen=True, slots=True)
class Grid:
    """Evaluates every point of a regular grid, bounds included, and the hints.

    Attributes:
        points: Points per dimension of the search space; fewer where there are fewer whole numbers.
    """

    points: int = 21

    def __post_init__(self) -> None:
        check_count("Grid", "points", self.points, 2)

    def solve(self, problem: SearchProblem, hints: Tensor, seed: int) -> Solution:
        """Search the grid; `seed` is not used."""
        dimensions = len(problem.lower)
        counts = self._counts(problem)
        total = math.prod(counts)
        if total > _MOST_POINTS:
            many = f"{self.points}^{dimensions}" if problem.whole is None else f"{total:,}"
            raise ModelError(
                f"a grid of {self.points} points in each of {dimensions} dimensions has {many} "
                f"points: use at least 2 per dimension and at most {_MOST_POINTS:,} in all, or "
                "gs.MultiStart()"
            )
        width = problem.upper - problem.lower
        last = torch.tensor(counts) - 1
        best = [rounded(problem, torch.clamp(hints, problem.lower, problem.upper))]
        scale: Scale | None = None
        for start in range(0, total, _BLOCK):
            # The digits of a point's number are its grid coordinates, each in its own base.
            number = torch.arange(start, min(start + _BLOCK, total))
            digits = []
            for count in counts:
                digits.append(number % count)
                number = number // count
            block = rounded(problem, problem.lower + width * torch.stack(digits, 1) / last)
            objectives, constraints = evaluate_in_chunks(problem, block)
            if scale is None:
                scale = Scale.of(objectives, constraints)
            best.append(best_of(block, objectives, constraints, scale, total).point.unsqueeze(0))
        assert scale is not None
        candidates = torch.cat(best)
        evaluations = total + len(candidates)
        return best_of(candidates, *evaluate_in_chunks(problem, candidates), scale, evaluations)

    def _counts(self, problem: SearchProblem) -> list[int]:
        """How many points there are along each dimension."""
        if problem.whole is None:
            return [self.points] * len(problem.lower)
        values = torch.where(problem.whole, problem.upper - problem.lower + 1, torch.inf)
        return values.clamp_max(self.points).to(torch.long).tolist()

"""Searching many variables of which only a few are read together.

A random point of sixty coordinates is good in none of its parts. So we move one block at a time,
the coordinates that one black box reads, and keep the others where they are. The number of points
does not grow with the number of coordinates, and no memory grows with its square.
"""

from __future__ import annotations

import torch
from torch import Tensor

from grisaille.solvers.search_problem import (
    Blocks,
    Scale,
    SearchProblem,
    evaluate_in_chunks,
    screening_merit,
)
from grisaille.solvers.spread_out import spread_out
from grisaille.solvers.whole_numbers import moved_at_random

# Radii of the samples around the best values of a block, in widths of the search space.
_ZOOMS = (0.1, 0.03, 0.01)
# How many values of a block are followed.
_FOLLOWED = 4
# A block is given at least so many values in a round, however many blocks there are.
_LEAST_VALUES = 16


class BlockSearch:
    """A point that is improved block by block, and other good values of each block.

    Args:
        problem: What to minimize.
        blocks: Which coordinates are moved together.
        scale: Typical spreads.
        start: (D,).
    """

    def __init__(self, problem: SearchProblem, blocks: Blocks, scale: Scale, start: Tensor) -> None:
        self._problem, self._blocks, self._scale = problem, blocks, scale
        self.point = start.clone()
        self.evaluations = 0
        self._merit = float(self._merits(start.unsqueeze(0))[0])
        # By block: points that differ from `point` in it alone, the best first.
        self._followed: list[Tensor] = [start.unsqueeze(0) for _ in blocks.entries]

    def screen(self, cover: Tensor, seed: int) -> None:
        """Give every block values of points that cover the space, and then closer ones.

        Args:
            cover: (P, D), points that cover the space.
            seed: The seed of all random numbers.
        """
        generator = torch.Generator().manual_seed(seed + 1)
        donors = torch.clamp(self._blocks.donors, self._problem.lower, self._problem.upper)
        count = max(_LEAST_VALUES, len(cover) // len(self._blocks.entries))
        self.mix(torch.cat([donors, cover[:count]]))
        width = self._problem.upper - self._problem.lower
        for radius in _ZOOMS:
            for number in range(len(self._blocks.entries)):
                centers = self._followed[number]
                shape = (max(1, count // len(centers)), *centers.shape)
                noise = torch.randn(shape, generator=generator, dtype=torch.float64)
                near = moved_at_random(self._problem, centers, radius * width, noise, generator)
                near = torch.clamp(near.flatten(0, 1), self._problem.lower, self._problem.upper)
                self._try(number, near)

    def mix(self, points: Tensor) -> None:
        """Try the blocks of other points, (P, D), one after the other."""
        for number in range(len(self._blocks.entries)):
            self._try(number, points)

    def others(self, count: int) -> Tensor:
        """The best points that differ from the best one in a block, (at most count, D)."""
        points = torch.cat([self._in_block(i, f[1:]) for i, f in enumerate(self._followed)])
        return points[self._merits(points).argsort()[:count]] if len(points) else points

    def _try(self, number: int, points: Tensor) -> None:
        """Move one block to where it is in other points, if that is better."""
        tried = self._in_block(number, torch.cat([self._followed[number], points]))
        tried = torch.cat([self.point.unsqueeze(0), tried])
        merit = self._merits(tried)
        self._followed[number] = tried[spread_out(tried, merit, _FOLLOWED, self._problem)]
        best = int(merit.argmin())
        if float(merit[best]) < self._merit:
            self.point, self._merit = tried[best].clone(), float(merit[best])

    def _in_block(self, number: int, points: Tensor) -> Tensor:
        """The present point with one block as in other points, (P, D)."""
        entries = self._blocks.entries[number]
        moved = self.point.repeat(len(points), 1)
        moved[:, entries] = points[:, entries]
        return moved

    def _merits(self, points: Tensor) -> Tensor:
        self.evaluations += len(points)
        return screening_merit(*evaluate_in_chunks(self._problem, points), self._scale)

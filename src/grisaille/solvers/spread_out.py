"""Good points that keep a distance from one another, to search from."""

from __future__ import annotations

import torch
from torch import Tensor

from grisaille.solvers.search_problem import SearchProblem

_FIRST_GAP = 0.3
_LAST_GAP = 1e-6


def spread_out(points: Tensor, merit: Tensor, count: int, problem: SearchProblem) -> Tensor:
    """Indices of points of small merit that keep a distance from one another.

    Memory grows with the number of points alone: of all distances, each point keeps the least to
    one that is chosen.

    Args:
        points: (P, D).
        merit: (P,), less is better.
        count: How many to choose.
        problem: Its bounds are what distances are measured by.
    """
    order = merit.argsort()
    unit = (points[order] - problem.lower) / (problem.upper - problem.lower)
    gap = _FIRST_GAP
    chosen: list[int] = []
    available = torch.ones(len(order), dtype=torch.bool)
    nearest = torch.full((len(order),), torch.inf, dtype=unit.dtype)
    while len(chosen) < min(count, len(order)):
        left = torch.nonzero(available)
        if not len(left):  # no point is far enough away: allow smaller distances
            gap /= 4
            available = nearest >= gap if gap > _LAST_GAP else torch.ones_like(available)
            available[chosen] = False
            continue
        pick = int(left[0])
        chosen.append(pick)
        away = (unit - unit[pick]).abs().amax(-1)
        nearest = torch.minimum(nearest, away)
        available &= away >= gap
        available[pick] = False
    return order[chosen]

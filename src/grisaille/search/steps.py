"""The point to try near a solution, where some entries have steps.

A search covers everything between the bounds, so that its value bounds the optimum. The point that
is tried is chosen among those around the solution that are on the steps, by what was searched for.
Steps restrict the choice, not the bound, so that a gap may stay open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.search.multistart import MultiStart
from grisaille.search.search_problem import (
    SearchProblem,
    Solution,
    best_of,
    evaluate_in_chunks,
    sampled_scale,
    with_fixed,
)

# How many of the points around a solution are worth a search of what has no steps.
_SEARCHED = 3
_REST_SEARCH = MultiStart(starts=3, samples=128, iterations=20, again=False, polish=False)
# How much violations weigh when points are compared before that search.
_PENALTY = 10.0


def settle(
    problem: SearchProblem, solution: Solution, taken: Sequence[Array], seed: int
) -> Solution:
    """Return the best point near a solution that is on the steps; the solution if there are none.

    Args:
        problem: What was searched.
        solution: The best point between the bounds.
        taken: Design points that are chosen only if nothing else is near.
        seed: The seed of all random numbers.
    """
    if problem.steps is None:
        return solution
    stepped = torch.tensor(problem.steps.stepped)
    rest = solution.point[len(stepped) :]
    points = problem.steps.free_around(solution.point[: len(stepped)], taken)
    points = torch.cat([points, rest.expand(len(points), -1)], 1)
    scale = sampled_scale(problem, seed)
    objectives, constraints = evaluate_in_chunks(problem, points)
    fixed = torch.cat([stepped, torch.zeros(len(rest), dtype=torch.bool)])
    if not fixed.all():
        merit = objectives / scale.objective + _PENALTY * scale.violation(constraints)
        merit = torch.nan_to_num(merit, nan=torch.inf)
        found = [_with_rest(problem, points[i], fixed, seed) for i in merit.argsort()[:_SEARCHED]]
        points = torch.cat([points, *found])
        objectives, constraints = evaluate_in_chunks(problem, points)
    spent = solution.evaluations + len(points)
    return replace(best_of(points, objectives, constraints, scale, spent), proof=solution.proof)


def _with_rest(problem: SearchProblem, point: Tensor, fixed: Tensor, seed: int) -> Tensor:
    """A point (1, D) whose other entries suit those that are fixed."""
    found = _REST_SEARCH.solve(with_fixed(problem, point, fixed), point[~fixed].unsqueeze(0), seed)
    best = point.clone()
    best[~fixed] = found.point
    return best.unsqueeze(0)

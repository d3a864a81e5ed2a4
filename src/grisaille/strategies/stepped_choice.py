"""The design point to try near a solution, where variables have steps.

A search covers everything between the bounds, so that its value bounds the optimum. The point that
is tried is chosen among those around the solution that are on the steps, by what was searched for.

Steps restrict the choice, not the bound, so that a gap may stay open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.knowledge import Knowledge
from grisaille.language.variable import DesignSpace
from grisaille.records import Situation
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
# How many steps away a point that was not tried is looked for, at most.
_FARTHEST = 1024
SAME = 1e-9
"""Design points closer than this part of each range are the same."""


def settled(problem: SearchProblem, solution: Solution, knowledge: Knowledge) -> Solution:
    """The best point near a solution whose design point is on the steps.

    Where answers are exact, a design point that is taken is chosen only if nothing else is near.

    Args:
        problem: What was searched; its points start with a design point.
        solution: The best point between the bounds.
        knowledge: What is known.
    """
    space, seed = knowledge.program.space, knowledge.situation.trial_seed
    if not space.has_steps:
        return solution
    taken = taken_designs(knowledge.situation) if knowledge.is_exact else []
    n, rest = len(space.lower), solution.point[len(space.lower) :]
    rows = _worth_trying(space, space.design(solution.point[:n]), taken)
    points = space.to_search(torch.tensor(rows))
    points = torch.cat([points, rest.expand(len(points), -1)], 1)
    scale = sampled_scale(problem, seed)
    objectives, constraints = evaluate_in_chunks(problem, points)
    fixed = torch.cat([torch.tensor(space.stepped), torch.zeros(len(rest), dtype=torch.bool)])
    if not fixed.all():
        merit = objectives / scale.objective + _PENALTY * scale.violation(constraints)
        merit = torch.nan_to_num(merit, nan=torch.inf)
        found = [_with_rest(problem, points[i], fixed, seed) for i in merit.argsort()[:_SEARCHED]]
        points = torch.cat([points, *found])
        objectives, constraints = evaluate_in_chunks(problem, points)
    spent = solution.evaluations + len(points)
    return replace(best_of(points, objectives, constraints, scale, spent), proof=solution.proof)


def design_of(solution: Solution, knowledge: Knowledge) -> Array:
    """The design point of a solution, on the steps."""
    space = knowledge.program.space
    return space.on_steps(space.design(solution.point[: len(space.lower)]))


def _with_rest(problem: SearchProblem, point: Tensor, fixed: Tensor, seed: int) -> Tensor:
    """A point (1, D) whose other entries suit those that are fixed."""
    found = _REST_SEARCH.solve(with_fixed(problem, point, fixed), point[~fixed].unsqueeze(0), seed)
    best = point.clone()
    best[~fixed] = found.point
    return best.unsqueeze(0)


def _worth_trying(space: DesignSpace, x: Array, taken: Sequence[Array]) -> Array:
    """Design points on the steps around one, (count, n), without those that are taken.

    All around it if the whole neighbourhood is taken: a small grid can be used up.
    """
    around = space.neighbours(x)
    if space.whole.any():
        nearest = _nearest_free(space, around, taken)
        return around if nearest is None else nearest
    rows, reach = around, 1
    while reach <= _FARTHEST:
        free = [row for row in rows if not is_among(space, row, taken)]
        if free:
            return np.array(free)
        reach *= 2
        rows = space.neighbours(x, reach)
    return around


def _nearest_free(space: DesignSpace, around: Array, taken: Sequence[Array]) -> Array | None:
    """Design points that are not taken, as few moves away as possible; None if all are taken.

    Labels and whole numbers with few values leave no way to go farther along one entry. So we go on
    from all neighbours to their neighbours. Only points that are taken are gone on from, so that
    this ends soon.
    """
    level, seen = list(around), {row.tobytes() for row in around}
    while level:
        free = [row for row in level if not is_among(space, row, taken)]
        if free:
            return np.array(free)
        further = (row for center in level for row in space.neighbours(center))
        fresh = {row.tobytes(): row for row in further if row.tobytes() not in seen}
        seen |= set(fresh)
        level = list(fresh.values())
    return None


def is_among(space: DesignSpace, x: Array, others: Sequence[Array], part: float = SAME) -> bool:
    """Whether a design point is as near to one of others, in parts of each range."""
    if not len(others):
        return False
    reach = part * (space.search_upper - space.search_lower)
    return bool((space.distances(x, others) <= reach).all(1).any())


def taken_designs(situation: Situation) -> list[Array]:
    """Design points whose answers are known, or will be: tried, failed or pending."""
    size = situation.problem.program.size
    tried = [trial.x for trial in situation.history]
    tried += [failure.x for failure in situation.history.failures if len(failure.x) == size]
    return tried + [p.suggestion.x for p in situation.pending if p.suggestion.chain]

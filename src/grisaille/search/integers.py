"""Searching whole numbers: which points to screen, where to start, and moves to neighbours.

A local search keeps the whole numbers of its start. What changes them is screening, a search as if
they could be anything between their bounds, and moves to neighbours from the best ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from grisaille.search.local_search import local_search
from grisaille.search.search_problem import (
    SEARCH,
    Scale,
    SearchProblem,
    evaluate_in_chunks,
    nominal_entries,
    rounded,
    screening_merit,
)


@dataclass(frozen=True, slots=True)
class IntegerConstants:
    """The constants of searches over whole numbers.

    Attributes:
        few_combinations: At most this many combinations are all searched from. Halved and doubled:
            no decision of 2 runs changed (benchmarks.constants).
        relaxed: Starts that are searched as if nothing had to be whole. Halved and doubled: no
            decision of 1 run changed (benchmarks.constants).
        centers: Ends at which moves begin. Halved and doubled: no decision of 2 runs changed
            (benchmarks.constants).
        neighbours: Neighbours that are searched further. Halved and doubled: no decision of 1 run
            changed (benchmarks.constants).
        rounds: Rounds of moves. Halved and doubled: no decision of 2 runs changed
            (benchmarks.constants).
        failures: Rounds in vain after which another one may find a better point two moves away.
            Doubled: no decision of 1 run changed (benchmarks.constants).
        pairs: Pairs of moves that are tried. Halved and doubled: no decision of 1 run changed
            (benchmarks.constants).
        steps_of_a_move: Steps of the local search after a move. Halved and doubled: no decision of
            2 runs changed (benchmarks.constants).
        least_move: The least standard deviation of a random move. Halved and doubled: no decision
            of 2 runs changed (benchmarks.constants).
        chance_of_another: Chance of any other whole number. Halved: 0 of 2 runs change; doubled: 1
            (benchmarks.constants).
    """

    few_combinations: int = 64
    relaxed: int = 8
    centers: int = 3
    neighbours: int = 16
    rounds: int = 12
    failures: int = 1
    pairs: int = 512
    steps_of_a_move: int = 20
    least_move: float = 0.6
    chance_of_another: float = 0.3


INTEGERS = IntegerConstants()


def combinations(problem: SearchProblem) -> Tensor | None:
    """All combinations of the whole entries, (count, whole entries), or None if they are many."""
    if problem.whole is None:
        return None
    lower, upper = problem.lower[problem.whole], problem.upper[problem.whole]
    if math.prod((upper - lower + 1).tolist()) > INTEGERS.few_combinations:
        return None
    ends = zip(lower.tolist(), upper.tolist(), strict=True)
    axes = [torch.arange(low, high + 1, dtype=torch.float64) for low, high in ends]
    return torch.cartesian_prod(*axes).reshape(-1, len(axes))


def spread_evenly(problem: SearchProblem, unit: Tensor, generator: torch.Generator) -> Tensor:
    """Points for numbers from 0 to 1, (count, D), that take every whole number equally often.

    If there are few combinations of whole numbers, these are taken equally often.
    """
    points = problem.lower + (problem.upper - problem.lower) * unit
    if problem.whole is None:
        return points
    every = combinations(problem)
    if every is not None:
        which = torch.arange(len(unit)) % len(every)
        # In any other than a random order, a combination would get a part of the Sobol points only.
        order = torch.randperm(len(unit), generator=generator)
        points[:, problem.whole] = every[which[order]]
        return points
    values = problem.upper - problem.lower + 1
    number = torch.minimum((unit * values).floor(), values - 1)
    return torch.where(problem.whole, problem.lower + number, points)


def moved_at_random(
    problem: SearchProblem,
    centers: Tensor,
    deviation: Tensor,
    noise: Tensor,
    generator: torch.Generator,
) -> Tensor:
    """Points around centers that are `noise` standard deviations away.

    Whole numbers move far enough to change now and then, and things without an order are drawn
    again instead.

    Args:
        problem: The problem.
        centers: (centers, D).
        deviation: (D,), standard deviations of the moves.
        noise: (count, centers, D); entries that are 0 do not move.
        generator: Random numbers.
    """
    if problem.whole is None:
        return centers + deviation * noise
    moved = rounded(
        problem,
        centers
        + torch.where(problem.whole, deviation.clamp_min(INTEGERS.least_move), deviation) * noise,
    )
    chance = torch.rand(noise.shape, generator=generator, dtype=torch.float64)
    values = problem.upper - problem.lower + 1
    # Where the chance is small enough, it is itself a number that is uniform from 0 to a limit.
    another = problem.lower + (chance / INTEGERS.chance_of_another * values).floor()
    drawn = torch.where((chance < INTEGERS.chance_of_another) & (noise != 0), another, centers)
    return torch.where(nominal_entries(problem), drawn, moved)


def more_starts(
    problem: SearchProblem,
    scale: Scale,
    starts: Tensor,
    points: Tensor,
    merit: Tensor,
    iterations: int,
) -> tuple[Tensor, int]:
    """Starts (S, D) with further ones, and how many points were evaluated.

    These are the best point of each combination of whole numbers, if they are few, and what a
    search finds that may leave the whole numbers, rounded.

    Args:
        problem: What to minimize.
        scale: Typical spreads.
        starts: The starts so far.
        points: (P, D), points that were screened.
        merit: (P,), theirs.
        iterations: The largest number of steps.
    """
    assert problem.whole is not None
    every = combinations(problem)
    added = []
    if every is not None:
        for row in every:
            same = (points[:, problem.whole] == row).all(1)
            if same.any():
                added.append(points[torch.where(same, merit, torch.inf).argmin()].unsqueeze(0))
    evaluations = 0
    nominal = nominal_entries(problem)
    if every is None and bool((problem.whole & ~nominal).any()):
        # Labels have no order, so that what lies between two of them means nothing.
        relaxed = replace(problem, whole=nominal if nominal.any() else None)
        ends, evaluations = local_search(relaxed, scale, starts[: INTEGERS.relaxed], iterations)
        added.append(rounded(problem, ends))
    return torch.cat([starts, *added]), evaluations


def neighbours(problem: SearchProblem, center: Tensor, generator: torch.Generator) -> Tensor:
    """Points with other whole numbers than one, (D,), and the same other entries: (count, D).

    One whole number is 1 larger or smaller, or one is larger and another smaller, so that their
    sum stays; or one label is another.
    """
    assert problem.whole is not None
    nominal = nominal_entries(problem)
    ordered = torch.nonzero(problem.whole & ~nominal).flatten()
    up = torch.zeros(len(ordered), len(center), dtype=center.dtype)
    up[torch.arange(len(ordered)), ordered] = 1.0
    moves = [up, -up]
    if len(ordered) > 1:
        pairs = torch.cartesian_prod(torch.arange(len(ordered)), torch.arange(len(ordered)))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        if len(pairs) > INTEGERS.pairs:
            pairs = pairs[torch.randperm(len(pairs), generator=generator)[: INTEGERS.pairs]]
        moves.append(up[pairs[:, 0]] - up[pairs[:, 1]])
    around = [center + torch.cat(moves)]
    for entry in torch.nonzero(nominal).flatten().tolist():
        low, high = float(problem.lower[entry]), float(problem.upper[entry])
        labels = torch.arange(low, high + 1, dtype=center.dtype)
        others = center.repeat(len(labels), 1)
        others[:, entry] = labels
        around.append(others[labels != center[entry]])
    every = torch.cat(around)
    return every[((every >= problem.lower) & (every <= problem.upper)).all(1)]


def moved_to_neighbours(
    problem: SearchProblem, scale: Scale, ends: Tensor, iterations: int, seed: int
) -> tuple[Tensor, int]:
    """Go from the best ends (S, D) to neighbours, as long as one is better.

    Returns:
        All ends, and how many points were evaluated.
    """
    assert problem.whole is not None
    generator = torch.Generator().manual_seed(seed + 3)
    steps = min(iterations, INTEGERS.steps_of_a_move)
    evaluations = len(ends)
    objectives, constraints = evaluate_in_chunks(problem, ends)
    merit = screening_merit(objectives, constraints, scale)
    best, target = float(merit.amin()), _least(objectives, constraints, scale)
    order = merit.argsort()
    centers = _new_ones(problem, ends[order], set())[: INTEGERS.centers]
    seen = {_whole_part(problem, end) for end in ends}
    failures = 0
    for _ in range(INTEGERS.rounds):
        around = torch.cat([neighbours(problem, center, generator) for center in centers])
        around = _new_ones(problem, around, seen)
        if not len(around):
            break
        found = screening_merit(*evaluate_in_chunks(problem, around), scale)
        starts = around[found.argsort()[: INTEGERS.neighbours]]
        seen |= {_whole_part(problem, start) for start in starts}
        further, tried = local_search(problem, scale, starts, steps, target)
        objectives, constraints = evaluate_in_chunks(problem, further)
        evaluations += len(around) + tried + len(further)
        ends = torch.cat([ends, further])
        merit = screening_merit(objectives, constraints, scale)
        target = min(target, _least(objectives, constraints, scale))
        failures = 0 if float(merit.amin()) < best else failures + 1
        if failures > INTEGERS.failures:
            break
        best = min(best, float(merit.amin()))
        centers = _new_ones(problem, further[merit.argsort()], set())[: INTEGERS.centers]
    return ends, evaluations


def _least(objectives: Tensor, constraints: Tensor, scale: Scale) -> float:
    """The least scaled objective of feasible points; infinite if there are none."""
    feasible = scale.violation(constraints) <= SEARCH.feasibility
    return float(torch.where(feasible, objectives / scale.objective, torch.inf).amin())


def _new_ones(problem: SearchProblem, points: Tensor, seen: set[bytes]) -> Tensor:
    """The first of the points with each combination of whole numbers that was not seen."""
    first: dict[bytes, int] = {}
    for position, point in enumerate(points):
        part = _whole_part(problem, point)
        if part not in seen:
            first.setdefault(part, position)
    return points[list(first.values())]


def _whole_part(problem: SearchProblem, point: Tensor) -> bytes:
    assert problem.whole is not None
    return point[problem.whole].to(torch.int64).numpy().tobytes()

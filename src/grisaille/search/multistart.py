"""Multi-start search: screen the whole space, then search locally from all starts at once.

With many variables of which few are read together, one block moves at a time: the coordinates
that one black box reads. A random point of sixty coordinates is good in none of its parts.

A local search keeps the whole numbers of its start. What changes them is screening, a search as if
they could be anything between their bounds, and moves to neighbours from the best ends.

With steps, a search covers everything between the bounds, so that its value bounds the optimum. The
point that is tried is chosen among those around the solution that are on the steps, by what was
searched for. Steps restrict the choice, not the bound, so that a gap may stay open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.checks import check_count, check_flag
from grisaille.search.local_search import local_search
from grisaille.search.polish import polished
from grisaille.search.search_problem import (
    SEARCH,
    Blocks,
    Scale,
    SearchProblem,
    Solution,
    best_of,
    evaluate_in_chunks,
    in_region,
    nominal_entries,
    rounded,
    sampled_scale,
    scale_at,
    screening_merit,
    with_fixed,
)

# --- spread out -----------------------------------------------------------------------------------
# Good points that keep a distance from one another, to search from.


@dataclass(frozen=True, slots=True)
class MultiStartConstants:
    """The constants of multi-start search.

    Attributes:
        first_gap: Distance of starts from one another at first, in widths of the search space.
            Halved: 9 of 13 runs change; doubled: 7 (benchmarks.constants).
        last_gap: The least distance of starts. Halved and doubled: no decision of 11 runs changed
            (benchmarks.constants).
        followed: Values of a block that are followed. Not measured.
        least_values: The fewest values of a block in a round. Not measured.
        zooms: Radii of the samples around the best points, in widths of the search space. Halved: 9
            of 13 runs change; doubled: 10 (benchmarks.constants).
        more_zooms: Further radii where objectives jump. Not measured.
        flat: A coordinate is flat if moving it to a bound changes the scaled merit by less. Halved
            and doubled: no decision of 11 runs changed (benchmarks.constants).
        ends_to_cross: Ends with flat coordinates that are looked at. Halved: 0 of 11 runs change;
            doubled: 2 (benchmarks.constants).
        crossings: Starts from other ends of their flat coordinates, for each. Halved: 0 of 11 runs
            change; doubled: 1 (benchmarks.constants).
        aside: Standard deviation of the other coordinates of these, in widths. Halved and doubled:
            no decision of 11 runs changed (benchmarks.constants).
        ends_to_polish: Ends that are polished. Halved and doubled: no decision of 11 runs changed
            (benchmarks.constants).
        steps_before_mixing: Steps of local searches before blocks are exchanged. Not measured.
        left_to_polish: One of this many starts is left to a polish, which ends it sooner.
            Measured: docs/benchmarks.md, Speed; three of six lose a better basin of Random 3.
    """

    first_gap: float = 0.3
    last_gap: float = 1e-6
    followed: int = 4
    least_values: int = 16
    zooms: tuple[float, ...] = (0.1, 0.03, 0.01)
    more_zooms: tuple[float, ...] = (0.003, 0.001, 0.0003, 0.0001)
    flat: float = 0.01
    ends_to_cross: int = 3
    crossings: int = 8
    aside: float = 0.02
    ends_to_polish: int = 3
    steps_before_mixing: int = 20
    left_to_polish: int = 8


MULTI_START = MultiStartConstants()


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
    gap = MULTI_START.first_gap
    chosen: list[int] = []
    available = torch.ones(len(order), dtype=torch.bool)
    nearest = torch.full((len(order),), torch.inf, dtype=unit.dtype)
    while len(chosen) < min(count, len(order)):
        left = torch.nonzero(available)
        if not len(left):  # no point is far enough away: allow smaller distances
            gap /= 4
            available = nearest >= gap if gap > MULTI_START.last_gap else torch.ones_like(available)
            available[chosen] = False
            continue
        pick = int(left[0])
        chosen.append(pick)
        away = (unit - unit[pick]).abs().amax(-1)
        nearest = torch.minimum(nearest, away)
        available &= away >= gap
        available[pick] = False
    return order[chosen]


# --- many variables -------------------------------------------------------------------------------
# Searching many variables of which only a few are read together.
#
# A random point of sixty coordinates is good in none of its parts. So we move one block at a
# time, the coordinates that one black box reads, and keep the others where they are. The number
# of points does not grow with the number of coordinates, and no memory grows with its square.


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
        count = max(MULTI_START.least_values, len(cover) // len(self._blocks.entries))
        self.mix(torch.cat([donors, cover[:count]]))
        width = self._problem.upper - self._problem.lower
        for radius in MULTI_START.zooms:
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
        self._followed[number] = tried[
            spread_out(tried, merit, MULTI_START.followed, self._problem)
        ]
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


# --- multistart -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MultiStart:
    """Sobol screening with boundary points and hints, then batched local search.

    Attributes:
        starts: The number of local searches, in addition to one from each hint.
        samples: How many points screening evaluates; a few thousand more zoom in on the best.
        iterations: The largest number of steps of a local search.
        again: Whether to search a second time from the other ends of coordinates that hardly
            matter at the best points.
        polish: Whether to go on from the best point until it is a local optimum, whatever the
            scales; not worth its time for a function with many kinks.
    """

    starts: int = 24
    samples: int = 2048
    iterations: int = 60
    again: bool = True
    polish: bool = True

    def __post_init__(self) -> None:
        for name in ("starts", "samples", "iterations"):
            check_count("MultiStart", name, getattr(self, name))
        for name in ("again", "polish"):
            check_flag("MultiStart", name, getattr(self, name))

    def solve(self, problem: SearchProblem, hints: Tensor, seed: int) -> Solution:
        """Search for the minimum; the result is the best point found, without proof."""
        hints = rounded(problem, torch.clamp(hints, problem.lower, problem.upper))
        if problem.blocks is not None:
            return self._solve_by_blocks(problem, problem.blocks, hints, seed)
        points = torch.cat([hints, self._cover(problem, seed)])
        objectives, constraints = evaluate_in_chunks(problem, points)
        scale = scale_at(problem, points, (objectives, constraints))
        points, objectives, constraints = self._zoom(
            problem, scale, points, objectives, constraints, seed
        )
        merit = screening_merit(objectives, constraints, scale)
        chosen = spread_out(points, merit, self.starts, problem)
        starts = torch.cat([hints, points[chosen]])
        relaxed_steps = 0
        if problem.whole is not None:
            starts, relaxed_steps = more_starts(
                problem, scale, starts, points, merit, self.iterations
            )
        left = max(1, self.starts // MULTI_START.left_to_polish) if self.polish else 0
        ends, steps = local_search(problem, scale, starts, self.iterations, left=left)
        steps += relaxed_steps
        crossed = starts[:0]
        if self.again:
            crossed, tried = _cross_flat_coordinates(problem, scale, ends, seed)
            steps += tried
        if len(crossed):
            target = _best_value(problem, scale, ends)
            steps += len(ends)
            more, further = local_search(problem, scale, crossed, self.iterations, target, left)
            ends = torch.cat([ends, more])
            steps += further
        if problem.whole is not None:
            ends, further = moved_to_neighbours(problem, scale, ends, self.iterations, seed)
            steps += further
        values = objectives, constraints
        if not self.polish:
            return _best_of_both(problem, scale, points, values, ends, steps)
        found = _best_of_both(problem, scale, points, values, ends, steps + len(ends))
        merit = screening_merit(*evaluate_in_chunks(problem, ends), scale)
        others = ends[spread_out(ends, merit, MULTI_START.ends_to_polish, problem)]
        return polished(problem, scale, found, others, self.iterations)

    def _solve_by_blocks(
        self, problem: SearchProblem, blocks: Blocks, hints: Tensor, seed: int
    ) -> Solution:
        """As `solve`, where many variables are read in blocks.

        Screening moves one block at a time. Local searches start from the point it finds and from
        points that differ in one block; then their ends exchange blocks.
        """
        cover = self._cover(problem, seed)
        points = torch.cat([hints, cover])
        values = evaluate_in_chunks(problem, points)
        scale = scale_at(problem, points, values)
        merit = screening_merit(*values, scale)
        search = BlockSearch(problem, blocks, scale, points[merit.argmin()])
        search.screen(cover, seed)
        starts = torch.cat([hints, search.point.unsqueeze(0), search.others(self.starts // 2)])
        tried = search.evaluations
        if problem.whole is not None:
            starts, steps = more_starts(problem, scale, starts, points, merit, self.iterations)
            tried += steps
        # Enough to tell better blocks from worse ones.
        few = min(self.iterations, MULTI_START.steps_before_mixing)
        ends, steps = local_search(problem, scale, starts, few)
        tried += steps
        if problem.whole is not None:
            ends, steps = moved_to_neighbours(problem, scale, ends, self.iterations, seed)
            tried += steps
        merit = screening_merit(*evaluate_in_chunks(problem, ends), scale)
        search = BlockSearch(problem, blocks, scale, ends[merit.argmin()])
        search.mix(ends)
        mixed = search.point.unsqueeze(0)
        further, steps = local_search(problem, scale, mixed, self.iterations)
        tried += len(ends) + search.evaluations + steps
        ends = torch.cat([starts, ends, mixed, further])
        found = _best_of_both(problem, scale, points, values, ends, tried)
        return polished(problem, scale, found, ends[:0], self.iterations) if self.polish else found

    def _cover(self, problem: SearchProblem, seed: int) -> Tensor:
        """Sobol points, half of them with some coordinates moved to a bound."""
        dimensions = len(problem.lower)
        engine = torch.quasirandom.SobolEngine(dimensions, scramble=True, seed=seed)
        unit = engine.draw(self.samples, dtype=torch.float64)
        generator = torch.Generator().manual_seed(seed)
        half = self.samples // 2
        chance = torch.rand(half, 1, generator=generator, dtype=torch.float64)
        moved = torch.rand(half, dimensions, generator=generator, dtype=torch.float64) < chance
        if problem.nominal is not None:  # the first and the last label are not special
            moved &= ~problem.nominal
        unit[:half] = torch.where(moved, unit[:half].round(), unit[:half])
        points = spread_evenly(problem, unit, generator)
        if problem.region is None:
            return points
        return in_region(problem, problem.region, points, seed, faces=half)

    def _zoom(
        self,
        problem: SearchProblem,
        scale: Scale,
        points: Tensor,
        objectives: Tensor,
        constraints: Tensor,
        seed: int,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Sample around the best points at ever smaller radii, without gradients."""
        generator = torch.Generator().manual_seed(seed + 1)
        width = problem.upper - problem.lower
        more = () if problem.continuous else MULTI_START.more_zooms
        for radius in (*MULTI_START.zooms, *more):
            merit = screening_merit(objectives, constraints, scale)
            centers = points[spread_out(points, merit, 2 * self.starts, problem)]
            count = max(1, self.samples // (4 * len(centers)))
            noise = torch.randn(count, *centers.shape, generator=generator, dtype=torch.float64)
            # Half of the moves change few coordinates, which helps in many dimensions.
            rare = torch.rand(noise.shape, generator=generator, dtype=torch.float64) < 0.3
            noise[: count // 2] = torch.where(rare[: count // 2], noise[: count // 2], 0.0)
            near = moved_at_random(problem, centers, radius * width, noise, generator)
            near = near.reshape(-1, len(width))
            near = torch.clamp(near, problem.lower, problem.upper)
            if problem.region is not None:
                first = len(problem.region.lower)
                around = centers.expand(count, *centers.shape).reshape(near.shape)
                inside = problem.region.pulled_in(around[:, :first], near[:, :first])
                near = torch.cat([inside, near[:, first:]], 1)
            found = evaluate_in_chunks(problem, near)
            points = torch.cat([points, near])
            objectives = torch.cat([objectives, found[0]])
            constraints = torch.cat([constraints, found[1]])
        return points, objectives, constraints


def search_from(
    problem: SearchProblem,
    scale: Scale,
    points: Tensor,
    starts: int,
    iterations: int,
    best_known: float,
) -> Solution:
    """Local search from the best of given points, (S, D).

    Args:
        problem: What to minimize.
        scale: Typical spreads.
        points: The points.
        starts: How many of them to start from.
        iterations: The largest number of steps.
        best_known: A value to beat: starts that will not are given up. Infinite if there is none.
    """
    points = rounded(problem, points)
    values = evaluate_in_chunks(problem, points)
    best = screening_merit(*values, scale).argsort()[:starts]
    target = best_known / float(scale.objective)
    ends, steps = local_search(problem, scale, points[best], iterations, target)
    return _best_of_both(problem, scale, points, values, ends, steps)


def _best_of_both(
    problem: SearchProblem,
    scale: Scale,
    points: Tensor,
    values: tuple[Tensor, Tensor],
    ends: Tensor,
    steps: int,
) -> Solution:
    """The best of screened points with known values, and of the ends of local searches."""
    pairs = zip((points, *values), (ends, *evaluate_in_chunks(problem, ends)), strict=True)
    everything, objectives, constraints = map(torch.cat, pairs)
    return best_of(everything, objectives, constraints, scale, len(everything) + steps)


def _best_value(problem: SearchProblem, scale: Scale, points: Tensor) -> float:
    """Least scaled objective of the feasible points; infinite if there are none."""
    objectives, constraints = evaluate_in_chunks(problem, points)
    feasible = scale.violation(constraints) <= SEARCH.feasibility
    return float(torch.where(feasible, objectives / scale.objective, torch.inf).amin())


def _cross_flat_coordinates(
    problem: SearchProblem, scale: Scale, ends: Tensor, seed: int
) -> tuple[Tensor, int]:
    """Starts on the other side of coordinates that hardly matter at the best ends.

    A coordinate may have no effect at one point, and so no slope there, but lead down from its
    other end a step further on.

    Returns:
        The starts, and how many points were evaluated.
    """
    merit = screening_merit(*evaluate_in_chunks(problem, ends), scale)
    best = spread_out(ends, merit, MULTI_START.ends_to_cross, problem)
    center, level = ends[best], merit[best]
    dimensions = len(problem.lower)
    sides = torch.stack([problem.lower, problem.upper])
    eye = torch.eye(dimensions, dtype=torch.bool)
    jumps = torch.where(eye, sides[:, None, None, :], center[None, :, None, :]).flatten(0, 2)
    moved = screening_merit(*evaluate_in_chunks(problem, jumps), scale)
    moved = moved.reshape(2, len(center), dimensions)
    flat = (moved - level[:, None]).abs().amax(0) <= MULTI_START.flat
    generator = torch.Generator().manual_seed(seed + 2)
    shape = (MULTI_START.crossings, *center.shape)
    upper = torch.rand(shape, generator=generator, dtype=torch.float64) < 0.5
    # A little to the side, because a flat coordinate has no slope at the end itself.
    aside = torch.randn(shape, generator=generator, dtype=torch.float64) * (sides[1] - sides[0])
    near = rounded(problem, torch.clamp(center + MULTI_START.aside * aside, sides[0], sides[1]))
    starts = torch.where(flat, torch.where(upper, sides[1], sides[0]), near)
    starts = starts[:, flat.any(1)].reshape(-1, dimensions)
    return starts, len(jumps) + len(ends)


# --- whole numbers --------------------------------------------------------------------------------


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


# --- steps ----------------------------------------------------------------------------------------

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

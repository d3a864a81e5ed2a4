"""The interface of searches: a bounded space with K inequalities, solutions, and proofs of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array, Flags
from grisaille.search.polytope import Polytope


@dataclass(frozen=True, slots=True)
class SearchConstants:
    """The constants that all searches share.

    Attributes:
        nearby: Reach of a search around a point, in widths of the search space. Not measured.
        samples: Points by which typical spreads are measured. Halved: 0 of 10 runs change; doubled:
            1 (benchmarks.constants).
        feasibility: A constraint is met if its violation is at most this part of its spread.
            Halved: 1 of 13 runs changes; doubled: 1 (benchmarks.constants).
        flat: A constraint is flat if it varies by less than this part of its spread over the
            space. Not measured.
        screen_penalty: Weight of violations while samples are screened. Halved: 2 of 13 runs
            change; doubled: 2 (benchmarks.constants).
    """

    nearby: float = 0.02
    samples: int = 256
    feasibility: float = 1e-7
    flat: float = 1e-9
    screen_penalty: float = 10.0


SEARCH = SearchConstants()


Evaluate = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Batched: points (batch, D) to objectives (batch,) and constraints (batch, K), met when <= 0."""


@runtime_checkable
class EvaluateWithSlopes(Protocol):
    """An `Evaluate` that also gives slopes, faster than automatic differentiation would."""

    def with_slopes(self, points: Array) -> tuple[Array, Array]:
        """Objective and constraints (batch, 1 + K), and their slopes (batch, 1 + K, D)."""
        ...


@dataclass(frozen=True, slots=True)
class Blocks:
    """Which coordinates of a search space are read together.

    Attributes:
        entries: (count,) for each block, the positions of its coordinates. Blocks may overlap, and
            every coordinate is in one.
        donors: (P, D), points whose blocks may be good, each for itself.
    """

    entries: tuple[Tensor, ...]
    donors: Tensor


class Steps(Protocol):
    """The values at which the first entries of a point are tried.

    Attributes:
        stepped: (n,), which of these entries have steps.
    """

    stepped: Flags

    def free_around(self, point: Tensor, taken: Sequence[Array]) -> Tensor:
        """Return points (count, n) on the steps around one, without those that are taken."""
        ...


@dataclass(frozen=True, slots=True)
class SearchProblem:
    """Minimize an objective between bounds, subject to inequalities.

    Attributes:
        lower: (D,).
        upper: (D,).
        evaluate: Objective and constraints of a batch of points, differentiable where smooth.
        continuous: False when objective or constraints jump: then a search should also try steps
            that no gradient suggests.
        relax: Makes the bounds over regions that a global search needs, or raises `NoRelaxation`;
            None if there are none.
        whole: (D,), which entries of a point must be whole numbers; None if none must. Objective
            and constraints have values between whole numbers, too. The bounds of such entries are
            whole.
        nominal: (D,), which of these are numbers of things without an order, so that any two of
            them are neighbours; None if none are.
        region: What linear inequalities leave of the first entries: where to sample. They are
            among the constraints as well. None if there are none.
        blocks: Which entries are read together, where there are many; None if a search need not
            know.
        steps: Where the first entries may be tried; None for everywhere. Searches look between
            the steps, too: `steps.settle` chooses the point to try.
    """

    lower: Tensor
    upper: Tensor
    evaluate: Evaluate
    continuous: bool = True
    relax: Callable[[], Relaxation] | None = None
    whole: Tensor | None = None
    nominal: Tensor | None = None
    region: Polytope | None = None
    blocks: Blocks | None = None
    steps: Steps | None = None


@dataclass(frozen=True, slots=True)
class Solution:
    """The best point a solver found.

    Attributes:
        point: (D,), the best feasible point, or else the point of least violation.
        value: Objective there; infinite if it is finite nowhere.
        violation: Largest violation of a constraint there, at least 0, in the constraint's units.
        feasible: Whether the point meets all constraints up to rounding. False proves nothing: a
            search that finds no feasible point has not shown that there is none.
        evaluations: How many points were evaluated.
        proof: What a global search has shown; None for a search without proof.
        stationarity: How far the point is from meeting the first-order conditions of a local
            optimum (`search/polish.py`): at most 1e-6 if the search converged. None where that was
            not worked out, or the point is not feasible.
    """

    point: Tensor
    value: float
    violation: float
    feasible: bool
    evaluations: int
    proof: Proof | None = None
    stationarity: float | None = None


def slopes_at_once(problem: SearchProblem) -> EvaluateWithSlopes | None:
    """What gives slopes together with values; None where they need automatic differentiation."""
    # Asking whether it is an instance of a protocol takes longer than a small evaluation.
    evaluate: Any = problem.evaluate
    return evaluate if hasattr(evaluate, "with_slopes") else None


def nearby(problem: SearchProblem, point: Tensor, entries: int) -> SearchProblem:
    """The same problem near a point, where a search resolves finer details.

    A whole number moves by 1 at least, and things without an order are all near one another.

    Args:
        problem: The problem.
        point: (D,).
        entries: How many of the first entries stay near; the others may be anywhere.
    """
    reach = SEARCH.nearby * (problem.upper - problem.lower)
    if problem.whole is not None:
        point = rounded(problem, point)
        reach = torch.where(problem.whole, reach.round().clamp_min(1.0), reach)
        reach[nominal_entries(problem)] = torch.inf
    reach[entries:] = torch.inf
    lower = torch.maximum(problem.lower, point - reach)
    upper = torch.minimum(problem.upper, point + reach)
    region = problem.region
    if region is not None:
        first = len(region.lower)
        region = region.within(lower[:first].numpy(), upper[:first].numpy())
    return replace(problem, lower=lower, upper=upper, region=region)


def with_fixed(problem: SearchProblem, point: Tensor, fixed: Tensor) -> SearchProblem:
    """The same problem over the other entries only.

    Args:
        problem: The problem.
        point: (D,), the values of the entries that are fixed.
        fixed: (D,), which entries these are.
    """

    def evaluate(others: Tensor) -> tuple[Tensor, Tensor]:
        full = point.expand(len(others), -1).clone()
        full[:, ~fixed] = others
        return problem.evaluate(full)

    lower, upper = problem.lower[~fixed], problem.upper[~fixed]
    whole = nominal = None
    if problem.whole is not None and bool(problem.whole[~fixed].any()):
        whole, nominal = problem.whole[~fixed], nominal_entries(problem)[~fixed]
    region = problem.region
    if region is not None:
        first = len(region.lower)
        left = ~fixed[:first].numpy()
        region = region.with_fixed(point[:first].numpy(), ~left) if left.any() else None
    return SearchProblem(
        lower,
        upper,
        evaluate,
        problem.continuous,
        whole=whole,
        nominal=nominal,
        region=region,
    )


def rounded(problem: SearchProblem, points: Tensor) -> Tensor:
    """Points (..., D) with their whole entries rounded: without a slope in these."""
    return points if problem.whole is None else torch.where(problem.whole, points.round(), points)


def nominal_entries(problem: SearchProblem) -> Tensor:
    """Which entries are numbers of things without an order, (D,)."""
    if problem.nominal is not None:
        return problem.nominal
    return torch.zeros(len(problem.lower), dtype=torch.bool)


class Solver(Protocol):
    """Solves search problems."""

    def solve(self, problem: SearchProblem, hints: Tensor, seed: int) -> Solution:
        """Search for the minimum.

        Args:
            problem: What to minimize.
            hints: (H, D), points to start from, such as the incumbent and the last solution.
            seed: The seed of all random numbers.
        """
        ...


@dataclass(frozen=True, slots=True)
class Scale:
    """Typical spreads of the objective and of each constraint, which make them comparable.

    Attributes:
        objective: A positive number.
        constraints: (K,), positive.
    """

    objective: Tensor
    constraints: Tensor

    @staticmethod
    def of(objectives: Tensor, constraints: Tensor) -> Scale:
        """Spreads of a sample: half the distance between the 10 % and 90 % quantiles."""
        spreads = []
        for column in [objectives, *constraints.T]:
            finite = column[torch.isfinite(column)]
            if not len(finite):
                spreads.append(torch.ones((), dtype=column.dtype))
                continue
            low, high = torch.quantile(finite, torch.tensor([0.1, 0.9], dtype=column.dtype))
            width = (high - low) / 2
            size = finite.abs().median()
            usable = width > 1e-12 * size
            spreads.append(width if usable else torch.where(size > 0, size, torch.ones_like(size)))
        return Scale(spreads[0], torch.stack(spreads[1:]) if len(spreads) > 1 else constraints[0])

    def violation(self, constraints: Tensor) -> Tensor:
        """Sum of scaled violations, (batch, K) to (batch,); infinite where it is not a number."""
        excess = (constraints / self.constraints).clamp_min(0).sum(-1)
        return torch.nan_to_num(excess, nan=torch.inf)


def scale_at(problem: SearchProblem, points: Tensor, values: tuple[Tensor, Tensor]) -> Scale:
    """Typical spreads, from points of the search space with their objectives and constraints.

    Where linear inequalities leave no volume, the limits that leave none vary by rounding over the
    points. Their spreads come from the whole search space.
    """
    scale, region = Scale.of(*values), problem.region
    if region is None:
        return scale
    drawn = slice(len(points) // 2, None)  # the first ones may be hints outside
    if not region.is_flat_along(points[drawn, : len(region.lower)].numpy()):
        return scale
    whole = Scale.of(*evaluate_in_chunks(problem, _sobol_points(problem, seed=0)))
    spread = values[1][drawn].amax(0) - values[1][drawn].amin(0)
    flat = spread < SEARCH.flat * whole.constraints
    return replace(scale, constraints=torch.where(flat, whole.constraints, scale.constraints))


def best_of(
    points: Tensor, objectives: Tensor, constraints: Tensor, scale: Scale, evaluations: int
) -> Solution:
    """The feasible point of least objective, or else the point of least violation."""
    violation = scale.violation(constraints)
    # A point where the objective is infinite or not a number is useless.
    usable = torch.isfinite(objectives)
    feasible = usable & (violation <= SEARCH.feasibility)
    if feasible.any():
        index = int(torch.where(feasible, objectives, torch.inf).argmin())
    else:
        index = int(torch.where(usable, violation, torch.inf).argmin())
    excess = torch.nan_to_num(constraints[index], nan=torch.inf).clamp_min(0)
    return Solution(
        point=points[index],
        value=objectives[index].item() if usable[index] else math.inf,
        violation=excess.max().item() if len(excess) else 0.0,
        feasible=bool(feasible[index]),
        evaluations=evaluations,
    )


def screening_merit(objectives: Tensor, constraints: Tensor, scale: Scale) -> Tensor:
    """What points are compared by before they are searched from, (batch,): less is better."""
    merit = objectives / scale.objective + SEARCH.screen_penalty * scale.violation(constraints)
    return torch.where(torch.isfinite(merit), merit, torch.inf)


def evaluate_in_chunks(
    problem: SearchProblem, points: Tensor, chunk: int = 4096
) -> tuple[Tensor, Tensor]:
    """Objective and constraints of many points, without gradients and with little memory."""
    with torch.no_grad():
        parts = [problem.evaluate(part) for part in points.split(chunk)]
    return torch.cat([p[0] for p in parts]), torch.cat([p[1] for p in parts])


def sampled_scale(problem: SearchProblem, seed: int) -> Scale:
    """Typical spreads, from a sample of the search space."""
    points = _sobol_points(problem, seed)
    if problem.region is not None:
        points = in_region(problem, problem.region, points, seed)
    return scale_at(problem, points, evaluate_in_chunks(problem, points))


def _sobol_points(problem: SearchProblem, seed: int) -> Tensor:
    engine = torch.quasirandom.SobolEngine(len(problem.lower), scramble=True, seed=seed)
    unit = engine.draw(SEARCH.samples, dtype=torch.float64)
    return rounded(problem, problem.lower + (problem.upper - problem.lower) * unit)


def in_region(
    problem: SearchProblem, region: Polytope, points: Tensor, seed: int, faces: int = 0
) -> Tensor:
    """Points (count, D) whose first entries are drawn anew, where linear inequalities are met.

    Args:
        problem: The problem.
        region: What the inequalities leave.
        points: The points; they stay as they are if nothing is found inside.
        seed: The seed of the random numbers.
        faces: How many of the points, the first ones, are moved to faces.
    """
    drawn = region.uniform(len(points), seed)
    if drawn is None:
        return points
    generator = np.random.default_rng(seed)
    generator.shuffle(drawn)  # else both parts of a point would come from one sequence
    if faces:
        moved = region.to_faces(drawn[:faces], generator)
        # The first and the last label are not special.
        nominal = nominal_entries(problem)[: len(region.lower)].numpy()
        drawn[:faces] = np.where(nominal, drawn[:faces], moved)
    return torch.cat([torch.tensor(drawn), points[:, len(region.lower) :]], 1)


# --- relaxation and proof -------------------------------------------------------------------------


class NoRelaxation(Exception):  # noqa: N818 - an answer, not an error
    """Nothing can be proved about a problem; the message says why."""


class ProofStatus(StrEnum):
    """What branch and bound has shown.

    OPTIMAL: the bounds meet within the requested gap; INFEASIBLE: every region was shown to contain
    no feasible point; GAP: the lower bound is valid, but not that close; UNKNOWN: nothing.
    """

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    GAP = "gap"
    UNKNOWN = "unknown"


class Regions(Protocol):
    """What a relaxation knows about a batch of regions of the search space.

    Attributes:
        lower: (regions, D), the regions contracted to where points of the problem can be.
        upper: (regions, D).
        empty: (regions,), whether a region was shown to contain no point of the problem at all.
        slack: The largest amount subtracted from a bound for rounding so far.
    """

    lower: Tensor
    upper: Tensor
    empty: Tensor
    slack: float

    @property
    def looser(self) -> Tensor:
        """Which of the relaxation's groups of variables to split each region in, (regions,)."""

    def bound(self, weights: Tensor, target: float = math.inf) -> Tensor:
        """Lower bounds of weighted sums of objective and constraints.

        Args:
            weights: (weights, 1 + K), at least 0: of the objective, then of each constraint.
            target: An objective that is good enough: no work is wasted on a region after it is
                shown to be no better. Infinite to bound every region as tightly as can be.

        Returns:
            (regions, weights).
        """
        ...

    def dual(self, weights: Tensor) -> Tensor:
        """The same, less tight, but concave in the weights and differentiable."""
        ...


class Relaxation(Protocol):
    """Lower bounds over regions of a search space.

    Attributes:
        lower: (D,), the search space.
        upper: (D,).
        constraints: K.
        groups: Variables that play different roles, each variable in one group.
        whole: (D,), which variables must be whole numbers; None if none must. Bounds hold for
            everything between them, too.
    """

    lower: Tensor
    upper: Tensor
    constraints: int
    groups: list[list[int]]
    whole: Tensor | None

    def over(self, lower: Tensor, upper: Tensor) -> Regions:
        """Examine a batch of regions, (regions, D) twice."""
        ...

    def starts(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Points of the problem in these regions, in its own coordinates, to search from."""
        ...


@dataclass(frozen=True, slots=True)
class RefutedRegion:
    """A region that contains no feasible point.

    Where a variable must be a whole number, regions end at whole numbers, and nothing lies between
    one that ends at k and one that starts at k + 1.

    Attributes:
        lower: (D,).
        upper: (D,).
        multipliers: (K,), at least 0 with sum 1: the constraints weighted by them exceed `margin`
            everywhere in the region. All 0 when the region contains no point at all.
        margin: Some constraint is violated by at least this much everywhere in the region; infinite
            when the region contains no point.
    """

    lower: Tensor
    upper: Tensor
    multipliers: Tensor
    margin: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What was shown, and how much work it took.

    Attributes:
        status: What was shown.
        lower: No feasible point has an objective below this.
        upper: The best objective found; infinite if none was.
        regions: How many regions were bounded.
        seconds: How long it took.
        slack: The largest amount subtracted from a bound for rounding.
        refuted_regions: When the problem is infeasible, regions without a feasible point that
            together fill the search space; empty otherwise.
        reason: Why nothing, or no more, could be shown.
    """

    status: ProofStatus
    lower: float
    upper: float
    regions: int = 0
    seconds: float = 0.0
    slack: float = 0.0
    refuted_regions: tuple[RefutedRegion, ...] = field(default=(), repr=False)
    reason: str = ""

    @staticmethod
    def unknown(upper: float, *, reason: str) -> Proof:
        """Nothing was shown, for this reason; `upper` is the best objective found."""
        return Proof(status=ProofStatus.UNKNOWN, lower=-math.inf, upper=upper, reason=reason)

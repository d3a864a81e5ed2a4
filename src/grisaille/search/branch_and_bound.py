"""Best-first branch and bound with K inequalities, many regions at a time.

All it knows of the problem is a *relaxation*: lower bounds, over many regions at once, of
weighted sums of the objective and the constraints. Any weights >= 0 give a valid bound. With
weight 1 for the objective they are Lagrangian multipliers; with weight 0 a positive bound proves
that the region contains no feasible point. Variables that must be whole numbers are cut between
two of these, so that regions shrink to points.

Regions stay an exact partition of the search space, and contraction only guides where to cut. So
anyone can check a certificate for holes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import linprog
from torch import Tensor

from grisaille.search.search_problem import Proof, ProofStatus, RefutedRegion, Regions, Relaxation

# --- multipliers ----------------------------------------------------------------------------------
# A small pool of Lagrangian multipliers and Farkas rays, learned where they are missing.
#
# The bound of a region is a concave function of the weights of objective and constraints, and
# its slopes are known. Cutting planes therefore find the best weights for one region: a small
# linear program over all slopes seen so far proposes weights, whose bound gives the next
# slopes. Weights that help one region help its neighbours too.


@dataclass(frozen=True, slots=True)
class BranchAndBoundConstants:
    """The constants of branch and bound.

    Attributes:
        weights: Vectors of multipliers that are kept. Halved and doubled: no decision of 3 runs
            changed (benchmarks.constants).
        rounds: Steps that learn multipliers. Halved and doubled: no decision of 4 runs changed
            (benchmarks.constants).
        largest: The largest multiplier in typical spreads; a ray refutes better than a larger one.
            Halved and doubled: no decision of 4 runs changed (benchmarks.constants).
        first_cuts: Cuts before the first bounds. Halved and doubled: no decision of 10 runs changed
            (benchmarks.constants).
        batch: The most regions that a processor splits at a time. Halved and doubled: no decision
            of 10 runs changed (benchmarks.constants).
        first_search: The round after which a better point is searched for the first time. Halved
            and doubled: no decision of 10 runs changed (benchmarks.constants).
        points: Regions that are points and are closed at a time. Not measured.
    """

    weights: int = 12
    rounds: int = 6
    largest: float = 1e3
    first_cuts: int = 4
    batch: int = 2048
    first_search: int = 8
    points: int = 8


BRANCH_AND_BOUND = BranchAndBoundConstants()


class MultiplierPool:
    """Weights of objective and constraints, (weights, 1 + K), the first of them (1, 0, ..., 0).

    Args:
        scale: (1 + K,), typical spreads of objective and constraints.
    """

    def __init__(self, scale: Tensor) -> None:
        self._scale = scale.to(torch.float64)
        self.weights = torch.eye(len(scale), dtype=torch.float64, device=scale.device)
        # When each was last the best for a region. The first K + 1 are never dropped.
        self._fixed = len(self.weights)
        self._used = [0] * len(self.weights)
        self._clock = 0

    def best_bounds(self, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Take the best of the bounds for all weights, (regions, weights), in each region.

        Returns:
            The bound on the objective, (regions,); the largest bound on a sum of constraints whose
            weights sum to 1, (regions,), which if positive proves that the region contains no
            feasible point; and these weights, (regions, K).
        """
        self._clock += 1
        dual = self.weights[:, 0] > 0
        bound, best = values[:, dual].max(1)
        self._note_use(torch.nonzero(dual).flatten()[best])
        if self.weights.shape[1] == 1:
            nothing = torch.full_like(bound, -torch.inf)
            return bound, nothing, values.new_zeros(len(values), 0)
        excess, best = values[:, ~dual].max(1)
        rays = torch.nonzero(~dual).flatten()[best]
        self._note_use(rays)
        return bound, excess, self.weights[rays, 1:]

    def _note_use(self, rows: Tensor) -> None:
        for row in set(rows.tolist()):
            self._used[row] = self._clock

    def learn(self, bound: Callable[[Tensor], Tensor], target: float) -> bool:
        """Add weights that are better for one region than those in the pool; False if none are.

        Args:
            bound: The region's bounds for weights, (weights, 1 + K) to (weights,).
            target: What the objective's bound should reach; infinite to look for rays only.
        """
        values, cuts = _with_slopes(bound, self.weights)
        learned = False
        for rays in (True,) if target == torch.inf else (False, True):
            best = self._merit(values, self.weights, target, rays).max()
            for _ in range(BRANCH_AND_BOUND.rounds):
                proposal, promise = self._propose(cuts, target, rays)
                # The cuts allow nothing much better than what is known.
                if proposal is None or promise <= best + 0.01 * abs(best):
                    break
                value, slopes = _with_slopes(bound, proposal)
                merit = self._merit(value, proposal, target, rays)[0]
                if merit > best + 0.01 * abs(best):
                    best = merit
                    self._add(proposal)
                    learned = True
                if merit > 0:
                    return True
                cuts = torch.cat([cuts, slopes])
            if proposal is not None and not rays and promise <= 0:
                break  # the best multiplier is known, and no ray proves more than it does
            values, _ = _with_slopes(bound, self.weights)
        return learned

    def _merit(self, values: Tensor, weights: Tensor, target: float, rays: bool) -> Tensor:
        """How much weights prove, in typical spreads; positive if they close the region."""
        if rays:
            proved = values / (weights * self._scale).sum(1)
            return torch.where(weights[:, 0] > 0, -torch.inf, proved)
        return torch.where(weights[:, 0] > 0, (values - target) / self._scale[0], -torch.inf)

    def _propose(self, cuts: Tensor, target: float, rays: bool) -> tuple[Tensor | None, float]:
        """The best weights according to the cuts, and what they would prove: a linear program.

        Args:
            cuts: Slopes of the bound, each an upper bound of it for all weights.
            target: What the objective's bound should reach.
            rays: Whether to weight only the constraints, or also the objective, with weight 1.
        """
        slopes = (cuts / self._scale).cpu().numpy()
        slopes = slopes[np.isfinite(slopes).all(1)]
        if not len(slopes):
            return None, 0.0
        rest = slopes[:, 1:]
        offset = np.zeros(len(slopes)) if rays else slopes[:, 0] - target / float(self._scale[0])
        count = rest.shape[1]
        answer = linprog(
            np.append(np.zeros(count), -1.0),
            A_ub=np.column_stack([-rest, np.ones(len(slopes))]),
            b_ub=offset,
            A_eq=np.append(np.ones(count), 0.0)[None] if rays else None,
            b_eq=[1.0] if rays else None,
            bounds=[*[(0.0, 1.0 if rays else BRANCH_AND_BOUND.largest)] * count, (None, None)],
            method="highs",
        )
        if answer.x is None:
            return None, 0.0
        scale = self._scale.cpu().numpy()
        weights = np.zeros(1 + count)
        weights[1:] = np.maximum(answer.x[:count], 0.0) / scale[1:]
        if rays:  # the weights of a proof that there is no feasible point sum to 1
            weights /= weights.sum()
        else:
            weights *= scale[0]
            weights[0] = 1.0
        proposal = torch.tensor(weights, device=cuts.device).unsqueeze(0)
        return proposal, float(answer.x[-1])

    def _add(self, weights: Tensor) -> None:
        if len(self.weights) >= BRANCH_AND_BOUND.weights + self._fixed:
            oldest = min(range(self._fixed, len(self.weights)), key=self._used.__getitem__)
            keep = [i for i in range(len(self.weights)) if i != oldest]
            self.weights = self.weights[keep]
            self._used.pop(oldest)
        self.weights = torch.cat([self.weights, weights])
        self._used.append(self._clock + 1)


def _with_slopes(bound: Callable[[Tensor], Tensor], weights: Tensor) -> tuple[Tensor, Tensor]:
    """Bounds and their derivatives with respect to each row of weights."""
    with torch.enable_grad():
        moving = weights.detach().clone().requires_grad_()
        values = bound(moving)
        (slopes,) = torch.autograd.grad(values.sum(), moving)
    return values.detach(), slopes


# --- branch and bound -----------------------------------------------------------------------------


Improve = Callable[[Tensor, Tensor], float]
"""Searches promising regions, (regions, D) twice; returns the least feasible objective known."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop.

    Attributes:
        absolute_gap: Stop when the bounds are this close.
        relative_gap: Or this close, relative to the best objective found.
        regions: Stop when this many regions were bounded.
        seconds: Stop after this time; None for no limit.
        batch: The smallest number of regions to split at a time.
        largest_batch: The largest one, for a large tree.
    """

    absolute_gap: float
    relative_gap: float
    regions: int
    seconds: float | None
    batch: int
    largest_batch: int = BRANCH_AND_BOUND.batch

    def tolerance(self, upper: float) -> float:
        """The gap that is close enough."""
        return max(self.absolute_gap, self.relative_gap * abs(upper) if upper < torch.inf else 0.0)


def branch_and_bound(
    relaxation: Relaxation, scale: Tensor, upper: float, limits: Limits, improve: Improve
) -> Proof:
    """Enclose the optimum from below, or show that there is no feasible point.

    Args:
        relaxation: Bounds over regions.
        scale: (1 + K,), typical spreads of objective and constraints.
        upper: Objective of a known feasible point; infinite if none is known.
        limits: When to stop.
        improve: Called now and then to search the most promising regions for better points.
    """
    tree = _Tree(relaxation, scale, upper, limits)
    next_search = 1 if upper == torch.inf else BRANCH_AND_BOUND.first_search
    rounds = 0
    while tree.unfinished():
        points = tree.split()
        if points is not None:
            tree.upper = min(tree.upper, improve(points.inner_lower, points.inner_upper))
            tree.close(points)
        rounds += 1
        if rounds == next_search and tree.unfinished():
            tree.upper = min(tree.upper, improve(*tree.most_promising(8)))
            next_search *= 2
    return tree.proof()


def _first_regions(
    lower: Tensor, upper: Tensor, whole: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The search space, cut a few times because bounding one region alone would waste the batch."""
    lowers, uppers = lower.unsqueeze(0), upper.unsqueeze(0)
    for cut in range(BRANCH_AND_BOUND.first_cuts):
        variable = torch.full((len(lowers),), cut % len(lower))
        middle = (lowers + uppers) / 2
        if whole is None:
            lowers, uppers = _halves(lowers, uppers, middle, variable)
            continue
        # A whole number that has one value left is not cut.
        wide = uppers[:, cut % len(lower)] > lowers[:, cut % len(lower)]
        halves = _halves(lowers[wide], uppers[wide], middle[wide], variable[wide], whole)
        lowers, uppers = (
            torch.cat([ends[~wide], parts])
            for ends, parts in zip((lowers, uppers), halves, strict=True)
        )
    return lowers, uppers


class _Tree:
    """The open regions, and what is known of the closed ones."""

    def __init__(self, relaxation: Relaxation, scale: Tensor, upper: float, limits: Limits) -> None:
        self._started = time.perf_counter()
        self._relaxation = relaxation
        self._limits = limits
        self._pool = MultiplierPool(scale)
        self.upper = upper
        self._regions = 0
        self._slack = 0.0
        self._closed_bound = torch.inf
        self._refuted: list[RefutedRegion] = []
        # Rounds from one attempt to learn a multiplier to the next, and rounds left until it.
        self._pause = self._idle = 1
        dimensions = len(relaxation.lower)
        self._width = (relaxation.upper - relaxation.lower).clamp_min(1e-300)
        self._group_of = torch.zeros(dimensions, dtype=torch.long)
        for number, members in enumerate(relaxation.groups):
            self._group_of[members] = number
        # What splits along each variable gained, and the sum of their squared relative widths.
        self._gain = relaxation.lower.new_zeros(dimensions)
        self._tried = relaxation.lower.new_zeros(dimensions)
        self._whole = relaxation.whole
        first = self._examine(*_first_regions(relaxation.lower, relaxation.upper, self._whole))
        self._open = first.pick(slice(0))
        self._take(first)

    @property
    def lower(self) -> float:
        """No feasible point has an objective below this."""
        open_bound = float(self._open.bound.min()) if len(self._open.bound) else torch.inf
        return min(open_bound, self._closed_bound, self.upper)

    @property
    def _target(self) -> float:
        """A region with at least this bound needs no more work."""
        return self.upper - self._limits.tolerance(self.upper)

    def unfinished(self) -> bool:
        """Whether the gap is still open and no limit is reached."""
        if not len(self._open.bound) or self.lower >= self._target:
            return False
        if self._regions >= self._limits.regions:
            return False
        seconds = self._limits.seconds
        return seconds is None or time.perf_counter() - self._started < seconds

    def most_promising(self, count: int) -> tuple[Tensor, Tensor]:
        """Open regions of small bound; some are skipped, because neighbours are alike."""
        order = self._order()[: count * count : count]
        return self._open.inner_lower[order], self._open.inner_upper[order]

    def split(self) -> _Findings | None:
        """Split the most promising regions, bound the halves, and learn a multiplier.

        Returns:
            Regions that are points, which cannot be split: they are neither open nor closed any
            more, but for `close` to close. None if there are none.
        """
        order = self._order()
        batch = max(self._limits.batch, min(self._limits.largest_batch, len(order) // 4))
        parents, self._open = self._open.pick(order[:batch]), self._open.pick(order[batch:])
        points = None
        if self._whole is not None:
            points, parents = self._without_points(parents)
        if len(parents.bound):
            self._split(parents)
        return points

    def _without_points(self, parents: _Findings) -> tuple[_Findings | None, _Findings]:
        """The most promising regions that are points, if any, and those that can be split."""
        can_split = (parents.inner_upper > parents.inner_lower).any(1)
        if can_split.all():
            return None, parents
        points = parents.pick(~can_split)
        later = points.pick(slice(BRANCH_AND_BOUND.points, None))
        self._open = _Findings(*map(torch.cat, zip(self._open, later, strict=True)))
        return points.pick(slice(BRANCH_AND_BOUND.points)), parents.pick(can_split)

    def close(self, points: _Findings) -> None:
        """Close regions that are points, with the best weights for each of them.

        All that is left to gain there is a better weight. If the bound still is not enough, no more
        work can raise it.
        """
        for i in range(len(points.bound)):
            if self._relaxation.constraints and points.bound[i] < self._target:
                regions = self._relaxation.over(points.lower[i : i + 1], points.upper[i : i + 1])
                self._learn_from(regions)
        again = self._examine(points.lower, points.upper)
        again = again._replace(
            bound=torch.maximum(again.bound, points.bound),
            excess=torch.maximum(again.excess, points.excess),
        )
        infeasible = again.excess > 0
        if self.upper == torch.inf:
            self._refuted += again.refuted(infeasible)
        left = again.bound[~infeasible]
        if len(left):
            self._closed_bound = min(self._closed_bound, float(left.min()))

    def _split(self, parents: _Findings) -> None:
        relative = ((parents.inner_upper - parents.inner_lower) / self._width).square()
        middle = (parents.inner_lower + parents.inner_upper) / 2
        score = relative * self._rates()
        # Only variables of the group to be split.
        outside = self._group_of != parents.group.unsqueeze(1)
        if self._whole is not None:
            # A group of whole numbers may have no width left. Then another one is split.
            wide = parents.inner_upper > parents.inner_lower
            outside &= (wide & ~outside).any(1, keepdim=True)
            outside |= ~wide
        score = torch.where(outside, -1.0, score)
        variable = score.argmax(1)
        halves = self._examine(
            *_halves(parents.lower, parents.upper, middle, variable, self._whole)
        )
        # What is known of a region holds for its parts.
        found = halves._replace(
            bound=torch.maximum(halves.bound, parents.bound.repeat(2)),
            excess=torch.maximum(halves.excess, parents.excess.repeat(2)),
        )
        reached = found.bound.reshape(2, -1).amin(0).clamp_max(self._target)
        gain = torch.nan_to_num(reached - parents.bound, nan=0.0, posinf=0.0).clamp_min(0)
        spent = relative[torch.arange(len(variable)), variable]
        _add_by_group(self._gain, variable, gain)
        _add_by_group(self._tried, variable, spent)
        self._take(found)

    def _examine(self, lower: Tensor, upper: Tensor) -> _Findings:
        regions = self._relaxation.over(lower, upper)
        bound, excess, multipliers = self._pool.best_bounds(
            regions.bound(self._pool.weights, self._target)
        )
        self._regions += len(lower)
        self._slack = max(self._slack, regions.slack)
        return _Findings(
            bound=torch.where(regions.empty | (excess > 0), torch.inf, bound),
            excess=torch.where(regions.empty, torch.inf, excess),
            multipliers=multipliers,
            lower=lower,
            upper=upper,
            inner_lower=regions.lower,
            inner_upper=regions.upper,
            group=regions.looser,
        )

    def _take(self, found: _Findings) -> None:
        """Keep regions that may contain a better point, and record what is known of the others."""
        infeasible = found.excess > 0
        if self.upper == torch.inf:
            self._refuted += found.refuted(infeasible)
        enough = found.bound >= self._target
        closed = found.bound[enough & ~infeasible]
        if len(closed):
            self._closed_bound = min(self._closed_bound, float(closed.min()))
        kept = found.pick(~(infeasible | enough))
        self._open = _Findings(*map(torch.cat, zip(self._open, kept, strict=True)))
        self._learn()

    def proof(self) -> Proof:
        """What has been shown."""
        lower = self.lower
        if min(self.upper, self._closed_bound) == torch.inf and not len(self._open.bound):
            status = ProofStatus.INFEASIBLE
        elif self.upper < torch.inf and lower >= self._target:
            status = ProofStatus.OPTIMAL
        else:
            status = ProofStatus.GAP if lower > -torch.inf else ProofStatus.UNKNOWN
        return Proof(
            status=status,
            lower=lower,
            upper=self.upper,
            regions=self._regions,
            seconds=time.perf_counter() - self._started,
            slack=self._slack,
            refuted_regions=tuple(self._refuted) if status is ProofStatus.INFEASIBLE else (),
        )

    def _order(self) -> Tensor:
        """Open regions, the most promising first, without those that cannot improve."""
        if self.upper == torch.inf:
            return self._open.excess.argsort()
        enough = self._open.bound >= self._target
        if enough.any():
            self._closed_bound = min(self._closed_bound, float(self._open.bound[enough].min()))
            self._open = self._open.pick(~enough)
        return self._open.bound.argsort()

    def _rates(self) -> Tensor:
        """How much splits of each variable have raised the bound, per squared relative width."""
        tried = self._tried > 0
        rate = torch.where(tried, self._gain / self._tried.clamp_min(1e-300), torch.inf)
        known = rate[tried]
        typical = float(known.mean()) if len(known) else 1.0
        typical = typical if typical > 0 else 1.0
        # No variable is ruled out: one that gained nothing so far may be the last one to split.
        return torch.where(tried, rate, 10 * typical) + 0.02 * typical

    def _learn(self) -> None:
        """Learn a multiplier for the worst region; less often while that does not help."""
        if not self._relaxation.constraints or not len(self._open.bound):
            return
        self._idle -= 1
        if self._idle > 0:
            return
        order = self._order()
        worst = self._open.pick(order[:1])
        learned = self._learn_from(self._relaxation.over(worst.lower, worst.upper))
        self._pause = 1 if learned else min(2 * self._pause, 8)
        self._idle = self._pause

    def _learn_from(self, regions: Regions) -> bool:
        """Learn a multiplier for a region; whether it was worth it."""
        return self._pool.learn(lambda weights: regions.dual(weights)[0], self._target)


class _Findings(NamedTuple):
    """What is known of a batch of regions.

    Attributes:
        bound: (regions,), lower bounds of the objective; infinite without a feasible point.
        excess: (regions,), positive if the region contains no feasible point.
        multipliers: (regions, K), the weights of the constraints that show it.
        lower: (regions, D), the regions.
        upper: (regions, D).
        inner_lower: (regions, D), the regions contracted to where points of the problem can be.
        inner_upper: (regions, D).
        group: (regions,), the group of variables to split each region in.
    """

    bound: Tensor
    excess: Tensor
    multipliers: Tensor
    lower: Tensor
    upper: Tensor
    inner_lower: Tensor
    inner_upper: Tensor
    group: Tensor

    def pick(self, which: Tensor | slice) -> _Findings:
        """The same of some of the regions."""
        return _Findings(*(column[which] for column in self))

    def refuted(self, which: Tensor) -> list[RefutedRegion]:
        """Records of the regions without a feasible point."""
        return [
            RefutedRegion(
                lower=self.lower[i].cpu(),
                upper=self.upper[i].cpu(),
                multipliers=(self.multipliers[i] * (self.excess[i] < torch.inf)).cpu(),
                margin=float(self.excess[i]),
            )
            for i in torch.nonzero(which).flatten().tolist()
        ]


def _add_by_group(sums: Tensor, group: Tensor, terms: Tensor) -> None:
    """Add terms, (terms,), to the sums of their groups, always in the same order."""
    if terms.is_cuda:  # where index_add adds in any order
        chosen = group.unsqueeze(1) == torch.arange(len(sums))
        sums += torch.where(chosen, terms.unsqueeze(1), 0.0).sum(0)
    else:
        sums.index_add_(0, group, terms)


def _halves(
    lower: Tensor, upper: Tensor, middle: Tensor, variable: Tensor, whole: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Cut each region at the middle of one variable: all first halves, then all second halves.

    A whole number is cut between two values: one half ends at the lower, one starts at the upper.
    """
    rows = torch.arange(len(lower))
    left, right = upper.clone(), lower.clone()
    end = start = middle[rows, variable]
    if whole is not None:
        end = torch.where(whole[variable], end.floor(), end)
        start = torch.where(whole[variable], end + 1, start)
    left[rows, variable] = end
    right[rows, variable] = start
    return torch.cat([lower, right]), torch.cat([left, upper])

"""Best-first branch and bound over a box with K inequalities, many boxes at a time.

It knows nothing of what it minimizes but a *relaxation*: lower bounds, over many boxes at once, of
weighted sums of the objective and the constraints. Any weights >= 0 give a valid bound: with
weight 1 for the objective they are Lagrangian multipliers, with weight 0 a proof that the box
holds no feasible point.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from grisaille.solvers.multipliers import MultiplierPool
from grisaille.solvers.proof import Leaf, Proof, ProofStatus, Relaxation

_FIRST_CUTS = 4
# Large trees are split in larger batches, which costs less per box.
_LARGEST_BATCH = 512
# After how many rounds a known point is tried to be improved.
_FIRST_LOOK = 8


Improve = Callable[[Tensor, Tensor], float]
"""Boxes worth a look, (boxes, D) twice, to the least objective of a feasible point known then."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop.

    Attributes:
        absolute_gap: Stop when the bounds are this close.
        relative_gap: Or this close as a part of the best objective found.
        boxes: Stop when this many boxes were bounded.
        seconds: Stop after this time; None for no limit.
        batch: How many boxes are split at a time at least.
    """

    absolute_gap: float
    relative_gap: float
    boxes: int
    seconds: float | None
    batch: int

    def tolerance(self, upper: float) -> float:
        """The gap that is close enough."""
        return max(self.absolute_gap, self.relative_gap * abs(upper) if upper < torch.inf else 0.0)


def branch_and_bound(
    relaxation: Relaxation, scale: Tensor, upper: float, limits: Limits, improve: Improve
) -> Proof:
    """Enclose the optimum from below, or show that there is no feasible point.

    Args:
        relaxation: Bounds over boxes.
        scale: (1 + K,), typical spreads of objective and constraints.
        upper: Objective of a feasible point that is known; infinite if none is.
        limits: When to stop.
        improve: Asked now and then to look for better points in the most promising boxes.
    """
    tree = _Tree(relaxation, scale, upper, limits)
    tree.add(*_pieces(relaxation.lower, relaxation.upper))
    look = 1 if upper == torch.inf else _FIRST_LOOK
    rounds = 0
    while tree.unfinished():
        tree.split()
        rounds += 1
        if rounds == look and tree.unfinished():
            tree.upper = min(tree.upper, improve(*tree.most_promising(8)))
            look *= 2
    return tree.proof()


def _pieces(lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
    """The box cut a few times: bounding one box alone would waste the batch."""
    lowers, uppers = lower.unsqueeze(0), upper.unsqueeze(0)
    for cut in range(_FIRST_CUTS):
        variable = torch.full((len(lowers),), cut % len(lower))
        lowers, uppers = _halves(lowers, uppers, (lowers + uppers) / 2, variable)
    return lowers, uppers


class _Tree:
    """The boxes that are still open, and what is known of the closed ones."""

    def __init__(self, relaxation: Relaxation, scale: Tensor, upper: float, limits: Limits) -> None:
        self._started = time.perf_counter()
        self._relaxation = relaxation
        self._limits = limits
        self._pool = MultiplierPool(scale)
        self.upper = upper
        self._boxes = 0
        self._slack = 0.0
        self._closed_bound = torch.inf
        self._leaves: list[Leaf] = []
        self._pause = self._idle = 1  # rounds between two lessons, and until the next one
        dimensions = len(relaxation.lower)
        self._width = (relaxation.upper - relaxation.lower).clamp_min(1e-300)
        nothing = relaxation.lower.new_zeros(0)
        self._lower = relaxation.lower.new_zeros(0, dimensions)
        self._upper = self._lower
        # Where points of the problem can be inside each box.
        self._inner_lower, self._inner_upper = self._lower, self._lower
        self._bound = nothing
        self._violation = nothing
        self._group = torch.zeros(0, dtype=torch.long)
        self._group_of = torch.zeros(dimensions, dtype=torch.long)
        for number, members in enumerate(relaxation.groups):
            self._group_of[members] = number
        # What splitting along each variable brought, per squared relative width.
        self._gain = relaxation.lower.new_zeros(dimensions)
        self._tried = relaxation.lower.new_zeros(dimensions)

    @property
    def lower(self) -> float:
        """No feasible point has an objective below this."""
        open_bound = float(self._bound.min()) if len(self._bound) else torch.inf
        return min(open_bound, self._closed_bound, self.upper)

    def unfinished(self) -> bool:
        """Whether there is something to do, and time left to do it."""
        if not len(self._bound) or self.lower >= self.upper - self._limits.tolerance(self.upper):
            return False
        if self._boxes >= self._limits.boxes:
            return False
        seconds = self._limits.seconds
        return seconds is None or time.perf_counter() - self._started < seconds

    def most_promising(self, count: int) -> tuple[Tensor, Tensor]:
        """Open boxes of small bound; some are passed over, because neighbours are alike."""
        order = self._order()[: count * count : count]
        return self._inner_lower[order], self._inner_upper[order]

    def split(self) -> None:
        """Split the most promising boxes, bound the halves, and learn a multiplier."""
        order = self._order()
        batch = max(self._limits.batch, min(_LARGEST_BATCH, len(order) // 4))
        chosen, kept = order[:batch], order[batch:]
        lower, upper = self._lower[chosen], self._upper[chosen]
        inner = self._inner_lower[chosen], self._inner_upper[chosen]
        parent, excess = self._bound[chosen], self._violation[chosen]
        relative = ((inner[1] - inner[0]) / self._width).square()
        middle = (inner[0] + inner[1]) / 2
        score = relative * self._rates()
        # Only variables of the group that is to be split.
        score = torch.where(self._group_of == self._group[chosen].unsqueeze(1), score, -1.0)
        variable = score.argmax(1)
        self._keep(kept)
        found = self._judge(*_halves(lower, upper, middle, variable))
        found = found.at_least(parent.repeat(2), excess.repeat(2))
        target = self.upper - self._limits.tolerance(self.upper)
        reached = found.bound.reshape(2, -1).amin(0).clamp_max(target)
        gain = torch.nan_to_num(reached - parent, nan=0.0, posinf=0.0).clamp_min(0)
        self._gain.index_add_(0, variable, gain)
        self._tried.index_add_(0, variable, relative[torch.arange(len(lower)), variable])
        self._take(found)

    def add(self, lower: Tensor, upper: Tensor) -> None:
        """Bound new boxes, and keep those that may hold something better."""
        self._take(self._judge(lower, upper))

    def _judge(self, lower: Tensor, upper: Tensor) -> _Judgement:
        boxes = self._relaxation.over(lower, upper)
        bound, excess, multipliers = self._pool.judge(boxes.bound(self._pool.weights))
        self._boxes += len(lower)
        self._slack = max(self._slack, boxes.slack)
        return _Judgement(
            torch.where(boxes.empty | (excess > 0), torch.inf, bound),
            torch.where(boxes.empty, torch.inf, excess),
            multipliers,
            (lower, upper),
            (boxes.lower, boxes.upper),
            boxes.looser,
        )

    def _take(self, found: _Judgement) -> None:
        """Keep boxes that may hold something better, and account for the others."""
        infeasible = found.excess > 0
        if self.upper == torch.inf:
            self._leaves += found.leaves(infeasible)
        enough = found.bound >= self.upper - self._limits.tolerance(self.upper)
        closed = found.bound[enough & ~infeasible]
        if len(closed):
            self._closed_bound = min(self._closed_bound, float(closed.min()))
        keep = ~(infeasible | enough)
        self._lower = torch.cat([self._lower, found.boxes[0][keep]])
        self._upper = torch.cat([self._upper, found.boxes[1][keep]])
        self._inner_lower = torch.cat([self._inner_lower, found.contracted[0][keep]])
        self._inner_upper = torch.cat([self._inner_upper, found.contracted[1][keep]])
        self._bound = torch.cat([self._bound, found.bound[keep]])
        self._violation = torch.cat([self._violation, found.excess[keep]])
        self._group = torch.cat([self._group, found.group[keep]])
        self._learn()

    def proof(self) -> Proof:
        """What has been shown."""
        lower = self.lower
        if self.upper == torch.inf and not len(self._bound) and self._closed_bound == torch.inf:
            status = ProofStatus.INFEASIBLE
        elif self.upper < torch.inf and lower >= self.upper - self._limits.tolerance(self.upper):
            status = ProofStatus.OPTIMAL
        else:
            status = ProofStatus.GAP if lower > -torch.inf else ProofStatus.UNKNOWN
        return Proof(
            status,
            lower,
            self.upper,
            self._boxes,
            time.perf_counter() - self._started,
            self._slack,
            tuple(self._leaves) if status is ProofStatus.INFEASIBLE else (),
        )

    def _order(self) -> Tensor:
        """Open boxes, the most promising first; what cannot hold anything better is dropped."""
        if self.upper == torch.inf:
            return self._violation.argsort()
        enough = self._bound >= self.upper - self._limits.tolerance(self.upper)
        if enough.any():
            self._closed_bound = min(self._closed_bound, float(self._bound[enough].min()))
            self._keep(~enough)
        return self._bound.argsort()

    def _keep(self, which: Tensor) -> None:
        self._lower, self._upper = self._lower[which], self._upper[which]
        self._inner_lower = self._inner_lower[which]
        self._inner_upper = self._inner_upper[which]
        self._bound, self._violation = self._bound[which], self._violation[which]
        self._group = self._group[which]

    def _rates(self) -> Tensor:
        """What splitting each variable brings per squared relative width, as far as was seen."""
        tried = self._tried > 0
        rate = torch.where(tried, self._gain / self._tried.clamp_min(1e-300), torch.inf)
        known = rate[tried]
        typical = float(known.mean()) if len(known) else 1.0
        typical = typical if typical > 0 else 1.0
        # Nothing is ever ruled out: what brought nothing so far may be all that is left to do.
        return torch.where(tried, rate, 10 * typical) + 0.02 * typical

    def _learn(self) -> None:
        """A multiplier for the box that is worst now; less often while it does not help."""
        if not self._relaxation.constraints or not len(self._bound):
            return
        self._idle -= 1
        if self._idle > 0:
            return
        worst = self._order()[:1]
        boxes = self._relaxation.over(self._lower[worst], self._upper[worst])
        target = self.upper - self._limits.tolerance(self.upper)
        learned = self._pool.learn(lambda weights: boxes.dual(weights)[0], target)
        self._pause = 1 if learned else min(2 * self._pause, 8)
        self._idle = self._pause


@dataclass(frozen=True, slots=True)
class _Judgement:
    """What is known of boxes.

    Attributes:
        bound: (boxes,), on the objective; infinite where there is no feasible point.
        excess: (boxes,), positive where there is no feasible point.
        multipliers: (boxes, K), that show it.
        boxes: The boxes, (boxes, D) twice.
        contracted: The boxes contracted to where points of the problem can be.
        group: (boxes,), the group of variables to split each in.
    """

    bound: Tensor
    excess: Tensor
    multipliers: Tensor
    boxes: tuple[Tensor, Tensor]
    contracted: tuple[Tensor, Tensor]
    group: Tensor

    def at_least(self, bound: Tensor, excess: Tensor) -> _Judgement:
        """With what was known of the boxes that these are parts of."""
        return replace(
            self,
            bound=torch.maximum(self.bound, bound),
            excess=torch.maximum(self.excess, excess),
        )

    def leaves(self, which: Tensor) -> list[Leaf]:
        """The boxes without a feasible point, as they go into a certificate."""
        return [
            Leaf(
                self.boxes[0][i],
                self.boxes[1][i],
                self.multipliers[i] * (self.excess[i] < torch.inf),
                float(self.excess[i]),
            )
            for i in torch.nonzero(which).flatten().tolist()
        ]


def _halves(
    lower: Tensor, upper: Tensor, middle: Tensor, variable: Tensor
) -> tuple[Tensor, Tensor]:
    """Boxes cut at the middle along one variable each: all first halves, then all second ones."""
    rows = torch.arange(len(lower))
    left, right = upper.clone(), lower.clone()
    left[rows, variable] = middle[rows, variable]
    right[rows, variable] = middle[rows, variable]
    return torch.cat([lower, right]), torch.cat([left, upper])

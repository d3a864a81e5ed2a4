"""The interface of a global search: a relaxation, which bounds regions, and a proof."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from torch import Tensor


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

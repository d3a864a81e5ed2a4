"""What a global search asks for, bounds over boxes, and what it answers, a proof."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from torch import Tensor


class NoRelaxation(Exception):  # noqa: N818 - an answer, not an error
    """Nothing can be proved about a problem; the message says why."""


class ProofStatus(StrEnum):
    """What branch and bound has shown.

    OPTIMAL: the bounds meet within the gap that was asked for; INFEASIBLE: every part of the box
    was shown to hold no feasible point; GAP: a valid lower bound, but not that close; UNKNOWN:
    nothing.
    """

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    GAP = "gap"
    UNKNOWN = "unknown"


class Boxes(Protocol):
    """What a relaxation knows about boxes.

    Attributes:
        lower: (boxes, D), the boxes contracted to where points of the problem can be.
        upper: (boxes, D).
        empty: (boxes,), whether a box was shown to hold no point of the problem at all.
        looser: (boxes,), which of the relaxation's groups of variables a box is best split in.
        slack: Most that was taken off a bound for rounding so far.
    """

    lower: Tensor
    upper: Tensor
    empty: Tensor
    slack: float

    @property
    def looser(self) -> Tensor:
        """Which group to split each box in, (boxes,)."""

    def bound(self, weights: Tensor) -> Tensor:
        """Lower bounds of weighted sums of objective and constraints.

        Args:
            weights: (weights, 1 + K), at least 0: of the objective, then of each constraint.

        Returns:
            (boxes, weights).
        """
        ...

    def dual(self, weights: Tensor) -> Tensor:
        """The same, less tight, but concave in the weights and differentiable."""
        ...


class Relaxation(Protocol):
    """Lower bounds over boxes.

    Attributes:
        lower: (D,), the box to search.
        upper: (D,).
        constraints: K.
        groups: Variables that play different roles, each variable in one group.
    """

    lower: Tensor
    upper: Tensor
    constraints: int
    groups: list[list[int]]

    def over(self, lower: Tensor, upper: Tensor) -> Boxes:
        """Look at boxes, (boxes, D) twice."""
        ...

    def starts(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Points of the problem in these boxes, in its own coordinates, to search from."""
        ...


@dataclass(frozen=True, slots=True)
class Leaf:
    """A part of the box that holds no feasible point.

    Attributes:
        lower: (D,).
        upper: (D,).
        multipliers: (K,), at least 0 with sum 1: the constraints weighted by them exceed `margin`
            all over the box. All 0 when the box was found to hold no point at all.
        margin: Some constraint is violated by at least this much everywhere in the box; infinite
            when the box holds no point.
    """

    lower: Tensor
    upper: Tensor
    multipliers: Tensor
    margin: float


@dataclass(frozen=True, slots=True)
class Proof:
    """What was shown, and how hard it was.

    Attributes:
        status: What was shown.
        lower: No feasible point has an objective below this.
        upper: The best objective found; infinite if none.
        boxes: How many boxes were bounded.
        seconds: How long it took.
        slack: Most that was taken off a bound for rounding.
        leaves: The parts of the box that were shown to hold no feasible point, when all of it was:
            together they are the whole box.
        reason: Why nothing could be shown, when nothing was.
    """

    status: ProofStatus
    lower: float
    upper: float
    boxes: int
    seconds: float
    slack: float
    leaves: tuple[Leaf, ...] = field(default=(), repr=False)
    reason: str = ""

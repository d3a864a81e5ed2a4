"""Bounds on a known operation over a region: an interval and two planes.

Rules (`known`) work on *ends*: a lower and an upper tensor stacked along a new first axis, so that
both sides cost one tensor operation. Everything is rounded outward. A rule that gets NaN knows
nothing, and NaN becomes an infinite end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

EPSILON = torch.finfo(torch.float64).eps
TINY = 1e-307  # above all denormal numbers, whose relative precision is lost


@dataclass(frozen=True, slots=True)
class Interval:
    """Numbers between two ends, entry by entry.

    Attributes:
        lower: Smallest values, of shape (regions or 1, *shape); may be -inf.
        upper: Largest values, likewise; at least `lower`, may be inf.
    """

    lower: Tensor
    upper: Tensor


@dataclass(frozen=True, slots=True)
class Plane:
    """An affine function of an atom's arguments, entry by entry.

    Attributes:
        slopes: One finite tensor per argument, broadcastable to (regions or 1, *value shape);
            `()` when all are zero.
        constant: Its value where all arguments are zero; may be infinite, the slopes are then zero.
    """

    slopes: tuple[Tensor, ...]
    constant: Tensor


@dataclass(frozen=True, slots=True)
class Enclosure:
    """Bounds on an atom's value that hold for all arguments inside their intervals.

    A value that is NaN or infinite counts as infeasible in this library and is not enclosed.

    Attributes:
        interval: Encloses the value.
        lower: Lies below the value.
        upper: Lies above the value.
    """

    interval: Interval
    lower: Plane
    upper: Plane


Rule = Callable[..., Enclosure]
"""`(*intervals of the arguments) -> Enclosure`."""


def stacked(*intervals: Interval) -> list[Tensor]:
    """The ends of each interval, (2, regions or 1, *shape), ranks aligned as NumPy does."""
    rank = max(i.lower.ndim for i in intervals) + 1
    found = [torch.stack((i.lower, i.upper)) for i in intervals]
    return [
        e if e.ndim == rank else e.reshape(e.shape[:2] + (1,) * (rank - e.ndim) + e.shape[2:])
        for e in found
    ]


@lru_cache(maxsize=64)
def outward(rank: int, device: torch.device) -> Tensor:
    """-1 for the lower and 1 for the upper end, for ends of that rank on a device."""
    ends = torch.tensor([-1.0, 1.0], dtype=torch.float64, device=device)
    return ends.reshape(2, *[1] * (rank - 1))


@lru_cache(maxsize=64)
def _endless(rank: int, device: torch.device) -> Tensor:
    """Ends that bound nothing."""
    return outward(rank, device) * math.inf


def widened(ends: Tensor, floor: float = -math.inf, ceiling: float = math.inf) -> Tensor:
    """Ends moved outward by a few units in the last place, but not beyond floor and ceiling."""
    # An end that overflows inward (exp of 800 from below) becomes NaN, and then infinite.
    ends = ends + outward(ends.ndim, ends.device) * (4 * EPSILON * ends.abs() + TINY)
    if floor > -math.inf or ceiling < math.inf:
        ends = ends.clamp(floor, ceiling)
    return torch.where(ends.isnan(), _endless(ends.ndim, ends.device), ends)


def enclosure(
    arguments: Sequence[Tensor],
    ends: Tensor,
    slopes: Sequence[Tensor],
    constants: Tensor,
    *,
    exact: bool = False,
    scale: Tensor | None = None,
    floor: float = -math.inf,
    ceiling: float = math.inf,
) -> Enclosure:
    """Round everything outward; where a plane is not finite, take the interval's end instead.

    Args:
        arguments: Ends of the arguments.
        ends: Ends of the value.
        slopes: For each argument the slopes of the lower and the upper plane.
        constants: Constants of the lower and the upper plane.
        exact: Whether slopes and constants have no rounding error, so that they hold for
            unbounded arguments.
        scale: Size of numbers that cancelled in the constants.
        floor: Smallest value the atom has anywhere.
        ceiling: Largest value the atom has anywhere.
    """
    ends = widened(ends, floor, ceiling)
    slack = constants.abs() if scale is None else constants.abs() + scale
    slack = 16 * EPSILON * slack + TINY
    for slope, argument in zip(slopes, arguments, strict=True):
        reach = argument.abs().amax(0)
        if exact:
            reach = reach.masked_fill(reach.isinf(), 0.0)
        slack = slack + (16 * EPSILON * slope.abs() + TINY) * reach
    constants = constants + outward(constants.ndim, constants.device) * slack
    finite = constants.isfinite()
    constants = torch.where(finite, constants, ends)
    slopes = [torch.where(finite, slope, 0.0) for slope in slopes]
    lower, upper = (
        Plane(tuple(slope[side] for slope in slopes), constants[side]) for side in (0, 1)
    )
    return Enclosure(Interval(ends[0], ends[1]), lower, upper)


def signed_sum(ends: Tensor, *signs: float) -> Enclosure:
    """The enclosure of arguments that are added or subtracted: exact, whatever their size."""
    ends = widened(ends)
    # The value is rounded once, so that its own size says how far.
    slack = 16 * EPSILON * ends.abs().amax(0) + TINY
    slack = slack.masked_fill(slack.isinf(), 0.0)
    slopes = tuple(_one(ends.ndim - 1, sign, ends.device) for sign in signs)
    return Enclosure(Interval(ends[0], ends[1]), Plane(slopes, -slack), Plane(slopes, slack))


@lru_cache(maxsize=64)
def _one(rank: int, sign: float, device: torch.device) -> Tensor:
    return torch.full((1,) * rank, sign, dtype=torch.float64, device=device)

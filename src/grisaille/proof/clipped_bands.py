"""The confidence band of one call over regions of states, clipped like the plausible set."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from grisaille.belief.declared_intervals import DeclaredInterval
from grisaille.belief.learning import value_bound
from grisaille.belief.processes.minorants import BOTH, BandMinorants, Quadratics
from grisaille.language import operations
from grisaille.language.black_box import BlackBox
from grisaille.language.enclosures.interval import EPSILON, Enclosure, Interval, Plane

# --- declared minorants ---------------------------------------------------------------------------
# Quadratics below a band that declarations cut, over many regions at once.
#
# With lo and hi the ends of a declared interval, the cut band starts at min(max(l, lo), hi).
# Two kinds of functions lie below:
#
# 1. lo itself is the largest of y_n - c(s, s_n). Each of these is concave in every input, so its
#    chord over the region lies below.
# 2. A quadratic q below l, lowered by the most that it exceeds hi. For one answer, q - hi is a sum
#    over the inputs of quadratics with a kink at s_n, so its maximum has a closed form.
#
# The same holds for -u, with -hi and -lo as ends.

_ROUNDING = 32 * EPSILON


def cut(
    found: Quadratics, interval: DeclaredInterval, center: Tensor, half: Tensor, states: Interval
) -> Quadratics:
    """Quadratics below the ends of a band that is cut to an interval, (2, k, regions).

    Args:
        found: Quadratics below l and below -u before that.
        interval: The interval.
        center: (regions, d), finite.
        half: (regions, d), finite: center ± half covers the states.
        states: (regions, d), exactly: an answer at the end of a region bounds all of it.
    """
    if not len(interval.inputs):
        return found
    lowered = _lowered(found, interval, center, half)
    chord = _chord(interval, center, half, states)
    better = chord.least(half) > lowered.least(half)
    wide = better.unsqueeze(-1)
    return Quadratics(
        torch.where(better, chord.constant, lowered.constant),
        torch.where(wide, chord.slope, lowered.slope),
        torch.where(wide, chord.curvature, lowered.curvature),
        torch.where(better, chord.slack, lowered.slack),
    )


def _chord(
    interval: DeclaredInterval, center: Tensor, half: Tensor, states: Interval
) -> Quadratics:
    """The chord of y_n - c(s, s_n) for the answer whose least value over the region is largest."""
    answers = interval.inputs.unsqueeze(1)
    offset = center - answers  # (n, regions, d)
    up, down = interval.up[:, :, None, None], interval.down[:, :, None, None]
    impossible = (up.isinf() & (states.upper > answers)) | (down.isinf() & (states.lower < answers))
    at_ends = [
        _finite(up) * gap.clamp_min(0) + _finite(down) * (-gap).clamp_min(0)
        for gap in (offset - half, offset + half)
    ]  # (2, k, n, regions, d)
    least = interval.values.unsqueeze(-1) - torch.maximum(*at_ends).sum(-1)
    least = torch.where(impossible.any(-1), -torch.inf, least)
    best = least.argmax(2, keepdim=True)  # (2, k, 1, regions)
    value = interval.values.unsqueeze(-1).expand_as(least).gather(2, best).squeeze(2)
    pick = best.unsqueeze(-1).expand(*best.shape, half.shape[1])
    low, high = (cost.gather(2, pick).squeeze(2) for cost in at_ends)
    known = least.amax(2).isfinite()
    slope = torch.where(half > 0, (low - high) / (2 * half).clamp_min(1e-300), 0.0)
    # Gaps are rounded in proportion to the states that they are between.
    steep = (_finite(interval.up) + _finite(interval.down)).unsqueeze(2)
    size = center.abs() + half + interval.inputs.abs().amax(0)
    slack = _ROUNDING * (value.abs() + (low + high + steep * size).sum(-1))
    constant = value - 0.5 * (low + high).sum(-1) - slack
    return Quadratics(
        torch.where(known, constant, -torch.inf),
        torch.where(known.unsqueeze(-1), slope, 0.0),
        torch.zeros_like(slope),
        torch.where(known, slack, 0.0),
    )


def _lowered(
    found: Quadratics, interval: DeclaredInterval, center: Tensor, half: Tensor
) -> Quadratics:
    """Quadratics lowered until they are nowhere above the other end of the interval."""
    kink = (interval.inputs.unsqueeze(1) - center).expand(1, 1, -1, -1, -1)  # (1, 1, n, regions, d)
    slope, curvature = found.slope.unsqueeze(2), found.curvature.unsqueeze(2)
    # The other end of l is u, and the other way round.
    up, down = (v.flip(0)[:, :, None, None] for v in (interval.up, interval.down))
    values = interval.values.flip(0).unsqueeze(-1)
    corner = kink.clamp(-half, half)
    above = _most(slope - _finite(up), curvature, corner, half) + _finite(up) * kink
    below = _most(slope + _finite(down), curvature, -half, corner) - _finite(down) * kink
    above = torch.where(up.isinf() | (kink > half), -torch.inf, above)
    below = torch.where(down.isinf() | (kink < -half), -torch.inf, below)
    most = torch.maximum(above, below)  # (2, k, n, regions, d)
    excess = (found.constant.unsqueeze(2) + values + most.sum(-1)).amax(2)
    reach = half + kink.abs().amax(2)
    steep = (_finite(interval.up) + _finite(interval.down)).amax(0, keepdim=True).unsqueeze(2)
    terms = (found.slope.abs() + steep) * (reach + center.abs()) + found.curvature.abs() * half**2
    size = found.constant.abs() + values.abs().amax(2) + terms.sum(-1)
    rounding = torch.where(found.constant.isfinite(), _ROUNDING * size, 0.0)
    constant = found.constant - (excess + rounding).clamp_min(0)
    return Quadratics(constant, found.slope, found.curvature, found.slack + rounding)


def _finite(slopes: Tensor) -> Tensor:
    return torch.where(slopes.isfinite(), slopes, 0.0)


def _most(slope: Tensor, curvature: Tensor, start: Tensor, end: Tensor) -> Tensor:
    """The maximum of slope d + curvature d^2 / 2 over start <= d <= end, entry by entry."""
    vertex = torch.where(curvature < 0, -slope / curvature.clamp_max(-1e-300), start)
    vertex = torch.minimum(torch.maximum(vertex, start), end)
    values = [
        d * (slope + 0.5 * curvature * d) for d in torch.broadcast_tensors(start, vertex, end)
    ]
    return torch.maximum(torch.maximum(values[0], values[1]), values[2])


# --- range table ----------------------------------------------------------------------------------
# Least values of functions over regions in a few dimensions, looked up in a table.
#
# The domain is cut into equal cells, each with a lower bound. The table has the minima over all
# blocks of cells whose sides are powers of two. Two of them per axis cover any block, so the
# minimum over a region costs a few look-ups. For wide regions this is far tighter than a single
# bound.

CELLS = {1: 4096, 2: 64, 3: 16, 4: 8}
"""Cells along each axis, by the number of dimensions."""

_CHUNK = 2048


class RangeTable:
    """Lower bounds of functions over any region inside a domain.

    Args:
        lower: (d,), the domain; d is among the keys of `CELLS`.
        upper: (d,).
        bound: Lower bounds of the functions over regions: centres and half-widths, (regions, d)
            each, to (functions, regions).
    """

    def __init__(
        self, lower: Tensor, upper: Tensor, bound: Callable[[Tensor, Tensor], Tensor]
    ) -> None:
        self._lower, self._upper = lower, upper
        self._dimensions = len(lower)
        self._cells = CELLS[self._dimensions]
        self._width = ((upper - lower) / self._cells).clamp_min(1e-300)
        steps = torch.arange(self._cells, dtype=torch.float64) + 0.5
        axes = [low + width * steps for low, width in zip(lower, self._width, strict=True)]
        centers = torch.stack(torch.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(lower))
        # Rounding of their ends must not leave a gap between neighbouring cells.
        half = self._width / 2 * (1 + 1e-9) + 1e-12 * (lower.abs() + upper.abs())
        chunks = (v.split(_CHUNK) for v in (centers, half.expand_as(centers)))
        values = torch.cat([bound(c, h) for c, h in zip(*chunks, strict=True)], -1)
        table = values.reshape(len(values), *[self._cells] * self._dimensions)
        for axis in range(self._dimensions):
            table = _doubled(table, 1 + 2 * axis)
        # (functions, levels and cells of each axis in turn)
        self._table = table

    def least(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Least values over regions in the domain, (regions, d) twice to (functions, regions)."""
        first = ((lower - self._lower) / self._width - 1e-6).floor().long()
        last = ((upper - self._lower) / self._width + 1e-6).floor().long()
        slightly = 1e-10 * self._width + 1e-13 * self._upper.abs().maximum(self._lower.abs())
        inside = ((lower >= self._lower - slightly) & (upper <= self._upper + slightly)).all(1)
        first, last = first.clamp(0, self._cells - 1), last.clamp(0, self._cells - 1)
        last = torch.maximum(first, last)
        level = (last - first + 1).double().log2().floor().long()
        other = last - (1 << level) + 1
        found = None
        for corner in range(2**self._dimensions):
            index: list[Tensor] = []
            for axis in range(self._dimensions):
                start = other if corner >> axis & 1 else first
                index += [level[:, axis], start[:, axis]]
            values = self._table.movedim(0, -1)[tuple(index)].T
            found = values if found is None else torch.minimum(found, values)
        assert found is not None
        return torch.where(inside, found, -torch.inf)


def _doubled(table: Tensor, axis: int) -> Tensor:
    """Minima over 1, 2, 4, ... neighbours along an axis, stacked along a new axis before it."""
    levels = [table]
    step = 1
    while 2 * step <= table.shape[axis]:
        last = levels[-1]
        size = table.shape[axis] - 2 * step + 1
        pair = torch.minimum(last.narrow(axis, 0, size), last.narrow(axis, step, size))
        # Blocks that would leave the domain are never looked up.
        rest = table.narrow(axis, 0, table.shape[axis] - size)
        levels.append(torch.cat([pair, rest], axis))
        step *= 2
    return torch.stack(levels, axis)


# --- clipped bands --------------------------------------------------------------------------------


class ClippedBands:
    """Quadratics below the bands of one call, clipped like those of the plausible set.

    Args:
        box: The black box.
        minorants: Quadratics below the bands of its posterior. None if it has none: then
            declarations alone bound its outputs.
        interval: The declared interval that cuts its bands, if there is one.
    """

    def __init__(
        self, box: BlackBox, minorants: BandMinorants | None, interval: DeclaredInterval | None
    ) -> None:
        self._box = box
        self._minorants = minorants
        self._interval = interval
        least = np.full(box.outputs, -np.inf) if box.lower is None else box.lower
        most = np.full(box.outputs, np.inf) if box.upper is None else box.upper
        # The declared range of l, (k, 1); that of -u is its mirror image.
        self._least = torch.tensor(np.stack([least, -most])).unsqueeze(-1)
        self._most = torch.tensor(np.stack([most, -least])).unsqueeze(-1)
        self._table: RangeTable | None = None
        self._sides = BOTH

    def restrict(self, sides: slice) -> None:
        """Bound only one end of the band from now on, and the other one by a constant."""
        if self._minorants is not None and self._minorants.floor().isfinite().all():
            self._sides = sides

    def tabulate(self, states: Interval) -> None:
        """Tabulate the range of the band over all states that can occur."""
        lower, upper = states.lower[0], states.upper[0]
        usable = lower.isfinite().all() and upper.isfinite().all() and (upper > lower).all()
        if usable and len(lower) in CELLS:

            def bound(center: Tensor, half: Tensor) -> Tensor:
                cell = Interval(center - half, center + half)
                found = self._cut(self._below(center, half, center), center, half, cell)
                return found.least(half).flatten(0, 1)

            self._table = RangeTable(lower, upper, bound)

    def accepted(self, states: Interval) -> tuple[tuple[Enclosure, ...], Interval]:
        """Clip states to the accepted inputs. Also returns the clipping planes, outer one first."""
        box = self._box
        if box.input_lower is None and box.input_upper is None:
            return (), states
        shape = (1, states.lower.shape[1])
        low = torch.tensor(np.full(shape, -np.inf if box.input_lower is None else box.input_lower))
        high = torch.tensor(np.full(shape, np.inf if box.input_upper is None else box.input_upper))
        assert operations.maximum.enclose is not None
        assert operations.minimum.enclose is not None
        raised = operations.maximum.enclose(states, Interval(low, low))
        capped = operations.minimum.enclose(raised.interval, Interval(high, high))
        return (_with_constant(capped, high), _with_constant(raised, low)), capped.interval

    def quadratics(self, states: Interval, touch: Tensor) -> Quadratics:
        """Quadratics below l and below -u over regions of states, (2, k, regions).

        Args:
            states: Accepted states, (regions, d).
            touch: (regions, d), where the bound should be tightest.
        """
        center, half = center_and_half(states)
        known = half.isfinite().all(1) & center.isfinite().all(1)
        if not known.all():
            safe = known.unsqueeze(1)
            center, half, touch = (torch.where(safe, v, 0.0) for v in (center, half, touch))
        found = self._below(center, half, touch)
        least = found.least(half)
        low, high = self._range(center, half)
        low, high = low.expand_as(least), high.expand_as(least)
        bounded = low
        if self._table is not None:
            seen = self._table.least(center - half, center + half).reshape(least.shape)
            bounded = torch.maximum(low, seen)
        # A constant replaces a quadratic that leaves the range of l: l is never below this range,
        # and clipped to its upper end where it would be above.
        upside_down = Quadratics(-found.constant, -found.slope, -found.curvature, found.slack)
        above = -upside_down.least(half)
        flat = (least < bounded) | (above > high)
        level = torch.minimum(torch.maximum(least, bounded), high)
        clipped = self._cut(_flattened(found, flat, level), center, half, states)
        if known.all():
            return clipped
        return _flattened(clipped, (~known).expand_as(flat), self._floor(center))

    def _below(self, center: Tensor, half: Tensor, touch: Tensor) -> Quadratics:
        """Quadratics below the band of the posterior, (2, k, regions)."""
        if self._minorants is not None:
            found = self._minorants(center, half, touch, self._sides)
            return found if self._sides == BOTH else self._with_constant_side(found)
        nothing = center.new_zeros(2, self._box.outputs, *center.shape)
        return Quadratics(nothing[..., 0] - torch.inf, nothing, nothing, nothing[..., 0])

    def _with_constant_side(self, found: Quadratics) -> Quadratics:
        """Both ends of the band where one was bounded: a constant for the other."""
        assert self._minorants is not None
        floor = self._minorants.floor()

        def joined(part: Tensor, other: Tensor) -> Tensor:
            both = other.expand(2, *part.shape[1:]).clone()
            both[self._sides] = part
            return both

        nothing = found.constant.new_zeros(1)
        return Quadratics(
            joined(found.constant, floor),
            joined(found.slope, nothing),
            joined(found.curvature, nothing),
            joined(found.slack, nothing),
        )

    def _floor(self, states: Tensor) -> Tensor:
        """A constant below l and -u for inputs without known bounds, (2, k, regions)."""
        floor = self._least if self._minorants is None else self._minorants.floor()
        if self._interval is not None and len(self._interval.inputs):
            # The other end of the interval is nowhere beyond the outermost answer.
            floor = torch.minimum(floor, -self._interval.values.flip(0).amax(2, keepdim=True))
        low, high = self._range(0 * states, 0 * states + torch.inf)
        return torch.minimum(torch.maximum(floor, low), high)

    def _cut(self, found: Quadratics, center: Tensor, half: Tensor, states: Interval) -> Quadratics:
        interval = self._interval
        if interval is None:
            return found
        if interval.rounding:  # an answer bounds a region only if it is surely beside it
            ends = (states.lower, -states.upper)
            low, high = (end - interval.rounding * end.abs() for end in ends)
            states = Interval(low, -high)
        return cut(found, interval, center, half, states)

    def _range(self, center: Tensor, half: Tensor) -> tuple[Tensor, Tensor]:
        """What is below every l and -u, and below the upper ends of their ranges: (2, k, regions).

        Declared ranges are the same everywhere. The norm bound allows B sqrt(k(s, s)), which grows
        with the distance of each input from 0.
        """
        box, low, high = self._box, self._least, self._most
        if box.norm_bound is None:
            return low, high
        nearest = value_bound(box, (center.abs() - half).clamp_min(0)).T * (1 - 8 * EPSILON)
        farthest = value_bound(box, center.abs() + half).T * (1 + 8 * EPSILON)
        # The declared range is clipped to last, so that it wins where both contradict each other.
        return (
            torch.minimum(torch.maximum(low, -farthest), high),
            torch.maximum(torch.minimum(high, nearest), low),
        )


def _flattened(found: Quadratics, flat: Tensor, level: Tensor) -> Quadratics:
    """Quadratics with a constant in place of some of them, (2, k, regions)."""
    wide = flat.unsqueeze(-1)
    return Quadratics(
        torch.where(flat, level, found.constant),
        torch.where(wide, 0.0, found.slope),
        torch.where(wide, 0.0, found.curvature),
        found.slack,
    )


def _with_constant(enclosure: Enclosure, value: Tensor) -> Enclosure:
    """Planes of two arguments with a constant second one, as planes of the first."""

    def fixed(plane: Plane, away: float) -> Plane:
        slope, of_constant = plane.slopes
        term = torch.where(of_constant == 0, 0.0, of_constant * value)
        rounding = 4 * EPSILON * (term.abs() + plane.constant.abs())
        return Plane((slope,), plane.constant + term + away * rounding)

    return Enclosure(enclosure.interval, fixed(enclosure.lower, -1), fixed(enclosure.upper, 1))


def center_and_half(states: Interval) -> tuple[Tensor, Tensor]:
    """The centre and half-widths of regions, which they cover in spite of rounding."""
    center = (states.lower + states.upper) / 2
    half = (states.upper - states.lower) / 2
    return center, half + 2 * EPSILON * (center.abs() + half)

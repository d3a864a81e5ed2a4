"""The confidence band of one call over regions of states, clipped like the plausible set."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from grisaille.certification.band_minorants import BOTH, BandMinorants
from grisaille.certification.declared_minorants import cut
from grisaille.certification.kernel_minorants import Quadratics
from grisaille.certification.range_table import CELLS, RangeTable
from grisaille.confidence.beliefs import value_bound
from grisaille.confidence.declared_intervals import DeclaredInterval
from grisaille.enclosures.interval import EPSILON, Enclosure, Interval, Plane
from grisaille.language import atoms
from grisaille.language.black_box import BlackBox


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
        assert atoms.maximum.enclose is not None
        assert atoms.minimum.enclose is not None
        raised = atoms.maximum.enclose(states, Interval(low, low))
        capped = atoms.minimum.enclose(raised.interval, Interval(high, high))
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

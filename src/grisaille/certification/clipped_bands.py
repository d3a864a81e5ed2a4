"""The confidence band of one call over regions of states, clipped like the plausible set."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from grisaille.certification.band_minorants import BandMinorants, Quadratics
from grisaille.certification.range_table import CELLS, RangeTable
from grisaille.confidence.beliefs import value_bound
from grisaille.enclosures.interval import EPSILON, Enclosure, Interval, Plane
from grisaille.language import atoms
from grisaille.language.black_box import BlackBox


class ClippedBands:
    """Quadratics below the bands of one call, clipped like those of the plausible set."""

    def __init__(self, box: BlackBox, minorants: BandMinorants) -> None:
        self._box = box
        self._minorants = minorants
        bound = np.full(box.outputs, np.inf) if box.norm_bound is None else value_bound(box)
        least = np.full(box.outputs, -np.inf) if box.lower is None else box.lower
        most = np.full(box.outputs, np.inf) if box.upper is None else box.upper
        # The range of l, (k, 1); that of -u is its mirror image.
        low, high = np.maximum(least, -bound), np.minimum(most, bound)
        self._low = torch.tensor(np.stack([low, -high])).unsqueeze(-1)
        self._high = torch.tensor(np.stack([high, -low])).unsqueeze(-1)
        self._table: RangeTable | None = None

    def tabulate(self, states: Interval) -> None:
        """Tabulate the range of the band over all states that can occur."""
        lower, upper = states.lower[0], states.upper[0]
        usable = lower.isfinite().all() and upper.isfinite().all() and (upper > lower).all()
        if usable and len(lower) in CELLS:

            def bound(center: Tensor, half: Tensor) -> Tensor:
                return self._minorants(center, half, center).least(half).flatten(0, 1)

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
        cut = atoms.minimum.enclose(raised.interval, Interval(high, high))
        return (_with_constant(cut, high), _with_constant(raised, low)), cut.interval

    def quadratics(self, center: Tensor, half: Tensor, touch: Tensor) -> Quadratics:
        """Quadratics below l and below -u, (2, k, regions)."""
        known = half.isfinite().all(1) & center.isfinite().all(1)
        if not known.all():
            safe = known.unsqueeze(1)
            center, half, touch = (torch.where(safe, v, 0.0) for v in (center, half, touch))
        found = self._minorants(center, half, touch)
        least = found.least(half)
        low = self._low
        if self._table is not None:
            seen = self._table.least(center - half, center + half).reshape(least.shape)
            low = torch.maximum(low, seen)
        # A constant replaces a quadratic that leaves the range of l: l is never below this range,
        # and clipped to its upper end where it would be above.
        upside_down = Quadratics(-found.constant, -found.slope, -found.curvature, found.slack)
        above = -upside_down.least(half)
        flat = (least < low) | (above > self._high)
        level = torch.minimum(torch.maximum(least, low), self._high)
        if not known.all():
            nowhere = ~known.expand_as(flat)
            flat = flat | nowhere
            floor = torch.maximum(self._minorants.floor(), self._low)
            level = torch.where(nowhere, torch.minimum(floor, self._high), level)
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

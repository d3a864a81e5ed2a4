"""The confidence band of one call over boxes of states, clipped as the plausible set clips it."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from grisaille.confidence.beliefs import value_bound
from grisaille.modeling import atoms
from grisaille.modeling.black_box import BlackBox
from grisaille.modeling.enclosures import EPSILON, Enclosure, Interval
from grisaille.solvers.branch_and_bound import Limits, branch_and_bound
from grisaille.surrogates.minorants import BandMinorants, Quadratics

# How closely, in prior standard deviations, and with how many boxes at most, the range of a band
# over all states is enclosed.
_RANGE_GAP = 0.01
_RANGE_BOXES = 600


class ClippedBands:
    """Quadratics below the bands of one call, clipped as the plausible set clips them."""

    def __init__(self, box: BlackBox, minorants: BandMinorants) -> None:
        self._box = box
        self._minorants = minorants
        bound = np.full(box.outputs, np.inf) if box.norm_bound is None else value_bound(box)
        least = np.full(box.outputs, -np.inf) if box.lower is None else box.lower
        most = np.full(box.outputs, np.inf) if box.upper is None else box.upper
        # Range of l: (k, 1); that of -u is the mirror image.
        low, high = np.maximum(least, -bound), np.minimum(most, bound)
        self._low = torch.tensor(np.stack([low, -high])).unsqueeze(-1)
        self._high = torch.tensor(np.stack([high, -low])).unsqueeze(-1)

    def sharpen(self, states: Interval) -> None:
        """Narrow the range to what the band reaches over all states that can occur."""
        ends = (states.lower[0], states.upper[0])
        if not all(end.isfinite().all() for end in ends):
            return
        for side in (0, 1):
            for output in range(self._box.outputs):
                least = self._least(side, output, *ends)
                self._low[side, output] = torch.maximum(self._low[side, output], least)

    def _least(self, side: int, output: int, lower: Tensor, upper: Tensor) -> Tensor:
        relaxation = _BandRelaxation(self._minorants, side, output, lower, upper)
        posterior = self._minorants.posterior
        engine = torch.quasirandom.SobolEngine(len(lower), seed=0)
        points = lower + (upper - lower) * engine.draw(512, dtype=torch.float64)
        mean, deviation = posterior.predict(points)
        sign = 1 - 2 * side
        values = sign * mean[:, output] - self._minorants.beta[output] * deviation[:, output]
        width = float(posterior.hyperparameters.variance[output].sqrt())
        limits = Limits(_RANGE_GAP * width, 0.0, _RANGE_BOXES, None, 64)
        unit = torch.ones(1, dtype=torch.float64)
        found = branch_and_bound(
            relaxation, unit, float(values.min()), limits, lambda _lower, _upper: torch.inf
        )
        return torch.tensor(found.lower)

    def accepted(self, states: Interval) -> tuple[tuple[Enclosure, ...], Interval]:
        """States moved into the accepted inputs, and the planes that do it, the outer one first."""
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
        return (cut, raised), cut.interval

    def quadratics(self, center: Tensor, half: Tensor, touch: Tensor) -> Quadratics:
        """Quadratics below l and below -u, (2, k, boxes)."""
        known = half.isfinite().all(1) & center.isfinite().all(1)
        if not known.all():
            safe = known.unsqueeze(1)
            center, half, touch = (torch.where(safe, v, 0.0) for v in (center, half, touch))
        found = self._minorants(center, half, touch)
        least = found.least(half)
        # A quadratic that leaves the range of l gives way to a constant: l never lies below the
        # range, and where it would lie above, it is the range's upper end.
        above = -Quadratics(-found.constant, -found.slope, -found.curvature, found.slack).least(
            half
        )
        flat = (least < self._low) | (above > self._high)
        level = torch.minimum(torch.maximum(least, self._low), self._high)
        if not known.all():
            nowhere = ~known.expand_as(flat)
            flat = flat | nowhere
            floor = torch.maximum(self._minorants.floor(), self._low).expand_as(level)
            level = torch.where(nowhere, floor, level)
        wide = flat.unsqueeze(-1)
        return Quadratics(
            torch.where(flat, level, found.constant),
            torch.where(wide, 0.0, found.slope),
            torch.where(wide, 0.0, found.curvature),
            found.slack,
        )


class _BandRelaxation:
    """The least value of one end of one band over a box of states, as a relaxation."""

    constraints = 0

    def __init__(
        self, minorants: BandMinorants, side: int, output: int, lower: Tensor, upper: Tensor
    ) -> None:
        self.lower, self.upper = lower, upper
        self.groups = [list(range(len(lower)))]
        self._minorants = minorants
        self._which = (side, output)

    def over(self, lower: Tensor, upper: Tensor) -> _BandBoxes:
        """Look at boxes, (boxes, D) twice."""
        center, half = center_and_half(Interval(lower, upper))
        quadratics = self._minorants(center, half, center)
        return _BandBoxes(lower, upper, quadratics.least(half)[self._which])

    def starts(self, lower: Tensor, upper: Tensor) -> Tensor:
        """The centres."""
        return (lower + upper) / 2


class _BandBoxes:
    """Boxes of states with the least value over each."""

    slack = 0.0

    def __init__(self, lower: Tensor, upper: Tensor, least: Tensor) -> None:
        self.lower, self.upper = lower, upper
        self.empty = torch.zeros(len(lower), dtype=torch.bool)
        self._least = least

    def bound(self, weights: Tensor) -> Tensor:
        """(weights, 1) to (boxes, weights)."""
        return self._least.unsqueeze(1) * weights[:, 0]

    dual = bound


def center_and_half(states: Interval) -> tuple[Tensor, Tensor]:
    """The centre and half-widths of boxes, which they cover in spite of rounding."""
    center = (states.lower + states.upper) / 2
    half = (states.upper - states.lower) / 2
    # Rounding of the centre must not leave an end uncovered.
    return center, half + 2 * EPSILON * (center.abs() + half)

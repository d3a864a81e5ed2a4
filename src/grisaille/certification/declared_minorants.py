"""Quadratics below a band that declarations cut, over many regions at once.

With lo and hi the ends of a declared interval, the cut band starts at min(max(l, lo), hi). Two
kinds of functions lie below:

1. lo itself is the largest of y_n - c(s, s_n). Each of these is concave in every input, so its
   chord over the region lies below.
2. A quadratic q below l, lowered by the most that it exceeds hi. For one answer, q - hi is a sum
   over the inputs of quadratics with a kink at s_n, so its maximum has a closed form.

The same holds for -u, with -hi and -lo as ends.
"""

from __future__ import annotations

import torch
from torch import Tensor

from grisaille.certification.kernel_minorants import Quadratics
from grisaille.confidence.declared_intervals import DeclaredInterval
from grisaille.enclosures.interval import EPSILON, Interval

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

"""Regions of states are covered in spite of rounding."""

from __future__ import annotations

from fractions import Fraction

import torch

from grisaille.language.enclosures.interval import Interval
from grisaille.proof.clipped_bands import center_and_half


def test_the_centre_and_half_widths_of_a_region_cover_it_in_spite_of_rounding():
    generator = torch.Generator().manual_seed(0)
    lower = torch.randn(2000, 1, generator=generator, dtype=torch.float64)
    lower = lower * 10 ** (6 * torch.rand(2000, 1, generator=generator, dtype=torch.float64) - 3)
    width = 10 ** (-17 * torch.rand(2000, 1, generator=generator, dtype=torch.float64))
    upper = lower + width * lower.abs()
    center, half = center_and_half(Interval(lower, upper))
    rows = zip(*(v.flatten().tolist() for v in (lower, upper, center, half)), strict=True)
    for low, high, middle, reach in rows:
        assert Fraction(middle) - Fraction(reach) <= Fraction(low)
        assert Fraction(middle) + Fraction(reach) >= Fraction(high)

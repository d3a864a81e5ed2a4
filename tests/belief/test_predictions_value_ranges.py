"""The least and greatest values of many functions over a cube."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from grisaille.belief.predictions import value_ranges


def test_an_affine_function_has_its_ends_at_corners_in_any_dimension():
    rng = np.random.default_rng(0)
    for dimensions in (1, 3, 12, 40):
        slopes = torch.tensor(rng.normal(size=(2, dimensions)) * 10.0 ** rng.integers(-3, 3, 2)[0])

        def family(members, points, slopes=slopes):
            values = (slopes[members] * points).sum(1, keepdim=True)
            return torch.cat([1 + values, -values], 1)

        lower, upper = value_ranges(family, 2, dimensions)
        reach = slopes.abs().sum(1)
        assert upper[:, 0].tolist() == pytest.approx((1 + reach).tolist(), rel=1e-12)
        assert lower[:, 1].tolist() == pytest.approx((-reach).tolist(), rel=1e-12)


def test_ends_inside_the_cube_are_found():
    def family(members, points):
        center = torch.tensor([[0.3, -0.2], [0.9, 0.1]], dtype=torch.float64)[members]
        bowl = ((points - center) ** 2 * torch.tensor([1.0, 20.0])).sum(1)
        return torch.stack([bowl, torch.exp(-bowl)], 1)

    lower, upper = value_ranges(family, 2, 2)
    assert lower[:, 0].abs().max() < 1e-4
    assert (upper[:, 1] - 1).abs().max() < 1e-4
    assert upper[0, 0].item() == pytest.approx(1.3**2 + 20 * 1.2**2)


def test_a_bent_chain_agrees_with_a_fine_grid():
    def values(points):
        inner = torch.sin(2 * points[:, 0]) + 0.3 * points[:, 1]
        return (torch.cos(3 * inner) + inner * points[:, 2]).unsqueeze(1)

    axis = torch.linspace(-1, 1, 81, dtype=torch.float64)
    grid = values(torch.cartesian_prod(axis, axis, axis))
    lower, upper = value_ranges(lambda members, points: values(points), 1, 3)
    assert lower.item() <= grid.min().item() + 1e-4
    assert upper.item() >= grid.max().item() - 1e-4


def test_values_that_are_no_numbers_are_left_out():
    def family(members, points):
        nothing = torch.full_like(points[:, 0], math.nan)
        return torch.stack([points[:, 0].sqrt(), nothing, torch.ones_like(nothing)], 1)

    lower, upper = value_ranges(family, 1, 1)
    assert lower[0].tolist()[0] == pytest.approx(0.0, abs=1e-12)
    assert upper[0].tolist()[0] == pytest.approx(1.0)
    assert lower[0, 1].isnan()
    assert upper[0, 1].isnan()
    assert lower[0, 2] == upper[0, 2] == 1


def test_without_a_dimension_the_range_is_the_value():
    lower, upper = value_ranges(lambda members, points: members.double().unsqueeze(1), 3, 0)
    assert lower[:, 0].tolist() == upper[:, 0].tolist() == [0.0, 1.0, 2.0]

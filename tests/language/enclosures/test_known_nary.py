"""Enclosures of operations with several arguments: products, quotients, switches and angles."""

import numpy as np
import pytest
import torch

from grisaille.language import operations
from grisaille.language.enclosures.interval import Interval
from tests.language.enclosures.enclosure_helpers import (
    INFINITE,
    assert_values_inside,
    assert_well_formed,
    atom_named,
    enclose,
    points_inside,
    random_ends,
    seed_of,
    slopes_of,
    violations,
)


@pytest.mark.parametrize("name", ["multiply", "divide", "minimum", "maximum", "power", "add"])
def test_a_constant_argument_is_as_safe_as_any(name):
    rng = np.random.default_rng(seed_of(name))
    for place in (0, 1):
        ends = [random_ends(rng, 500) for _ in range(2)]
        ends[place] = (ends[place][0], ends[place][0])
        enclosure = enclose(atom_named(name), *ends)
        assert_well_formed(enclosure)
        points = points_inside(rng, ends, 12)
        assert_values_inside(name, enclosure, points)
        assert violations(name, enclosure, [p[:4] for p in points], range(80)) == []


def test_no_angle_of_huge_or_tiny_numbers_lies_outside():
    rng = np.random.default_rng(4)
    scale = 10.0 ** rng.uniform(-305, 300, 300)
    ends = []
    for _ in range(2):
        center, width = rng.normal(size=300), 10.0 ** rng.uniform(-8, 0, 300)
        ends.append(((center - width) * scale, (center + width) * scale))
    points = points_inside(rng, ends, 4)
    assert violations("arctan2", enclose(operations.arctan2, *ends), points, range(300)) == []


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_rounding_is_covered_where_one_argument_reaches_much_farther(name):
    rng = np.random.default_rng(5)
    reach = rng.uniform(0.1, 1, (4, 200))
    ends = [(-reach[0], reach[1]), (-1e10 * reach[2], reach[3])]
    if name == "minimum":
        ends[1] = (-reach[2], 1e10 * reach[3])
    corners = [np.stack([low, low, high, high]) for low, high in ends[:1]]
    corners += [np.stack([low, high, low, high]) for low, high in ends[1:]]
    assert violations(name, enclose(atom_named(name), *ends), corners, range(200)) == []


@pytest.mark.parametrize("factor", [3.0, -0.1, 0.0])
def test_a_constant_factor_or_divisor_is_an_exact_slope(factor):
    constant = ([factor], [factor])
    for found in (
        enclose(operations.multiply, ([-2.0], [5.0]), constant),
        enclose(operations.multiply, ([-INFINITE], [5.0]), constant),
    ):
        assert all(slopes[:, 0].tolist() == [factor, 0.0] for slopes in slopes_of(found, 1))
    if factor:
        found = enclose(operations.divide, ([-2.0], [5.0]), constant)
        assert all(slopes[:, 0].tolist() == [1 / factor, 0.0] for slopes in slopes_of(found, 1))


def test_constant_entries_among_others_have_exact_slopes():
    factor = ([3.0, 1.0], [3.0, 2.0])
    for atom, slope in ((operations.multiply, 3.0), (operations.divide, 1 / 3)):
        for slopes in slopes_of(enclose(atom, ([-2.0, -2.0], [5.0, 5.0]), factor), 2):
            assert slopes[:, 0].tolist() == [slope, 0.0]
            assert slopes[1, 1] != 0


def test_the_planes_of_a_product_are_those_that_the_other_factor_can_lean_on():
    # y in [1, 2] keeps its sign, z in [-3, 4] does not.
    found = enclose(operations.multiply, ([-3.0], [4.0]), ([1.0], [2.0]))
    lower, upper = slopes_of(found, 1)
    assert lower[:, 0].tolist() == [1.0, -3.0]
    assert upper[:, 0].tolist() == [1.0, 4.0]
    found = enclose(operations.multiply, ([-2.0], [-1.0]), ([-3.0], [4.0]))
    lower, upper = slopes_of(found, 1)
    assert lower[:, 0].tolist() == [4.0, -1.0]
    assert upper[:, 0].tolist() == [-3.0, -1.0]
    found = enclose(operations.multiply, ([-2.0], [4.0]), ([-3.0], [1.0]))
    lower, upper = slopes_of(found, 1)
    assert lower[:, 0].tolist() == upper[:, 0].tolist() == [-1.0, 1.0]
    assert float(found.upper.constant - found.lower.constant) == pytest.approx(2 * 3 * 2)


def test_exponents_may_differ_from_entry_to_entry():
    base = Interval(*(torch.tensor([[v] * 4], dtype=torch.float64) for v in (-0.5, 2.0)))
    lower = torch.tensor([[2.0, 3.0, 0.5, 1.4]], dtype=torch.float64)
    upper = torch.tensor([[2.0, 3.0, 0.5, 1.6]], dtype=torch.float64)
    found = operations.power.enclose(base, Interval(lower, upper))
    np.testing.assert_allclose(found.interval.lower, [[0, -0.125, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(found.interval.upper, [[4, 8, 2**0.5, 2**1.6]], rtol=1e-12)

"""Enclosures of operations with one argument: powers, bends, waves and domains."""

import numpy as np
import pytest
import torch

from grisaille.language import operations
from tests.language.enclosures.enclosure_helpers import (
    INFINITE,
    assert_values_inside,
    assert_well_formed,
    atom_named,
    enclose,
    parts,
    points_inside,
    random_ends,
    slopes_of,
    violations,
)

EXPONENTS = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 12.0, -1.0, -2.0, -3.0, -4.0]
EXPONENTS += [0.5, 1.5, 2.5, 1 / 3, -0.5, -1.7, 0.999, 1.001]


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_no_power_lies_outside_whatever_the_constant_exponent(exponent):
    rng = np.random.default_rng(int(abs(exponent) * 1000))
    base = random_ends(rng, 1500)
    fixed = np.full(1500, exponent)
    enclosure = enclose(operations.power, base, (fixed, fixed))
    assert_well_formed(enclosure)
    points = points_inside(rng, [base, (fixed, fixed)], 24)
    assert_values_inside("power", enclosure, points)
    assert violations("power", enclosure, [p[:5] for p in points], range(100)) == []


@pytest.mark.parametrize("exponent", [e for e in EXPONENTS if e not in (0.0, 1.0)])
def test_planes_around_powers_close_in_quadratically(exponent):
    centers = [0.5, 1.2] + [-0.7] * (exponent == round(exponent)) + [0.0] * (exponent in (2.0, 3.0))
    for center in centers:
        gaps = []
        for width in (4e-3, 2e-3):
            base = np.array([center - width / 2]), np.array([center + width / 2])
            found = enclose(operations.power, base, (np.array([exponent]),) * 2)
            lower, upper = slopes_of(found, 1)
            constant = float(found.upper.constant - found.lower.constant)
            gaps.append(max(constant + float(upper[0, 0] - lower[0, 0]) * b[0] for b in base))
        assert 0 < gaps[1] < gaps[0] / 3.5, center


def plane_at(plane, x):
    return plane.constant + plane.slopes[0] * x


@pytest.mark.parametrize("low", [-0.95, -0.8, -0.3, -0.05])
@pytest.mark.parametrize("high", [0.95, 0.6, 0.1])
@pytest.mark.parametrize("name", ["tanh", "arctan", "arcsinh", "sin", "sinh", "tan", "arcsin"])
def test_lines_around_a_bend_touch_the_curve_and_are_held_by_an_end(name, low, high):
    atom = atom_named(name)
    found = enclose(atom, ([low], [high]))
    x = torch.linspace(low, high, 2001, dtype=torch.float64)
    values = atom.evaluate(x)
    above = plane_at(found.upper, x) - values
    below = values - plane_at(found.lower, x)
    concave_left = name in ("sinh", "tan", "arcsin")
    held = (below[0], above[-1]) if concave_left else (below[-1], above[0])
    spread = float(values[-1] - values[0])
    assert max(float(above.min()), float(below.min())) < 1e-5 * spread
    assert max(map(float, held)) < 0.01 * spread


@pytest.mark.parametrize("name", ["tanh", "sin", "sinh", "arcsin"])
def test_a_short_way_past_the_bend_the_chord_is_one_of_the_lines(name):
    atom = atom_named(name)
    found = enclose(atom, ([-0.9], [0.1]))
    ends = torch.tensor([-0.9, 0.1], dtype=torch.float64)
    line = found.lower if name in ("sinh", "arcsin") else found.upper
    np.testing.assert_allclose(plane_at(line, ends), atom.evaluate(ends), atol=1e-13)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_no_wave_lies_outside_over_boxes_about_as_long_as_it(name):
    rng = np.random.default_rng(3)
    low = rng.uniform(-20, 20, 3000)
    ends = [(low, low + rng.uniform(2, 8, 3000))]
    assert_values_inside(name, enclose(atom_named(name), *ends), points_inside(rng, ends, 200))


OUTSIDE = {
    "log": (-2.0, -1.0),
    "sqrt": (-2.0, -1.0),
    "log1p": (-3.0, -2.0),
    "arcsin": (1.5, 2.0),
    "arccos": (-3.0, -1.5),
    "arccosh": (-1.0, 0.5),
    "arctanh": (2.0, 3.0),
    "tan": (1.0, 2.0),
    "reciprocal": (-1.0, 1.0),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_outside_the_domain_and_around_poles_nothing_is_claimed(name):
    found = enclose(atom_named(name), ([OUTSIDE[name][0]], [OUTSIDE[name][1]]))
    assert [float(p[0]) for p in parts(found)] == [-INFINITE, INFINITE] * 2 + [0.0, 0.0]

"""Bounds over boxes: no value of any known operation ever lies outside its enclosure."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grisaille.enclosures.interval import Interval
from grisaille.language import atoms
from grisaille.language.atoms import Atom
from tests.enclosures.enclosure_helpers import (
    ARITY,
    TRUTH,
    atom_named,
    enclose,
    points_inside,
    random_ends,
    slopes_of,
    violations,
)

INFINITE = float("inf")
EXPONENTS = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 12.0, -1.0, -2.0, -3.0, -4.0]
EXPONENTS += [0.5, 1.5, 2.5, 1 / 3, -0.5, -1.7, 0.999, 1.001]


def seed_of(name):
    return sum(map(ord, name))


def parts(enclosure):
    planes = (enclosure.lower, enclosure.upper)
    return [
        enclosure.interval.lower,
        enclosure.interval.upper,
        *(p.constant for p in planes),
        *(s for p in planes for s in p.slopes),
    ]


def assert_well_formed(enclosure):
    assert not any(part.isnan().any() for part in parts(enclosure))
    assert (enclosure.interval.lower <= enclosure.interval.upper).all()
    for plane in (enclosure.lower, enclosure.upper):
        assert all(s.isfinite().all() for s in plane.slopes)
    assert (enclosure.lower.constant < INFINITE).all()
    assert (enclosure.upper.constant > -INFINITE).all()


def assert_values_inside(name, enclosure, points):
    """A dense check in floating point: what the atom itself computes, without tolerance."""
    tensors = [torch.as_tensor(p) for p in points]
    values = atom_named(name).evaluate(*(t.reshape(-1) for t in tensors)).reshape(tensors[0].shape)
    real = values.isfinite()
    planes = [
        plane.constant + sum(s * t for s, t in zip(plane.slopes, tensors, strict=True))
        for plane in (enclosure.lower, enclosure.upper)
    ]
    for low, high in ((enclosure.interval.lower, enclosure.interval.upper), planes):
        assert not (real & (values < low)).any()
        assert not (real & (values > high)).any()


def test_every_elementwise_atom_has_a_rule_and_a_truth_to_compare_with():
    both = atoms.add.evaluate.__qualname__
    elementwise = {
        name
        for name, atom in vars(atoms).items()
        if isinstance(atom, Atom) and atom.evaluate.__qualname__ == both
    }
    assert len(elementwise) == 35
    assert elementwise == set(TRUTH)
    assert all(atom_named(name).enclose is not None for name in elementwise)


@pytest.mark.parametrize("name", TRUTH)
def test_no_exact_value_lies_outside_over_random_boxes(name):
    rng = np.random.default_rng(seed_of(name))
    ends = [random_ends(rng, 4000) for _ in range(ARITY[name])]
    enclosure = enclose(atom_named(name), *ends)
    assert_well_formed(enclosure)
    points = points_inside(rng, ends, 24)
    assert_values_inside(name, enclosure, points)
    assert violations(name, enclosure, [p[:5] for p in points], range(200)) == []


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_no_power_lies_outside_whatever_the_constant_exponent(exponent):
    rng = np.random.default_rng(int(abs(exponent) * 1000))
    base = random_ends(rng, 1500)
    fixed = np.full(1500, exponent)
    enclosure = enclose(atoms.power, base, (fixed, fixed))
    assert_well_formed(enclosure)
    points = points_inside(rng, [base, (fixed, fixed)], 24)
    assert_values_inside("power", enclosure, points)
    assert violations("power", enclosure, [p[:5] for p in points], range(100)) == []


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


anything = st.floats(allow_nan=False, allow_infinity=False)
usual = st.floats(-10, 10)
numbers = st.one_of(usual, usual, anything, st.sampled_from([0.0, -0.0, 1.0, -1.0, np.pi]))


@settings(max_examples=1200, derandomize=True, deadline=None)
@given(name=st.sampled_from(sorted(TRUTH)), data=st.data())
def test_no_exact_value_lies_outside_whatever_the_box(name, data):
    ends, points = [], []
    for _ in range(ARITY[name]):
        low, high = sorted((data.draw(numbers), data.draw(numbers)))
        share = data.draw(st.floats(0, 1))
        between = min(max(low + share * (high - low), low), high)
        ends.append((np.array([low]), np.array([high])))
        points.append(np.array([[low], [high], [between]]))
    enclosure = enclose(atom_named(name), *ends)
    assert_well_formed(enclosure)
    assert violations(name, enclosure, points, range(1)) == []


SMOOTH = {
    **{name: [0.0, 0.3, -1.0] for name in ["exp", "expm1", "square", "cosh"]},
    **{name: [0.0, 0.01, 0.3, -1.0] for name in ["sinh", "tanh", "arcsinh", "arctan"]},
    **{name: [0.0, 0.004, 0.3, -0.5] for name in ["arcsin", "arccos", "arctanh", "tan"]},
    **{name: [0.5, 2.0] for name in ["log", "log1p", "log2", "log10", "sqrt"]},
    **{name: [0.0, np.pi, 1.0, np.pi / 2, 12.0, -40.0] for name in ("sin", "cos")},
    "arccosh": [1.5, 3.0],
    "reciprocal": [0.5, -2.0],
    "multiply": [(0.0, 0.0), (1.0, 2.0), (-1.0, 0.0), (3.0, -1.0)],
    "divide": [(0.0, 1.0), (1.0, 2.0), (-1.0, -0.5)],
    "arctan2": [(1.0, 1.0), (-1.0, 2.0), (1.0, -2.0), (0.0, 1.0)],
    "power": [(2.0, 0.5), (0.7, 3.0), (1.0, -1.0), (1.5, 0.0)],
}


def gap(name, center, width):
    """The largest distance between the planes over a box."""
    center = np.atleast_1d(center)
    ends = [(np.array([c - 0.4 * width]), np.array([c + 0.6 * width])) for c in center]
    enclosure = enclose(atom_named(name), *ends)
    lower, upper = slopes_of(enclosure, 1)
    corners = np.meshgrid(*([float(low[0]), float(high[0])] for low, high in ends))
    at = np.stack([c.ravel() for c in corners])
    distance = (upper - lower).T @ at + float(enclosure.upper.constant - enclosure.lower.constant)
    return distance.max()


@pytest.mark.parametrize("name", SMOOTH)
def test_planes_close_in_quadratically(name):
    for center in SMOOTH[name]:
        wide, narrow = gap(name, center, 4e-3), gap(name, center, 2e-3)
        assert 0 < narrow < wide / 3.5, center
        assert wide < 40 * 4e-3**2, center


@pytest.mark.parametrize("exponent", [e for e in EXPONENTS if e not in (0.0, 1.0)])
def test_planes_around_powers_close_in_quadratically(exponent):
    centers = [0.5, 1.2] + [-0.7] * (exponent == round(exponent)) + [0.0] * (exponent in (2.0, 3.0))
    for center in centers:
        gaps = []
        for width in (4e-3, 2e-3):
            base = np.array([center - width / 2]), np.array([center + width / 2])
            found = enclose(atoms.power, base, (np.array([exponent]),) * 2)
            lower, upper = slopes_of(found, 1)
            constant = float(found.upper.constant - found.lower.constant)
            gaps.append(max(constant + float(upper[0, 0] - lower[0, 0]) * b[0] for b in base))
        assert 0 < gaps[1] < gaps[0] / 3.5, center


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


def test_no_angle_of_huge_or_tiny_numbers_lies_outside():
    rng = np.random.default_rng(4)
    scale = 10.0 ** rng.uniform(-305, 300, 300)
    ends = []
    for _ in range(2):
        center, width = rng.normal(size=300), 10.0 ** rng.uniform(-8, 0, 300)
        ends.append(((center - width) * scale, (center + width) * scale))
    points = points_inside(rng, ends, 4)
    assert violations("arctan2", enclose(atoms.arctan2, *ends), points, range(300)) == []


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


def test_values_that_overflow_are_not_bounded():
    found = enclose(atoms.exp, ([800.0], [900.0]))
    assert [float(p[0]) for p in parts(found)] == [-INFINITE, INFINITE] * 2 + [0.0, 0.0]


def plane_at(plane, x):
    return plane.constant + plane.slopes[0] * x


@pytest.mark.parametrize("name", ["add", "subtract", "negative"])
def test_affine_atoms_have_exact_slopes_even_without_bounds(name):
    ends = [([-INFINITE, 1.0], [2.0, INFINITE])] * ARITY[name]
    found = enclose(atom_named(name), *ends)
    expected = {"add": [1, 1], "subtract": [1, -1], "negative": [-1]}[name]
    for slopes, plane in zip(slopes_of(found, 2), (found.lower, found.upper), strict=True):
        np.testing.assert_array_equal(slopes, np.array([expected] * 2).T)
        assert plane.constant.abs().max() < 1e-13


@pytest.mark.parametrize("factor", [3.0, -0.1, 0.0])
def test_a_constant_factor_or_divisor_is_an_exact_slope(factor):
    constant = ([factor], [factor])
    for found in (
        enclose(atoms.multiply, ([-2.0], [5.0]), constant),
        enclose(atoms.multiply, ([-INFINITE], [5.0]), constant),
    ):
        assert all(slopes[:, 0].tolist() == [factor, 0.0] for slopes in slopes_of(found, 1))
    if factor:
        found = enclose(atoms.divide, ([-2.0], [5.0]), constant)
        assert all(slopes[:, 0].tolist() == [1 / factor, 0.0] for slopes in slopes_of(found, 1))


def test_constant_entries_among_others_have_exact_slopes():
    factor = ([3.0, 1.0], [3.0, 2.0])
    for atom, slope in ((atoms.multiply, 3.0), (atoms.divide, 1 / 3)):
        for slopes in slopes_of(enclose(atom, ([-2.0, -2.0], [5.0, 5.0]), factor), 2):
            assert slopes[:, 0].tolist() == [slope, 0.0]
            assert slopes[1, 1] != 0


def test_the_planes_of_a_product_are_those_that_the_other_factor_can_lean_on():
    # y in [1, 2] keeps its sign, z in [-3, 4] does not.
    found = enclose(atoms.multiply, ([-3.0], [4.0]), ([1.0], [2.0]))
    lower, upper = slopes_of(found, 1)
    assert lower[:, 0].tolist() == [1.0, -3.0]
    assert upper[:, 0].tolist() == [1.0, 4.0]
    found = enclose(atoms.multiply, ([-2.0], [-1.0]), ([-3.0], [4.0]))
    lower, upper = slopes_of(found, 1)
    assert lower[:, 0].tolist() == [4.0, -1.0]
    assert upper[:, 0].tolist() == [-3.0, -1.0]
    found = enclose(atoms.multiply, ([-2.0], [4.0]), ([-3.0], [1.0]))
    lower, upper = slopes_of(found, 1)
    assert lower[:, 0].tolist() == upper[:, 0].tolist() == [-1.0, 1.0]
    assert float(found.upper.constant - found.lower.constant) == pytest.approx(2 * 3 * 2)


@pytest.mark.parametrize(
    ("atom", "ends", "slopes"),
    [
        (atoms.maximum, [(0.0, 1.0), (1.0, 3.0)], [0, 1]),
        (atoms.maximum, [(2.0, INFINITE), (-INFINITE, 2.0)], [1, 0]),
        (atoms.minimum, [(0.0, 1.0), (1.0, 3.0)], [1, 0]),
        (atoms.minimum, [(5.0, 7.0), (1.0, 3.0)], [0, 1]),
        (atoms.where, [(-1.0, 0.0), (1.0, 3.0), (0.0, INFINITE)], [0, 1, 0]),
        (atoms.where, [(0.1, 1.0), (1.0, 3.0), (0.0, INFINITE)], [0, 0, 1]),
        (atoms.floor, [(1.0, 1.9)], [0]),
        (atoms.ceil, [(0.1, 1.0)], [0]),
        (atoms.sign, [(0.1, 1.0)], [0]),
    ],
)
def test_pieces_are_exact_where_nothing_switches(atom, ends, slopes):
    found = enclose(atom, *([[low], [high]] for low, high in ends))
    for side in slopes_of(found, 1):
        assert side[:, 0].tolist() == slopes
    assert float(found.upper.constant - found.lower.constant) < 1e-12


def test_a_switch_has_the_hull_or_the_chord():
    relu = enclose(atoms.maximum, ([-1.0], [3.0]), ([0.0], [0.0]))
    assert slopes_of(relu, 1)[1][0, 0] == 0.75
    assert float(relu.upper.constant) == pytest.approx(0.75)
    assert slopes_of(relu, 1)[0][0, 0] == 1.0
    either = enclose(atoms.where, ([-1.0], [1.0]), ([2.0], [3.0]), ([-5.0], [0.0]))
    assert float(either.interval.lower) == pytest.approx(-5)
    assert float(either.interval.upper) == pytest.approx(3)
    stairs = enclose(atoms.floor, ([0.5], [9.5]))
    assert float(stairs.lower.constant) == pytest.approx(-1)
    assert slopes_of(stairs, 1)[0][0, 0] == slopes_of(stairs, 1)[1][0, 0] == 1.0


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


@pytest.mark.parametrize("name", TRUTH)
def test_arguments_without_bounds_give_bounds_that_hold(name):
    rng = np.random.default_rng(seed_of(name))
    sides = [(-INFINITE, INFINITE), (-INFINITE, 0.3), (0.3, INFINITE), (0.2, 0.4), (-1.0, 2.0)]
    for _ in range(20):
        chosen = [sides[i] for i in rng.integers(0, len(sides), ARITY[name])]
        found = enclose(atom_named(name), *(([low], [high]) for low, high in chosen))
        assert_well_formed(found)
        points = [
            np.clip(rng.normal(size=(8, 1)) * 10.0 ** rng.integers(-1, 4, (8, 1)), low, high)
            for low, high in chosen
        ]
        assert violations(name, found, points, range(1)) == []


@pytest.mark.parametrize("name", TRUTH)
def test_values_have_the_shape_that_numpy_broadcasts_to(name):
    atom = atom_named(name)
    shapes = [(3,), (2, 1), ()][: ARITY[name]]
    batches = [4, 1, 4][: ARITY[name]]
    lows = [
        torch.full((b, *s), 0.25, dtype=torch.float64) for b, s in zip(batches, shapes, strict=True)
    ]
    found = atom.enclose(*(Interval(low, low + 0.25) for low in lows))
    expected = (4, *np.broadcast_shapes(*shapes))
    assert found.interval.lower.shape == found.interval.upper.shape == expected
    for plane in (found.lower, found.upper):
        assert len(plane.slopes) == ARITY[name]
        for part in (*plane.slopes, plane.constant):
            assert torch.broadcast_shapes(part.shape, expected) == expected


def test_exponents_may_differ_from_entry_to_entry():
    base = Interval(*(torch.tensor([[v] * 4], dtype=torch.float64) for v in (-0.5, 2.0)))
    lower = torch.tensor([[2.0, 3.0, 0.5, 1.4]], dtype=torch.float64)
    upper = torch.tensor([[2.0, 3.0, 0.5, 1.6]], dtype=torch.float64)
    found = atoms.power.enclose(base, Interval(lower, upper))
    np.testing.assert_allclose(found.interval.lower, [[0, -0.125, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(found.interval.upper, [[4, 8, 2**0.5, 2**1.6]], rtol=1e-12)

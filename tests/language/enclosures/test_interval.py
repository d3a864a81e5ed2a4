"""Enclosures of every known operation: no value ever lies outside its interval or planes."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grisaille.language import operations
from grisaille.language.enclosures.interval import Interval
from grisaille.language.operations import Atom
from tests.language.enclosures.enclosure_helpers import (
    ARITY,
    INFINITE,
    TRUTH,
    assert_values_inside,
    assert_well_formed,
    atom_named,
    enclose,
    parts,
    points_inside,
    random_ends,
    seed_of,
    slopes_of,
    violations,
)

pytestmark = pytest.mark.slow


def test_every_elementwise_atom_has_a_rule_and_a_truth_to_compare_with():
    both = operations.add.evaluate.__qualname__
    elementwise = {
        name
        for name, atom in vars(operations).items()
        if isinstance(atom, Atom) and atom.evaluate.__qualname__ == both
    }
    assert elementwise, "no atom was found: the comparisons below would have nothing to compare"
    missing = sorted(elementwise - set(TRUTH))
    assert not missing, (
        f"add {missing} to TRUTH (enclosure_helpers.py), with two arguments to PAIRS"
    )
    gone = sorted(set(TRUTH) - elementwise)
    assert not gone, f"remove from TRUTH what is no elementwise atom any more: {gone}"
    loose = sorted(name for name in elementwise if atom_named(name).enclose is None)
    assert not loose, f"give {loose} an enclosure in enclosures/known.py"


@pytest.mark.parametrize("name", TRUTH)
def test_no_exact_value_lies_outside_over_random_boxes(name):
    rng = np.random.default_rng(seed_of(name))
    ends = [random_ends(rng, 4000) for _ in range(ARITY[name])]
    enclosure = enclose(atom_named(name), *ends)
    assert_well_formed(enclosure)
    points = points_inside(rng, ends, 24)
    assert_values_inside(name, enclosure, points)
    assert violations(name, enclosure, [p[:5] for p in points], range(200)) == []


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


def test_values_that_overflow_are_not_bounded():
    found = enclose(operations.exp, ([800.0], [900.0]))
    assert [float(p[0]) for p in parts(found)] == [-INFINITE, INFINITE] * 2 + [0.0, 0.0]


@pytest.mark.parametrize("name", ["add", "subtract", "negative"])
def test_affine_atoms_have_exact_slopes_even_without_bounds(name):
    ends = [([-INFINITE, 1.0], [2.0, INFINITE])] * ARITY[name]
    found = enclose(atom_named(name), *ends)
    expected = {"add": [1, 1], "subtract": [1, -1], "negative": [-1]}[name]
    for slopes, plane in zip(slopes_of(found, 2), (found.lower, found.upper), strict=True):
        np.testing.assert_array_equal(slopes, np.array([expected] * 2).T)
        assert plane.constant.abs().max() < 1e-13


@pytest.mark.parametrize(
    ("atom", "ends", "slopes"),
    [
        (operations.maximum, [(0.0, 1.0), (1.0, 3.0)], [0, 1]),
        (operations.maximum, [(2.0, INFINITE), (-INFINITE, 2.0)], [1, 0]),
        (operations.minimum, [(0.0, 1.0), (1.0, 3.0)], [1, 0]),
        (operations.minimum, [(5.0, 7.0), (1.0, 3.0)], [0, 1]),
        (operations.where, [(-1.0, 0.0), (1.0, 3.0), (0.0, INFINITE)], [0, 1, 0]),
        (operations.where, [(0.1, 1.0), (1.0, 3.0), (0.0, INFINITE)], [0, 0, 1]),
        (operations.floor, [(1.0, 1.9)], [0]),
        (operations.ceil, [(0.1, 1.0)], [0]),
        (operations.sign, [(0.1, 1.0)], [0]),
    ],
)
def test_pieces_are_exact_where_nothing_switches(atom, ends, slopes):
    found = enclose(atom, *([[low], [high]] for low, high in ends))
    for side in slopes_of(found, 1):
        assert side[:, 0].tolist() == slopes
    assert float(found.upper.constant - found.lower.constant) < 1e-12


def test_a_switch_has_the_hull_or_the_chord():
    relu = enclose(operations.maximum, ([-1.0], [3.0]), ([0.0], [0.0]))
    assert slopes_of(relu, 1)[1][0, 0] == 0.75
    assert float(relu.upper.constant) == pytest.approx(0.75)
    assert slopes_of(relu, 1)[0][0, 0] == 1.0
    either = enclose(operations.where, ([-1.0], [1.0]), ([2.0], [3.0]), ([-5.0], [0.0]))
    assert float(either.interval.lower) == pytest.approx(-5)
    assert float(either.interval.upper) == pytest.approx(3)
    stairs = enclose(operations.floor, ([0.5], [9.5]))
    assert float(stairs.lower.constant) == pytest.approx(-1)
    assert slopes_of(stairs, 1)[0][0, 0] == slopes_of(stairs, 1)[1][0, 0] == 1.0


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

"""Bounds of white boxes over boxes, from Lipschitz constants and from the user's intervals."""

import numpy as np
import pytest
import torch
from scipy.special import erf

import grisaille as gs
from grisaille.errors import EvaluationError, ModelError
from grisaille.language.enclosures.interval import Interval
from tests.language.language_helpers import free, value_at

INFINITE = float("inf")
RNG = np.random.default_rng(0)


def over(box, *ends):
    """Bounds over boxes given as (lower, upper) arrays with a leading axis."""
    return box.atom.enclose(
        *(Interval(*(torch.as_tensor(np.asarray(e, float)) for e in pair)) for pair in ends)
    )


def law(y, x):
    return np.stack([np.sin(2 * y) + x[..., 0], 3 * np.abs(x[..., 1]) - y], axis=-1)


SLOPES = np.array([[2.0, 1.0, 0.0], [1.0, 0.0, 3.0]])


def law_over(y, x):
    low = np.stack([-1 + x[0][..., 0], -y[1]], axis=-1)
    high = np.stack(
        [1 + x[1][..., 0], 3 * np.maximum(abs(x[0][..., 1]), abs(x[1][..., 1])) - y[0]], axis=-1
    )
    return low, high


def boxes():
    center, width = RNG.normal(size=(50, 3)), 10.0 ** RNG.uniform(-3, 1, (50, 3))
    width[:5] = 0
    return center - width, center + width


def assert_encloses(found, low, high):
    assert found.interval.lower.shape == found.interval.upper.shape == (50, 2)
    assert found.lower.slopes == found.upper.slopes == ()
    assert found.lower.constant is found.interval.lower
    assert found.upper.constant is found.interval.upper
    for share in (0.0, 1.0, *RNG.random((200, 3))):
        at = low + share * (high - low)
        values = law(at[:, 0], at[:, 1:])
        assert (found.interval.lower.numpy() <= values).all()
        assert (values <= found.interval.upper.numpy()).all()


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize(
    "options",
    [{"lipschitz": SLOPES}, {"interval": law_over}, {"lipschitz": SLOPES, "interval": law_over}],
)
def test_no_value_lies_outside(vectorized, options):
    box = gs.WhiteBox(law, outputs=2, vectorized=vectorized, **options)
    low, high = boxes()
    found = over(box, (low[:, 0], high[:, 0]), (low[:, 1:], high[:, 1:]))
    assert_encloses(found, low, high)


@pytest.mark.parametrize(
    ("lipschitz", "radius"),
    [(2.0, [2 * 0.5 + 2 * 1 + 2 * 2] * 2), ([1.0, 2.0, 0.0], [0.5 + 2] * 2), (SLOPES, [2, 6.5])],
)
def test_the_radius_is_the_sum_of_constants_times_half_widths(lipschitz, radius):
    box = gs.white_box(law, outputs=2, lipschitz=lipschitz)
    found = over(box, ([-0.5], [0.5]), ([[0.0, -2.0]], [[2.0, 2.0]]))
    value, radius = np.array([1.0, 0.0]), np.array(radius)
    np.testing.assert_allclose(found.interval.lower[0], value - radius, rtol=1e-13)
    np.testing.assert_allclose(found.interval.upper[0], value + radius, rtol=1e-13)


def test_both_declarations_are_intersected():
    box = gs.white_box(erf, lipschitz=2.0, interval=lambda q: (erf(q[0]), erf(q[1])))
    narrow = over(box, ([0.0], [0.1]))
    np.testing.assert_allclose(narrow.interval.upper, erf([0.1]), rtol=1e-14)
    loose = gs.white_box(erf, lipschitz=2.0, interval=lambda q: (-1.0, 1.0))
    found = over(loose, ([0.0, -9.0], [0.1, 9.0]))
    np.testing.assert_allclose(found.interval.lower, [erf(0.05) - 0.1, -1], rtol=1e-14)
    np.testing.assert_allclose(found.interval.upper, [erf(0.05) + 0.1, 1], rtol=1e-14)


def test_without_a_declaration_nothing_is_known():
    assert gs.white_box(erf).atom.enclose is None


def test_infinite_arguments_give_no_bounds_and_no_call():
    seen = []

    def recorded(y):
        seen.append(y)
        return y

    box = gs.white_box(recorded, lipschitz=1.0, interval=lambda q: seen.append(q) or q)
    found = over(box, ([-INFINITE, 1.0, 0.0], [0.0, INFINITE, 2.0]))
    assert found.interval.lower.tolist()[:2] == [-INFINITE] * 2
    assert found.interval.upper.tolist()[:2] == [INFINITE] * 2
    assert seen == [1.0, (0.0, 2.0)]
    over(box, ([-INFINITE], [0.0]))
    assert len(seen) == 2


def test_a_value_that_is_nan_bounds_nothing():
    box = gs.white_box(lambda y: np.nan, name="h", lipschitz=1.0)
    found = over(box, ([0.0], [1.0]))
    assert float(found.interval.lower) == -INFINITE
    assert float(found.interval.upper) == INFINITE


def test_one_argument_may_be_the_same_for_all_boxes():
    box = gs.white_box(lambda y, c: y * c, name="h", lipschitz=[3.0, 1.0])
    found = over(box, ([0.0, 1.0], [1.0, 1.0]), ([3.0], [3.0]))
    np.testing.assert_allclose(found.interval.lower, [0, 3], atol=1e-14)
    np.testing.assert_allclose(found.interval.upper, [3, 3], atol=1e-14)


def test_bounds_are_rounded_outward_when_numbers_cancel():
    box = gs.white_box(lambda y: 1e10 * y, name="h", lipschitz=1e10)
    found = over(box, ([0.0], [0.3]))
    assert float(found.interval.lower) < 0
    assert float(found.interval.upper) > 3e9


def test_a_function_that_changes_its_arguments_harms_nobody():
    def careless(q):
        q[0][...] = 7
        return q[1].sum(), q[1].sum()

    box = gs.white_box(lambda x: x.sum(), name="h", interval=careless)
    low = np.zeros((1, 2))
    over(box, (low, low + 1))
    assert (low == 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lipschitz": -1}, r"white box 'h' has lipschitz=-1.0: it must be finite and at least 0"),
        ({"lipschitz": np.nan}, "has lipschitz=nan: it must be finite"),
        ({"lipschitz": INFINITE}, "has lipschitz=inf: it must be finite"),
        ({"lipschitz": "fast"}, "has lipschitz='fast': pass one number, one per input"),
        ({"interval": 3}, "white box 'h' has interval=3: pass a function of one pair"),
    ],
)
def test_wrong_declarations_are_refused(options, message):
    with pytest.raises(ModelError, match=message):
        gs.white_box(lambda x: x, name="h", **options)


def test_constants_of_a_wrong_shape_are_refused_when_the_inputs_are_known():
    box = gs.white_box(lambda y, x: y, name="h", lipschitz=[1.0, 2.0])
    with pytest.raises(
        ModelError,
        match=r"white box 'h' has 1 output of 4 inputs, but lipschitz has shape \(2,\): pass one "
        r"number, one per input, or an array of shape \(1, 4\)",
    ):
        box(free("y"), free("x", 3))
    y = free("y")
    assert value_at(box(y, 1.0), {y: 2.0}) == 2.0


@pytest.mark.parametrize(
    ("interval", "options", "message"),
    [
        (lambda q: 1 / 0, {}, r"interval of white box 'h' .* failed near 0\. to 1\.: division"),
        (lambda q: q[0], {}, r"it returned .*0\.0.*: return the pair \(lower, upper\)"),
        (lambda q: None, {}, r"it returned None: return the pair"),
        (lambda q: ("a", "b"), {}, "is not made of real numbers"),
        (lambda q: ([0, 0], [1, 1]), {}, r"an end of shape \(2,\), expected \(\)"),
        (lambda q: (0, 1), {"vectorized": True}, r"an end of shape \(\), expected \(2,\)"),
        (lambda q: (0, 1), {"outputs": 2}, r"an end of shape \(\), expected \(2,\)"),
        (
            lambda q: (q[0], q[1] - 2 * (q[0] > 1)),
            {},
            r"over 2\. to 3\. returned lower 2 and upper 1 for output 0: return numbers",
        ),
        (lambda q: (np.nan, q[1]), {}, "returned lower nan and upper 1 for output 0"),
    ],
)
def test_intervals_that_are_none_are_told(interval, options, message):
    box = gs.white_box(lambda y: y, name="h", interval=interval, **options)
    with pytest.raises(EvaluationError, match=message):
        over(box, ([0.0, 2.0], [1.0, 3.0]))


def test_declarations_that_contradict_each_other_are_told():
    box = gs.white_box(lambda y: y, name="h", lipschitz=1.0, interval=lambda q: (5.0, 6.0))
    with pytest.raises(EvaluationError, match=r"'h' over 0\. to 1\.: interval and lipschitz leave"):
        over(box, ([0.0], [1.0]))

"""Eq. max_inf_gain: the gain of points, and an upper bound of the largest one over a box."""

import itertools
import math

import numpy as np
import pytest

import grisaille as gs
from grisaille.theory import information_gain as information
from tests.theory.theory_helpers import KERNELS, covariance

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_the_gain_is_half_a_log_determinant(kernel):
    points = np.random.default_rng(0).uniform(-1, 1, (7, 1))
    by_hand = np.log(np.linalg.det(np.eye(7) + covariance(kernel, points, points) / 1.3)) / 2
    assert gs.information_gain(kernel, points, 1.3) == pytest.approx(by_hand)
    assert gs.information_gain(kernel, np.zeros((0, 1)), 1.3) == 0


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_no_set_of_points_gains_more_than_the_bound(kernel, count):
    scale = 1 + 2 / count
    bound = gs.maximum_information_gain(kernel, [-1], [1], count, scale)
    places = np.linspace(-1, 1, 15)
    best = max(
        gs.information_gain(kernel, np.array(s)[:, None], scale)
        for s in itertools.combinations_with_replacement(places, count)
    )
    assert best <= bound + 1e-12
    assert bound <= best / (1 - 1 / math.e) + 0.05


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("dimension", [1, 2])
def test_long_sequences_stay_below_the_bound_too(kernel, dimension):
    generator = np.random.default_rng(0)
    low, high = [-1] * dimension, [1] * dimension
    for count in (20, 200, 700):
        bound = gs.maximum_information_gain(kernel, low, high, count, 1 + 2 / count)
        spread = generator.uniform(-1, 1, (count, dimension))
        corners = generator.choice([-1.0, 1.0], (count, dimension))
        for points in (spread, corners):
            assert gs.information_gain(kernel, points, 1 + 2 / count) <= bound * (1 + 1e-12)


def test_each_of_the_three_bounds_is_the_smallest_somewhere():
    kernel = gs.Matern(1.5, 1.0, 1.0)
    domain = information._Domain(kernel, (-1.0,), (1.0,))
    features, left = information._features(domain)

    def three(count):
        by_features = features * np.log1p(count / np.maximum(features, 1)) + count * left
        return (
            information._greedy_bound(domain, 512, 1.0, count),
            float(by_features.min()) / 2,
            count * math.log(2) / 2,
        )

    for count, smallest in ((2, 2), (60, 1), (500, 0)):
        assert np.argmin(three(count)) == smallest
        bound = gs.maximum_information_gain(kernel, [-1], [1], count, 1.0)
        assert bound == pytest.approx(min(three(count)))


def test_a_linear_kernel_reaches_its_bound_at_the_corners():
    kernel = gs.Linear(1.0, 0.5)
    corners = np.array(list(itertools.product([-1.0, 1.0], repeat=2)) * 5)
    bound = gs.maximum_information_gain(kernel, [-1, -1], [1, 1], 20, 1.1)
    assert gs.information_gain(kernel, corners, 1.1) == pytest.approx(bound)


def test_the_bound_is_quiet_for_tiny_length_scales_and_useful_in_many_dimensions():
    tiny = gs.maximum_information_gain(gs.SquaredExponential(0.01, 1.0), [0], [1], 50, 1.0)
    assert tiny <= 50 * math.log(2) / 2
    smooth = gs.SquaredExponential(2.0, 1.0)
    many = gs.maximum_information_gain(smooth, [0] * 5, [1] * 5, 1000, 1.0)
    assert many < 0.3 * 1000 * math.log(2) / 2


def test_the_bound_grows_with_the_count_and_is_zero_for_none():
    kernel = KERNELS["Matérn 3/2"]
    bounds = [gs.maximum_information_gain(kernel, [-1], [1], t, 1.0) for t in range(0, 40, 4)]
    assert bounds[0] == 0
    assert (np.diff(bounds) > 0).all()


def test_what_makes_no_sense_is_refused():
    kernel = KERNELS["linear"]
    with pytest.raises(
        gs.ModelError, match="needs a kernel with hyper-parameters: pass lengthscale="
    ):
        gs.information_gain(gs.Matern(), np.zeros((2, 1)), 1.0)
    with pytest.raises(gs.ModelError, match="lambda must be a positive number"):
        gs.information_gain(kernel, np.zeros((2, 1)), 0.0)
    with pytest.raises(gs.ModelError, match=r"shape \(3,\): pass an array \(t, d\)"):
        gs.information_gain(kernel, np.zeros(3), 1.0)
    two = gs.SquaredExponential([1, 1], 1)
    with pytest.raises(gs.ModelError, match="points of 1 numbers, but a kernel of 2 length-scales"):
        gs.maximum_information_gain(two, 0, 1, 3, 1.0)
    with pytest.raises(gs.ModelError, match="points of 1 numbers, but a kernel of 2 length-scales"):
        gs.information_gain(two, [[0], [1]], 1.0)
    with pytest.raises(gs.ModelError, match="a domain with 2 lower and 1 upper bounds"):
        gs.maximum_information_gain(two, [0, 0], [1], 3, 1.0)
    with pytest.raises(gs.ModelError, match="of finite numbers"):
        gs.information_gain(kernel, [[np.nan]], 1.0)
    with pytest.raises(gs.ModelError, match="is unbounded or empty"):
        gs.maximum_information_gain(kernel, [1], [0], 3, 1.0)
    with pytest.raises(gs.ModelError, match=r"count=-1\): pass a whole number"):
        gs.maximum_information_gain(kernel, [0], [1], -1, 1.0)


# --- sums, products and own kernels --------------------------------------------------------------
SUM = gs.SquaredExponential(0.4, 0.5).on(0) + gs.Matern(1.5, 0.6, 0.3).on(1) + gs.Linear(2.0, 0.2)


def sum_by_formulas(a, b):
    smooth, rough, line = (
        gs.SquaredExponential(0.4, 0.5),
        gs.Matern(1.5, 0.6, 0.3),
        gs.Linear(2, 0.2),
    )
    return (
        covariance(smooth, a[:, :1], b[:, :1])
        + covariance(rough, a[:, 1:], b[:, 1:])
        + covariance(line, a, b)
    )


@pytest.mark.parametrize("count", [1, 7, 60])
def test_no_points_gain_more_than_the_bound_of_a_sum(count):
    bound = gs.maximum_information_gain(SUM, [-1, -1], [1, 1], count, 0.5)
    rng = np.random.default_rng(count)
    for _ in range(20):
        points = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], (count, 2))
        exact = np.linalg.slogdet(np.eye(count) + sum_by_formulas(points, points) / 0.5)[1] / 2
        assert gs.information_gain(SUM, points, 0.5) == pytest.approx(exact, rel=1e-9)
        assert exact <= bound
    assert bound <= count * math.log1p(0.9 / 0.5) / 2 * (1 + 1e-12)  # as if every one were first


def test_a_sum_gains_less_than_one_kernel_of_all_inputs():
    apart = gs.SquaredExponential(0.3, 0.5).on(0) + gs.SquaredExponential(0.3, 0.5).on(1)
    many = 200
    bounds = [
        gs.maximum_information_gain(kernel, [-1, -1], [1, 1], many, 0.5)
        for kernel in (apart, gs.SquaredExponential(0.3, 1.0))
    ]
    assert bounds[0] < 0.5 * bounds[1]


def test_products_have_the_bound_of_points_that_tell_nothing_of_one_another():
    product = gs.SquaredExponential(0.4, 0.5) * gs.Linear(2.0, 0.2)
    most = 0.5 * 0.2 * (1 + 1) / 4  # at a corner
    bound = gs.maximum_information_gain(product, [-1, -1], [1, 1], 9, 0.5)
    assert bound == pytest.approx(9 * math.log1p(most / 0.5) / 2)


def test_a_kernel_of_ones_own_has_a_gain_of_given_points_only():
    class Own(gs.Kernel):
        lengthscale, variance = 0.4, 0.5

        def correlation(self, first, second):
            return gs.SquaredExponential().correlation(first, second)

    points = np.random.default_rng(0).uniform(size=(5, 2))
    expected = gs.information_gain(gs.SquaredExponential(0.4, 0.5), points, 0.5)
    assert gs.information_gain(Own(), points, 0.5) == pytest.approx(expected)
    with pytest.raises(gs.ModelError, match=r"largest variance of your own kernel .* is not known"):
        gs.maximum_information_gain(Own(), [0, 0], [1, 1], 3, 0.5)
    with pytest.raises(
        gs.ModelError, match=r"information gain takes 2 numbers, but kernel .* input 3"
    ):
        gs.information_gain(gs.Matern(2.5, 1, 1).on(3) + gs.Linear(1, 1), points, 0.5)

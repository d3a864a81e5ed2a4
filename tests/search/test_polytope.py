"""Points inside what linear inequalities leave, compared with distributions in closed form."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from scipy import stats

from grisaille.search.polytope import Polytope


def simplex(n: int) -> Polytope:
    """Nonnegative numbers that sum to at most 1: all but one of n + 1 fractions."""
    return Polytope(np.ones((1, n)), np.ones(1), np.zeros(n), np.ones(n), np.zeros(n, dtype=bool))


@pytest.mark.parametrize("n", [2, 3, 6, 10])
def test_points_of_a_simplex_have_the_marginals_of_dirichlet(n):
    found = simplex(n).uniform(2048, 3)
    assert simplex(n).contains(found).all()
    marginal, total = stats.beta(1, n).cdf, stats.beta(n, 1).cdf
    limit = 0.01 / (n + 1)  # for all of them together
    for column in found.T:
        assert stats.kstest(column, marginal).pvalue > limit
    assert stats.kstest(found.sum(1), total).pvalue > limit


def test_random_walks_are_uniform_also_where_few_points_would_be_needed():
    found = simplex(3).walked(4000, np.random.default_rng(0))
    for column in found.T:
        assert stats.kstest(column, stats.beta(1, 3).cdf).pvalue > 0.003


def test_random_walks_are_uniform_in_a_thin_slab_at_an_angle():
    # x is uniform and x + y is uniform between two close numbers.
    slab = Polytope(
        np.array([[1.0, 1.0], [-1.0, -1.0]]),
        np.array([1.0, -0.9999]),
        np.zeros(2),
        np.ones(2),
        np.zeros(2, dtype=bool),
    )
    found = slab.walked(4000, np.random.default_rng(1))
    assert slab.contains(found).all()
    assert stats.kstest(found[:, 0], "uniform").pvalue > 0.005
    assert stats.kstest((found.sum(1) - 0.9999) / 1e-4, "uniform").pvalue > 0.005


def test_whole_numbers_are_all_equally_likely():
    # Choose two of five: ten ways.
    choose = Polytope(
        np.array([[1.0] * 5, [-1.0] * 5]),
        np.array([2.0, -2.0]),
        np.zeros(5),
        np.ones(5),
        np.ones(5, dtype=bool),
    )
    found = choose.uniform(2000, 0)
    ways = [p for p in product([0.0, 1.0], repeat=5) if sum(p) == 2]
    counts = [int((found == way).all(1).sum()) for way in ways]
    assert sum(counts) == 2000
    assert stats.chisquare(counts).pvalue > 0.01


def test_walks_are_uniform_on_the_flat_part_that_two_inequalities_leave():
    one = np.ones((1, 4))  # the sum is 1, and no ball fits
    flat = Polytope(
        np.vstack([one, -one]), np.array([1.0, -1]), np.zeros(4), np.ones(4), np.zeros(4, bool)
    )
    points = flat.uniform(1500, 3)
    assert flat.contains(points).all()
    for fraction in points.T:
        assert stats.kstest(fraction, stats.beta(1, 3).cdf).pvalue > 0.001


def test_a_polytope_that_is_a_point_is_drawn_as_that_point():
    corner = Polytope(np.ones((1, 3)), np.zeros(1), np.zeros(3), np.ones(3), np.zeros(3, bool))
    np.testing.assert_allclose(corner.uniform(4, 0), np.zeros((4, 3)), atol=1e-12)


def test_points_come_from_the_seed_alone():
    np.testing.assert_array_equal(simplex(8).uniform(64, 5), simplex(8).uniform(64, 5))
    assert not np.array_equal(simplex(8).uniform(64, 5), simplex(8).uniform(64, 6))


def test_nothing_is_drawn_from_an_empty_space():
    empty = Polytope(-np.ones((1, 2)), -3 * np.ones(1), np.zeros(2), np.ones(2), np.zeros(2, bool))
    assert empty.uniform(16, 0) is None


def test_points_moved_to_faces_stay_inside_and_reach_all_corners():
    one = simplex(3)
    generator = np.random.default_rng(0)
    moved = one.to_faces(one.uniform(512, 0), generator)
    assert one.contains(moved).all()
    active = (moved < 1e-9).sum(1) + (moved.sum(1) > 1 - 1e-9)
    assert set(active) == {0, 1, 2, 3}  # inside, on faces, on edges, in corners
    corners = np.vstack([np.zeros(3), np.eye(3)])
    for corner in corners:
        assert (np.abs(moved - corner).max(1) < 1e-9).any()


def test_points_are_pulled_in_along_the_line_to_their_center():
    one = simplex(2)
    center = torch.tensor([[0.2, 0.2], [0.2, 0.2], [0.9, 0.9]], dtype=torch.float64)
    points = torch.tensor([[0.3, 0.3], [1.0, 1.0], [0.5, 0.9]], dtype=torch.float64)
    pulled = one.pulled_in(center, points)
    expected = [[0.3, 0.3], [0.5, 0.5], [0.5, 0.9]]  # the last center is outside itself
    torch.testing.assert_close(pulled, torch.tensor(expected, dtype=torch.float64))


def test_fixed_entries_leave_a_smaller_space():
    left = simplex(3).with_fixed(np.array([0.6, 0.0, 0.0]), np.array([True, False, False]))
    np.testing.assert_allclose(left.limits, [0.4])
    assert left.uniform(100, 0).sum(1).max() <= 0.4 + 1e-12
    apart = Polytope(np.array([[1.0, 0.0]]), np.ones(1), np.zeros(2), np.ones(2), np.zeros(2, bool))
    assert apart.with_fixed(np.zeros(2), np.array([True, False])) is None

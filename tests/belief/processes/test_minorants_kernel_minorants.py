"""Bounds below the bands of sums of kernels, part by part; what cannot be bounded says so."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.processes.kernels import compiled
from grisaille.belief.processes.minorants import BandMinorants, can_be_bounded
from grisaille.proof.relaxation import PlausibleRelaxation
from grisaille.search.search_problem import NoRelaxation
from tests.belief.belief_helpers import history_at, plausible_set
from tests.belief.processes.test_minorants_band_minorants import (
    assert_exactly_below,
    bands_at,
    nasty,
    points_in,
    random_posterior,
    random_regions,
    value_at,
)

SUMS = {
    "apart": gs.SquaredExponential().on(0) + gs.Matern(1.5).on(1),
    "overlapping": gs.Matern() + gs.Matern(0.5).on(1) + gs.SquaredExponential().on(0),
    "with a line": gs.Matern().on(1) + gs.Linear(),
    "one of two": gs.Matern().on(1),
}
every_sum = pytest.mark.parametrize("name", SUMS)


@every_sum
@pytest.mark.parametrize("observations", [0, 1, 20])
@pytest.mark.parametrize("inputs", [2, 3])
def test_the_quadratic_is_below_the_band_all_over_the_region(name, inputs, observations):
    posterior = random_posterior(compiled(SUMS[name], inputs), inputs, observations, 0)
    beta = torch.tensor([2.0, 0.7], dtype=torch.float64)
    center, half, touch = random_regions(posterior, 96, 1)
    minorants = BandMinorants(posterior, beta)
    found = minorants(center, half, touch)
    points = points_in(center, half, 40, 2)
    truth = bands_at(posterior, beta, points)
    assert (value_at(found, points - center) <= truth + found.slack.unsqueeze(2)).all()
    assert (found.least(half).unsqueeze(2) <= truth + found.slack.unsqueeze(2)).all()
    floor = minorants.floor().unsqueeze(2)
    assert (floor <= truth).all()
    assert floor.isneginf().all() == (name == "with a line")


@every_sum
def test_regions_that_are_points_have_the_band_itself_for_a_bound(name):
    posterior = random_posterior(compiled(SUMS[name], 2), 2, 6, 3)
    beta = torch.tensor([2.0, 0.7], dtype=torch.float64)
    center, _, _ = random_regions(posterior, 30, 4)
    found = BandMinorants(posterior, beta)(center, torch.zeros_like(center), center)
    truth = bands_at(posterior, beta, center.unsqueeze(0)).squeeze(2)
    np.testing.assert_allclose(found.constant, truth, atol=1e-7)


@every_sum
@pytest.mark.parametrize("case", ["near duplicates", "far and different", "large outputs"])
def test_in_exact_arithmetic_no_bound_is_above_the_band(name, case):
    assert_exactly_below(*nasty(compiled(SUMS[name], 2), case), regions=16, seed=11)


def test_an_input_that_no_part_reads_changes_nothing():
    posterior = random_posterior(compiled(gs.Matern().on(1), 2), 2, 6, 3)
    found = BandMinorants(posterior, torch.ones(2, dtype=torch.float64))(
        *random_regions(posterior, 20, 1)
    )
    assert not found.slope[..., 0].any()
    assert not found.curvature[..., 0].any()


class Own(gs.Kernel):
    def correlation(self, first, second):
        return gs.Matern().correlation(first, second)


def problem_with(kernel, **options):
    x = gs.Variable("x", 2, lower=-1, upper=1)
    f = gs.BlackBox(lambda x: x[0] + np.sin(3 * x[1]), name="f", noise=0, kernel=kernel, **options)
    return gs.Problem(minimize=f(x))


@pytest.mark.parametrize("kernel", [gs.Matern() * gs.Linear(), Own(), gs.Matern() + Own().on(0)])
def test_what_cannot_be_bounded_is_said_in_the_user_s_words(kernel):
    assert not can_be_bounded(compiled(kernel, 2))
    problem = problem_with(kernel)
    plausible = plausible_set(problem, history_at(problem, np.eye(2)))
    with pytest.raises(
        NoRelaxation,
        match="black box 'f' has a product of kernels or a kernel of its own, whose bands are not",
    ):
        PlausibleRelaxation(plausible)


def test_declared_slopes_bound_a_product_by_themselves():
    problem = problem_with(gs.Matern() * gs.Linear(), lipschitz=3.0)
    plausible = plausible_set(problem, history_at(problem, np.eye(2)))
    relaxation = PlausibleRelaxation(plausible)
    assert relaxation.over(relaxation.lower[None], relaxation.upper[None]) is not None


def test_a_sum_is_solved_to_a_certified_optimum():
    problem = problem_with(gs.Matern().on(1) + gs.Linear().on(0))
    strategy = gs.Optimistic(solver=gs.Certified())
    result = problem.solve(10, strategy=strategy, seed=0, progress=False)
    assert result.certified
    assert result.lower_bound <= -2.0 + 1e-9  # at (-1, -pi / 6)


def test_a_product_is_solved_without_a_proof():
    problem = problem_with(gs.Matern() * gs.SquaredExponential())
    strategy = gs.Optimistic(solver=gs.Certified())
    result = problem.solve(4, strategy=strategy, seed=0, progress=False)
    assert not result.certified
    assert "product of kernels" in result.message

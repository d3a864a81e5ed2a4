"""Worlds: draws of all black boxes at once, and the share of them without a feasible point."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import norm

import grisaille as gs
from grisaille.belief.knowledge import Knowledge
from grisaille.belief.worlds import Worlds
from grisaille.records import Situation
from tests.belief.belief_helpers import history_at


def flat(limit: float) -> Knowledge:
    """A function that is constant by its kernel, seen once at 0 with noise of 1."""
    x = gs.Variable("x", lower=0, upper=1)
    kernel = gs.SquaredExponential(1e4, 1.0)
    f = gs.BlackBox(lambda x: 0.0 * x, name="f", noise=1.0, kernel=kernel)
    problem = gs.Problem(minimize=x, subject_to=[f(x) <= limit])
    return Knowledge(Situation(problem, history_at(problem, [[0.5]]), 0))


@pytest.mark.parametrize("limit", [-0.3, -0.9])
def test_the_chance_of_infeasibility_is_that_of_the_posterior(limit):
    # The constant has mean 0 and variance 1/2; no point is feasible if it is above the limit.
    expected = norm.sf(limit / np.sqrt(0.5))
    assert flat(limit).chance_infeasible() == pytest.approx(expected, abs=0.12)


def test_a_feasible_point_that_is_known_ends_the_doubt():
    x = gs.Variable("x", lower=0, upper=1)
    f = gs.BlackBox(lambda x: x, name="f", noise=0)
    result = gs.Problem(minimize=x, subject_to=[f(x) >= 0.5]).solve(8, progress=False)
    assert result.p_infeasible == 0


def test_learned_deviations_make_worlds_vary_more():
    known = flat(-0.3)
    points = torch.full((2000, 1, 1), 0.5, dtype=torch.float64)
    spreads = []
    for degrees in ({}, {"f": 6.0}):
        worlds = Worlds(known.plausible, degrees, {}, seed=0, count=2000)
        spreads.append(worlds.run(points)[1].std().item())
    # Student's distribution with 5 degrees has the variance 5/3.
    assert spreads[0] == pytest.approx(np.sqrt(0.5), rel=0.06)
    assert spreads[1] == pytest.approx(np.sqrt(0.5 * 5 / 3), rel=0.12)

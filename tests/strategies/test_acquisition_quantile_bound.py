"""CUQB: optimism by quantiles."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.knowledge import Knowledge
from tests.strategies.strategy_helpers import after, composite, constrained, grid


def test_the_quantile_is_the_empirical_one():
    situation = after(constrained(), 6)
    quantiles = gs.CUQB(probability=0.9, samples=97).acquisition(Knowledge(situation))
    points = torch.tensor(grid(situation.problem))
    objective, constraints = quantiles.values(points)
    draws, drawn_constraints = quantiles.network.draw(points)
    assert objective.numpy() == pytest.approx(np.quantile(draws.numpy(), 0.1, axis=0))
    assert constraints.numpy() == pytest.approx(np.quantile(drawn_constraints.numpy(), 0.1, axis=0))


def test_the_quantile_of_one_gaussian_is_the_closed_form():
    x = gs.Variable("x", 1, lower=-1, upper=1)
    kernel = gs.SquaredExponential(lengthscale=0.5, variance=1.0)
    h = gs.BlackBox(lambda x: np.sin(3 * x[0]), name="h", noise=0, kernel=kernel)
    problem = gs.Problem(minimize=h(x))
    situation = after(problem, 3)
    quantiles = gs.CUQB(probability=0.95, samples=4096).acquisition(Knowledge(situation))
    points = torch.linspace(-1, 1, 21, dtype=torch.float64)[:, None]
    mean, deviation = quantiles.network.beliefs["h"].predict(points)
    expected = mean[:, 0] - 1.6448536 * deviation[:, 0]
    assert quantiles.values(points)[0].numpy() == pytest.approx(expected.numpy(), abs=2e-3)


def test_the_quantile_has_the_slope_of_its_differences():
    situation = after(composite(), 5)
    quantiles = gs.CUQB().acquisition(Knowledge(situation))
    point = torch.tensor([[0.21, -0.37]], requires_grad=True, dtype=torch.float64)
    quantiles.values(point)[0].sum().backward()
    for axis in range(2):
        step = torch.zeros(1, 2, dtype=torch.float64)
        step[0, axis] = 1e-6
        with torch.no_grad():
            rise = quantiles.values(point + step)[0] - quantiles.values(point - step)[0]
        assert float(point.grad[0, axis]) == pytest.approx(float(rise) / 2e-6, rel=1e-4)


def test_the_suggestion_minimizes_the_quantile_where_the_quantiles_of_constraints_allow():
    situation = after(constrained(), 6)
    strategy = gs.CUQB()
    suggestion = strategy.suggest(situation)
    quantiles = strategy.acquisition(Knowledge(situation))
    objective, constraints = quantiles.values(torch.tensor(grid(situation.problem, 81)))
    best = float(objective[(constraints <= 0).all(1)].min())
    assert suggestion.bound.estimated <= best + 1e-6
    chosen, met = quantiles.values(torch.tensor(suggestion.x)[None])
    assert float(chosen) == pytest.approx(suggestion.bound.estimated)
    assert float(met.max()) <= 1e-6


def test_a_quantile_is_less_optimistic_than_the_confidence_box():
    situation = after(composite(), 6)
    promise = gs.CUQB(probability=0.977).suggest(situation).bound.estimated
    box = (
        gs.Optimistic(beta=2.0, solver=gs.MultiStart(), exploit=False)
        .suggest(situation)
        .bound.estimated
    )
    assert box <= promise + 1e-6


def test_when_no_quantile_allows_a_point_it_says_infeasible_without_claiming_a_proof():
    x = gs.Variable("x", 1, lower=-1, upper=1)
    kernel = gs.SquaredExponential(lengthscale=1.5, variance=1.0)
    h = gs.BlackBox(lambda x: x[0], name="h", noise=0, kernel=kernel)
    problem = gs.Problem(minimize=x[0], subject_to=[h(x) >= 2])
    result = problem.solve(8, strategy=gs.CUQB(), progress=False)
    assert not result.success
    assert result.status == "max_trials"
    assert "infeasible, which is not proved" in gs.CUQB().bound(after(problem, 8)).reason


def test_a_probability_that_is_none_is_refused():
    for probability in (0.3, 1.0, "most"):
        with pytest.raises(gs.ModelError, match=r"at least 0.5, which is the median"):
            gs.CUQB(probability=probability)

"""Theorem declare_inf: an infeasible problem is found infeasible within T-bar steps."""

import numpy as np
import pytest

import grisaille as gs
from tests.theory.theory_helpers import KnownNorm, box, grid_points, true_outputs

pytestmark = pytest.mark.slow


KERNEL = gs.SquaredExponential(1.0, 1.0)
POINTS = 41


def infeasible(seed, noise=0.0):
    """g(x) + 0.8 <= 0, where g has norm 0.1 and is only known to have norm at most 1."""
    generator = np.random.default_rng(seed)
    x = gs.Variable("x", 1, lower=-0.5, upper=0.5)
    g = box(KnownNorm(KERNEL, 0.1, generator, noise=noise), "g", 1.0)
    problem = gs.Problem(minimize=x[0], subject_to=[g(x) + 0.8 <= 0])
    margin = true_outputs(problem, grid_points(problem, 201))[:, 1].min()
    assert margin > 0.6
    return problem, margin


def steps_until_infeasible(problem, theory, most):
    strategy = gs.Optimistic(beta=theory, solver=gs.Grid(POINTS))
    result = problem.solve(
        most,
        strategy=strategy,
        progress=False,
        callback=lambda trial: trial.suggestion.bound.estimated is None,
    )
    found = [t.number for t in result.history if t.suggestion.bound.estimated is None]
    return found[0] if found else None


def test_infeasibility_shows_before_the_horizon_that_the_theorem_gives():
    for seed in range(3):
        problem, margin = infeasible(seed)
        theory = gs.Theory(horizon=60)
        horizon = gs.Guarantee(problem, theory).infeasible_by(margin)
        steps = steps_until_infeasible(problem, theory, min(horizon, 60))
        assert steps is not None
        assert 1 < steps <= horizon


def test_the_doubling_trick_finds_it_too():
    problem, margin = infeasible(0)
    horizon = gs.Guarantee(problem, gs.Theory()).infeasible_by(margin)
    steps = steps_until_infeasible(problem, gs.Theory(), min(horizon, 60))
    assert steps is not None
    assert 1 < steps <= horizon


def test_a_feasible_problem_is_never_called_infeasible():
    for seed in range(3):
        generator = np.random.default_rng(seed)
        x = gs.Variable("x", 1, lower=-0.5, upper=0.5)
        g = box(KnownNorm(KERNEL, 1.0, generator), "g", 1.0)
        values = g.fn.values(grid_points(gs.Problem(minimize=g(x)), POINTS))
        problem = gs.Problem(minimize=x[0], subject_to=[g(x) <= values.min()])
        assert steps_until_infeasible(problem, gs.Theory(horizon=15), 15) is None


@pytest.mark.parametrize("theory", [gs.Theory(horizon=50), gs.Theory()])
def test_the_bound_at_the_horizon_is_below_the_margin(theory):
    problem, _ = infeasible(0)
    guarantee = gs.Guarantee(problem, theory)
    for margin in (2.0, 0.9):
        horizon = guarantee.infeasible_by(margin)
        assert guarantee.violations(horizon)[0] < horizon * margin
        assert guarantee.violations(horizon - 1)[0] >= (horizon - 1) * margin


def test_smaller_margins_take_longer_and_hopeless_ones_have_no_horizon():
    problem, _ = infeasible(0)
    guarantee = gs.Guarantee(problem, gs.Theory())
    horizons = [guarantee.infeasible_by(m) for m in (1.0, 0.3, 0.1)]
    assert horizons == sorted(horizons)
    assert horizons[0] < horizons[2]
    x = gs.Variable("x", 1, lower=-1, upper=1)
    rough = gs.BlackBox(
        None, name="g", noise=0, kernel=gs.Matern(0.5, 0.1, 1.0), norm_bound=1.0, lipschitz=9
    )
    coarse = gs.Guarantee(gs.Problem(minimize=x[0], subject_to=[rough(x) <= 0]), gs.Theory())
    assert coarse.infeasible_by(1e-3) is None


def test_what_makes_no_sense_is_refused():
    problem, _ = infeasible(0)
    guarantee = gs.Guarantee(problem, gs.Theory())
    with pytest.raises(gs.ModelError, match=r"margin=0\): pass a finite number above 0"):
        guarantee.infeasible_by(0)
    with pytest.raises(gs.ModelError, match="the problem has 1 scalar constraints, counted from 0"):
        guarantee.infeasible_by(0.5, constraint=1)


def test_a_certified_study_ends_infeasible_before_the_horizon_that_the_theorem_gives():
    for seed in range(2):
        problem, margin = infeasible(seed)
        theory = gs.Theory(horizon=60)
        horizon = gs.Guarantee(problem, theory).infeasible_by(margin)
        strategy = gs.Optimistic(beta=theory, solver=gs.Certified())
        result = problem.solve(min(horizon, 60), strategy=strategy, progress=False)
        assert result.status == "infeasible"
        assert 1 <= len(result.history) < horizon
        assert result.certificate.verify()
        assert result.certificate.least_violation <= margin
        assert result.certificate.blame() == problem.constraint_names


def test_a_certified_study_never_calls_a_feasible_problem_infeasible():
    for seed in range(2):
        generator = np.random.default_rng(seed)
        x = gs.Variable("x", 1, lower=-0.5, upper=0.5)
        g = box(KnownNorm(KERNEL, 1.0, generator), "g", 1.0)
        values = g.fn.values(grid_points(gs.Problem(minimize=g(x)), POINTS))
        problem = gs.Problem(minimize=x[0], subject_to=[g(x) <= values.min()])
        strategy = gs.Optimistic(beta=gs.Theory(horizon=8), solver=gs.Certified())
        result = problem.solve(8, strategy=strategy, progress=False)
        assert result.status != "infeasible"
        assert result.certificate is None

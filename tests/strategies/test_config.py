"""CONFIG: optimism about the collapsed problem, behind the same interface."""

import numpy as np
import pytest

import grisaille as gs
from grisaille import problems
from grisaille.lab.problems.paper_examples import KERNEL
from grisaille.records import Situation

pytestmark = pytest.mark.slow


QUICK = gs.MultiStart(starts=4, samples=256, iterations=20)


def test_config_is_optimism_on_the_collapsed_problem():
    known = problems.lp_with_embedded_gp(0)
    config = gs.CONFIG(solver=QUICK, kernel=KERNEL, exploit=False)
    grey = known.problem.solve(6, strategy=config, progress=False)
    black = gs.collapse(known.problem, kernel=KERNEL).solve(
        6, strategy=gs.Optimistic(solver=QUICK, exploit=False), progress=False
    )
    assert [t.x.tolist() for t in grey.history] == [t.x.tolist() for t in black.history]
    assert grey.fun == pytest.approx(black.fun)
    assert grey.lower_bound == pytest.approx(black.lower_bound)
    # The grey run made and kept the answers of the boxes inside, one call per trial.
    assert grey.evaluations == {"h": 6}
    assert black.evaluations == {"collapsed": 6}


def test_config_minimizes_the_lower_bound_where_lower_bounds_allow():
    known = problems.lp_with_embedded_gp(3)
    config = gs.CONFIG(kernel=KERNEL, exploit=False)
    history = known.problem.solve(6, strategy=config, progress=False).history
    suggestion = config.suggest(Situation(known.problem, history, 0))
    # By hand: three Gaussian processes with the given kernel on a grid.
    seen = np.array([t.x for t in history])
    values = np.array([[t.objective, *t.constraints] for t in history])
    axis = np.linspace(-2, 2, 161)
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)

    def k(a, b):
        return np.exp(-((a[:, None] - b[None]) ** 2).sum(-1)) / 2

    gram = k(seen, seen) + 0.5e-8 * np.eye(len(seen))

    def lower(points, width):
        cross = k(seen, points)
        mean = cross.T @ np.linalg.solve(gram, values)
        variance = 0.5 - (cross * np.linalg.solve(gram, cross)).sum(0)
        return mean - width * np.sqrt(np.maximum(variance, 0))[:, None]

    def best(bands):
        return bands[(bands[:, 1:] <= 0).all(1), 0].min()

    chosen = lower(suggestion.x[None], 2.0)[0]
    assert (chosen[1:] <= 1e-6).all()
    assert chosen[0] <= best(lower(grid, 2.0)) + 1e-6
    # The bound is for bands that hold everywhere at once: at least three deviations.
    bound = config.bound(Situation(known.problem, history, 0))
    assert bound.estimated <= best(lower(grid, 3.0)) + 1e-6


@pytest.mark.parametrize("maximize", [False, True])
def test_config_learns_kernels_and_recommends_in_either_sense(maximize):
    x = gs.Variable("x", 2, lower=-1, upper=1)
    h = gs.BlackBox(lambda x: x[0] - x[1] ** 2, name="h", noise=0)
    g = gs.BlackBox(lambda y: np.exp(y), name="g", noise=0)
    value = g(h(x))
    sense = {"maximize": value} if maximize else {"minimize": -value}
    problem = gs.Problem(**sense, subject_to=[h(x) <= 0.5, x[0] <= 0.9])
    result = problem.solve(12, strategy=gs.CONFIG(solver=QUICK), progress=False)
    assert result.success
    assert abs(result.fun) == pytest.approx(np.exp(0.5), abs=0.02)
    assert "learned      hyper-parameters of objective and constraints" in str(result)
    assert result.evaluations == {"h": 12, "g": 12}


def test_config_works_in_theory_mode_when_it_is_told_norms():
    known = problems.lp_with_embedded_gp(0)
    theory = gs.Theory(horizon=3)
    with pytest.raises(gs.ModelError, match="'collapsed' has no norm_bound"):
        known.problem.solve(
            3, strategy=gs.CONFIG(beta=theory, solver=QUICK, kernel=KERNEL), progress=False
        )
    config = gs.CONFIG(beta=theory, solver=QUICK, kernel=KERNEL, norm_bound=30.0)
    result = known.problem.solve(3, strategy=config, progress=False)
    assert result.lower_bound <= known.optimum


def test_config_judges_noisy_problems_by_its_own_posterior():
    known = problems.lp_with_embedded_gp(0, noise=0.05)
    config = gs.CONFIG(solver=QUICK, kernel=KERNEL, noise=0.05)
    result = known.problem.solve(8, strategy=config, progress=False)
    best = result.history.trials[result.best_trial]
    assert result.fun != best.objective


@pytest.mark.parametrize("kernel", [None, gs.SquaredExponential(0.3, 1.0)])
@pytest.mark.parametrize("sense", ["minimize", "maximize"])
def test_points_without_a_value_are_left_alone(kernel, sense):
    x = gs.Variable("x", lower=0, upper=1)
    q = gs.BlackBox(lambda x: x - 0.5, name="q", noise=0)
    sign = 1 if sense == "minimize" else -1
    problem = gs.Problem(**{sense: sign * (np.sqrt(q(x)) + x)})  # no value below 0.5
    config = gs.CONFIG(solver=QUICK, kernel=kernel, exploit=False)
    result = problem.solve(12, strategy=config, progress=False)
    assert any(np.isnan(t.objective) for t in result.history)
    assert len({t.x[0].round(9) for t in result.history}) > 6
    assert sign * result.fun < 1.0  # 0.5 is the best, and 1.7 the worst value there is


def test_what_optimism_refuses_config_refuses():
    with pytest.raises(gs.ModelError, match=r"beta must be a positive number, a gs\.Theory"):
        gs.CONFIG(beta=-1)
    with pytest.raises(gs.ModelError, match=r"has kernel='rbf': pass gs\.SquaredExponential\(\)"):
        gs.CONFIG(kernel="rbf")
    with pytest.raises(gs.ModelError, match=r"pass gs\.Certified\(\), gs\.MultiStart\(\) or"):
        gs.CONFIG(solver=gs.Grid)

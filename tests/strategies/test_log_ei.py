"""Plain Bayesian optimization with BoTorch, and strategies that learn nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.records import TrialKind
from grisaille.reductions.collapse import Collapse
from grisaille.strategies.log_ei import _acquisition, _restrained
from tests.strategies.strategy_helpers import after, composite, constrained, grid

pytestmark = pytest.mark.slow


def _closed_form(situation, sense, x):
    """log EI of the objective by scipy's normal distribution, from BoTorch's own fit."""
    from scipy.stats import norm

    inside = Collapse(situation.problem, gs.collapse(situation.problem)).down(situation)
    acquisition = _acquisition(inside)
    values = np.array([sense * t.objective for t in situation.history])
    center, spread = values.mean(), values.std()
    program = situation.problem.program
    unit = torch.tensor((x - program.lower) / (program.upper - program.lower))
    posterior = acquisition.model.posterior(unit.unsqueeze(1))
    mean = posterior.mean[:, 0, 0].detach().numpy() * spread + center
    deviation = posterior.variance[:, 0, 0].detach().sqrt().numpy() * spread
    gain = sense * (sense * min(t.objective for t in situation.history) - mean)
    z = gain / deviation
    value = gain * norm.cdf(z) + deviation * norm.pdf(z)
    ours = acquisition(unit.unsqueeze(1)).detach().numpy() + np.log(spread)
    return value, ours


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("maximize", [False, True])
def test_it_is_log_expected_improvement_of_the_collapsed_problem(maximize):
    problem = composite()
    if maximize:
        problem = gs.Problem(maximize=-problem.objective)
    situation = after(problem, 7)
    value, logarithm = _closed_form(situation, problem.sense, grid(problem))
    sure = value > 1e-6
    assert sure.any()
    assert logarithm[sure] == pytest.approx(np.log(value[sure]), abs=1e-4)


@pytest.mark.filterwarnings("ignore")
def test_known_constraints_are_kept_and_unknown_ones_weighed():
    problem = constrained()
    situation = after(problem, 8)
    suggestion = gs.LogEI().suggest(situation)
    assert suggestion.x.sum() <= 0.5 + 1e-3
    inside = Collapse(problem, gs.collapse(problem)).down(situation)
    acquisition = _acquisition(inside)
    kept = _restrained(acquisition, inside, keeps_linear=False)
    allowed, broken = torch.tensor([[[0.5, 0.5]], [[0.9, 0.95]]], dtype=torch.float64).unbind()
    assert float(kept(allowed)) == pytest.approx(float(acquisition(allowed)), abs=1e-6)
    assert float(kept(broken)) < float(acquisition(broken)) - 10


def test_it_asks_for_an_objective_that_reads_a_black_box():
    x = gs.Variable("x", 1, lower=0, upper=1)
    g = gs.BlackBox(lambda x: x[0] - 0.5, name="g", noise=0)
    problem = gs.Problem(minimize=x[0], subject_to=[g(x) >= 0])
    with pytest.raises(gs.ModelError, match=r"reads no black box: use gs.Optimistic"):
        problem.solve(5, strategy=gs.LogEI(), progress=False)


def test_it_solves_a_small_problem_and_keeps_what_boxes_inside_answered():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    h = gs.BlackBox(lambda x: np.array([x[0] - 0.3, x[1] + 0.2]), name="h", outputs=2, noise=0)
    y = h(x)
    result = gs.Problem(minimize=y[0] ** 2 + y[1] ** 2).solve(
        18, strategy=gs.LogEI(), progress=False
    )
    assert result.fun < 0.01
    assert result.evaluations == {"h": 18}
    assert {t.suggestion.kind for t in result.history} == {TrialKind.INITIAL, TrialKind.ACQUIRED}


def test_the_global_generator_is_left_alone():
    situation = after(composite(), 6)
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    gs.LogEI().suggest(situation)
    assert torch.equal(torch.rand(1), expected)


def test_random_points_fill_the_box_and_differ_by_seed():
    x = gs.Variable("x", 2, lower=[-1, 5], upper=[1, 7])
    h = gs.BlackBox(lambda x: float(x.sum()), name="h", noise=0)
    problem = gs.Problem(minimize=h(x))
    runs = [
        problem.solve(60, strategy=gs.RandomSearch(), seed=seed, progress=False) for seed in (0, 1)
    ]
    points = [np.array([t.x for t in r.history]) for r in runs]
    assert not np.isin(points[0], points[1]).any()
    for column, (low, high) in enumerate([(-1, 1), (5, 7)]):
        values = np.sort(points[0][:, column])
        # Kolmogorov-Smirnov distance to the uniform distribution, 1 % level for 60 points.
        uniform = (values - low) / (high - low)
        assert np.abs(uniform - (np.arange(60) + 0.5) / 60).max() < 1.63 / np.sqrt(60)


def test_sobol_search_goes_on_with_the_initial_design_of_all_strategies():
    problem = composite(kernel=None)
    sobol = problem.solve(6, strategy=gs.SobolSearch(), seed=4, progress=False)
    learned = problem.solve(6, strategy=gs.EIFN(initial=6), seed=4, progress=False)
    assert [t.x.tolist() for t in sobol.history] == [t.x.tolist() for t in learned.history]


def test_points_under_way_and_failed_ones_are_kept_away_from():
    x = gs.Variable("x", 2, lower=0, upper=1)

    def broken_on_one_side(x):
        if x[0] < 0.3:
            raise RuntimeError("too low")
        return float(np.sin(2 * x[0]) + x[1])

    h = gs.BlackBox(broken_on_one_side, name="h", noise=0)
    result = gs.Problem(minimize=h(x)).solve(14, strategy=gs.LogEI(), progress=False)
    failed = np.array([f.x for f in result.failures])
    distances = np.abs(failed[:, None] - failed[None]).max(-1) + np.eye(len(failed))
    assert distances.min() > 0.01
    assert result.fun == pytest.approx(np.sin(0.6), abs=0.1)

    study = gs.Study(
        gs.Problem(minimize=gs.BlackBox(lambda x: float(x.sum()), name="s", noise=0)(x)),
        strategy=gs.LogEI(initial=3),
    )
    study.run(4, progress=False)
    asked = np.array([q.inputs for q in study.ask(3)])
    apart = np.abs(asked[:, None] - asked[None]).max(-1) + np.eye(3)
    assert apart.min() > 0.01


def test_chance_learns_nothing_and_judges_a_system_by_its_averages():
    from grisaille import problems

    known = problems.toy_graph(0)
    result = known.problem.solve(6, strategy=gs.RandomSearch(), progress=False)
    assert result.fun == min(t.objective for t in result.history)
    assert gs.SobolSearch().learned(known.problem) == []

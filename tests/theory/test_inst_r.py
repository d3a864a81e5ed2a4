"""Lemma inst_r: the optimistic value is never above the optimum, and bounds each step's regret.

The solver must be exact for that. On a grid it is, if the grid is all there is: design points are
those of the grid, and an objective that is linear in the intermediate values is best at an end of
a band, which the grid of eta contains.
"""

import numpy as np
import pytest

import grisaille as gs
from grisaille.records import History, Situation
from tests.theory.theory_helpers import KERNELS, KnownNorm, box, grid_points, true_outputs

pytestmark = pytest.mark.slow


POINTS = 21
KERNEL = KERNELS["Matérn 5/2"]


def linear_problem(seed, noise=0.0, constrained=False):
    generator = np.random.default_rng(seed)
    x = gs.Variable("x", 1, lower=-1, upper=1)
    f = box(KnownNorm(KERNEL, 1.5, generator, noise=noise), "f", 1.5)
    g = box(KnownNorm(KERNEL, 1.0, generator, noise=noise), "g", 1.0)
    constraints = [g(x) - 0.2 * x[0] <= 0.1] if constrained else []
    return gs.Problem(minimize=2 * f(x) - g(x) + 0.3 * x[0], subject_to=constraints)


def optimum_on_grid(problem):
    outputs = true_outputs(problem, grid_points(problem, POINTS))
    feasible = (outputs[:, 1:] <= 0).all(1)
    return outputs[feasible, 0].min() if feasible.any() else None


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("horizon", [10, None])
def test_the_promise_is_never_above_the_optimum(noise, horizon):
    for seed in range(4):
        problem = linear_problem(seed, noise)
        strategy = gs.Optimistic(beta=gs.Theory(horizon=horizon), solver=gs.Grid(POINTS))
        result = problem.solve(10, strategy=strategy, seed=seed, progress=False)
        promises = [t.suggestion.bound.estimated for t in result.history]
        assert max(promises) <= optimum_on_grid(problem) + 1e-9
        assert result.lower_bound <= optimum_on_grid(problem) + 1e-9


def test_narrow_bands_promise_too_little():
    # With a beta that ignores the norm bound, some promise rises above the optimum.
    broken = 0
    for seed in range(6):
        problem = linear_problem(seed)
        strategy = gs.Optimistic(beta=0.2, solver=gs.Grid(POINTS), exploit=False)
        result = problem.solve(8, strategy=strategy, seed=seed, progress=False)
        # Bounds come from audited bands; this is what the bands that choose points promise.
        chosen = [t.suggestion.optimum for t in result.history]
        promises = [2 * f - g + 0.3 * x[0] for x, (f, g) in chosen]
        broken += max(promises) > optimum_on_grid(problem) + 1e-9
    assert broken


@pytest.mark.parametrize("constrained", [False, True])
def test_regret_and_violation_of_each_step_are_within_its_bound(constrained):
    for seed in range(4):
        problem = linear_problem(seed, constrained=constrained)
        optimum = optimum_on_grid(problem)
        if optimum is None:
            continue
        strategy = gs.Optimistic(beta=gs.Theory(horizon=8), solver=gs.Grid(POINTS))
        result = problem.solve(8, strategy=strategy, seed=seed, progress=False)
        bounds = result.discrepancy_bounds()
        metrics = result.metrics(optimum)
        assert (metrics.positive_regret <= bounds[:, 0] + 1e-9).all()
        assert (metrics.violations <= bounds[:, 1:] + 1e-6).all()


def test_regret_can_come_close_to_its_bound():
    # A function at the upper end of its band where it is tried first: B k(c, .) / sqrt(k(c, c)).
    x = gs.Variable("x", 1, lower=-1, upper=1)
    function = KnownNorm(KERNEL, 1.0, np.random.default_rng(0), centers=1)
    function.centers, function.weights = np.array([[0.0]]), np.array([1.0])
    problem = gs.Problem(minimize=box(function, "f", 1.0)(x))
    strategy = gs.Optimistic(beta=gs.Theory(horizon=3), solver=gs.Grid(POINTS))
    situation = Situation(problem, History(), 0, remaining=3)
    promise = strategy.suggest(situation).bound.estimated
    assert promise == pytest.approx(-1.0)  # the band reaches from -B to B
    at_worst = true_outputs(problem, np.zeros((1, 1)))[0, 0] - promise
    assert at_worst == pytest.approx(2.0)  # = A beta sigma = 2 * 1 * 1


def test_the_certified_promise_is_never_above_the_optimum_of_the_whole_range():
    # No grid: what branch and bound proves holds for every design point.
    for seed, constrained in ((0, False), (1, False), (2, True), (4, True)):
        problem = linear_problem(seed, constrained=constrained)
        outputs = true_outputs(problem, grid_points(problem, 2001))
        feasible = (outputs[:, 1:] <= 0).all(1)
        optimum = outputs[feasible, 0].min()
        strategy = gs.Optimistic(beta=gs.Theory(horizon=6), solver=gs.Certified())
        result = problem.solve(6, strategy=strategy, seed=seed, progress=False)
        proved = [
            t.suggestion.bound.proved
            for t in result.history
            if t.suggestion.bound.proved is not None
        ]
        assert len(proved) >= 5
        assert max(proved) <= optimum
        assert result.certified
        assert result.lower_bound <= optimum
        assert result.lower_bound >= max(proved)
        assert result.status != "infeasible"


def test_a_certified_chain_promises_no_more_than_its_optimum():
    generator = np.random.default_rng(5)
    x = gs.Variable("x", 1, lower=-1, upper=1)
    f = box(KnownNorm(KERNEL, 1.0, generator), "f", 1.0)
    g = box(KnownNorm(KERNEL, 1.5, generator), "g", 1.5)
    problem = gs.Problem(minimize=g(f(x)) + f(x) ** 2)
    optimum = true_outputs(problem, grid_points(problem, 2001))[:, 0].min()
    strategy = gs.Optimistic(beta=gs.Theory(horizon=5), solver=gs.Certified(absolute_gap=0.01))
    result = problem.solve(5, strategy=strategy, progress=False)
    proved = [
        t.suggestion.bound.proved for t in result.history if t.suggestion.bound.proved is not None
    ]
    assert proved
    assert max(proved) <= optimum
    assert result.lower_bound <= optimum

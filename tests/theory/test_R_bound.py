"""Theorems R_bound and best_ite_conv: cumulative regret and best iterate, unconstrained."""

import math

import numpy as np
import pytest
from test_inst_r import POINTS, linear_problem, optimum_on_grid
from theory_helpers import KERNELS, KnownNorm, box

import grisaille as gs

KERNEL = KERNELS["Matérn 5/2"]


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("horizon", [12, None])
def test_cumulative_regret_is_below_every_form_of_the_bound(noise, horizon):
    for seed in range(3):
        problem = linear_problem(seed, noise)
        theory = gs.Theory(horizon=horizon)
        strategy = gs.Optimistic(beta=theory, solver=gs.Grid(POINTS))
        result = problem.solve(12, strategy=strategy, seed=seed, progress=False)
        metrics = result.metrics(optimum_on_grid(problem))
        regret = metrics.cumulative_positive_regret[-1]
        assert metrics.cumulative_regret[-1] <= regret
        if noise:
            continue  # regrets as observed are noisy; the bound is on the function's
        previous = 0.0
        for form in ("tight", "corrected"):
            realized = result.regret_bound(form)
            promised = result.regret_bound(form, realized=False)
            assert regret <= realized <= promised
            assert promised > previous
            previous = promised
        assert metrics.shortfall.min() <= result.best_iterate_bound()
        assert result.best_iterate_bound() == pytest.approx(result.regret_bound() / 12)


def one_box(noise, horizon):
    x = gs.Variable("x", 1, lower=-1, upper=1)
    function = KnownNorm(KERNEL, 1.5, np.random.default_rng(0), noise=noise)
    problem = gs.Problem(minimize=3 * box(function, "f", 1.5)(x))
    return problem, gs.Theory(delta=0.05, horizon=horizon)


def test_the_bound_is_the_formula_of_the_theorem():
    problem, theory = one_box(0.3, 20)
    scale = 1 + 2 / 20

    def gamma(count):
        return gs.maximum_information_gain(KERNEL, [-1], [1], count, scale)

    beta = 1.5 + 0.3 * math.sqrt(2 * (gamma(19) + 1 + math.log(1 / 0.05)))
    a = 2 * (2 * 3)  # printed and corrected alike: one white node of slope 3 behind the box
    expected = 2 * a * beta * math.sqrt((20 + 2) * gamma(20))
    for form in ("printed", "corrected"):
        guarantee = gs.Guarantee(problem, theory, form=form)
        assert guarantee.regret(20) == pytest.approx(expected)
        assert guarantee.best_iterate(20) == pytest.approx(expected / 20)
    # sigma^2 <= 1 / log(1 + 1 / lambda) * log(1 + sigma^2 / lambda), and A without doubling.
    factor = math.sqrt(20 * 2 * gamma(20) / math.log1p(1 / scale))
    tight = gs.Guarantee(problem, theory)
    assert tight.regret(20) == pytest.approx(2 * 3 * beta * factor)


def test_with_the_doubling_trick_the_bounds_of_the_rounds_add_up():
    problem, theory = one_box(0.0, None)
    total = 0.0
    for horizon in (1, 2, 4):
        gamma = gs.maximum_information_gain(KERNEL, [-1], [1], horizon, 1 + 2 / horizon)
        total += 2 * (2 * 2 * 3) * 1.5 * math.sqrt((horizon + 2) * gamma)
    assert gs.Guarantee(problem, theory, form="printed").regret(7) == pytest.approx(total)


def test_the_bound_on_the_best_iterate_falls_in_the_long_run():
    problem, _ = one_box(0.0, None)
    bounds = [gs.Guarantee(problem, gs.Theory(horizon=t)).best_iterate(t) for t in (30, 300, 3000)]
    assert bounds[0] > bounds[1] > bounds[2]


def test_bounds_ask_for_what_they_need():
    problem, theory = one_box(0.0, 4)
    quick = gs.Grid(11)
    practical = problem.solve(4, strategy=gs.Optimistic(solver=quick), progress=False)
    with pytest.raises(gs.ModelError, match=r"trials \[3, 4\] were not.*recommend=False"):
        practical.regret_bound()
    with pytest.raises(gs.ModelError, match=r"theory mode, and this study had beta=2"):
        practical.regret_bound(realized=False)
    pure = problem.solve(4, strategy=gs.Optimistic(solver=quick, recommend=False), progress=False)
    assert pure.regret_bound() > 0
    rival = problem.solve(
        3, strategy=gs.CONFIG(solver=quick, kernel=KERNEL, recommend=False), progress=False
    )
    with pytest.raises(gs.ModelError, match=r"are for gs\.Optimistic, not for CONFIG"):
        rival.discrepancy_bounds()
    with pytest.raises(gs.ModelError, match="a bound for 0 trials: pass at least 1"):
        gs.Guarantee(problem, theory).regret(0)
    x = gs.Variable("x", 1, lower=-1, upper=1)
    inner = box(KnownNorm(KERNEL, 1.0, np.random.default_rng(0)), "inner", 1.0)
    outer = box(KnownNorm(KERNEL, 1.0, np.random.default_rng(1)), "outer", 1.0)
    nested = gs.Problem(minimize=outer(inner(x) ** 2))
    with pytest.raises(gs.ModelError, match=r"the range of the inputs of black box 'outer'"):
        gs.Guarantee(nested, theory)


def test_printing_a_guarantee_tells_the_constants_and_their_sources():
    problem, theory = one_box(0.1, 5)
    text = repr(gs.Guarantee(problem, theory))
    assert "probability 0.95" in text
    assert "norm bound" in text
    assert "slopes of known parts: exact" in text
    x = gs.Variable("x", 1, lower=-1, upper=1)
    f = box(KnownNorm(KERNEL, 1.0, np.random.default_rng(0)), "f", 1.0)
    assert "bounds are estimates too" in repr(gs.Guarantee(gs.Problem(minimize=f(x) ** 2), theory))

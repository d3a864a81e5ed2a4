"""Optima of the problems with equations, by the fully known models: NumPy and SciPy alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import differential_evolution, minimize

from tests.lab.problems import looped_problem_formulas as formulas

pytestmark = pytest.mark.slow


# The formula, sense, bounds of the decisions, optimum, and where it is.
CASES = {
    "sellar": (
        *(formulas.sellar, 1, [0, -10, 0], [10, 10, 10]),
        *(3.183393951640614, [0, 1.9776388834631178, 0]),
    ),
    "recycle_loop": (
        *(formulas.recycle_loop, -1, [370, 0.5, 0.02], [440, 4, 0.4]),
        *(775.5749481282255, [415.5432730887862, 2.3803856608694, 0.23987379664199]),
    ),
    "flash": (
        *(formulas.flash, -1, [310, 2], [360, 5]),
        *(13.916160934319228, [353.66729371187, 5]),
    ),
    "solvent_blend": (
        *(formulas.solvent_blend, 1, [0] * 4, [1] * 4),
        *(0.837159782146895, [0, 0.36763424964889, 0.07070325801902, 0.56166249233209]),
    ),
}
LOOPED = [name for name in CASES if name != "solvent_blend"]


@pytest.mark.parametrize("name", CASES)
def test_the_optimum_is_attained_and_feasible(name):
    formula, _, lower, upper, optimum, place = CASES[name]
    objective, limits, _ = formula(np.array(place))
    assert objective == pytest.approx(optimum, rel=1e-9)
    assert limits.max() <= 1e-9
    assert (np.array(lower) <= place).all()
    assert (np.array(place) <= upper).all()


@pytest.mark.parametrize("name", LOOPED)
def test_a_search_with_many_starts_finds_nothing_better_and_comes_close(name):
    formula, sense, lower, upper, optimum, place = CASES[name]
    lower, width = np.array(lower, dtype=float), np.subtract(upper, lower)
    starts = np.random.default_rng(0).random((24, len(lower)))
    found = []
    for start in [*starts, (np.array(place) - lower) / width * 0.98 + 0.01]:
        if not np.isfinite(formula(lower + width * start)[0]):
            continue
        end = minimize(
            lambda u: sense * finite(formula(lower + width * u)[0], sense) / abs(optimum),
            start,
            method="SLSQP",
            bounds=[(0, 1)] * len(lower),
            constraints={
                "type": "ineq",
                "fun": lambda u: -np.minimum(formula(lower + width * u)[1], 1e3),
            },
            options={"maxiter": 200, "ftol": 1e-13},
        ).x
        objective, limits, _ = formula(lower + width * np.clip(end, 0, 1))
        if limits.max() <= 1e-8:
            found.append(sense * objective)
    assert min(found) == pytest.approx(sense * optimum, rel=1e-6)


@pytest.mark.parametrize("name", LOOPED)
def test_a_search_by_evolution_finds_nothing_better_and_comes_close(name):
    formula, sense, lower, upper, optimum, _ = CASES[name]

    def penalized(point):
        objective, limits, _ = formula(point)
        if not np.isfinite(objective):
            return 1e6
        return sense * objective + 1e2 * abs(optimum) * np.maximum(limits, 0).sum()

    bounds = list(zip(lower, upper, strict=True))
    # Sellar's problem has a second valley, with z1 < 0 and 4.134 at best: one seed may end there.
    ends = [
        differential_evolution(penalized, bounds, rng=seed, maxiter=80, popsize=15, polish=False)
        for seed in range(4)
    ]
    best = min(end.fun for end in ends)
    assert -1e-6 * abs(optimum) <= best - sense * optimum <= 1e-2 * abs(optimum)


def test_the_blend_is_the_best_of_many_starts_and_of_a_grid():
    formula, _, _, _, optimum, _ = CASES["solvent_blend"]
    starts = np.random.default_rng(0).dirichlet(np.ones(4), 20)
    limits = [
        {"type": "eq", "fun": lambda w: w.sum() - 1},
        {"type": "ineq", "fun": lambda w: -formula(w)[1]},
    ]
    options = {"maxiter": 300, "ftol": 1e-14}
    ends = [
        minimize(
            lambda w: formula(w)[0], s, bounds=[(0, 1)] * 4, constraints=limits, options=options
        )
        for s in starts
    ]
    prices = [e.fun for e in ends if formula(e.x)[1].max() <= 1e-8 and abs(e.x.sum() - 1) <= 1e-9]
    assert min(prices) == pytest.approx(optimum, abs=1e-8)
    steps = np.stack(np.meshgrid(*[np.arange(41) / 40] * 3), -1).reshape(-1, 3)
    grid = np.column_stack([steps, 1 - steps.sum(1)])
    prices = [formula(w)[0] for w in grid[grid[:, 3] >= -1e-12] if formula(w)[1].max() <= 0]
    assert optimum <= min(prices) <= optimum + 0.02


def finite(value, sense):
    return value if np.isfinite(value) else sense * 1e6

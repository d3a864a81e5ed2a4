"""Theorems RV_bound and converge_constrained_opt: regret and violations, constrained."""

import numpy as np
import pytest

import grisaille as gs
from tests.theory.test_inst_r import POINTS, linear_problem, optimum_on_grid

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("horizon", [10, None])
def test_regret_and_violations_add_up_to_less_than_the_bounds(horizon):
    tried = 0
    for seed in range(6):
        problem = linear_problem(seed, constrained=True)
        optimum = optimum_on_grid(problem)
        if optimum is None:
            continue
        tried += 1
        strategy = gs.Optimistic(beta=gs.Theory(horizon=horizon), solver=gs.Grid(POINTS))
        result = problem.solve(10, strategy=strategy, seed=seed, progress=False)
        metrics = result.metrics(optimum)
        assert metrics.cumulative_positive_regret[-1] <= result.regret_bound()
        assert (metrics.cumulative_violations[-1] <= result.violation_bounds()).all()
        assert result.regret_bound() <= result.regret_bound(realized=False)
        assert (result.violation_bounds() <= result.violation_bounds(realized=False)).all()
        best = metrics.constrained_regret[-1]
        assert best <= result.best_iterate_bound() <= result.best_iterate_bound(realized=False)
    assert tried >= 3


def test_each_constraint_has_the_bound_of_its_own_boxes():
    problem = linear_problem(0, constrained=True)
    guarantee = gs.Guarantee(problem, gs.Theory(horizon=10))
    # 2 f - g + 0.3 x and g - 0.2 x - 0.1, in the order of the calls.
    assert guarantee.amplification == pytest.approx(np.array([[4.0, 2.0], [0.0, 2.0]]))
    g_alone = guarantee.violations(10)[0]
    assert guarantee.regret(10) == pytest.approx(g_alone * (2 * 1.5 / 1.0 + 1))
    both = guarantee.regret(10) + g_alone
    assert guarantee.best_iterate(10) == pytest.approx(both / 10)

"""Results as tables and text."""

from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs

QUICK = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=128, iterations=20))


def test_the_printed_result_names_status_value_bound_point_and_evaluations(result: gs.Result):
    text = str(result)
    assert "max_trials" in text
    assert f"{result.fun:.8g}" in text
    assert "(bound estimated)" in text
    assert "y2 7, y1 7 in 7 trials" in text
    assert "hyper-parameters of y2, y1" in text


def test_the_dataframe_has_one_row_per_trial_in_the_users_sense(result: gs.Result):
    frame = result.to_dataframe()
    assert len(frame) == 7
    assert {"trial", "kind", "x[0]", "x[1]", "objective", "bound", "violation"} <= set(frame)
    assert frame["objective"].iloc[result.best_trial] == pytest.approx(result.fun)
    feasible = frame[frame["violation"] == 0]
    assert feasible["objective"].min() == pytest.approx(result.fun)


def test_a_maximized_problem_is_tabled_in_its_own_sense():
    x = gs.Variable("x", lower=0, upper=1)
    problem = gs.Problem(maximize=gs.BlackBox(lambda x: 5 + x, name="f", noise=0)(x))
    frame = problem.solve(4, strategy=QUICK, progress=False).to_dataframe()
    assert frame["objective"].between(5, 6).all()


def test_a_result_is_an_optimize_result_of_scipy(result: gs.Result):
    from scipy.optimize import OptimizeResult

    assert isinstance(result, OptimizeResult)
    assert result["fun"] == result.fun
    assert np.array_equal(result["x"], result.x)

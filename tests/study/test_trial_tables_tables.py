"""Results as tables and text."""

from __future__ import annotations

import numpy as np
import pytest
from markupsafe import escape

import grisaille as gs
from grisaille import problems

pytestmark = pytest.mark.slow


QUICK = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=128, iterations=20))


@pytest.fixture(scope="module")
def result() -> gs.Result:
    return problems.bazaraa().problem.solve(7, strategy=QUICK, progress=False)


def test_the_printed_result_names_status_value_bound_point_and_evaluations(result: gs.Result):
    text = str(result)
    assert "max_trials" in text
    assert f"{result.fun:.8g}" in text
    assert "(bound estimated; 95 %: nothing better than " in text
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


@pytest.fixture(scope="module")
def named() -> gs.Result:
    """A result of a problem with names, units and a tolerance."""
    x = gs.Variable("x", 2, lower=[0, 20], upper=[1, 80], unit=["kg/s", "degC"])
    y = gs.BlackBox(lambda x: x[0] * x[1], name="f", noise=0, unit="kW")(x)
    constraints = [gs.named("heating", y <= 30), x[0] <= 0.9, gs.named("kind", x >= 0.1)]
    profit = gs.named("profit", 3 * y - 1.0 * x[0], unit="$/s")
    problem = gs.Problem(maximize=profit, subject_to=constraints, feasibility_tol={"heating": 0.5})
    return problem.solve(4, strategy=QUICK, progress=False)


def test_the_printed_result_shows_names_units_and_the_slack_of_each_constraint(named: gs.Result):
    lines = str(named).splitlines()
    assert lines[1] == f"maximum      profit = {named.fun:.8g} $/s"
    assert "] $/s   gap" in lines[2]
    assert lines[3].startswith(f"violation    {named.maxcv:.3g}   (tightest: ")
    slack = 30 - (named.fun + named.x[0]) / 3
    assert lines[4].startswith(f"constraints  heating      slack {slack:.4g} kW")
    assert lines[4].endswith("tolerance 0.5")
    assert lines[5].startswith(f"             x[0] <= 0.9  slack {0.9 - named.x[0]:.4g} kg/s")
    assert lines[6].startswith(f"             kind[0]      slack {named.x[0] - 0.1:.4g} kg/s")
    assert lines[7].startswith(f"             kind[1]      slack {named.x[1] - 0.1:.4g} degC")
    assert lines[8].endswith("] [kg/s, degC]")


def test_a_notebook_shows_what_is_printed(named: gs.Result):
    shown = named._repr_html_()
    for line in str(named).splitlines():
        assert escape(line[13:]) in shown


def test_columns_have_the_names_of_constraints_and_no_units(named: gs.Result):
    columns = list(named.to_dataframe())
    assert columns[7:12] == ["violation", "heating", "constraint[1]", "kind[0]", "kind[1]"]
    assert "x[0]" in columns
    assert "objective" in columns


def test_the_value_of_a_named_expression_can_be_read_off(named: gs.Result):
    assert named[named.problem.objective] == pytest.approx(named.fun)


def test_a_constraint_named_like_another_column_gets_a_number():
    x = gs.Variable("x", lower=0, upper=1)
    y = gs.BlackBox(lambda x: x, name="f", noise=0)(x)
    problem = gs.Problem(minimize=y, subject_to={"x": y >= 0.1, "objective": y <= 1})
    frame = problem.solve(2, strategy=gs.RandomSearch(), progress=False).to_dataframe()
    assert {"x", "x (2)", "objective", "objective (2)"} <= set(frame)
    assert frame["x (2)"].tolist() == pytest.approx((0.1 - frame["x"]).tolist())


def test_the_tightest_constraint_is_found_across_units():
    x = gs.Variable("x", lower=0, upper=1)
    y = gs.BlackBox(lambda x: x, name="f", noise=0)(x)
    constraints = {"small": 1e-6 * y <= 1e-6, "large": 1e6 * y <= 0.99e6}
    problem = gs.Problem(maximize=y, subject_to=constraints)
    text = str(problem.solve(4, strategy=QUICK, progress=False))
    assert "(tightest: large)" in text  # its number is the smaller one at every point but the best


def test_a_proof_of_infeasibility_names_the_constraints():
    x = gs.Variable("x", lower=0, upper=3)
    y = gs.BlackBox(lambda x: x, name="f", noise=0)(x)
    constraints = {"low": x <= 1, "high": x >= 2, "free": y <= 9}
    for tolerance, least in ((None, 0.5), (0.25, 0.25)):
        problem = gs.Problem(minimize=y, subject_to=constraints, feasibility_tol=tolerance)
        result = problem.solve(4, strategy=QUICK, progress=False)
        assert result.status == "infeasible"
        assert result.certificate.blame() == ["low", "high"]
        assert 0 < result.certificate.least_violation <= least
        assert "to blame     low and high, one of which is violated" in str(result)
    problem = gs.Problem(minimize=y, subject_to=constraints, feasibility_tol=0.75)
    assert problem.solve(4, strategy=QUICK, progress=False).success

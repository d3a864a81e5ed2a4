"""Predictions of studies and results as tables."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

import grisaille as gs
from grisaille.belief.predictions import Predictor
from grisaille.views.inspection.predictions import confidence_table
from tests.belief.belief_helpers import history_at, random_design
from tests.study.study_helpers import QUICK


def plant() -> gs.Problem:
    """A problem that is maximized, with constraints of all kinds.

    Its optimum is where x[1] = 0.95 and x[0] x[1] = 0.4.
    """
    x = gs.Variable("x", 2, lower=0, upper=1)
    box = gs.BlackBox(
        lambda x: np.array([x[0] + x[1] ** 2, 1 - x[0] * x[1]]),
        name="plant",
        outputs=["flow", "purity"],
        noise=0,
    )
    y = box(x)
    return gs.Problem(
        maximize=y["flow"],
        subject_to=[y["purity"] >= 0.6, x <= [0.9, 0.95], x[0] >= 0.2 * y["flow"]],
    )


@pytest.fixture(scope="module")
def study() -> gs.Study:
    """A study whose strategy has no bands of its own."""
    study = gs.Study(plant(), strategy=gs.SobolSearch(), seed=1)
    study.run(16, progress=False)
    return study


def true_flow(x: np.ndarray) -> float:
    return float(x[0] + x[1] ** 2)


def test_confidence_has_a_row_for_the_objective_and_each_scalar_constraint(study):
    result = study.result()
    table = result.confidence
    assert list(table.index) == ["objective", *study.problem.constraint_names]
    assert table["value"].iloc[0] == result.fun
    purity, first, second, both = (table.iloc[i] for i in range(1, 5))
    x = result.x
    assert purity["value"] == pytest.approx(1 - x[0] * x[1], abs=1e-12)
    assert (purity["limit"], first["limit"], second["limit"], both["limit"]) == (0.6, 0.9, 0.95, 0)
    assert both["value"] == pytest.approx(x[0] - 0.2 * true_flow(x), abs=1e-12)
    np.testing.assert_allclose(table["slack"].iloc[1:], -result.constr, atol=1e-15)
    # Exact answers leave no interval at a point that was evaluated.
    np.testing.assert_array_equal(table["lower"], table["upper"])
    np.testing.assert_array_equal(table["lower"], table["value"])
    assert (table["note"] == "").all()
    assert table["active"].isna().tolist() == [True] + [False] * 4


def test_multipliers_of_a_solved_problem_are_those_of_the_known_one():
    problem, best = plant(), np.array([0.4 / 0.95, 0.95])
    predictor = Predictor(problem, history_at(problem, [best, *random_design(problem, 30)]))
    table = confidence_table(predictor, best)
    assert table["active"].iloc[1:].tolist() == [True, False, True, False]
    # On purity = p, flow = (1 - p) / x[1] + x[1]^2: its derivatives in p and in x[1].
    assert table["multiplier"].iloc[1] == pytest.approx(1 / 0.95, rel=0.02)
    assert table["multiplier"].iloc[3] == pytest.approx(1.9 - 0.4 / 0.95**2, rel=0.02)
    assert table["multiplier"].iloc[2] == table["multiplier"].iloc[4] == 0


def test_noise_leaves_an_interval_and_the_value_is_that_of_the_result():
    x = gs.Variable("x", lower=0, upper=1)
    rng = np.random.default_rng(0)
    kernel = gs.SquaredExponential(lengthscale=0.5, variance=1.0)
    f = gs.BlackBox(
        lambda x: (x - 0.3) ** 2 + 0.05 * rng.normal(), name="f", noise=0.05, kernel=kernel
    )
    problem = gs.Problem(minimize=f(x), subject_to=[x >= 0.1])
    result = problem.solve(5, strategy=QUICK, progress=False)
    table = result.confidence
    assert table["value"].iloc[0] == pytest.approx(result.fun, rel=1e-12)
    assert table["lower"].iloc[0] < result.fun < table["upper"].iloc[0]
    assert table["upper"].iloc[0] == pytest.approx(result.upper_bound, rel=1e-6)


def test_reasons_stand_where_multipliers_cannot():
    x = gs.Variable("x", lower=0, upper=1)
    f = gs.BlackBox(lambda x: x, name="f", noise=0)
    jumping = gs.Problem(minimize=np.floor(4 * x), subject_to=[f(x) >= 0.3])
    hopeless = gs.Problem(minimize=x, subject_to=[f(x) >= 3])
    for problem, reason in (
        (jumping, "no multipliers: a formula of the problem jumps, so it has no slope"),
        (hopeless, "no multipliers: the point violates a constraint"),
    ):
        predictor = Predictor(problem, history_at(problem, [[0.1], [0.6], [0.9]]))
        row = confidence_table(predictor, np.array([0.6])).iloc[1]
        assert np.isnan(row["multiplier"])
        assert row["note"] == reason


def test_a_search_that_ends_on_a_constraint_rounds_and_has_its_multiplier():
    x = gs.Variable("x", 2, lower=0, upper=3)
    away = (x[0] - 2) ** 2 + (x[1] - 2) ** 2
    result = gs.Problem(minimize=away, subject_to=[x[0] + x[1] <= 3]).solve(progress=False)
    # The minimum is (4 - limit)^2 / 2.
    assert result.confidence["multiplier"].iloc[1] == pytest.approx(1.0, rel=1e-6)


def test_a_study_predicts_objective_and_slack_in_the_users_sense(study):
    points = pandas.DataFrame({"x[1]": [0.3, 0.6], "x[0]": [0.2, 0.5]}, index=["a", "b"])
    table = study.predict(points)
    labels = study.problem.constraint_names
    names = ["objective", *(f"slack {label}" for label in labels)]
    assert list(table.columns) == [n + end for n in names for end in ("", " lower", " upper")]
    assert list(table.index) == ["a", "b"]
    for name, (u, v) in zip(["a", "b"], [(0.2, 0.3), (0.5, 0.6)], strict=True):
        row = table.loc[name]
        assert row["objective lower"] <= row["objective"] <= row["objective upper"]
        assert row["objective"] == pytest.approx(u + v**2, abs=0.05)
        slack = f"slack {labels[0]}"
        assert row[f"{slack} lower"] <= row[slack] <= row[f"{slack} upper"]
        assert row[slack] == pytest.approx(1 - u * v - 0.6, abs=0.05)


def test_any_expression_has_mean_lower_and_upper(study):
    x, result = study.problem.variables[0], study.result()
    y = study.box("plant")(x)
    one = study.predict([0.2, 0.3], y["flow"] / y["purity"])
    assert list(one.columns) == ["mean", "lower", "upper"]
    assert list(one.index) == [0]
    many = study.predict([[0.2, 0.3], [0.1, 0.9]], y)
    assert list(many.columns) == [
        "mean[0]",
        "lower[0]",
        "upper[0]",
        "mean[1]",
        "lower[1]",
        "upper[1]",
    ]
    again = result.predict(y, [[0.2, 0.3], [0.1, 0.9]])
    pandas.testing.assert_frame_equal(many, again)
    here = result.predict(y["flow"])  # the recommended point
    assert here["lower"].item() == here["upper"].item() == pytest.approx(result.fun)
    elsewhere = study.predict([0.2, 0.3], study.box("plant")(x / 2)["flow"])
    assert elsewhere["mean"].item() == pytest.approx(0.1 + 0.15**2, abs=0.1)


def test_strategies_without_bands_of_their_own_get_two_deviations():
    x = gs.Variable("x", lower=0, upper=1)
    f = gs.BlackBox(np.sin, name="f", noise=0.1, kernel=gs.Matern(lengthscale=1.0, variance=1.0))
    study = gs.Study(gs.Problem(minimize=f(x)), strategy=gs.RandomSearch())
    study.run(3, progress=False)
    table, model = study.predict(0.4), study.model("f").predict(0.4)
    assert table["objective upper"].item() == pytest.approx(
        model["f mean"].item() + 2 * model["f deviation"].item()
    )


def test_before_any_answer_there_is_nothing_to_predict_from():
    x = gs.Variable("x", lower=0, upper=1)
    study = gs.Study(gs.Problem(minimize=gs.BlackBox(np.sin, name="f", noise=0)(x + 0)))
    with pytest.raises(gs.ModelError, match="nothing to predict from yet: black box 'f'"):
        study.predict(0.5)
    study.observe("f", [[0.1], [0.9]], [[0.0], [1.0]])
    assert study.predict(0.1)["objective"].item() == 0.0
    with pytest.raises(gs.ModelError, match="holds no trial"):
        study.result().confidence  # noqa: B018
    with pytest.raises(gs.ModelError, match="pass the points x yourself"):
        study.result().predict(x)


@pytest.mark.parametrize("wrong", [1, "flow", None, [1]])
def test_only_expressions_are_predicted(study, wrong):
    with pytest.raises(gs.ModelError, match="pass an expression of the problem's variables"):
        study.result().predict(wrong, [0.1, 0.2])
    with pytest.raises(gs.ModelError, match="a constraint has two sides"):
        study.predict([0.1, 0.2], study.problem.constraints[0])

"""Points that are tried first: Sobol points, or those of the user."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

import grisaille as gs

POINTS = np.array([[0.1, 3.0], [0.9, 4.0], [0.5, 3.5]])


def problem() -> gs.Problem:
    x = gs.Variable("x", lower=0, upper=1)
    y = gs.Variable("y", lower=3, upper=4)
    return gs.Problem(minimize=gs.BlackBox(lambda x, y: x * y, name="f", noise=0)(x, y))


@pytest.mark.parametrize(
    "strategy", [gs.Optimistic, gs.CONFIG, gs.EIFN, gs.EICF, gs.CUQB, gs.LogEI]
)
def test_every_strategy_tries_the_points_of_the_user_first(strategy):
    result = problem().solve(3, strategy=strategy(initial=POINTS), progress=False)
    assert [t.x.tolist() for t in result.history] == POINTS.tolist()
    assert {t.suggestion.kind for t in result.history} == {gs.TrialKind.INITIAL}


def test_columns_of_a_table_are_found_by_name():
    table = pandas.DataFrame({"y": POINTS[:, 1], "x": POINTS[:, 0]})
    result = problem().solve(3, strategy=gs.EIFN(initial=table), progress=False)
    assert [t.x.tolist() for t in result.history] == POINTS.tolist()


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        (POINTS[:, :1], r"initial: x has shape \(3, 1\), but a point has 2 entries \(x, y\)"),
        (POINTS + 5, r"initial: x = 5.1 in point 1 is not in \[0, 1\]"),
        (pandas.DataFrame({"x": [0.5]}), r"initial: there is no value for y"),
        (pandas.DataFrame({"z": [0.5]}), r"initial: there is no entry z in a point"),
        ([["a", 0.5]], r"initial: x is not made of numbers, there is 'a'"),
    ],
)
def test_points_of_another_problem_are_refused_before_anything_is_tried(initial, message):
    with pytest.raises(gs.ModelError, match=message):
        problem().solve(3, strategy=gs.Optimistic(initial=initial))


@pytest.mark.parametrize("initial", ["many", [], [None], [[[1.0]]], 0, -1, 1.5, True])
def test_what_is_no_design_is_refused(initial):
    with pytest.raises(gs.ModelError, match=r"CUQB\(initial="):
        gs.CUQB(initial=initial)


def test_strategies_with_equal_points_are_equal_and_their_studies_resume(tmp_path):
    assert gs.Optimistic(initial=POINTS) == gs.Optimistic(initial=POINTS.tolist())
    options = {"name": "s", "storage": f"sqlite:///{tmp_path}/s.db"}
    for trials in (1, 2):
        with gs.Study(problem(), strategy=gs.EIFN(initial=POINTS), **options) as study:
            study.run(trials, progress=False)
            assert study.history.trials[-1].x.tolist() == POINTS[trials - 1].tolist()

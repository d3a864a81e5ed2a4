"""What a person sees: tables, pictures, progress."""

from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs
from grisaille import problems

QUICK = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=128, iterations=20))


@pytest.fixture(scope="module")
def result() -> gs.Result:
    return problems.bazaraa().problem.solve(7, strategy=QUICK, progress=False)


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


def test_the_picture_is_saved(result: gs.Result, tmp_path):
    path = tmp_path / "convergence.png"
    figure = result.plot(str(path))
    assert path.stat().st_size > 10_000
    assert len(figure.axes) == 2
    (best,) = [line for line in figure.axes[0].lines if line.get_label() == "best feasible"]
    assert best.get_ydata()[-1] == pytest.approx(result.fun)


def test_plain_lines_are_printed_where_there_is_no_terminal(capsys):
    problems.bazaraa().problem.solve(3, strategy=QUICK)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[0].split()[:3] == ["trial", "kind", "best"]
    assert lines[1].split()[:2] == ["1", "initial"]


def test_silence_on_request(capsys):
    problems.bazaraa().problem.solve(3, strategy=QUICK, progress=False)
    assert capsys.readouterr().out == ""


def test_the_live_table_survives_a_box_that_prints(capsys):
    x = gs.Variable("x", lower=0, upper=1)

    def chatty(x: float) -> float:
        print("simulating")
        return x

    gs.Problem(minimize=gs.BlackBox(chatty, noise=0)(x)).solve(3, strategy=QUICK, progress=True)
    out = capsys.readouterr().out
    assert out.count("simulating") == 3
    assert "recommended" in out


def test_a_result_is_an_optimize_result_of_scipy(result: gs.Result):
    from scipy.optimize import OptimizeResult

    assert isinstance(result, OptimizeResult)
    assert result["fun"] == result.fun
    assert np.array_equal(result["x"], result.x)

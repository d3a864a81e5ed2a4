"""The picture of constraints."""

from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs
from grisaille.records import History, Suggestion, Trial, TrialKind
from grisaille.views.matplotlib_charts import draw_constraints
from tests.views.picture_helpers import covers_nothing, labels, triangles


def history(*rows: list[float]) -> History:
    """Trials with these constraint bodies."""
    trials = []
    for number, row in enumerate(rows, 1):
        suggestion = Suggestion(kind=TrialKind.INITIAL, x=np.zeros(1))
        trials.append(Trial(number, suggestion, 0.0, np.array(row), np.zeros(0), ()))
    return History(tuple(trials))


def problem(count: int = 2) -> gs.Problem:
    x = gs.Variable("x", lower=0, upper=1)
    return gs.Problem(minimize=x, subject_to={f"limit {k}": x <= k + 1 for k in range(count)})


def slacks(axes, color: str) -> list[float]:
    """The values of the thick line of this colour."""
    return next(
        one.get_ydata().tolist()
        for one in axes.lines
        if one.get_color() == color and len(one.get_xdata()) > 2
    )


def test_slacks_are_in_parts_of_their_sizes_and_the_tightest_line_is_black():
    seen = history([-1.0, -4e5], [-3.0, -1e5], [-2.0, -1e5])
    figure = draw_constraints(problem(), seen, 2)
    axes = figure.axes[0]
    sizes = seen.constraint_sizes()
    # The second constraint has the larger number at the last trial, but less room for its size.
    assert slacks(axes, "black") == pytest.approx((np.array([4e5, 1e5, 1e5]) / sizes[1]).tolist())
    assert "limit 1 (tightest)" in labels(axes)
    assert "limit 0" in labels(axes)
    assert covers_nothing(figure)


def test_the_side_where_constraints_are_met_is_shaded():
    axes = draw_constraints(problem(1), history([1.0], [-1.0], [0.5]), 1).axes[0]
    (shade,) = axes.patches
    assert shade.get_y() == 0
    assert shade.get_height() == pytest.approx(axes.get_ylim()[1])


def test_an_equality_is_one_line():
    x = gs.Variable("x", 2, lower=0, upper=1)
    y = gs.BlackBox(lambda x: x[0], name="f", noise=0)(x)
    equal = gs.Problem(minimize=y, subject_to={"balance": y == x[1]}, feasibility_tol=0.1)
    seen = history([0.4, -0.6], [-0.05, -0.15], [-0.3, 0.1])
    axes = draw_constraints(equal, seen, 1).axes[0]
    assert [label for label in labels(axes) if "balance" in label] == ["balance (tightest)"]
    worst = -np.array([0.4, -0.05, 0.1]) / seen.constraint_sizes()[0]
    assert slacks(axes, "black") == pytest.approx(np.clip(worst, *axes.get_ylim()).tolist())


def test_a_slack_outside_the_axis_is_a_triangle():
    rows = [[-1.0]] * 30 + [[1e6]]
    axes = draw_constraints(problem(1), history(*rows), 0).axes[0]
    assert triangles(axes, top=False) == [31]


def test_of_many_constraints_the_tightest_are_drawn():
    rows = [-np.arange(1.0, 12.0)] * 3
    axes = draw_constraints(problem(11), history(*[row.tolist() for row in rows]), 0).axes[0]
    named = [label for label in labels(axes) if label.startswith("limit")]
    assert len(named) == 8
    assert "3 constraints with more room are left out" in axes.get_ylabel()


def test_names_with_an_underscore_or_dollars_are_in_the_legend_as_they_are():
    x = gs.Variable("x", lower=0, upper=1)
    named = gs.Problem(minimize=x, subject_to={"_low": x <= 1, "in $ or $": x <= 2})
    figure = draw_constraints(named, history([-1.0, -1.0], [-2.0, -3.0]), 0)
    found = {label.removesuffix(" (tightest)") for label in labels(figure.axes[0])}
    assert {" _low", r"in \$ or \$"} <= found


def test_without_constraints_or_trials_there_is_a_sentence():
    x = gs.Variable("x", lower=0, upper=1)
    with pytest.raises(gs.ModelError, match="the problem has no constraints"):
        draw_constraints(gs.Problem(minimize=x), history([]), 0)
    with pytest.raises(gs.ModelError, match="no trial is complete"):
        draw_constraints(problem(), History(), -1)

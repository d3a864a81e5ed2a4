"""The picture of convergence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import grisaille as gs
from grisaille.views.charts import Course
from grisaille.views.inspection.convergence import Convergence
from grisaille.views.matplotlib_charts import draw_convergence
from tests.study.study_helpers import parabola
from tests.views.inspection.inspection_helpers import two_boxes, with_choice
from tests.views.picture_helpers import covers_nothing, labels, line, triangles


def made(objective: list[float], violation: list[float], bound: list[float]) -> Convergence:
    """Trials that are minimized."""
    values, feasible = np.array(objective), np.array(violation) <= 0
    best = np.minimum.accumulate(np.where(feasible, values, np.inf))
    count = len(values)
    return Convergence(
        numbers=np.arange(1.0, count + 1),
        kinds=("initial", "own", *["optimistic"] * (count - 2)),
        objective=values,
        violation=np.array(violation),
        feasible=feasible,
        best=np.where(np.isfinite(best), best, np.nan),
        bound=np.array(bound),
        certified=np.isfinite(bound),
        cost=np.arange(10.0, 10 * count + 10, 10),
    )


def constrained(noise: float | None = 0) -> gs.Problem:
    x = gs.Variable("x", lower=0, upper=1)
    y = gs.BlackBox(lambda x: x, name="f", noise=noise)(x)
    return gs.Problem(minimize=y, subject_to={"roof": y <= 1})


def shown(
    problem: gs.Problem,
    went: Convergence,
    fun: float,
    most: float,
    bound: float | None,
    best: int,
    against: Any = "trial",
    **options: Any,
) -> Figure:
    believed = not problem.is_exact
    course = Course(went, 1, "objective", fun, most, bound, best, believed, against)
    return draw_convergence(course, bool(problem.constraints), **options)


def drawn(went: Convergence, bound: float | None = None, **options: Any) -> Figure:
    fun = float(went.best[-1])
    best = int(np.nanargmin(np.where(went.feasible, went.objective, np.nan)))
    return shown(constrained(), went, fun, fun, bound, best, **options)


WENT = made(
    [5.0, 4.0, 3.0, 2.5, 1e6, 2.0, 2.1, 1.5],
    [0, 0, 0, 0, 0, 0, 0.5, 0],
    [np.nan, np.nan, 0.5, np.nan, 1.0, np.nan, np.nan, 1.2],
)


def test_infeasible_trials_are_crosses_and_feasible_ones_are_not():
    axes = drawn(WENT).axes[0]
    crosses = line(axes, "infeasible")
    assert crosses.get_marker() == "x"
    assert crosses.get_xdata().tolist() == [7]
    for label, trials in {"initial or random": [1], "own point or data": [2]}.items():
        assert line(axes, label).get_marker() != "x"
        assert line(axes, label).get_xdata().tolist() == trials
    assert line(axes, "chosen").get_xdata().tolist() == [3, 4, 6, 8]


def test_a_trial_outside_the_axis_is_a_triangle_at_its_edge():
    axes = drawn(WENT).axes[0]
    assert triangles(axes, top=True) == [5]
    assert triangles(axes, top=False) == []
    assert axes.get_ylim()[1] < 1e6


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_every_trial_is_shown_somewhere(scale: Any):
    axes = drawn(WENT, 1.2, scale=scale).axes[0]
    low, high = axes.get_ylim()
    shown = triangles(axes, top=True) + triangles(axes, top=False)
    for label in ("initial or random", "own point or data", "chosen", "infeasible"):
        points = line(axes, label)
        inside = (points.get_ydata() >= low) & (points.get_ydata() <= high)
        assert inside.all()
        shown += points.get_xdata().tolist()
    assert sorted(shown) == WENT.numbers.tolist()


@pytest.mark.slow
def test_the_legend_covers_no_data():
    assert covers_nothing(drawn(WENT, 1.2))
    assert covers_nothing(two_boxes().plot())
    given = Figure(layout="constrained").subplots()
    assert covers_nothing(drawn(WENT, 1.2, axes=given))


def test_a_small_gap_can_be_read_off_its_logarithmic_axis():
    went = made([3.0, 2.0, 1.0, 1.0], [0] * 4, [np.nan, 0.5, 1 - 1e-7, 1 - 1e-9])
    axes = drawn(went, 1 - 1e-10).axes[1]
    assert axes.get_yscale() == "log"
    gap = next(one for one in axes.lines if len(one.get_xdata()) > len(went.numbers)).get_ydata()
    assert gap[2:] == pytest.approx([1e-7, 1e-9, 1e-10, 1e-10], rel=1e-4)
    assert axes.get_ylim()[0] < 1e-10


def test_a_closed_gap_is_a_triangle_at_the_lower_edge():
    went = made([3.0, 2.0, 1.0], [0] * 3, [np.nan, 0.5, 1.0])
    axes = drawn(went, 1.0).axes[1]
    assert triangles(axes, top=False)[0] == 3


def test_certified_and_estimated_bounds_have_different_markers():
    went = made([3.0, 2.0, 1.0], [0] * 3, [np.nan, 0.5, 0.75])
    went.certified[1] = False
    axes = drawn(went, 0.75).axes[1]
    assert line(axes, "bound estimated").get_xdata().tolist() == [2]
    assert line(axes, "bound certified").get_xdata().tolist() == [3]
    assert line(axes, "bound estimated").get_markerfacecolor() == "white"


def test_a_far_bound_leaves_room_for_the_trials():
    went = made([1.0, 0.8, 0.5, 0.4], [0] * 4, [np.nan, -1000.0, -1000.0, -1000.0])
    low, high = drawn(went, -1000.0).axes[0].get_ylim()
    assert low > -5
    assert high > 0.8


def test_the_logarithmic_scale_shows_distances_to_the_final_bound():
    figure = drawn(WENT, 1.2, scale="log")
    assert [a.get_ylabel() for a in figure.axes][1:] == ["violation"]
    axes = figure.axes[0]
    assert axes.get_ylabel().endswith("distance to the final bound")
    assert line(axes, "chosen").get_ydata() == pytest.approx([1.8, 1.3, 1e6, 0.8, 0.3], rel=1e-5)
    assert line(axes, "gap known then").get_ydata()[-1] == pytest.approx(0.3)


@pytest.mark.parametrize("bound", [None, -1e9])
def test_without_a_near_bound_the_logarithmic_scale_shows_distances_to_the_best_value(bound):
    axes = drawn(WENT, bound, scale="log").axes[0]
    assert axes.get_ylabel().endswith("distance to the best value")
    assert triangles(axes, top=False) == [8]


def test_trials_can_be_drawn_against_their_cost():
    figure = drawn(WENT, against="cost")
    assert line(figure.axes[0], "infeasible").get_xdata().tolist() == [70]
    assert figure.axes[-1].get_xlabel() == "cost of all answers so far"


def test_the_recommended_trial_has_the_accent_and_a_shape_of_its_own():
    mark = line(drawn(WENT).axes[0], "recommended trial")
    assert mark.get_xdata().tolist() == [8]
    assert mark.get_marker() == "D"


def test_one_axes_gets_the_objective_alone_and_a_wrong_number_is_answered():
    axes = Figure().subplots()
    assert drawn(WENT, 1.2, axes=axes) is axes.figure
    assert axes.get_ylabel() == "objective (minimize)"
    three = Figure().subplots(3)
    drawn(WENT, 1.2, axes=three)
    assert three[1].get_ylabel() == "gap"
    wanted = (
        r"plot\(axes=...\): 1 Axes is needed for the objective, or 3 Axes are for objective and"
    )
    with pytest.raises(gs.ModelError, match=wanted):
        drawn(WENT, 1.2, axes=three[:2])


def test_violations_are_logarithmic_and_a_sentence_says_that_there_are_none():
    axes = drawn(WENT).axes[-1]
    assert axes.get_yscale() == "log"
    assert line(axes, "infeasible").get_ydata().tolist() == [0.5]
    axes = drawn(made([2.0, 1.0], [0, 0], [np.nan, np.nan])).axes[-1]
    assert [t.get_text() for t in axes.texts] == ["no trial violates a constraint"]


def test_without_a_trial_the_picture_says_so():
    nothing = np.zeros(0)
    none = np.zeros(0, dtype=bool)
    went = Convergence(nothing, (), nothing, nothing, none, nothing, nothing, none, nothing)
    figure = shown(parabola(), went, np.nan, np.inf, None, -1)
    assert [t.get_text() for t in figure.axes[0].texts] == ["no trial is complete"]


def test_with_noise_the_line_is_the_recommended_mean_and_not_the_luckiest_answer():
    went = made([3.0, 0.1, 1.0], [0] * 3, [np.nan, 0.5, 0.5])
    problem = constrained(noise=0.3)
    figure = shown(problem, went, 0.9, 1.1, 0.5, 2)
    assert set(line(figure.axes[0], "recommended (mean)").get_ydata()) == {0.9}
    # The gap counts from the far end of what the bands allow there.
    assert line(figure.axes[1], "bound certified").get_ydata() == pytest.approx([0.6, 0.6])


def test_a_maximum_is_drawn_in_the_users_sense():
    result = with_choice()
    axes = result.plot().axes[0]
    best = line(axes, "best feasible").get_ydata()
    assert best[-1] == pytest.approx(result.fun)
    assert (np.diff(best[np.isfinite(best)]) >= 0).all()
    assert "gap" in labels(axes)

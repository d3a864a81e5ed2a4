"""The panels of a picture."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import grisaille as gs
from grisaille.views.charts import padded, with_unit
from grisaille.views.matplotlib_charts import OUTSIDE, mark_outside, panels_for, plain
from tests.views.picture_helpers import triangles


def test_a_figure_of_its_own_has_as_many_axes_as_are_needed():
    panels = panels_for("plot", None, 2, 3, count=5, what_for="", size=(4, 3))
    assert len(panels.axes) == len(panels.figure.axes) == 5
    assert panels.is_own


def test_axes_that_are_passed_are_used():
    axes = Figure().subplots(2, 2)
    panels = panels_for("plot", axes, 4, what_for="", size=(4, 3))
    assert panels.axes == list(axes.flat)
    assert panels.figure is axes[0, 0].figure
    assert not panels.is_own


def test_axes_in_a_part_of_a_figure_are_those_of_the_whole_figure():
    figure = Figure()
    axes = figure.subfigures(1, 2)[1].subplots()
    assert panels_for("plot", axes, 1, what_for="", size=(4, 3)).figure is figure


def test_a_wrong_number_of_axes_is_answered_with_the_right_one():
    axes = Figure().subplots(3)
    with pytest.raises(
        gs.ModelError, match=r"plot_x\(axes=...\): 2 Axes are needed, for a and b; 3"
    ):
        panels_for("plot_x", axes, 2, what_for="for a and b", size=(4, 3))
    with pytest.raises(gs.ModelError, match=r"1 Axes is needed, for a; 3 passed"):
        panels_for("plot_x", axes, 1, what_for="for a", size=(4, 3))


class Unreadable:
    def __array__(self, *_: object, **__: object) -> None:
        raise RuntimeError


@pytest.mark.parametrize("axes", [3, "axes", [], Figure(), [None], Unreadable()])
def test_what_is_no_axes_is_refused(axes):
    with pytest.raises(gs.ModelError, match=r"plot\(axes=...\): pass a Matplotlib Axes"):
        panels_for("plot", axes, 1, what_for="", size=(4, 3))


def test_points_outside_are_triangles_at_their_edge_and_the_others_are_not():
    axes = Figure().subplots()
    axes.set_ylim(0, 1)
    y = np.array([0.5, 2.0, np.inf, -1.0, np.nan])
    mark_outside(axes, np.arange(5.0), y, np.array([True, True, False, False, True]))
    assert triangles(axes, top=True) == [1, 2]
    assert triangles(axes, top=False) == [3]


def test_triangles_have_one_line_in_the_legend():
    axes = Figure().subplots()
    axes.set_ylim(0, 1)
    mark_outside(axes, np.arange(4.0), np.array([2, 3, -1, -2.0]), np.array([True, False] * 2))
    assert axes.get_legend_handles_labels()[1] == [OUTSIDE]


def test_dollar_signs_are_not_read_as_formulas():
    axes = Figure().subplots()
    axes.set_xlabel(plain(with_unit("price_$", "$/{s")))  # no formula: its brace is not closed
    axes.figure.draw_without_rendering()
    assert plain("$x$") == r"\$x\$"
    assert plain("$/s") == "$/s"


def test_limits_leave_room_and_ignore_what_is_not_finite():
    low, high = padded([1.0, 3.0, np.nan, np.inf])
    assert low < 1
    assert 3 < high < 4
    assert padded([]) == (0, 1)
    assert padded([5.0])[0] < 5 < padded([5.0])[1]

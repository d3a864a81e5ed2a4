from __future__ import annotations

import itertools
import math
from xml.etree import ElementTree

import numpy as np
import pytest

from grisaille.views.page.chart import Chart
from tests.views.page.page_helpers import HOSTILE

pytestmark = pytest.mark.slow


def drawn(chart: Chart) -> ElementTree.Element:
    return ElementTree.fromstring(chart.__html__())


def of_class(chart: Chart, name: str) -> list[ElementTree.Element]:
    return [e for e in drawn(chart).iter() if name in e.attrib.get("class", "").split()]


def test_a_line_is_broken_where_a_number_is_missing():
    chart = Chart("a line", [0, 4], [0, 1])
    chart.line([0, 1, 2, 3, 4], [0, 1, math.nan, 1, 0], "mean")
    assert [len(line.attrib["points"].split()) for line in of_class(chart, "mean")] == [2, 2]


def test_steps_keep_each_value_until_the_next_one():
    chart = Chart("steps", [0, 2], [0, 1])
    chart.steps([0, 1, 2], [0, 1, 0], "best")
    (line,) = of_class(chart, "best")
    corners = [tuple(map(float, c.split(","))) for c in line.attrib["points"].split()]
    assert all(a[0] == b[0] or a[1] == b[1] for a, b in itertools.pairwise(corners))


def test_steps_have_corners_only_where_the_value_changes():
    chart = Chart("steps", [0, 9], [0, 1])
    chart.steps(range(10), [1.0] * 5 + [0.5] * 5, "best")
    (line,) = of_class(chart, "best")
    corners = [tuple(map(float, c.split(","))) for c in line.attrib["points"].split()]
    assert len(corners) == 4
    assert corners[-1][0] == pytest.approx(chart.x.at(9), abs=0.1)


def test_a_dot_beyond_the_axis_becomes_a_triangle_at_its_end():
    chart = Chart("dots", [0, 1], [0, 1])
    chart.dot(0.5, 0.5, "trial")
    chart.dot(0.5, 99, "trial")
    assert [e.tag for e in of_class(chart, "trial")] == ["circle", "path"]
    assert len(of_class(chart, "beyond")) == 1


def test_many_dots_are_one_shape_and_those_beyond_the_axis_another_one():
    chart = Chart("dots", [0, 1], [0, 1])
    chart.dots([0.1, 0.2, 0.3, 0.4], [0.5, 99, math.nan, 0.7], "trial")
    inside, outside = of_class(chart, "trial")
    assert inside.attrib["d"].count("M") == 2
    assert (inside.attrib["class"], outside.attrib["class"]) == (
        "dot trial many",
        "dot trial beyond",
    )


def test_a_cross_is_drawn_for_what_is_infeasible():
    chart = Chart("dots", [0, 1], [0, 1])
    chart.dot(0.5, 0.5, "trial infeasible cross")
    assert [e.tag for e in of_class(chart, "infeasible")] == ["path"]


def test_an_area_lies_between_its_lines():
    chart = Chart("area", [0, 1], [0, 1])
    chart.area([0, 1], [0, 0], [1, 1], "band")
    chart.area([0, 1], [math.nan, 0], [1, math.nan], "none")
    (area,) = of_class(chart, "band")
    assert len(area.attrib["points"].split()) == 4
    assert not of_class(chart, "none")


def test_cells_are_struck_out_where_nothing_is_feasible():
    chart = Chart("cells", [0, 1], [0, 1])
    chart.cells(
        [0, 1], [0, 1], np.array([[0, 0.5], [0.7, 1]]), np.array([[True, False], [True, True]])
    )
    assert len(of_class(chart, "cell")) == 4
    assert len(of_class(chart, "hopeless-cell")) == 1


def test_titles_and_labels_are_escaped_and_read_aloud():
    chart = Chart(HOSTILE, [0], [0], x_label=HOSTILE)
    assert drawn(chart).attrib["aria-label"] == HOSTILE
    assert HOSTILE in [e.text for e in of_class(chart, "label")]

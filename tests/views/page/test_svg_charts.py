"""Charts as SVG."""

from __future__ import annotations

import itertools
import math
from xml.etree import ElementTree

import numpy as np
import pytest

from grisaille.views.charts import (
    Area,
    Axis,
    Bars,
    Cells,
    Chart,
    Line,
    Mark,
    Points,
    Rule,
    Shape,
    Span,
)
from grisaille.views.page.svg import Ruler, svg
from tests.views.page.page_helpers import HOSTILE

pytestmark = pytest.mark.slow


def chart_of(*marks: Mark, width: float = 1.0, title: str = "a chart", label: str = "") -> Chart:
    x, y = Axis(low=0.0, high=width, label=label), Axis(low=0.0, high=1.0)
    return Chart(title=title, x=x, y=y, marks=marks)


def drawn(chart: Chart) -> ElementTree.Element:
    return ElementTree.fromstring(svg(chart))


def of_class(chart: Chart, name: str) -> list[ElementTree.Element]:
    return [e for e in drawn(chart).iter() if name in e.attrib.get("class", "").split()]


def numbers(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def test_a_line_is_broken_where_a_number_is_missing():
    line = Line(look="mean", x=np.arange(5.0), y=numbers(0, 1, math.nan, 1, 0))
    found = of_class(chart_of(line, width=4.0), "mean")
    assert [len(part.attrib["points"].split()) for part in found] == [2, 2]


def corners(chart: Chart) -> list[tuple[float, ...]]:
    (line,) = of_class(chart, "best")
    return [tuple(map(float, corner.split(","))) for corner in line.attrib["points"].split()]


def test_steps_keep_each_value_until_the_next_one():
    line = Line(look="best", x=np.arange(3.0), y=numbers(0, 1, 0), is_stepped=True)
    found = corners(chart_of(line, width=2.0))
    assert all(a[0] == b[0] or a[1] == b[1] for a, b in itertools.pairwise(found))


def test_steps_have_corners_only_where_the_value_changes():
    values = np.array([1.0] * 5 + [0.5] * 5)
    chart = chart_of(Line(look="best", x=np.arange(10.0), y=values, is_stepped=True), width=9.0)
    found = corners(chart)
    assert len(found) == 4
    assert found[-1][0] == pytest.approx(640 - 12, abs=0.1)


def test_a_point_beyond_the_axis_becomes_a_triangle_at_its_end():
    points = Points(look="trial", x=numbers(0.5, 0.5), y=numbers(0.5, 99), texts=("a", "b"))
    assert [e.tag for e in of_class(chart_of(points), "trial")] == ["circle", "path"]
    assert len(of_class(chart_of(points), "beyond")) == 1


def test_points_that_are_shown_inside_only_have_no_triangle():
    points = Points(look="best", x=numbers(0.5, 0.5), y=numbers(0.5, 99), is_inside_only=True)
    (found,) = of_class(chart_of(points), "best")
    assert found.attrib["d"].count("M") == 1


def test_points_without_texts_are_one_shape_and_those_beyond_the_axis_another_one():
    points = Points(
        look="trial", x=numbers(0.1, 0.2, 0.3, 0.4), y=numbers(0.5, math.inf, math.nan, 0.7)
    )
    inside, outside = of_class(chart_of(points), "trial")
    assert inside.attrib["d"].count("M") == 2
    assert (inside.attrib["class"], outside.attrib["class"]) == (
        "dot trial many",
        "dot trial beyond",
    )


@pytest.mark.parametrize("shape", ["cross", "square", "diamond"])
def test_each_shape_is_drawn(shape: Shape):
    points = Points(look="trial", x=numbers(0.5), y=numbers(0.5), shape=shape)
    (found,) = of_class(chart_of(points), shape)
    assert found.tag == "path"


def test_the_depth_of_a_point_is_its_opacity_and_its_spread_a_bar():
    points = Points(
        look="answer", x=numbers(0.5), y=numbers(0.5), depth=numbers(0.3), spread=numbers(0.25)
    )
    (dot,) = of_class(chart_of(points), "answer")
    assert dot.attrib["opacity"] == "0.30"
    (bar,) = of_class(chart_of(points), "thin")
    height = float(bar.attrib["y1"]) - float(bar.attrib["y2"])
    assert height == pytest.approx(0.5 * (300 - 42 - 10), abs=0.2)


def test_an_area_lies_between_its_lines():
    x = numbers(0, 1)
    whole = Area(look="band", x=x, lower=numbers(0, 0), upper=numbers(1, 1))
    nothing = Area(look="none", x=x, lower=numbers(math.nan, 0), upper=numbers(1, math.nan))
    (area,) = of_class(chart_of(whole, nothing), "band")
    assert len(area.attrib["points"].split()) == 4
    assert not of_class(chart_of(whole, nothing), "none")


def test_spans_rules_and_bars_lie_where_their_numbers_are():
    marks = (
        Span(look="hopeless", along="x", low=0.25, high=0.75),
        Rule(look="limit", along="y", at=0.5),
        Bars(look="band", x=numbers(0.5), lower=numbers(0), upper=numbers(1)),
    )
    chart = chart_of(*marks)
    (span,), (rule,), (bar,) = (of_class(chart, name) for name in ("hopeless", "limit", "band"))
    assert float(span.attrib["width"]) == pytest.approx((640 - 64 - 12) / 2, abs=0.1)
    assert rule.attrib["y1"] == rule.attrib["y2"] == "134"
    assert (bar.attrib["y1"], bar.attrib["y2"]) == ("258", "10")


def test_cells_are_struck_out_where_nothing_is_feasible():
    cells = Cells(
        x=numbers(0, 1),
        y=numbers(0, 1),
        shade=np.array([[0, 0.5], [0.7, 1]]),
        allowed=np.array([[True, False], [True, True]]),
    )
    assert len(of_class(chart_of(cells), "cell")) == 4
    assert len(of_class(chart_of(cells), "hopeless-cell")) == 1


def test_titles_and_labels_are_escaped_and_read_aloud():
    chart = chart_of(title=HOSTILE, label=HOSTILE)
    assert drawn(chart).attrib["aria-label"] == HOSTILE
    assert HOSTILE in [e.text for e in of_class(chart, "label")]


def test_what_lies_beyond_a_ruler_is_at_its_ends():
    ruler = Ruler(Axis(low=0.0, high=10.0), 100, 200)
    assert [ruler.at(v) for v in (0, 5, 10)] == [100, 150, 200]
    assert [ruler.at(v) for v in (-3, 12, math.inf, -math.inf)] == [100, 200, 200, 100]

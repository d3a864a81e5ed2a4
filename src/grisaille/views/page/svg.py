"""Charts as SVG: they need no script, and print well.

Shapes carry classes, such as `best` or `band`; the style sheet says what these look like, in the
light and in the dark.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from grisaille.array_types import Array
from grisaille.markup import element, joined
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

# --- axes -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SvgConstants:
    """The room around a chart, in pixels.

    Attributes:
        left: Room for the numbers of the vertical axis. A choice of layout.
        right: Room on the right. A choice of layout.
        top: Room above. A choice of layout.
        bottom: Room for the numbers of the horizontal axis. A choice of layout.
        ticks: Numbers along an axis, about. A choice of layout.
    """

    left: float = 64.0
    right: float = 12.0
    top: float = 10.0
    bottom: float = 42.0
    ticks: int = 5


SVG = SvgConstants()


@dataclass(frozen=True, slots=True)
class Ruler:
    """Maps the numbers of an axis to lengths in pixels.

    Attributes:
        axis: The axis.
        start: Where it begins.
        end: Where it ends.
    """

    axis: Axis
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return where a number lies; numbers beyond the ends lie at the ends."""
        return float(self.places(np.array([value], dtype=float))[0])

    def places(self, values: Array) -> Array:
        """Return where numbers lie; numbers beyond the ends lie at the ends."""
        part = np.clip(self.axis.parts(values), 0.0, 1.0)
        return np.asarray(self.start + part * (self.end - self.start))

    def ticks(self) -> list[tuple[float, str]]:
        """Return the numbers to write along the axis, with their texts."""
        return self.axis.ticks(SVG.ticks)


# --- charts ---------------------------------------------------------------------------------------


def svg(chart: Chart) -> Markup:
    """Return a chart as SVG."""
    width, height = chart.size
    x = Ruler(chart.x, SVG.left, width - SVG.right)
    y = Ruler(chart.y, height - SVG.bottom, SVG.top)
    drawing = _Drawing(x, y)
    return element(
        "svg",
        _grid(chart, x, y)
        + joined([shape for mark in chart.marks for shape in drawing.draw(mark)]),
        class_="chart",
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=chart.title,
    )


def _grid(chart: Chart, x: Ruler, y: Ruler) -> Markup:
    """Return lines and numbers of the axes, and the texts along them."""
    left, right, bottom = x.start, x.end, y.start
    parts = []
    for value, text in y.ticks():
        at = y.at(value)
        parts.append(element("line", class_="grid", x1=left, x2=right, y1=at, y2=at))
        beside = {"x": left - 6, "y": at + 4, "text_anchor": "end"}
        parts.append(element("text", text, class_="tick", **beside))
    for value, text in x.ticks():
        below = {"x": x.at(value), "y": bottom + 16, "text_anchor": "middle"}
        parts.append(element("text", text, class_="tick", **below))
    parts.append(element("line", class_="rim", x1=left, x2=right, y1=bottom, y2=bottom))
    under = {"x": (left + right) / 2, "y": chart.size[1] - 6.0, "text_anchor": "middle"}
    parts.append(element("text", chart.x.label, class_="label", **under))
    turned = f"translate(13 {(y.end + bottom) / 2:.0f}) rotate(-90)"
    side = {"transform": turned, "text_anchor": "middle"}
    parts.append(element("text", chart.y.label, class_="label", **side))
    return joined(parts)


@dataclass(frozen=True, slots=True)
class _Drawing:
    """Draws marks between two rulers."""

    x: Ruler
    y: Ruler

    def draw(self, mark: Mark) -> list[Markup]:
        """Return the shapes of a mark."""
        match mark:
            case Line():
                return self._line(mark)
            case Area():
                return self._area(mark)
            case Points():
                return self._points(mark)
            case Bars():
                return self._bars(mark.look, mark.x, mark.lower, mark.upper)
            case Span():
                return [self._span(mark)]
            case Rule():
                return [self._rule(mark)]
            case Cells():
                return self._cells(mark)

    def _line(self, line: Line) -> list[Markup]:
        return [
            element(
                "polyline",
                class_=f"line {line.look}",
                points=_pixels(line.traced(run)),
            )
            for run in self._runs(line.x, line.y)
        ]

    def _area(self, area: Area) -> list[Markup]:
        known = np.isfinite(area.lower) & np.isfinite(area.upper)
        below = self._runs(area.x, np.where(known, area.lower, np.nan))
        above = self._runs(area.x, np.where(known, area.upper, np.nan))
        shapes = []
        for forth, back in zip(above, below, strict=True):
            points = _pixels([*area.traced(forth), *area.traced(back)[::-1]])
            shapes.append(element("polygon", class_=f"area {area.look}", points=points))
        return shapes

    def _points(self, points: Points) -> list[Markup]:
        """Return points without texts as one shape, which a browser draws sooner."""
        bars: list[Markup] = []
        if points.spread is not None:
            lower, upper = points.y - points.spread, points.y + points.spread
            bars = self._bars("thin", points.x, lower, upper)
        shown = np.isfinite(points.x) & ~np.isnan(points.y)
        above, below = points.y > self.y.axis.high, points.y < self.y.axis.low
        if points.is_inside_only:
            shown &= ~(above | below)
        places = np.flatnonzero(shown)
        left, top = self.x.places(points.x), self.y.places(points.y)
        beyond = above.astype(int) - below.astype(int)
        look = f"dot {points.look}" + ("" if points.shape == "dot" else f" {points.shape}")
        if points.texts or points.depth is not None:
            return bars + [
                self._point(points, int(k), look, left[k], top[k], int(beyond[k])) for k in places
            ]
        radius = 6.0 if points.shape == "diamond" else 2.2
        inside = [_shape(points.shape, left[k], top[k], radius) for k in places if not beyond[k]]
        outside = [_triangle(left[k], top[k], int(beyond[k])) for k in places if beyond[k]]
        return bars + [
            element("path", class_=look + kind, d="".join(shapes))
            for shapes, kind in ((inside, " many" * (points.shape == "dot")), (outside, " beyond"))
            if shapes
        ]

    @staticmethod
    def _point(
        points: Points, place: int, look: str, left: float, top: float, beyond: int
    ) -> Markup:
        """Return one point with its text."""
        hint = element("title", points.texts[place]) if points.texts else Markup("")
        style: dict[str, Any] = {"class_": look + (" beyond" if beyond else "")}
        if points.depth is not None:
            style["opacity"] = f"{points.depth[place]:.2f}"
        if beyond:
            return element("path", hint, **style, d=_triangle(left, top, beyond))
        if points.shape == "dot":
            return element("circle", hint, **style, cx=left, cy=top, r=3.5)
        return element("path", hint, **style, d=_shape(points.shape, left, top, 3.5))

    def _bars(self, look: str, x: Array, lower: Array, upper: Array) -> list[Markup]:
        ends = zip(self.x.places(x), self.y.places(lower), self.y.places(upper), strict=True)
        return [
            element("line", class_=f"bar {look}", x1=left, x2=left, y1=low, y2=high)
            for left, low, high in ends
        ]

    def _span(self, span: Span) -> Markup:
        along, across = (self.x, self.y) if span.along == "x" else (self.y, self.x)
        low, high = sorted((along.at(span.low), along.at(span.high)))
        far, near = sorted((across.start, across.end))
        box = (low, high - low, far, near - far)
        x, width, y, height = box if span.along == "x" else (*box[2:], *box[:2])
        return element("rect", class_=span.look, x=x, y=y, width=width, height=height)

    def _rule(self, rule: Rule) -> Markup:
        if rule.along == "x":
            at = self.x.at(rule.at)
            ends = {"x1": at, "x2": at, "y1": self.y.start, "y2": self.y.end}
        else:
            at = self.y.at(rule.at)
            ends = {"x1": self.x.start, "x2": self.x.end, "y1": at, "y2": at}
        return element("line", class_=f"line {rule.look}", **ends)

    def _cells(self, cells: Cells) -> list[Markup]:
        x, y = self.x.places(cells.x), self.y.places(cells.y)
        wide, tall = abs(x[1] - x[0]) + 0.3, abs(y[1] - y[0]) + 0.3
        shapes = []
        for row, b in enumerate(y):
            for column, a in enumerate(x):
                look = f"cell cell{round(9 * cells.shade[row, column])}"
                look += "" if cells.allowed[row, column] else " hopeless-cell"
                place = {"x": a - wide / 2, "y": b - tall / 2, "width": wide, "height": tall}
                shapes.append(element("rect", class_=look, **place))
        return shapes

    def _runs(self, x: Array, y: Array) -> list[list[tuple[float, float]]]:
        """Return the parts of a line between numbers that are not finite, in pixels."""
        runs: list[list[tuple[float, float]]] = [[]]
        known = np.isfinite(x) & np.isfinite(y)
        for a, b, shown in zip(self.x.places(x), self.y.places(y), known, strict=True):
            if shown:
                runs[-1].append((float(a), float(b)))
            elif runs[-1]:
                runs.append([])
        return [run for run in runs if run]


def _pixels(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _shape(shape: Shape, left: float, top: float, radius: float) -> str:
    """Return the path of a point."""
    r = f"{radius:.1f}"
    match shape:
        case "dot":  # a line without a length: its round ends are the dot
            return f"M{left:.1f} {top:.1f}h0"
        case "cross":
            d = f"{2 * radius:.1f}"
            return f"M{left - radius:.1f} {top - radius:.1f}l{d} {d}m0-{d}l-{d} {d}"
        case "square":
            d = f"{2 * radius:.1f}"
            return f"M{left - radius:.1f} {top - radius:.1f}h{d}v{d}h-{d}z"
        case "diamond":
            return f"M{left:.1f} {top - radius:.1f}l{r} {r}l-{r} {r}l-{r}-{r}z"


def _triangle(left: float, top: float, side: int) -> str:
    """Return a triangle at the end of the vertical axis that points to what lies beyond it."""
    return f"M{left - 4:.1f} {top:.1f}h8l-4 {-7 * side}z"

"""Charts as SVG, drawn by the server: they need no script, and print well.

Shapes carry classes, such as `best` or `band`; the style sheet says what these look like.

In the page, uPlot draws the convergence once more, because people zoom there. The SVG serves the
first paint, print, the report and readers without scripts. Both read the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from grisaille.array_types import Array

# --- axis -----------------------------------------------------------------------------------------
# One axis of a chart: which numbers lie where, and which of them are written beside it.

# About so many numbers are written beside an axis.
_TICKS = 5


@dataclass(frozen=True, slots=True)
class Axis:
    """Maps numbers to lengths in pixels.

    Attributes:
        low: The number at `start`.
        high: The number at `end`.
        start: Where the axis begins, in pixels.
        end: Where it ends.
        is_logarithmic: Whether equal lengths are equal factors.
        labels: Words for the numbers 0, 1, ..., instead of numbers.
    """

    low: float
    high: float
    start: float
    end: float
    is_logarithmic: bool = False
    labels: tuple[str, ...] = ()

    @classmethod
    def around(
        cls,
        values: Iterable[float],
        start: float,
        end: float,
        *,
        is_logarithmic: bool = False,
        labels: tuple[str, ...] = (),
        margin: float = 0.05,
    ) -> Axis:
        """The axis that shows some numbers, as far as they are finite, with a margin."""
        found = np.array([v for v in values if math.isfinite(v) and (v > 0 or not is_logarithmic)])
        if labels:
            return cls(-0.5, len(labels) - 0.5, start, end, labels=labels)
        if not len(found):
            return cls(0.1 if is_logarithmic else 0.0, 1.0, start, end, is_logarithmic)
        low, high = float(found.min()), float(found.max())
        if is_logarithmic:
            factor = (high / low) ** margin if high > low else 2.0
            return cls(low / factor, high * factor, start, end, True)
        room = (high - low) * margin or abs(high) * margin or 1.0
        return cls(low - room, high + room, start, end)

    def at(self, value: float) -> float:
        """Where a number lies, in pixels; numbers beyond the ends lie at the ends."""
        if not math.isfinite(value):
            return self.start if value < 0 else self.end
        if self.is_logarithmic:
            if value <= 0:
                return self.start
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (float(value) - self.low) / (self.high - self.low)
        return self.start + min(max(part, 0.0), 1.0) * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """The numbers to write beside the axis, with their texts."""
        if self.labels:
            return [(float(place), label) for place, label in enumerate(self.labels)]
        numbers = self._decades() if self.is_logarithmic else self._round_numbers()
        return [(number, f"{number:.6g}") for number in numbers]

    def _round_numbers(self) -> list[float]:
        """Multiples of 1, 2 or 5 times a power of ten."""
        span = self.high - self.low
        power = 10.0 ** math.floor(math.log10(span / _TICKS))
        step = next(f * power for f in (1, 2, 5, 10) if span / (f * power) <= _TICKS + 1)
        first = math.ceil(self.low / step)
        last = math.floor(self.high / step)
        return [round(k * step, 12 - math.floor(math.log10(step))) for k in range(first, last + 1)]

    def _decades(self) -> list[float]:
        """Powers of ten, every few if there are many; round numbers if there are less than two."""
        first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        if last - first < 1:
            return self._round_numbers()
        step = max(1, math.ceil((last - first) / _TICKS))
        return [10.0**k for k in range(first, last + 1, step)]


# --- svg ------------------------------------------------------------------------------------------
# SVG elements as text, with everything in them escaped.


def element(tag: str, content: str = "", /, **attributes: Any) -> Markup:
    """One element.

    Args:
        tag: Its name.
        content: A text, which is escaped, or markup.
        **attributes: Its attributes: `text_anchor` is written `text-anchor`, and `class_` is
            `class`. Numbers are rounded to a tenth of a pixel.
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_text(value)}"'
        for name, value in attributes.items()
    )
    return Markup(f"<{tag}{written}>{escape(content)}</{tag}>")


def join(parts: list[Markup]) -> Markup:
    """Elements one after the other."""
    return Markup("").join(parts)


def _text(value: Any) -> str:
    return str(escape(value)) if isinstance(value, str) else f"{round(value, 1):g}"


# --- chart ----------------------------------------------------------------------------------------

_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 12.0, 10.0, 42.0

Numbers = Sequence[float] | Array
"""Numbers in a row."""


class Chart:
    """A chart with two axes.

    Args:
        title: What it shows, in a sentence, for people who do not see it.
        x: The numbers that the horizontal axis must show.
        y: The numbers that the vertical axis must show.
        x_label: What is written under the horizontal axis.
        y_label: What is written beside the vertical axis.
        x_logarithmic: Whether the horizontal axis is logarithmic.
        y_logarithmic: Whether the vertical axis is logarithmic.
        x_labels: Words for positions 0, 1, ... on the horizontal axis.
        size: Width and height in pixels.
    """

    def __init__(
        self,
        title: str,
        x: Iterable[float],
        y: Iterable[float],
        *,
        x_label: str = "",
        y_label: str = "",
        x_logarithmic: bool = False,
        y_logarithmic: bool = False,
        x_labels: tuple[str, ...] = (),
        size: tuple[int, int] = (640, 300),
    ) -> None:
        self._title = title
        self._size = size
        width, height = size
        self.x = Axis.around(
            x, _LEFT, width - _RIGHT, is_logarithmic=x_logarithmic, labels=x_labels, margin=0.02
        )
        self.y = Axis.around(y, height - _BOTTOM, _TOP, is_logarithmic=y_logarithmic)
        self._labels = (x_label, y_label)
        self._shapes: list[Markup] = []

    def line(self, x: Numbers, y: Numbers, name: str) -> None:
        """A line through points, broken where a number is not finite."""
        for run in _runs(x, y):
            self._add("polyline", class_=f"line {name}", points=self._points(run))

    def steps(self, x: Numbers, y: Numbers, name: str) -> None:
        """A line that keeps each value until the next one."""
        for run in _runs(x, y):
            self._add("polyline", class_=f"line {name}", points=self._points(_corners(run)))

    def area(
        self, x: Numbers, lower: Numbers, upper: Numbers, name: str, *, stepped: bool = False
    ) -> None:
        """The area between two lines, which keep each value until the next one if `stepped`."""
        rows = zip(x, lower, upper, strict=True)
        kept = [row for row in rows if all(map(math.isfinite, row))]
        if not kept:
            return
        forth, back = [(a, high) for a, _, high in kept], [(a, low) for a, low, _ in kept]
        if stepped:
            forth, back = _corners(forth), _corners(back)
        self._add("polygon", class_=f"area {name}", points=self._points(forth + back[::-1]))

    def dot(
        self,
        x: float,
        y: float,
        name: str,
        *,
        radius: float = 3.5,
        strength: float = 1.0,
        text: str = "",
    ) -> None:
        """A dot, or a cross if its name says so; beyond the axis, a triangle at its end."""
        if not (math.isfinite(x) and math.isfinite(y)):
            return
        left, top = self.x.at(x), self.y.at(y)
        hint = element("title", text) if text else Markup("")
        look = {"class_": f"dot {name}", "opacity": f"{strength:.2f}"}
        beyond = self._beyond(y)
        if beyond:
            look["class_"] += " beyond"
            self._add("path", hint, **look, d=_triangle(left, top, beyond))
        elif name.endswith("cross"):
            self._add("path", hint, **look, d=_cross(left, top, radius))
        else:
            self._add("circle", hint, **look, cx=left, cy=top, r=radius)

    def dots(self, x: Numbers, y: Numbers, name: str) -> None:
        """Many dots or crosses as one shape, which a browser draws sooner; they have no texts."""
        draw = _small_cross if name.endswith("cross") else _small_dot
        inside, outside = [], []
        for a, b in zip(x, y, strict=True):
            if not (math.isfinite(a) and math.isfinite(b)):
                continue
            left, top = self.x.at(a), self.y.at(b)
            if beyond := self._beyond(b):
                outside.append(_triangle(left, top, beyond))
            else:
                inside.append(draw(left, top))
        for shapes, look in ((inside, " many"), (outside, " beyond")):
            if shapes:
                self._add("path", class_=f"dot {name}{look}", d="".join(shapes))

    def _beyond(self, y: float) -> int:
        """1 above the axis, -1 below it, 0 on it."""
        return int(y > self.y.high) - int(y < self.y.low)

    def bar(self, x: float, low: float, high: float, name: str) -> None:
        """A vertical bar between two numbers."""
        left = self.x.at(x)
        ends = {"y1": self.y.at(low), "y2": self.y.at(high)}
        self._add("line", class_=f"bar {name}", x1=left, x2=left, **ends)

    def cells(self, x: Numbers, y: Numbers, shade: Array, allowed: Array) -> None:
        """Cells around a grid of points, from 0 (light) to 1 (dark); struck out if not allowed.

        Args:
            x: Columns.
            y: Rows.
            shade: (rows, columns).
            allowed: (rows, columns).
        """
        wide = abs(self.x.at(x[1]) - self.x.at(x[0])) + 0.3
        tall = abs(self.y.at(y[1]) - self.y.at(y[0])) + 0.3
        for row, b in enumerate(y):
            for column, a in enumerate(x):
                name = f"cell cell{round(9 * shade[row, column])}"
                name += "" if allowed[row, column] else " hopeless-cell"
                place = {"x": self.x.at(a) - wide / 2, "y": self.y.at(b) - tall / 2}
                self._add("rect", class_=name, **place, width=wide, height=tall)

    def vertical(self, x: float, name: str) -> None:
        """A vertical line over the whole height."""
        self.bar(x, self.y.low, self.y.high, name)

    def horizontal(self, y: float, name: str) -> None:
        """A horizontal line over the whole width."""
        self.line([self.x.low, self.x.high], [y, y], name)

    def __html__(self) -> str:
        width, height = self._size
        return element(
            "svg",
            self._grid() + join(self._shapes),
            class_="chart",
            viewBox=f"0 0 {width} {height}",
            role="img",
            aria_label=self._title,
        )

    def _add(self, tag: str, content: str = "", /, **attributes: Any) -> None:
        self._shapes.append(element(tag, content, **attributes))

    def _points(self, points: Iterable[tuple[float, float]]) -> str:
        return _pixels((self.x.at(a), self.y.at(b)) for a, b in points)

    def _grid(self) -> Markup:
        """Lines and numbers of the axes, and what is written beside them."""
        width, height = self._size
        right, bottom = width - _RIGHT, height - _BOTTOM
        parts = []
        for value, text in self.y.ticks():
            at = self.y.at(value)
            parts.append(element("line", class_="grid", x1=_LEFT, x2=right, y1=at, y2=at))
            beside = {"x": _LEFT - 6, "y": at + 4, "text_anchor": "end"}
            parts.append(element("text", text, class_="tick", **beside))
        for value, text in self.x.ticks():
            below = {"x": self.x.at(value), "y": bottom + 16, "text_anchor": "middle"}
            parts.append(element("text", text, class_="tick", **below))
        parts.append(element("line", class_="rim", x1=_LEFT, x2=right, y1=bottom, y2=bottom))
        under = {"x": (_LEFT + right) / 2, "y": height - 6.0, "text_anchor": "middle"}
        parts.append(element("text", self._labels[0], class_="label", **under))
        turned = f"translate(13 {(_TOP + bottom) / 2:.0f}) rotate(-90)"
        side = {"transform": turned, "text_anchor": "middle"}
        parts.append(element("text", self._labels[1], class_="label", **side))
        return join(parts)


def _pixels(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _small_dot(left: float, top: float) -> str:
    """A line without a length: its round ends are the dot."""
    return f"M{left:.1f} {top:.1f}h0"


def _small_cross(left: float, top: float) -> str:
    return f"M{left - 2:.1f} {top - 2:.1f}l4 4m0-4l-4 4"


def _cross(left: float, top: float, radius: float) -> str:
    half = 0.9 * radius
    strokes = f"M{left - half:.1f} {top - half:.1f}l{2 * half:.1f} {2 * half:.1f}"
    return strokes + f"m0 {-2 * half:.1f}l{-2 * half:.1f} {2 * half:.1f}"


def _triangle(left: float, top: float, side: int) -> str:
    """A triangle at the end of the vertical axis that points to what lies beyond it."""
    return f"M{left - 4:.1f} {top:.1f}h8l-4 {-7 * side}z"


def _corners(run: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The corners of a line that keeps each value until the next one."""
    kept = [run[0], *(point for before, point in pairwise(run) if point[1] != before[1])]
    ends = [*(a for a, _ in kept[1:]), run[-1][0]]
    pairs = zip(kept, ends, strict=True)
    return [corner for (a, b), end in pairs for corner in ((a, b), (end, b))]


def _runs(x: Numbers, y: Numbers) -> list[list[tuple[float, float]]]:
    """The parts of a line between numbers that are not finite."""
    runs: list[list[tuple[float, float]]] = [[]]
    for a, b in zip(x, y, strict=True):
        if math.isfinite(a) and math.isfinite(b):
            runs[-1].append((float(a), float(b)))
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]

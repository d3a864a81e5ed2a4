"""The graph of a problem from left to right, as SVG: what reads what, and how well it is known."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from grisaille.markup import element, joined


@dataclass(frozen=True, slots=True)
class GraphConstants:
    """The constants of the picture of a graph, lengths in pixels.

    Attributes:
        width: Width of a node. A choice of layout.
        gap_across: Room between columns. A choice of layout.
        gap_down: Room between nodes of a column. A choice of layout.
        line: Height of a line of text. A choice of layout.
        padding: Room above and below the text of a node. A choice of layout.
        letters: Letters of a line. A choice of layout.
        lines: Lines of a label. A choice of layout.
        sweeps: Sweeps that shorten the edges. A choice of layout.
    """

    width: float = 190.0
    gap_across: float = 54.0
    gap_down: float = 18.0
    line: float = 15.0
    padding: float = 9.0
    letters: int = 25
    lines: int = 4
    sweeps: int = 4


GRAPH = GraphConstants()


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a node stands: its column, its left upper corner and its height."""

    column: int
    left: float
    top: float
    height: float


def graph_svg(
    nodes: Sequence[Mapping[str, Any]],
    notes: Mapping[str, Sequence[str]],
    link: str = "",
) -> Markup:
    """The graph as SVG.

    Args:
        nodes: As stored with a study: kind, label, what is read, and the name of the black box.
        notes: Lines under the name of each black box, such as the number of its answers.
        link: Address of the part about a black box, which its name is added to; empty for none.
    """
    texts = [_lines(node, notes) for node in nodes]
    columns = _columns(nodes)
    places = _places(nodes, columns, [len(lines) for lines in texts])
    width = max((p.left + GRAPH.width for p in places), default=0.0) + 2
    height = max((p.top + p.height for p in places), default=0.0) + 2
    edges = [
        _edge(places[source], places[target])
        for target, node in enumerate(nodes)
        for source in node["reads"]
    ]
    drawn = [
        _node(node, place, lines, link)
        for node, place, lines in zip(nodes, places, texts, strict=True)
    ]
    tip = element("path", class_="tip", d="M0 0L8 4L0 8z")
    size = {"refX": 8, "refY": 4, "markerWidth": 7, "markerHeight": 7, "orient": "auto"}
    marker = element("marker", tip, id="tip", viewBox="0 0 8 8", **size)
    return element(
        "svg",
        element("defs", marker) + joined(edges + drawn),
        class_="graph",
        viewBox=f"-1 -1 {width:.0f} {height:.0f}",
        width=width,
        height=height,
        role="group",
        aria_label=f"Graph of the problem with {len(nodes)} nodes, read from left to right",
    )


def _lines(node: Mapping[str, Any], notes: Mapping[str, Sequence[str]]) -> list[str]:
    """The text of a node, in lines that fit."""
    lines = textwrap.wrap(node["label"], GRAPH.letters, break_long_words=True) or [""]
    if len(lines) > GRAPH.lines:
        lines = [*lines[: GRAPH.lines - 1], lines[GRAPH.lines - 1][: GRAPH.letters - 3] + "..."]
    return [*lines, *notes.get(node["box"], ())] if node["box"] else lines


def _columns(nodes: Sequence[Mapping[str, Any]]) -> list[int]:
    """The column of each node: right of all it reads; goals stand in the last one.

    Unknowns read what comes back to them, which stands right of them.
    """
    columns = [0] * len(nodes)
    for place, node in enumerate(nodes):
        before = [columns[read] for read in node["reads"] if read < place]
        columns[place] = 1 + max(before, default=-1)
    pairs = list(zip(columns, nodes, strict=True))
    last = 1 + max((column for column, node in pairs if node["kind"] != "goal"), default=-1)
    return [last if n["kind"] == "goal" else c for c, n in pairs]


def _places(
    nodes: Sequence[Mapping[str, Any]], columns: Sequence[int], lines: Sequence[int]
) -> list[_Place]:
    """Where nodes stand: each column in an order that keeps edges short, in the middle."""
    heights = [count * GRAPH.line + 2 * GRAPH.padding for count in lines]
    members = [
        [place for place, column in enumerate(columns) if column == number]
        for number in range(max(columns, default=-1) + 1)
    ]
    readers: list[list[int]] = [[] for _ in nodes]
    for place, node in enumerate(nodes):
        for read in node["reads"]:
            readers[read].append(place)
    middle = {place: float(order) for group in members for order, place in enumerate(group)}
    for sweep in range(GRAPH.sweeps):
        for group in members if sweep % 2 == 0 else reversed(members):
            near = {
                p: [middle[o] for o in (nodes[p]["reads"] if sweep % 2 == 0 else readers[p])]
                for p in group
            }
            group.sort(key=lambda p: sum(near[p]) / len(near[p]) if near[p] else middle[p])
            middle.update({place: float(order) for order, place in enumerate(group)})
    totals = [sum(heights[p] + GRAPH.gap_down for p in group) - GRAPH.gap_down for group in members]
    tallest = max(totals, default=0.0)
    places: dict[int, _Place] = {}
    for column, (group, total) in enumerate(zip(members, totals, strict=True)):
        top = (tallest - total) / 2
        for place in group:
            left = column * (GRAPH.width + GRAPH.gap_across)
            places[place] = _Place(column, left, top, heights[place])
            top += heights[place] + GRAPH.gap_down
    return [places[place] for place in range(len(nodes))]


def _edge(source: _Place, target: _Place) -> Markup:
    """A curve from the right side of one node to the left side of another one."""
    x1, y1 = source.left + GRAPH.width, source.top + source.height / 2
    x2, y2 = target.left, target.top + target.height / 2
    name, bend = "edge", (x2 - x1) / 2
    if target.column <= source.column:  # what comes back to an unknown
        name, bend = "edge back", GRAPH.gap_across
    path = f"M{x1:.1f} {y1:.1f}C{x1 + bend:.1f} {y1:.1f} {x2 - bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
    return element("path", class_=name, d=path, marker_end="url(#tip)")


def _node(node: Mapping[str, Any], place: _Place, lines: Sequence[str], link: str) -> Markup:
    """A node with its text; a black box is a link to what was learned of it."""
    radius = {"variable": 16, "unknown": 16, "goal": 4}.get(node["kind"], 2)
    middle = place.left + GRAPH.width / 2
    rows = [
        element("tspan", line, x=middle, dy=GRAPH.line if row else 0.0)
        for row, line in enumerate(lines)
    ]
    corner = {"x": place.left, "y": place.top, "width": GRAPH.width, "height": place.height}
    top = place.top + GRAPH.padding + GRAPH.line - 4
    parts = [
        element("title", node["label"]),
        element("rect", **corner, rx=radius),
        element("text", joined(rows), x=middle, y=top, text_anchor="middle"),
    ]
    inside = element("g", joined(parts), class_=f"node {node['kind']}")
    if not (link and node["box"]):
        return inside
    address = link + quote(node["box"], safe="")
    swap = {"hx_get": address, "hx_target": "#box", "hx_swap": "innerHTML show:top"}
    return element("a", inside, href=address, **swap)

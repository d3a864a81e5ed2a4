"""Pictures of slices: a value along one quantity at a time, through the recommended point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from grisaille.array_types import Flags
from grisaille.errors import ModelError
from grisaille.inspection.inspection import Inspection
from grisaille.inspection.pictures.panels import (
    ACCENT,
    BAND,
    mark_outside,
    padded,
    panels_for,
    plain,
    short,
    with_unit,
)
from grisaille.inspection.slices import Slice, box_slices, design_slices

_MOST_PANELS = 12
_COLUMNS = 4
# Answers farther from the slice than this are not drawn: they say nothing about it.
_LEAST_NEARNESS = 0.02


def draw_design_slices(inspection: Inspection, axes: Any = None) -> Figure:
    """Slices of the objective along each variable.

    Args:
        inspection: What was learned.
        axes: One Axes for each slice.
    """
    problem = inspection.problem
    unit = problem.objective_unit
    return _draw(design_slices(inspection), unit, "variable", axes)


def draw_box_slices(
    inspection: Inspection, box: str, output: int | str = 0, axes: Any = None
) -> Figure:
    """Slices of one output of a black box along each of its inputs.

    Args:
        inspection: What was learned.
        box: The black box, by name.
        output: The output, by position or name.
        axes: One Axes for each slice.
    """
    slices = box_slices(inspection, box, output)
    if not slices:
        raise ModelError(
            f"plot_slices({box!r}): black box {box!r} has no inputs, so there is no slice of it"
        )
    return _draw(slices, None, "input", axes)


def _draw(slices: Sequence[Slice], unit: str | None, noun: str, given: Any) -> Figure:
    shown = _most_telling(slices)
    columns = min(_COLUMNS, len(shown))
    rows = -(-len(shown) // columns)
    panels = panels_for(
        "plot_slices",
        given,
        rows,
        columns,
        count=len(shown),
        what_for=f"one for each {noun} ({', '.join(piece.along for piece in shown)})",
        size=(max(2.3 * columns, 5.4), 2.2 * rows + 0.7),
        sharey=True,
        gridspec_kw={"wspace": 0.06},
    )
    low, high = _limits(shown)
    for place, (piece, axes) in enumerate(zip(shown, panels.axes, strict=True)):
        _draw_slice(piece, axes, (low, high))
        if place % columns == 0 or not panels.is_own:
            axes.set_ylabel(with_unit(piece.value, unit))
    if panels.is_own and len(shown) < len(slices):
        panels.figure.suptitle(
            f"the {len(shown)} of {len(slices)} {noun}s with the largest effect", fontsize=9
        )
    panels.add_legend()
    return panels.figure


def _most_telling(slices: Sequence[Slice]) -> list[Slice]:
    """The slices with the largest effect, in their order."""
    effects = [-float(np.ptp(piece.mean)) for piece in slices]
    chosen = np.sort(np.argsort(effects, kind="stable")[:_MOST_PANELS])
    return [slices[int(place)] for place in chosen]


def _limits(slices: Sequence[Slice]) -> tuple[float, float]:
    """Limits that show all predictions, and bands as far as they leave these readable."""
    means = np.concatenate([piece.mean for piece in slices])
    ends = np.concatenate([np.append(piece.lower, piece.upper) for piece in slices])
    low, high = float(means.min()), float(means.max())
    room = (high - low) or np.inf
    return padded(np.append(means, np.clip(ends, low - room, high + room)))


def _draw_slice(piece: Slice, axes: Axes, limits: tuple[float, float]) -> None:
    axes.set_ylim(limits)
    if piece.is_logarithmic:
        axes.set_xscale("log")
    if piece.labels:
        _draw_labels(piece, axes)
    else:
        _draw_curve(piece, axes)
    _hatch_infeasible(piece, axes)
    _draw_answers(piece, axes, limits)
    order = np.argsort(piece.positions)
    height = np.interp(piece.at, piece.positions[order], piece.mean[order])
    axes.plot(
        [piece.at],
        [height],
        "D",
        ms=7,
        markerfacecolor="none",
        markeredgecolor=ACCENT,
        markeredgewidth=1.6,
        label="recommended point",
        clip_on=False,
        zorder=5,
    )
    axes.set_xlabel(with_unit(piece.along, piece.unit))


def _draw_curve(piece: Slice, axes: Axes) -> None:
    """Mean and band along a number."""
    axes.fill_between(
        piece.positions, piece.lower, piece.upper, color=BAND, lw=0, label="band", zorder=1
    )
    axes.plot(piece.positions, piece.mean, color="black", lw=1.5, label="prediction", zorder=2)
    axes.margins(x=0.03)


def _draw_labels(piece: Slice, axes: Axes) -> None:
    """Mean and band at each label of a choice."""
    axes.bar(
        piece.positions,
        piece.upper - piece.lower,
        bottom=piece.lower,
        width=0.3,
        color=BAND,
        label="band",
        zorder=1,
    )
    axes.plot(piece.positions, piece.mean, "_", color="black", ms=14, mew=1.8, zorder=2)
    axes.plot([], [], color="black", lw=1.5, label="prediction")
    axes.set_xticks(piece.positions, [plain(short(label)) for label in piece.labels])
    axes.set_xlim(-0.6, len(piece.labels) - 0.4)


def _draw_answers(piece: Slice, axes: Axes, limits: tuple[float, float]) -> None:
    """Answers, paler the farther they are from the slice."""
    near = piece.nearness >= _LEAST_NEARNESS
    x, y, depth = piece.seen[near, 0], piece.seen[near, 1], 0.15 + 0.85 * piece.nearness[near]
    inside = (y >= limits[0]) & (y <= limits[1])
    if inside.any():
        axes.scatter(x[inside], y[inside], s=14, color="0.25", lw=0, alpha=depth[inside], zorder=3)
        # The legend would show the paleness of one of them.
        axes.plot([], [], "o", ms=4, color="0.25", label="answer (pale: far off)")
    mark_outside(axes, x, y, np.ones(len(x), dtype=bool), depth)


def _hatch_infeasible(piece: Slice, axes: Axes) -> None:
    """Hatch where no point can meet all constraints, by the bands."""
    label = "infeasible by the bands"
    for start, end in _runs(~piece.may_be_feasible):
        low, high = _stretch(piece, start, end)
        axes.axvspan(
            low, high, facecolor="none", edgecolor="0.75", hatch="////", lw=0, label=label, zorder=0
        )
        label = "_infeasible too"


def _stretch(piece: Slice, start: int, end: int) -> tuple[float, float]:
    """The stretch from one position to another, with half of the way to the next ones."""
    if piece.labels:
        return piece.positions[start] - 0.5, piece.positions[end] + 0.5
    last = len(piece.positions) - 1
    before, after = piece.positions[max(start - 1, 0)], piece.positions[min(end + 1, last)]
    return (
        0.5 * (before + piece.positions[start]),
        0.5 * (after + piece.positions[end]),
    )


def _runs(flags: Flags) -> list[tuple[int, int]]:
    """The first and the last position of each run of true flags."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]

"""The picture of calibration: each answer against what all others would have predicted of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from grisaille.array_types import Array, Flags
from grisaille.errors import ModelError, shortened, text_of
from grisaille.inspection.inspection import Inspection
from grisaille.inspection.pictures.panels import (
    ACCENT,
    BAND,
    mark_outside,
    padded,
    panels_for,
    plain,
    say,
    short,
)
from grisaille.inspection.slices import output_name

_MOST_ROWS = 6
# Larger errors, in widths of the band, are shown at the edge.
_LARGEST = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """One output of one black box.

    Attributes:
        name: What it is called in the picture.
        answers: (answers,).
        mean: (answers,), what the others predict of each.
        deviation: (answers,), the standard deviation of this prediction.
        width: How far the band reaches, in deviations.
        trouble: Why there is nothing to draw; empty if there is.
    """

    name: str
    answers: Array
    mean: Array
    deviation: Array
    width: float
    trouble: str = ""

    @property
    def errors(self) -> Array:
        """(answers,), in deviations."""
        return np.asarray((self.answers - self.mean) / self.deviation)

    @property
    def outside(self) -> Flags:
        """(answers,), whether an answer is outside its band."""
        return np.abs(self.errors) > self.width

    @property
    def worst(self) -> float:
        """The largest error in widths of the band; infinite if there is none to draw."""
        known = np.abs(self.errors[np.isfinite(self.errors)])
        return float(known.max(initial=0.0)) / self.width if not self.trouble else np.inf


def draw_calibration(
    inspection: Inspection,
    box: str | None = None,
    output: int | str | None = None,
    axes: Any = None,
) -> Figure:
    """Predicted against answered, and the errors in deviations, for each output.

    Args:
        inspection: What was learned.
        box: A black box, by name; None for all of them.
        output: One of its outputs, by position or name; None for all of them.
        axes: Two Axes for each output that is drawn.

    Raises:
        ModelError: There is no such black box or output, or it has no leave-one-out predictions.
    """
    if box is None and output is not None:
        raise ModelError(f"plot_calibration(output={shortened(output)}): pass the black box, too")
    if box is None:
        causal = inspection.problem.causal
        boxes = inspection.problem.boxes if causal is None else causal.model.boxes
        rows = [row for each in boxes for row in _rows_or_trouble(inspection, each.name)]
    else:
        rows = _rows(inspection, box, output)
    chosen = np.sort(np.argsort([-row.worst for row in rows], kind="stable")[:_MOST_ROWS])
    shown = [rows[int(place)] for place in chosen]
    panels = panels_for(
        "plot_calibration",
        axes,
        len(shown),
        2,
        what_for=f"two for each output ({', '.join(row.name for row in shown)})",
        size=(7.2, 2.5 * len(shown) + 0.6),
        width_ratios=[1.0, 1.3],
    )
    for place, row in enumerate(shown):
        left, right = panels.axes[2 * place : 2 * place + 2]
        left.set_title(plain(short(row.name)), fontsize=9, loc="left")
        if row.trouble:
            for panel in (left, right):
                say(panel, "nothing to compare")
            right.set_title(plain(row.trouble), fontsize=8, loc="left", wrap=True)
            continue
        _draw_predictions(row, left)
        _draw_errors(row, right)
    if panels.is_own and len(shown) < len(rows):
        panels.figure.suptitle(
            f"the {len(shown)} of {len(rows)} outputs with the largest errors", fontsize=9
        )
    panels.add_legend()
    return panels.figure


def _rows_or_trouble(inspection: Inspection, box: str) -> list[_Row]:
    """The rows of a black box, or one row that says why there are none."""
    try:
        return _rows(inspection, box, None)
    except ModelError as error:
        nothing = np.zeros(0)
        return [_Row(box, nothing, nothing, nothing, 1.0, text_of(error))]


def _rows(inspection: Inspection, box: str, output: int | str | None) -> list[_Row]:
    model = inspection.model(box)
    names = model.output_names
    if output is not None:
        names = [output_name(names, output, box)]
    table, widths = model.leave_one_out(), model.band_widths
    return [
        _Row(
            box if name == box else f"{box}: {name}",
            table[name].to_numpy(),
            table[f"{name} mean"].to_numpy(),
            table[f"{name} deviation"].to_numpy(),
            float(widths[name]),
        )
        for name in names
    ]


def _draw_predictions(row: _Row, axes: Axes) -> None:
    """Predictions with their bands against answers; on the diagonal they agree."""
    low, high = padded(np.append(row.answers, row.mean))
    axes.plot([low, high], [low, high], "--", color="0.5", lw=1, label="predicted = answered")
    for own, style, label in _groups(row):
        axes.errorbar(
            row.answers[own],
            row.mean[own],
            yerr=row.width * row.deviation[own],
            elinewidth=0.8,
            label=label,
            zorder=3,
            **style,
        )
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    axes.set_xlabel("answered")
    axes.set_ylabel("predicted")


def _draw_errors(row: _Row, axes: Axes) -> None:
    """Errors in deviations, in the order of the answers."""
    number = np.arange(1, len(row.answers) + 1, dtype=float)
    known = np.abs(row.errors[np.isfinite(row.errors)])
    most = min(max(float(known.max(initial=0.0)), row.width), _LARGEST * row.width) * 1.15
    axes.set_ylim(-most, most)
    axes.axhspan(-row.width, row.width, color=BAND, lw=0, label="band", zorder=0)
    axes.axhline(0, color="0.5", lw=0.8, zorder=1)
    inside = np.abs(row.errors) <= most
    for own, style, _ in _groups(row):
        shown = own & inside
        axes.errorbar(number[shown], row.errors[shown], zorder=3, **style)
    mark_outside(axes, number, row.errors, ~row.outside)
    axes.set_xlabel("answer")
    axes.set_ylabel("error in deviations")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _groups(row: _Row) -> list[tuple[Flags, dict[str, Any], str]]:
    """The answers inside and outside their bands, each with its style and its label."""
    inside = {"fmt": "o", "ms": 4, "color": "0.25"}
    outside = {"fmt": "X", "ms": 7, "color": ACCENT, "markeredgecolor": "black", "mew": 0.6}
    found = [
        (~row.outside, inside, "inside its band"),
        (row.outside, outside, "outside its band"),
    ]
    return [group for group in found if group[0].any()]

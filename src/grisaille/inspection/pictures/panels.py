"""The panels of a picture: its own, or axes that the user passes; and what all pictures share.

Greys carry the meaning, so that a print in black and white and a colour-blind reader lose nothing:
black for the best value, dashed grey for a bound. There is one accent, of the palette of Okabe and
Ito, and what has it also has a shape of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation

from grisaille.array_types import Array, Flags
from grisaille.errors import ModelError, printable
from grisaille.reporting.figures import NotebookFigure

ACCENT = "#d55e00"
BAND = "0.87"
LEGEND_SIZE = 8
OUTSIDE = "outside the axis"
# How far a triangle at the edge is from it, in points.
_INSET = 4.0
_LONGEST_LABEL = 32
# Widths in the legend under a picture, in inches: of a line with its space, and of a letter.
_LEGEND_LINE = 0.6
_LEGEND_LETTER = 0.065


@dataclass(frozen=True, slots=True, eq=False)
class Panels:
    """Where a picture is drawn.

    Attributes:
        figure: The figure.
        axes: Its axes, in order.
        is_own: Whether the figure was made for this picture.
    """

    figure: Figure
    axes: list[Axes]
    is_own: bool

    def add_legend(self) -> None:
        """Explain every label once, outside of all axes: under the picture, or above given axes."""
        found: dict[str, Any] = {}
        for axes in self.axes:
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                found.setdefault(label, handle)
        if OUTSIDE in found:
            found[OUTSIDE] = found.pop(OUTSIDE)  # the last one
        if not found:
            return
        style = {"frameon": False, "fontsize": LEGEND_SIZE}
        handles, labels = list(found.values()), list(found)
        if self.is_own:
            widest = _LEGEND_LINE + _LEGEND_LETTER * max(map(len, labels))
            columns = max(1, min(len(found), int(self.figure.get_figwidth() / widest)))
            self.figure.legend(handles, labels, loc="outside lower center", ncols=columns, **style)
        else:
            self.axes[0].legend(
                handles, labels, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, **style
            )


def panels_for(
    who: str,
    given: Any,
    rows: int,
    columns: int = 1,
    *,
    count: int | None = None,
    what_for: str,
    size: tuple[float, float],
    **options: Any,
) -> Panels:
    """The axes that a user passes, or those of a new figure.

    Args:
        who: The function that was called, for messages.
        given: An Axes or an array of them; None for a new figure.
        rows: Rows of a new figure.
        columns: Columns of a new figure.
        count: How many axes there are; as many as rows and columns make by default.
        what_for: What the axes are for, for messages.
        size: Width and height of a new figure in inches.
        **options: For `Figure.subplots`.

    Raises:
        ModelError: These are not Axes, or not as many as are needed.
    """
    count = rows * columns if count is None else count
    if given is not None:
        passed = passed_axes(who, given)
        if len(passed) != count:
            raise ModelError(
                f"{who}(axes=...): {axes_text(count)} needed, {what_for}; {len(passed)} passed"
            )
        return given_panels(passed)
    figure = NotebookFigure(figsize=size, layout="constrained")
    made = list(figure.subplots(rows, columns, squeeze=False, **options).flat)
    for spare in made[count:]:
        spare.remove()
    return Panels(figure, made[:count], True)


def passed_axes(who: str, given: Any) -> list[Axes]:
    """The axes that a user passes, as a list; raises ModelError if they are none."""
    try:
        passed = list(np.ravel(np.asarray(given, dtype=object)))
    except Exception:  # a class of the user's own
        passed = []
    if not passed or not all(isinstance(axes, Axes) for axes in passed):
        raise ModelError(
            f"{who}(axes=...): pass a Matplotlib Axes, or an array of them as plt.subplots gives it"
        )
    return passed


def given_panels(passed: list[Axes]) -> Panels:
    """Panels of axes that were passed."""
    # The figure itself, also where the axes are in a part of it.
    return Panels(passed[0].figure.canvas.figure, passed, False)


def axes_text(count: int) -> str:
    """How many axes are needed, for messages."""
    return "1 Axes is" if count == 1 else f"{count} Axes are"


def mark_outside(axes: Axes, x: Array, y: Array, filled: Flags, alpha: Array | None = None) -> None:
    """Show points outside the limits of the vertical axis as triangles at its edge.

    The limits must be set before. Points that are not a number are not shown.

    Args:
        axes: Where.
        x: (points,).
        y: (points,), which may be infinite.
        filled: (points,), whether its triangle is filled: feasible trials are.
        alpha: (points,), how dark it is; 1 by default.
    """
    low, high = sorted(axes.get_ylim())
    depth: Any = np.ones(len(x)) if alpha is None else alpha
    # An axis may be turned around, so that its upper edge has the lower number.
    up = axes.get_ylim()[0] <= axes.get_ylim()[1]
    label = OUTSIDE
    for outside, at_top in ((y > high, up), (y < low, not up)):
        for own, face in ((outside & filled, "0.35"), (outside & ~filled, "white")):
            if not own.any():
                continue
            inset = ScaledTranslation(
                0, (-_INSET if at_top else _INSET) / 72, axes.figure.dpi_scale_trans
            )
            axes.scatter(
                x[own],
                np.full(own.sum(), float(at_top)),
                marker="^" if at_top else "v",
                s=20,
                facecolors=face,
                edgecolors="0.35",
                linewidths=0.8,
                alpha=depth[own],
                transform=axes.get_xaxis_transform() + inset,
                label=label,
                zorder=4,
            )
            label = "_outside too"


def say(axes: Axes, sentence: str) -> None:
    """Write a sentence where a picture would be."""
    axes.text(
        0.5,
        0.5,
        plain(sentence),
        transform=axes.transAxes,
        ha="center",
        va="center",
        color="0.35",
        fontsize=9,
        wrap=True,
    )
    axes.set_xticks([])
    axes.set_yticks([])


def plain(text: str) -> str:
    """A text as it is: Matplotlib would read what is between two dollar signs as a formula."""
    text = printable(text)
    return text.replace("$", r"\$") if text.count("$") > 1 else text


def short(text: str) -> str:
    """A text that fits beside an axis."""
    return text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "…"


def with_unit(name: str, unit: str | None) -> str:
    """A name for an axis, with its unit if there is one."""
    return plain(f"{short(name)}{f' in {unit}' if unit else ''}")


def padded(values: Sequence[float] | Array, margin: float = 0.08) -> tuple[float, float]:
    """Limits of an axis that leave some room around values; (0, 1) if there are none."""
    finite = np.asarray(values, dtype=float)
    finite = finite[np.isfinite(finite)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    room = margin * (high - low) or 0.1 * abs(high) or 1.0
    return low - room, high + room

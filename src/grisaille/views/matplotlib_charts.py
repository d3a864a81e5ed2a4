"""The pictures of a result, drawn with Matplotlib.

Greys carry the meaning, so that a print in black and white and a colour-blind reader lose
nothing: black for the best value, dashed grey for a bound. There is one accent, of the palette of
Okabe and Ito, and what has it also has a shape of its own.

Figures that a notebook shows as they are, and how they are saved.

PyPlot is not used: it needs a backend, and keeps every figure in memory.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter, PercentFormatter
from matplotlib.transforms import ScaledTranslation

from grisaille.array_types import Array, Flags
from grisaille.errors import ModelError, cut, printable, shortened, text_of
from grisaille.language.problem import Problem
from grisaille.records import History
from grisaille.views.charts import (
    CHARTS,
    Area,
    Axis,
    Bars,
    Calibration,
    Cells,
    Chart,
    Course,
    Line,
    Mark,
    Points,
    Rule,
    Span,
    calibration_chart,
    calibrations,
    constraints_chart,
    convergence_chart,
    distance_chart,
    error_chart,
    gap_chart,
    most_telling,
    short,
    slice_charts,
    violation_chart,
    with_unit,
)
from grisaille.views.inspection.influence import box_influence, by_effect, variable_influence
from grisaille.views.inspection.inspection import Inspection
from grisaille.views.inspection.slices import Slice, box_slices, design_slices, output_name

# --- panels ---------------------------------------------------------------------------------------
# The panels of a picture: its own, or axes that the user passes; and what all pictures share.

ACCENT = "#d55e00"
BAND = "0.87"
OUTSIDE = "outside the axis"


@dataclass(frozen=True, slots=True)
class PictureConstants:
    """The constants of pictures drawn with Matplotlib.

    Attributes:
        legend: Size of the letters of a legend, in points. A choice of layout.
        line: Width of a line of a legend with its space, in inches. A choice of layout.
        letter: Width of a letter of a legend, in inches. A choice of layout.
        inset: Distance of a triangle from the edge, in points. A choice of layout.
        columns: Slices side by side. A choice of layout.
        bars: Bars of one panel, those with the largest effect. A choice of layout.
        rows: The fewest bars that a panel has room for. A choice of layout.
    """

    legend: float = 8
    line: float = 0.6
    letter: float = 0.065
    inset: float = 4.0
    columns: int = 4
    bars: int = 15
    rows: int = 3


PICTURES = PictureConstants()


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
        style = {"frameon": False, "fontsize": PICTURES.legend}
        handles, labels = list(found.values()), list(found)
        if self.is_own:
            widest = PICTURES.line + PICTURES.letter * max(map(len, labels))
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
                0, (-PICTURES.inset if at_top else PICTURES.inset) / 72, axes.figure.dpi_scale_trans
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


# --- charts ---------------------------------------------------------------------------------------
# Charts as Matplotlib draws them: its style for each look.

_CROSS = {"marker": "x", "ms": 5, "color": "0.35", "mew": 1.2}
_RING = {"marker": "D", "ms": 8, "mfc": "none", "mec": ACCENT, "mew": 1.6}
_SQUARE = {"marker": "s", "ms": 4, "mec": "black"}
_TRIAL = {"ms": 5, "mec": "0.2", "mew": 0.6}

_LINES: dict[str, dict[str, Any]] = {
    "best": {"color": "black", "lw": 1.8},
    "bound": {"color": "0.35", "lw": 1.4, "ls": "--"},
    "mean": {"color": "black", "lw": 1.5},
    "limit": {"color": "0.5", "lw": 0.9, "ls": "--"},
    "here": {"color": ACCENT, "lw": 1.2, "ls": (0, (4, 2))},
    "infeasible-line": {"color": ACCENT, "lw": 0.6, "ls": ":", "alpha": 0.4},
    "constraint0": {"color": "black", "lw": 1.8},
    "constraint1": {"color": "0.45", "lw": 0.9},
    "constraint2": {"color": "0.6", "lw": 0.9, "ls": "--"},
    "constraint3": {"color": "0.45", "lw": 0.9, "ls": ":"},
    "constraint4": {"color": "0.6", "lw": 0.9, "ls": "-."},
    "constraint5": {"color": "0.7", "lw": 0.9},
    "constraint6": {"color": "0.45", "lw": 0.9, "ls": "--"},
    "constraint7": {"color": "0.7", "lw": 0.9, "ls": ":"},
}
_POINTS: dict[str, dict[str, Any]] = {
    "initial": {"marker": "o", "color": "0.75", **_TRIAL},
    "own": {"marker": "s", "color": "0.9", **_TRIAL},
    "chosen": {"marker": "o", "color": "0.45", **_TRIAL},
    "infeasible": _CROSS,
    "recommended": _RING,
    "proof": {"mfc": "black", **_SQUARE},
    "guess": {"mfc": "white", **_SQUARE},
    "answer": {"marker": "o", "ms": 4, "color": "0.25"},
    "outside": {"marker": "X", "ms": 7, "color": ACCENT, "mec": "black", "mew": 0.6},
    "level": {"marker": "_", "color": "black", "ms": 14, "mew": 1.8},
    "constraint0": {"marker": "o", "ms": 4, "color": "black"},
    "constraint1": {"marker": "o", "ms": 3, "color": "0.45"},
    "constraint2": {"marker": "s", "ms": 3, "color": "0.6"},
    "constraint3": {"marker": "^", "ms": 3, "color": "0.45"},
    "constraint4": {"marker": "v", "ms": 3, "color": "0.6"},
    "constraint5": {"marker": "D", "ms": 3, "color": "0.7"},
    "constraint6": {"marker": "P", "ms": 3, "color": "0.45"},
    "constraint7": {"marker": "X", "ms": 3, "color": "0.7"},
}
_FILLS: dict[str, dict[str, Any]] = {
    "gap": {"color": "0.92"},
    "band": {"color": BAND},
    "met": {"color": "0.95"},
    "hopeless": {"facecolor": "none", "edgecolor": "0.75", "hatch": "////"},
}


def draw(chart: Chart, axes: Axes) -> None:
    """Draw a chart into axes."""
    _limit(axes, "x", chart.x)
    _limit(axes, "y", chart.y)
    for place, mark in enumerate(chart.marks):
        _draw_mark(mark, axes, 1 + 0.01 * place)
    axes.set_xlabel(plain(chart.x.label))
    axes.set_ylabel(plain(chart.y.label))


def _limit(axes: Axes, direction: Literal["x", "y"], axis: Axis) -> None:
    """Give one axis its limits and ticks."""
    own: Any = axes.xaxis if direction == "x" else axes.yaxis
    if axis.is_logarithmic:
        axes.set(**{f"{direction}scale": "log"})
    axes.set(**{f"{direction}lim": (axis.low, axis.high)})
    if axis.names:
        own.set_ticks(range(len(axis.names)), [plain(name) for name in axis.names])
    elif axis.is_whole:
        own.set_major_locator(MaxNLocator(integer=True))
    elif axis.is_logarithmic and direction == "y":
        own.set_minor_formatter(NullFormatter())
        axes.grid(axis="y", color=BAND, lw=0.6)


def _draw_mark(mark: Mark, axes: Axes, order: float) -> None:
    """Draw one mark; points lie over everything else."""
    match mark:
        case Line():
            style, own = _line_style(mark.look), _POINTS.get(mark.look, {})
            shape = "steps-post" if mark.is_stepped else "default"
            (line,) = axes.plot(mark.x, mark.y, drawstyle=shape, zorder=order, **style)
            if own:  # a legend shows the line with its points
                axes.plot([], [], label=_label(mark), **(own | style))
            else:
                line.set_label(_label(mark))
        case Area():
            axes.fill_between(
                mark.x,
                mark.lower,
                mark.upper,
                where=list(np.isfinite(mark.lower) & np.isfinite(mark.upper)),
                step="post" if mark.is_stepped else None,
                lw=0,
                label=_label(mark),
                zorder=order,
                **_FILLS[mark.look],
            )
        case Points():
            _draw_points(mark, axes, 3 + order)
        case Bars():
            axes.bar(
                mark.x,
                mark.upper - mark.lower,
                bottom=mark.lower,
                width=0.3,
                label=_label(mark),
                zorder=order,
                **_FILLS[mark.look],
            )
        case Span():
            across = axes.axvspan if mark.along == "x" else axes.axhspan
            style = _FILLS[mark.look]
            across(mark.low, mark.high, lw=0, label=_label(mark), zorder=order, **style)
        case Rule():
            along = axes.axvline if mark.along == "x" else axes.axhline
            along(mark.at, label=_label(mark), zorder=order, **_line_style(mark.look))
        case Cells():
            shade = np.ma.array(mark.shade, mask=~mark.allowed)
            axes.pcolormesh(mark.x, mark.y, shade, cmap="Greys", vmin=0, vmax=1, zorder=order)


def _line_style(look: str) -> dict[str, Any]:
    """Return the style of a line; ranks are greys."""
    if look.startswith("rank"):
        return {"color": str(0.9 - 0.1 * int(look.removeprefix("rank"))), "lw": 0.8}
    return _LINES[look]


def _label(mark: Line | Area | Points | Bars | Span | Rule) -> str:
    """Return a label for legends, which leave out those that begin with an underscore."""
    text = plain(mark.label)
    return f" {text}" if text.startswith("_") else text or "_nothing"


def _draw_points(points: Points, axes: Axes, order: float) -> None:
    """Draw points inside the axis, and triangles for the others."""
    low, high = axes.get_ylim()
    inside = (points.y >= low) & (points.y <= high)
    style, label = _POINTS.get(points.look, _POINTS["answer"]), _label(points)
    x, y = points.x[inside], points.y[inside]
    if points.depth is not None:
        if inside.any():
            depth: Any = points.depth[inside]
            axes.scatter(x, y, s=14, color=style["color"], lw=0, alpha=depth, zorder=order)
            # The legend would show the paleness of one of them.
            axes.plot([], [], ls="", **style, label=label)
    elif points.spread is not None:
        bars = points.spread[inside]
        axes.errorbar(x, y, yerr=bars, ls="", elinewidth=0.8, label=label, zorder=order, **style)
    elif inside.any() or points.is_inside_only:
        axes.plot(x, y, ls="", **style, label=label, clip_on=False, zorder=order)
    if not points.is_inside_only:
        filled = np.full(len(points.x), not points.is_open)
        mark_outside(axes, points.x, points.y, filled, points.depth)


# --- pictures -------------------------------------------------------------------------------------


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
        rows: Sequence[Calibration | _Trouble] = [
            row for each in boxes for row in _rows_or_trouble(inspection, each.name)
        ]
    else:
        rows = _rows(inspection, box, output)
    # Those that cannot be compared come first: their sentence says why.
    worst = [-row.worst for row in rows]
    chosen = np.sort(np.argsort(worst, kind="stable")[: CHARTS.outputs])
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
        match row:
            case _Trouble():
                for panel in (left, right):
                    say(panel, "nothing to compare")
                right.set_title(plain(row.reason), fontsize=8, loc="left", wrap=True)
            case Calibration():
                draw(calibration_chart(row), left)
                draw(error_chart(row), right)
    if panels.is_own and len(shown) < len(rows):
        panels.figure.suptitle(
            f"the {len(shown)} of {len(rows)} outputs with the largest errors", fontsize=9
        )
    panels.add_legend()
    return panels.figure


@dataclass(frozen=True, slots=True)
class _Trouble:
    """A black box that cannot be drawn, and the reason."""

    name: str
    reason: str
    worst: float = np.inf


def _rows_or_trouble(inspection: Inspection, box: str) -> Sequence[Calibration | _Trouble]:
    """The rows of a black box, or one row that says why there are none."""
    try:
        return _rows(inspection, box, None)
    except ModelError as error:
        return [_Trouble(box, text_of(error))]


def _rows(inspection: Inspection, box: str, output: int | str | None) -> list[Calibration]:
    model = inspection.model(box)
    names = model.output_names
    if output is not None:
        names = [output_name(names, output, box)]
    return calibrations(model, names)


def draw_constraints(
    problem: Problem, history: History, recommended: int, axes: Any = None
) -> Figure:
    """The slack of each constraint over the trials, in parts of its size.

    Args:
        problem: The problem.
        history: The trials.
        recommended: Position of the recommended trial; negative without one.
        axes: One Axes.
    """
    chart = constraints_chart(problem, history, recommended)
    panels = panels_for(
        "plot_constraints", axes, 1, what_for="for all constraints", size=(7.2, 4.2)
    )
    draw(chart, panels.axes[0])
    panels.add_legend()
    return panels.figure


Scale = Literal["linear", "log"]


def draw_convergence(
    course: Course, has_constraints: bool, *, scale: Scale = "linear", axes: Any = None
) -> Figure:
    """Best feasible value and bound over the trials, the gap between them, and the violations.

    Args:
        course: How the study went.
        has_constraints: True if violations have a panel.
        scale: "log" for how far values are from the final bound, or else from the best value.
        axes: Where to draw: one Axes for the objective alone, or as many as there are panels.
    """
    has_trials = bool(len(course.x))
    has_gap = has_trials and scale == "linear" and gap_chart(course) is not None
    names = ["objective", *(["gap"] * has_gap), *(["violation"] * has_constraints)]
    heights = {"objective": 3.0, "gap": 1.2, "violation": 1.2}
    if axes is None:
        panels = panels_for(
            "plot",
            None,
            len(names),
            what_for="",
            size=(7.2, 2.6 + 1.2 * len(names)),
            sharex=True,
            height_ratios=[heights[name] for name in names],
        )
    else:
        passed = passed_axes("plot", axes)
        if len(passed) not in (1, len(names)):
            each = f", or {axes_text(len(names))} for {' and '.join(names)}"
            several = each if len(names) > 1 else ""
            raise ModelError(
                f"plot(axes=...): 1 Axes is needed for the objective{several}; {len(passed)} passed"
            )
        panels = given_panels(passed)
    objective = convergence_chart if scale == "linear" else distance_chart
    describe = {"objective": objective, "gap": gap_chart, "violation": violation_chart}
    troubles = {"violation": "no trial violates a constraint"}
    for name, panel in zip(names, panels.axes, strict=False):
        chart = describe[name](course) if has_trials else None
        if chart is None:
            say(panel, troubles[name] if has_trials else "no trial is complete")
            panel.set_ylabel(name if has_trials else "")
        else:
            # Under one another, the lowest panel names the axis of all.
            is_last = not panels.is_own or panel is panels.axes[-1]
            draw(chart if is_last else replace(chart, x=replace(chart.x, label="")), panel)
    for panel in panels.axes[-1:] if panels.is_own else panels.axes:
        panel.set_xlabel(course.axis.label)
    panels.add_legend()
    return panels.figure


def draw_sensitivity(inspection: Inspection, axes: Any = None) -> Figure:
    """Bars of what variables and black boxes do.

    Args:
        inspection: What was learned.
        axes: Three Axes: for the variables, the black boxes, and the parts of the gap.
    """
    problem = inspection.problem
    variables = by_effect(variable_influence(inspection))[: PICTURES.bars]
    boxes = by_effect(box_influence(inspection))[: PICTURES.bars]
    rows = max(len(variables), len(boxes), PICTURES.rows)
    panels = panels_for(
        "plot_sensitivity",
        axes,
        1,
        3,
        what_for="for the variables, the black boxes and the parts of the gap",
        size=(9.0, 1.3 + 0.34 * rows),
        width_ratios=[1.5, 1.0, 1.0],
    )
    left, middle, right = panels.axes
    value = plain(with_unit(problem.objective_name or "objective", problem.objective_unit))
    _draw_bars(
        left,
        rows,
        [variable.name for variable in variables],
        {
            "effect over its range": ([v.effect for v in variables], _EFFECT),
            "could still be gained": ([v.gain for v in variables], _GAIN),
        },
    )
    left.set_title("variables", fontsize=9, loc="left")
    left.set_xlabel(value)
    names = [box.box for box in boxes]
    effects = [box.effect for box in boxes]
    _draw_bars(middle, rows, names, {"effect of its answers": (effects, {"color": "0.6"})})
    middle.set_title("black boxes", fontsize=9, loc="left")
    middle.set_xlabel(value)
    right.set_title("part of the gap", fontsize=9, loc="left")
    if any(box.share is None for box in boxes):
        say(right, "there is no gap\nbetween a best value and a bound")
    else:
        shares = [float(box.share or 0.0) for box in boxes]
        _draw_bars(right, rows, names, {"would close if it were known": (shares, {"color": "0.8"})})
        right.set_xlim(0, 1)
        right.xaxis.set_major_formatter(PercentFormatter(1.0))
    panels.add_legend()
    return panels.figure


_EFFECT = {"color": "0.35"}
_GAIN = {"facecolor": "white", "edgecolor": "0.35", "hatch": "////"}


def _draw_bars(
    axes: Axes,
    rows: int,
    names: Sequence[str],
    series: dict[str, tuple[list[float], dict[str, Any]]],
) -> None:
    """Horizontal bars, the first name at the top.

    Args:
        axes: Where.
        rows: For how many names there is room, so that bars of all panels are alike.
        names: What the bars are of.
        series: Lengths and style of the bars, by label.
    """
    if not names:
        say(axes, "there is none")
        return
    height = 0.8 / len(series)
    for place, (label, (lengths, style)) in enumerate(series.items()):
        places = np.arange(len(names)) + (place - 0.5 * (len(series) - 1)) * height
        axes.barh(places, lengths, height=height, label=label, **style)
    axes.set_yticks(np.arange(len(names)), [plain(short(name)) for name in names])
    axes.set_ylim(rows - 0.4, -0.6)
    axes.set_xlim(left=0)


def draw_design_slices(inspection: Inspection, axes: Any = None) -> Figure:
    """Slices of the objective along each variable.

    Args:
        inspection: What was learned.
        axes: One Axes for each slice.
    """
    unit = inspection.problem.objective_unit
    return _draw_slices(design_slices(inspection), unit, "variable", axes)


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
    return _draw_slices(slices, None, "input", axes)


def _draw_slices(slices: Sequence[Slice], unit: str | None, noun: str, given: Any) -> Figure:
    shown = most_telling(slices)
    columns = min(PICTURES.columns, len(shown))
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
    charts = slice_charts(shown, unit)
    for place, (chart, axes) in enumerate(zip(charts, panels.axes, strict=True)):
        is_first = place % columns == 0 or not panels.is_own
        draw(chart if is_first else replace(chart, y=replace(chart.y, label="")), axes)
    if panels.is_own and len(shown) < len(slices):
        panels.figure.suptitle(
            f"the {len(shown)} of {len(slices)} {noun}s with the largest effect", fontsize=9
        )
    panels.add_legend()
    return panels.figure


# --- notebook figure ------------------------------------------------------------------------------

# A notebook gets twice the dots that it shows per inch, for screens that are that fine.
_SHARPNESS = 2


class NotebookFigure(Figure):
    """A figure that a notebook shows when it is the value of a cell.

    It belongs to no backend and to no window, so that nothing shows it a second time.
    """

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """The picture, and the size in pixels at which to show it."""
        content = BytesIO()
        self.savefig(content, format="png", dpi=_SHARPNESS * self.dpi)
        width, height = self.get_size_inches() * self.dpi
        return content.getvalue(), {"width": round(width), "height": round(height)}

    def __repr__(self) -> str:
        width, height = self.get_size_inches()
        return f"<Figure of {width:g} x {height:g} inches: savefig(path) saves it>"


def check_path(who: str, path: Any) -> None:
    """Raise ModelError unless a path is None or the path of a file."""
    if path is not None and not (isinstance(path, str | os.PathLike) and str(path).strip()):
        raise ModelError(f"{who}(path={shortened(path)}): pass the path of a picture, or None")


def save_figure(figure: Figure, path: str | os.PathLike[str], who: str) -> None:
    """Save a figure; the ending of the path chooses the format.

    Raises:
        ModelError: There is no such folder, or the ending is of no format.
    """
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise ModelError(f"{who}(path={shortened(path)}): {cut(str(error))}") from error

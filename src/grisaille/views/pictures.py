"""The pictures of a result, drawn with Matplotlib.

Greys carry the meaning, so that a print in black and white and a colour-blind reader lose
nothing: black for the best value, dashed grey for a bound. There is one accent, of the palette of
Okabe and Ito, and what has it also has a shape of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter, PercentFormatter
from matplotlib.transforms import ScaledTranslation

from grisaille.array_types import Array, Flags
from grisaille.errors import ModelError, printable, shortened, text_of
from grisaille.language.constraint import TOO_LARGE
from grisaille.language.problem import Problem
from grisaille.records import History, TrialKind
from grisaille.study.trial_tables import equality_partners
from grisaille.views.figures import NotebookFigure
from grisaille.views.inspection.convergence import Convergence
from grisaille.views.inspection.influence import box_influence, variable_influence
from grisaille.views.inspection.inspection import Inspection
from grisaille.views.inspection.slices import Slice, box_slices, design_slices, output_name

# --- panels ---------------------------------------------------------------------------------------
# The panels of a picture: its own, or axes that the user passes; and what all pictures share.

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


# --- calibration ----------------------------------------------------------------------------------
# The picture of calibration: each answer against what all others would have predicted of it.

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


# --- constraints ----------------------------------------------------------------------------------
# The picture of constraints: how much room each leaves, trial by trial.

_MOST_LINES = 8
# Lines that are not the tightest: their greys, dashes and markers.
_STYLES = (
    ("0.45", "-", "o"),
    ("0.6", "--", "s"),
    ("0.45", ":", "^"),
    ("0.6", "-.", "v"),
    ("0.7", "-", "D"),
    ("0.45", "--", "P"),
    ("0.7", ":", "X"),
)


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
    if not problem.constraints:
        raise ModelError("plot_constraints: the problem has no constraints, so there is no slack")
    if recommended < 0:
        raise ModelError("plot_constraints: no trial is complete, so there is no slack to draw")
    names, slacks = _slacks(problem, history)
    tightness = np.nan_to_num(slacks[recommended], nan=-np.inf)
    order = np.argsort(tightness, kind="stable")[:_MOST_LINES]
    panels = panels_for(
        "plot_constraints", axes, 1, what_for="for all constraints", size=(7.2, 4.2)
    )
    panel = panels.axes[0]
    x = np.array([trial.number for trial in history], dtype=float)
    shown = slacks[:, order]
    low, high = padded(np.append(np.quantile(_finite(shown), [0.05, 0.95]), [0.0, 0.05]), 0.15)
    panel.set_ylim(low, high)
    panel.axhspan(0, high, color="0.95", lw=0, label="met", zorder=0)
    panel.axhline(0, color="0.5", lw=0.8, zorder=1)
    for place, k in reversed(list(enumerate(order))):
        grey, dashes, marker = ("black", "-", "o") if not place else _STYLES[place - 1]
        panel.plot(
            x,
            np.clip(slacks[:, k], low, high),
            linestyle=dashes,
            lw=1.8 if not place else 0.9,
            color=grey,
            zorder=3 if not place else 2,
        )
        inside = (slacks[:, k] >= low) & (slacks[:, k] <= high)
        panel.plot(
            x[inside], slacks[inside, k], marker, ms=4 if not place else 3, color=grey, zorder=3
        )
        # Matplotlib leaves labels that begin with an underscore out of legends.
        space = " " if names[k].startswith("_") else ""
        label = space + short(names[k]) + ("" if place else " (tightest)")
        panel.plot([], [], linestyle=dashes, marker=marker, ms=4, color=grey, label=plain(label))
        mark_outside(panel, x, slacks[:, k], slacks[:, k] >= 0)
    panel.axvline(
        x[recommended], color=ACCENT, lw=1.2, ls=(0, (4, 2)), label="recommended trial", zorder=1
    )
    panel.set_xlabel("trial")
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    hidden = len(names) - len(order)
    more = f"\n({hidden} constraints with more room are left out)" if hidden else ""
    panel.set_ylabel(f"slack, in parts of its size{more}")
    panels.add_legend()
    return panels.figure


def _slacks(problem: Problem, history: History) -> tuple[list[str], Array]:
    """Names of the constraints, and their slacks (trials, constraints) in parts of their sizes.

    The two inequalities of an equality are one: what is left of its tolerance.
    """
    bodies = np.array([trial.constraints for trial in history])
    sizes = history.constraint_sizes()
    sizes = np.where(np.isfinite(sizes) & (sizes > 0), sizes, 1.0)
    partners, names = equality_partners(problem), problem.constraint_names
    own = [k for k in range(len(names)) if k not in partners.values()]
    worst = np.stack([np.maximum(bodies[:, k], bodies[:, partners.get(k, k)]) for k in own], 1)
    labels = [names[k].replace(TOO_LARGE, "") if k in partners else names[k] for k in own]
    return labels, -worst / sizes[own]


def _finite(values: Array) -> Array:
    """The finite values, or a zero if there are none."""
    finite = values[np.isfinite(values)]
    return finite if len(finite) else np.zeros(1)


# --- convergence ----------------------------------------------------------------------------------
# The picture of convergence: trials, best value and bound; the gap; the violations.

Against = Literal["trial", "cost"]
Scale = Literal["linear", "log"]

# Trials by who chose them: those kinds, their grey and their marker.
_FILLING = (TrialKind.INITIAL, TrialKind.RANDOM, TrialKind.OBSERVING)
_GIVEN = (TrialKind.OWN, TrialKind.DATA)
# Of what lies far from best value and bound, this part may lie outside the axis at either end.
_TAIL = 0.15
# How far a bound may stretch the axis, in parts of what best values and trials take.
_FARTHEST = 1.5


def draw_convergence(
    problem: Problem,
    went: Convergence,
    fun: float,
    most: float,
    final_bound: float | None,
    recommended: int,
    *,
    against: Against = "trial",
    scale: Scale = "linear",
    axes: Any = None,
) -> Figure:
    """Best feasible value and bound over the trials, the gap between them, and the violations.

    Args:
        problem: The problem.
        went: How the study went.
        fun: The value at the recommended point, in the user's sense.
        most: What the optimum is at worst, in the user's sense: with noise, the far end of what the
            bands allow at the recommended point; infinite if that is not feasible.
        final_bound: The final bound, in the user's sense; None without one.
        recommended: Position of the recommended trial; negative without one.
        against: What the trials are drawn against: their numbers, or what all answers up to
            then cost.
        scale: "log" for how far values are from the final bound, or else from the best value.
        axes: Where to draw: one Axes for the objective alone, or as many as there are panels.
    """
    drawing = _Drawing(problem, went, fun, most, final_bound, recommended, against, scale)
    names = drawing.panel_names
    if axes is None:
        heights = {"objective": 3.0, "gap": 1.2, "violation": 1.2}
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
    for name, panel in zip(names, panels.axes, strict=False):
        drawing.draw(name, panel)
    drawing.label_trials(panels)
    panels.add_legend()
    return panels.figure


class _Drawing:
    """One picture of convergence, panel by panel."""

    def __init__(
        self,
        problem: Problem,
        went: Convergence,
        fun: float,
        most: float,
        final_bound: float | None,
        recommended: int,
        against: Against,
        scale: Scale,
    ) -> None:
        self.problem, self.went, self.fun = problem, went, fun
        self.final_bound, self.recommended = final_bound, recommended
        self.against, self.scale = against, scale
        self.x = went.numbers if against == "trial" else went.cost
        # With noise, the best raw answer is only the luckiest one.
        self.is_noisy = not problem.is_exact
        self.best = np.full(len(self.x), fun) if self.is_noisy else went.best
        self.gap = self._worse_by(most if self.is_noisy else self.best, went.carried_bound)
        self.final_gap = self.gap[-1:]
        if final_bound is not None and np.isfinite(most):
            self.final_gap = self._worse_by(np.array([most]), final_bound)

    @property
    def panel_names(self) -> list[str]:
        """The panels, from top to bottom."""
        has_gap = self.scale == "linear" and bool(np.isfinite(self.gap).any())
        return [
            "objective",
            *(["gap"] if has_gap else []),
            *(["violation"] if self.problem.constraints else []),
        ]

    def draw(self, name: str, axes: Axes) -> None:
        """Draw one panel."""
        if not len(self.x):
            say(axes, "no trial is complete")
        elif name == "gap":
            self._draw_gap(axes)
        elif name == "violation":
            self._draw_violations(axes)
        elif self.scale == "log":
            self._draw_distances(axes)
        else:
            self._draw_objective(axes)

    def label_trials(self, panels: Panels) -> None:
        """Say what the horizontal axis is."""
        for axes in panels.axes[-1:] if panels.is_own else panels.axes:
            axes.set_xlabel("trial" if self.against == "trial" else "cost of all answers so far")
            if len(self.x) and self.against == "trial":
                axes.xaxis.set_major_locator(MaxNLocator(integer=True))

    def _worse_by(self, values: Any, reference: Any) -> Array:
        """How much worse values are than others, by the sense of the problem."""
        return np.asarray(self.problem.sense * (values - reference), dtype=float)

    @property
    def _ends(self) -> Array:
        """The positions, and two more between which the final value and bound are shown."""
        step = (self.x[-1] - self.x[0]) / max(len(self.x) - 1, 1) or 1.0
        return np.append(self.x, self.x[-1] + step * np.array([0.5, 1.0]))

    def _draw_objective(self, axes: Axes) -> None:
        ends, last = self._ends, self.went.carried_bound[-1]
        final = last if self.final_bound is None else self.final_bound
        bound = np.append(self.went.carried_bound, [final, final])
        value = self.fun if np.isfinite(self.best[-1]) else np.nan
        best = np.append(self.best, [value, value])
        low, high = _limits(best, bound, self.went.objective)
        axes.set_ylim(low, high)
        both = np.isfinite(best) & np.isfinite(bound) & (self._worse_by(best, bound) >= 0)
        if both.any():
            axes.fill_between(
                ends, bound, best, where=both, step="post", color="0.92", lw=0, label="gap"
            )
        self._draw_trials(axes, self.went.objective)
        name = "recommended (mean)" if self.is_noisy else "best feasible"
        axes.step(ends, best, where="post", color="black", lw=1.8, label=name)
        if np.isfinite(bound).any():
            axes.step(ends, bound, "--", where="post", color="0.35", lw=1.4, label="bound")
        sense = "minimize" if self.problem.sense == 1 else "maximize"
        axes.set_ylabel(f"{self._objective} ({sense})")

    def _draw_distances(self, axes: Axes) -> None:
        """How far trials, best value and gap are from the final bound, or from the best value."""
        worst = self._worse_by(self.went.objective[self.went.feasible], self.fun).max(initial=0.0)
        # A bound that is farther away than all trials would make them look alike.
        bounded = self.final_bound is not None and bool(self.final_gap <= worst)
        reference = self.final_bound if bounded else self.fun
        distance = self._worse_by(self.went.objective, reference)
        best = self._worse_by(self.best, reference)
        shown = [best, distance[self.went.feasible], *([self.gap] if bounded else [])]
        _limit_logarithm(axes, np.concatenate(shown))
        self._draw_trials(axes, np.where(distance > 0, distance, -np.inf))
        name = "recommended (mean)" if self.is_noisy else "best feasible"
        axes.step(self.x, _above_zero(best), where="post", color="black", lw=1.8, label=name)
        if bounded:
            axes.step(
                self.x,
                _above_zero(self.gap),
                "--",
                where="post",
                color="0.35",
                lw=1.4,
                label="gap known then",
            )
        what = "final bound" if bounded else "best value"
        axes.set_ylabel(f"{self._objective}:\ndistance to the {what}")

    @property
    def _objective(self) -> str:
        return with_unit(self.problem.objective_name or "objective", self.problem.objective_unit)

    def _draw_trials(self, axes: Axes, values: Array) -> None:
        """A marker for each trial: its shape says whether it is feasible, its grey who chose it."""
        kinds = self.went.kinds
        filling = np.array([kind in _FILLING for kind in kinds], dtype=bool)
        given = np.array([kind in _GIVEN for kind in kinds], dtype=bool)
        groups = (
            ("initial or random", filling, "o", "0.75"),
            ("own point or data", given, "s", "0.9"),
            ("chosen", ~filling & ~given, "o", "0.45"),
        )
        low, high = axes.get_ylim()
        inside: Flags = (values >= low) & (values <= high)
        feasible = self.went.feasible
        for label, group, marker, grey in groups:
            own = group & inside & feasible
            if own.any():
                axes.plot(
                    self.x[own],
                    values[own],
                    marker,
                    ms=5,
                    color=grey,
                    markeredgecolor="0.2",
                    markeredgewidth=0.6,
                    label=label,
                    clip_on=False,
                    zorder=3,
                )
        crossed = inside & ~feasible
        if crossed.any():
            self._cross(axes, self.x[crossed], values[crossed])
        if self.recommended >= 0:
            there = inside[self.recommended]
            axes.plot(
                self.x[[self.recommended]] if there else [],
                values[[self.recommended]] if there else [],
                "D",
                ms=8,
                markerfacecolor="none",
                markeredgecolor=ACCENT,
                markeredgewidth=1.6,
                label="recommended trial",
                clip_on=False,
                zorder=5,
            )
        mark_outside(axes, self.x, values, feasible)

    @staticmethod
    def _cross(axes: Axes, x: Array, y: Array) -> None:
        axes.plot(
            x,
            y,
            "x",
            ms=5,
            color="0.35",
            markeredgewidth=1.2,
            label="infeasible",
            clip_on=False,
            zorder=3,
        )

    def _draw_gap(self, axes: Axes) -> None:
        """The gap on a logarithmic axis, so that a small one can still be read off."""
        ends, gap = self._ends, np.concatenate([self.gap, self.final_gap, self.final_gap])
        _limit_logarithm(axes, gap)
        axes.step(ends, _above_zero(gap), where="post", color="black", lw=1.4)
        made = np.isfinite(self.went.bound) & (self.gap > 0)
        for own, face, label in (
            (made & self.went.certified, "black", "bound certified"),
            (made & ~self.went.certified, "white", "bound estimated"),
        ):
            if own.any():
                axes.plot(
                    self.x[own],
                    self.gap[own],
                    "s",
                    ms=4,
                    markerfacecolor=face,
                    markeredgecolor="black",
                    label=label,
                )
        closed = np.where(gap <= 0, -np.inf, gap)
        mark_outside(axes, ends, closed, np.ones(len(ends), dtype=bool))
        axes.set_ylabel("gap")

    def _draw_violations(self, axes: Axes) -> None:
        violation, infeasible = self.went.violation, ~self.went.feasible
        if not infeasible.any():
            say(axes, "no trial violates a constraint")
        else:
            _limit_logarithm(axes, violation)
            self._cross(axes, self.x[infeasible], violation[infeasible])
        axes.set_ylabel("violation")


def _above_zero(values: Array) -> Array:
    """Values for a logarithmic axis: NaN where there is no logarithm."""
    return np.where(values > 0, values, np.nan)


def _limits(best: Array, bound: Array, trials: Array) -> tuple[float, float]:
    """Limits of the axis of the objective: the last values for sure, and most of the others.

    A bound that is far away would leave no room for the trials: it may lie outside.
    """
    core = np.concatenate([best[-1:], *(_most(values) for values in (best, trials))])
    core = core[np.isfinite(core)]
    if not len(core):
        return padded(_most(bound))
    low, high = core.min(), core.max()
    room = _FARTHEST * (high - low) or np.inf
    bounds = np.append(_most(bound), bound[-1:])
    return padded(np.append(core, np.clip(bounds, low - room, high + room)), 0.12)


def _most(values: Array) -> Array:
    """Two values between which most of the others lie; none if there are none."""
    finite = values[np.isfinite(values)]
    return np.quantile(finite, [_TAIL, 1 - _TAIL]) if len(finite) else finite


def _limit_logarithm(axes: Axes, values: Array) -> None:
    """A logarithmic axis over whole decades for the values above zero."""
    axes.set_yscale("log")
    shown = values[np.isfinite(values) & (values > 0)]
    low, high = (float(shown.min()), float(shown.max())) if len(shown) else (0.1, 1.0)
    axes.set_ylim(10 ** np.floor(np.log10(low) - 0.1), 10 ** np.ceil(np.log10(high) + 0.1))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y", color=BAND, lw=0.6)


# --- sensitivity ----------------------------------------------------------------------------------
# The picture of sensitivity: which variables and black boxes move the objective and the gap.

_MOST_BARS = 15
_LEAST_ROWS = 3
_EFFECT = {"color": "0.35"}
_GAIN = {"facecolor": "white", "edgecolor": "0.35", "hatch": "////"}


def draw_sensitivity(inspection: Inspection, axes: Any = None) -> Figure:
    """Bars of what variables and black boxes do.

    Args:
        inspection: What was learned.
        axes: Three Axes: for the variables, the black boxes, and the parts of the gap.
    """
    problem = inspection.problem
    variables = sorted(variable_influence(inspection), key=lambda v: -v.effect)[:_MOST_BARS]
    boxes = sorted(box_influence(inspection), key=lambda b: -b.effect)[:_MOST_BARS]
    rows = max(len(variables), len(boxes), _LEAST_ROWS)
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
    value = with_unit(problem.objective_name or "objective", problem.objective_unit)
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


# --- slices ---------------------------------------------------------------------------------------
# Pictures of slices: a value along one quantity at a time, through the recommended point.

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
    low, high = _slice_limits(shown)
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


def _slice_limits(slices: Sequence[Slice]) -> tuple[float, float]:
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

"""The charts of a study, each described once: data, axes, marks and caption.

Renderers know how a mark looks, not what it shows: `page/svg.py` writes the first paint and the
report, `matplotlib_charts.py` draws with Matplotlib, and `page.js` zooms into the convergence with
uPlot. The first paint has no Matplotlib: importing it takes about a second, and one of its pictures
as SVG longer than the whole page.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from grisaille.array_types import Array, Flags
from grisaille.errors import ModelError
from grisaille.language.expression import TOO_LARGE
from grisaille.language.problem import Problem
from grisaille.records import History, Trial, TrialKind
from grisaille.study.trial_tables import equality_partners
from grisaille.views.inspection.convergence import Convergence

if TYPE_CHECKING:
    from grisaille.views.inspection.learned_model import LearnedModel
    from grisaille.views.inspection.slices import Slice

# --- description ----------------------------------------------------------------------------------

Shape = Literal["dot", "cross", "square", "diamond"]
"""The shape of a point: crosses mark trouble, and diamonds the best point."""

Direction = Literal["x", "y"]


Place = tuple[float, float]
"""A place in a chart or a drawing of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One axis of a chart.

    Attributes:
        label: The text along it.
        low: The number at its beginning.
        high: The number at its end.
        is_logarithmic: True if equal lengths are equal factors.
        is_whole: True if only whole numbers are written along it.
        names: Words for the positions 0, 1, ..., instead of numbers.
    """

    label: str = ""
    low: float
    high: float
    is_logarithmic: bool = False
    is_whole: bool = False
    names: tuple[str, ...] = ()

    def parts(self, values: Array) -> Array:
        """Return where numbers lie: 0 at the beginning of the axis, 1 at its end."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.is_logarithmic:
                above = np.log(np.maximum(values, 0.0) / self.low)
                return np.asarray(above / np.log(self.high / self.low))
            return (values - self.low) / (self.high - self.low)

    def ticks(self, count: int) -> list[tuple[float, str]]:
        """Return about `count` numbers to write along the axis, with their texts."""
        if self.names:
            return [(float(place), name) for place, name in enumerate(self.names)]
        numbers = self._decades(count) if self.is_logarithmic else self._round_numbers(count)
        return [(number, f"{number:.6g}") for number in numbers]

    def _round_numbers(self, count: int) -> list[float]:
        """Return multiples of 1, 2 or 5 times a power of ten."""
        span = self.high - self.low
        power = 10.0 ** math.floor(math.log10(span / count))
        step = next(f * power for f in (1, 2, 5, 10) if span / (f * power) <= count + 1)
        if self.is_whole:
            step = max(step, 1.0)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [round(k * step, 12 - math.floor(math.log10(step))) for k in range(first, last + 1)]

    def _decades(self, count: int) -> list[float]:
        """Return powers of ten, every few if there are many; round numbers if less than two."""
        first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        if last - first < 1:
            return self._round_numbers(count)
        step = max(1, math.ceil((last - first) / count))
        return [10.0**k for k in range(first, last + 1, step)]


def _corners(run: Sequence[Place]) -> list[Place]:
    """Return the corners of a line that keeps each value until the next one."""
    kept = [run[0], *(point for before, point in pairwise(run) if point[1] != before[1])]
    ends = [*(a for a, _ in kept[1:]), run[-1][0]]
    pairs = zip(kept, ends, strict=True)
    return [corner for (a, b), end in pairs for corner in ((a, b), (end, b))]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Line:
    """A line, broken at NaN. If `is_stepped`, it keeps each value until the next one."""

    look: str
    x: Array
    y: Array
    label: str = ""
    is_stepped: bool = False

    def traced(self, run: list[Place]) -> list[Place]:
        """Return a part of it with the corners that it has."""
        return _corners(run) if self.is_stepped else run


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Area:
    """The area between two lines where both are finite."""

    look: str
    x: Array
    lower: Array
    upper: Array
    label: str = ""
    is_stepped: bool = False

    def traced(self, run: list[Place]) -> list[Place]:
        """Return a part of it with the corners that it has."""
        return _corners(run) if self.is_stepped else run


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Points:
    """Points; NaN is not shown, and what lies beyond the vertical axis is a triangle at its end.

    Attributes:
        look: Their style.
        x: (points,).
        y: (points,), which may be infinite.
        label: Their words in a legend.
        shape: Their shape.
        depth: (points,), how dark each is; None for all alike.
        spread: (points,), how far a bar reaches to both sides of each; None for no bars.
        texts: A text for each, shown under the pointer; empty for none.
        is_open: True if triangles at the end of the axis are hollow.
        is_inside_only: True if points beyond the axis are left out.
    """

    look: str
    x: Array
    y: Array
    label: str = ""
    shape: Shape = "dot"
    depth: Array | None = None
    spread: Array | None = None
    texts: tuple[str, ...] = ()
    is_open: bool = False
    is_inside_only: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Bars:
    """Vertical bars between two numbers."""

    look: str
    x: Array
    lower: Array
    upper: Array
    label: str = ""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Span:
    """All of a chart between two positions on one of its axes."""

    look: str
    along: Direction
    low: float
    high: float
    label: str = ""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rule:
    """A line across a chart at a position on one of its axes."""

    look: str
    along: Direction
    at: float
    label: str = ""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Cells:
    """Cells around a grid of points, from 0 (light) to 1 (dark); struck out if not allowed.

    Attributes:
        x: (columns,).
        y: (rows,).
        shade: (rows, columns).
        allowed: (rows, columns).
    """

    x: Array
    y: Array
    shade: Array
    allowed: Flags


Mark = Line | Area | Points | Bars | Span | Rule | Cells


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Chart:
    """A chart with two axes.

    Attributes:
        title: What it shows, in a sentence, for people who do not see it.
        x: The horizontal axis.
        y: The vertical axis.
        marks: From the lowest to the uppermost.
        caption: How to read it.
        size: Width and height in pixels.
    """

    title: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    caption: str = ""
    size: tuple[int, int] = (640, 300)


def plain(chart: Chart) -> dict[str, Any]:
    """Return a chart as plain data for a script; numbers that JSON lacks are None."""

    def value(held: Any) -> Any:
        if not isinstance(held, np.ndarray):
            return held
        return [number if np.isfinite(number) else None for number in held.tolist()]

    marks = [
        {"kind": type(mark).__name__} | {f.name: value(getattr(mark, f.name)) for f in fields(mark)}
        for mark in chart.marks
    ]
    return {"title": chart.title, "x": asdict(chart.x), "y": asdict(chart.y), "marks": marks}


@dataclass(frozen=True, slots=True)
class ChartConstants:
    """The limits of charts.

    Attributes:
        name: Letters of a name next to an axis. A choice of layout.
        texts: Points that have texts; with more, a browser takes long to draw. A choice of layout.
        tail: Part of the values that may lie outside the axis at either end. A choice of layout.
        farthest: How far a bound may stretch the axis, in parts of the trials. A choice of layout.
        slices: Slices of one picture. A choice of layout.
        nearness: The least nearness of an answer that a slice shows. A choice of layout.
        constraints: Constraints of one chart. A choice of layout.
        outputs: Outputs of one picture of calibration. A choice of layout.
        error: Errors above this many widths of the band are at the edge. A choice of layout.
        trials: Lines of one chart of all trials. A choice of layout.
        variable: Letters of a variable under the chart of all trials. A choice of layout.
    """

    name: int = 32
    texts: int = 200
    tail: float = 0.15
    farthest: float = 1.5
    slices: int = 12
    nearness: float = 0.02
    constraints: int = 8
    outputs: int = 6
    error: float = 3.0
    trials: int = 400
    variable: int = 12


CHARTS = ChartConstants()
_SMALL = (420, 250)


def short(text: str, most: int = CHARTS.name) -> str:
    """Cut a text so that it fits next to an axis."""
    return text if len(text) <= most else text[: most - 1] + "…"


def with_unit(name: str, unit: str | None) -> str:
    """Return a name for an axis, with its unit if there is one."""
    return f"{short(name)}{f' in {unit}' if unit else ''}"


def padded(values: Iterable[float] | Array, margin: float = 0.08) -> tuple[float, float]:
    """Return limits of an axis that leave some room around values; (0, 1) if there are none."""
    finite = np.asarray(values, dtype=float)
    finite = finite[np.isfinite(finite)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    room = margin * (high - low) or 0.1 * abs(high) or 1.0
    return low - room, high + room


def _axis_over(
    values: Array, label: str, *, is_whole: bool = False, logarithmic: bool = False
) -> Axis:
    """Return a horizontal axis that shows numbers with a small margin."""
    if logarithmic:
        low, high = padded(np.log(values), 0.03)
        return Axis(label=label, low=np.exp(low), high=np.exp(high), is_logarithmic=True)
    low, high = padded(values, 0.03)
    return Axis(label=label, low=low, high=high, is_whole=is_whole)


def _decades(label: str, values: Array) -> Axis:
    """Return a logarithmic axis over whole decades for the values above zero."""
    shown = values[np.isfinite(values) & (values > 0)]
    low, high = (float(shown.min()), float(shown.max())) if len(shown) else (0.1, 1.0)
    return Axis(
        label=label,
        low=10 ** np.floor(np.log10(low) - 0.1),
        high=10 ** np.ceil(np.log10(high) + 0.1),
        is_logarithmic=True,
    )


# --- convergence ----------------------------------------------------------------------------------

Against = Literal["trial", "cost"]

# Trials by who chose them: the others were chosen by the strategy.
_FILLING = (TrialKind.INITIAL, TrialKind.RANDOM, TrialKind.OBSERVING)
_GIVEN = (TrialKind.OWN, TrialKind.DATA)

_CONVERGENCE = (
    "Each mark is a trial; crosses violate a constraint, and triangles lie outside the axis. "
    "The solid line is the {best}, the dashed line is the bound, and the gap is between them. "
    "The diamond is the recommended trial."
)


@dataclass(frozen=True)
class Course:
    """All that the charts of convergence show, in the user's sense.

    Attributes:
        went: How the study went.
        sense: 1 if the user minimizes, -1 if the user maximizes.
        objective: Name of the objective, with its unit.
        fun: The value at the recommended point; NaN without one.
        most: The worst that the optimum can be: with noise, the far end of what the bands allow
            at the recommended point; infinite if that is not feasible.
        bound: The final bound; None without one.
        recommended: Position of the recommended trial; negative without one.
        is_believed: True if noise makes the best observed value only the luckiest one.
        against: "trial" for the numbers of the trials, "cost" for the cost of all answers so far.
    """

    went: Convergence
    sense: int
    objective: str
    fun: float
    most: float
    bound: float | None
    recommended: int
    is_believed: bool
    against: Against = "trial"

    @property
    def x(self) -> Array:
        """(trials,)."""
        return self.went.numbers if self.against == "trial" else self.went.cost

    @property
    def ends(self) -> Array:
        """The positions, and two more between which the final value and bound are shown."""
        step = (self.x[-1] - self.x[0]) / max(len(self.x) - 1, 1) or 1.0
        return np.append(self.x, self.x[-1] + step * np.array([0.5, 1.0]))

    @property
    def axis(self) -> Axis:
        """The horizontal axis of all charts of a course."""
        is_trial = self.against == "trial"
        label = "trial" if is_trial else "cost of all answers so far"
        return _axis_over(self.ends if len(self.x) else self.x, label, is_whole=is_trial)

    @cached_property
    def best(self) -> Array:
        """(trials,), the best feasible value so far; with noise, the one that is recommended."""
        return np.full(len(self.x), self.fun) if self.is_believed else self.went.best

    @cached_property
    def gap(self) -> Array:
        """(trials,), the distance between best value and bound."""
        return self.worse_by(self.most if self.is_believed else self.best, self.went.carried_bound)

    @property
    def final_gap(self) -> Array:
        """The gap of the result, (1,)."""
        if self.bound is not None and np.isfinite(self.most):
            return self.worse_by(np.array([self.most]), self.bound)
        return self.gap[-1:]

    @property
    def best_is(self) -> str:
        """The words for the best value."""
        return "recommended (mean)" if self.is_believed else "best feasible"

    def worse_by(self, values: float | Array, reference: float | Array) -> Array:
        """Return how much worse values are than others."""
        return np.asarray(self.sense * (values - reference), dtype=float)


def convergence_chart(course: Course) -> Chart:
    """Describe trials, best value and bound."""
    went, ends = course.went, course.ends
    final = went.carried_bound[-1] if course.bound is None else course.bound
    bound = np.append(went.carried_bound, [final, final])
    value = course.fun if np.isfinite(course.best[-1]) else np.nan
    best = np.append(course.best, [value, value])
    low, high = _limits(best, bound, went.objective)
    between = np.isfinite(best) & np.isfinite(bound) & (course.worse_by(best, bound) >= 0)
    lower, upper = (np.where(between, line, np.nan) for line in (bound, best))
    verb = "minimize" if course.sense == 1 else "maximize"
    marks: list[Mark] = []
    if between.any():
        marks.append(
            Area(look="gap", x=ends, lower=lower, upper=upper, label="gap", is_stepped=True)
        )
    marks.append(Line(look="best", x=ends, y=best, label=course.best_is, is_stepped=True))
    if np.isfinite(bound).any():
        marks.append(Line(look="bound", x=ends, y=bound, label="bound", is_stepped=True))
    best_is = "recommended value" if course.is_believed else "best feasible value"
    return Chart(
        title=f"Best value and bound of {course.objective} over {len(went.numbers)} trials",
        x=course.axis,
        y=Axis(label=f"{course.objective} ({verb})", low=low, high=high),
        marks=(*marks, *_trials(course, went.objective)),
        caption=_CONVERGENCE.format(best=best_is),
    )


def distance_chart(course: Course) -> Chart:
    """Describe how far trials, best value and gap are from the final bound or the best value."""
    went = course.went
    worst = course.worse_by(went.objective[went.feasible], course.fun).max(initial=0.0)
    # A bound that is farther away than all trials would make them look alike.
    is_bounded = course.bound is not None and bool(course.final_gap <= worst)
    reference = course.bound if is_bounded and course.bound is not None else course.fun
    distance = course.worse_by(went.objective, reference)
    best = course.worse_by(course.best, reference)
    shown = [best, distance[went.feasible], *([course.gap] if is_bounded else [])]
    lines: list[Mark] = [
        Line(look="best", x=course.x, y=_above_zero(best), label=course.best_is, is_stepped=True)
    ]
    if is_bounded:
        gap = _above_zero(course.gap)
        lines.append(Line(look="bound", x=course.x, y=gap, label="gap known then", is_stepped=True))
    what = "final bound" if is_bounded else "best value"
    return Chart(
        title=f"Distances of {course.objective} to the {what}, on a logarithmic axis",
        x=course.axis,
        y=_decades(f"{course.objective}:\ndistance to the {what}", np.concatenate(shown)),
        marks=(*lines, *_trials(course, np.where(distance > 0, distance, -np.inf))),
    )


def gap_chart(course: Course) -> Chart | None:
    """Describe the gap on a logarithmic axis; None while there is none."""
    if not np.isfinite(course.gap).any():
        return None
    ends, gap = course.ends, np.concatenate([course.gap, course.final_gap, course.final_gap])
    made = np.isfinite(course.went.bound) & (course.gap > 0)
    axis = _decades("gap", gap)
    points = [
        Points(look=look, x=course.x, y=_where(own, course.gap), label=label, shape="square")
        for look, own, label in (
            ("proof", made & course.went.certified, "bound certified"),
            ("guess", made & ~course.went.certified, "bound estimated"),
        )
        if own.any()
    ]
    if (gap <= 0).any():
        below = np.where(gap <= 0, 0.1 * axis.low, np.nan)
        points.append(Points(look="closed", x=ends, y=below, label="gap closed"))
    return Chart(
        title="Gap between best value and bound, on a logarithmic axis",
        x=course.axis,
        y=axis,
        marks=(
            Line(look="best", x=ends, y=_above_zero(gap), label="gap", is_stepped=True),
            *points,
        ),
        caption="The gap between best value and bound.",
        size=(640, 180),
    )


def violation_chart(course: Course) -> Chart | None:
    """Describe the violations on a logarithmic axis; None if there are none."""
    went = course.went
    if went.feasible.all():
        return None
    return Chart(
        title="Violations of trials, on a logarithmic axis",
        x=course.axis,
        y=_decades("violation", went.violation),
        marks=(_crosses(course, _where(~went.feasible, went.violation)),),
        size=(640, 180),
    )


def _trials(course: Course, values: Array) -> list[Mark]:
    """Return a mark for each trial: the shape says if it is feasible, the look who chose it."""
    went = course.went
    filling = np.array([kind in _FILLING for kind in went.kinds], dtype=bool)
    given = np.array([kind in _GIVEN for kind in went.kinds], dtype=bool)
    groups: tuple[tuple[str, str, Flags, Shape], ...] = (
        ("initial", "initial or random", filling, "dot"),
        ("own", "own point or data", given, "square"),
        ("chosen", "chosen", ~filling & ~given, "dot"),
    )
    texts: tuple[str, ...] = ()
    if len(values) <= CHARTS.texts:
        rows = zip(went.numbers, went.kinds, went.objective, strict=True)
        texts = tuple(f"trial {place:.0f}, {kind}: {value:.6g}" for place, kind, value in rows)
    marks: list[Mark] = [
        Points(
            look=look,
            x=course.x,
            y=_where(own & went.feasible, values),
            label=label,
            shape=shape,
            texts=texts,
        )
        for look, label, own, shape in groups
        if (own & went.feasible).any()
    ]
    if not went.feasible.all():
        marks.append(_crosses(course, _where(~went.feasible, values), texts))
    if course.recommended >= 0:
        there = np.arange(len(values)) == course.recommended
        marks.append(
            Points(
                look="recommended",
                x=course.x,
                y=_where(there, values),
                label="recommended trial",
                shape="diamond",
                is_inside_only=True,
            )
        )
    return marks


def _crosses(course: Course, values: Array, texts: tuple[str, ...] = ()) -> Points:
    return Points(
        look="infeasible",
        x=course.x,
        y=values,
        label="infeasible",
        shape="cross",
        texts=tuple(f"{text}, infeasible" for text in texts),
        is_open=True,
    )


def _where(flags: Flags, values: Array) -> Array:
    """Return values where a flag is set; NaN elsewhere."""
    return np.where(flags, values, np.nan)


def _above_zero(values: Array) -> Array:
    """Return values for a logarithmic axis: NaN where there is no logarithm."""
    return np.where(values > 0, values, np.nan)


def _limits(best: Array, bound: Array, trials: Array) -> tuple[float, float]:
    """Return limits of the objective: the last values for sure, and most of the others.

    A bound that is far away would leave no room for the trials: it may lie outside.
    """
    core = np.concatenate([best[-1:], *(_most(values) for values in (best, trials))])
    core = core[np.isfinite(core)]
    if not len(core):
        return padded(_most(bound))
    low, high = core.min(), core.max()
    room = CHARTS.farthest * (high - low) or np.inf
    bounds = np.append(_most(bound), bound[-1:])
    return padded(np.append(core, np.clip(bounds, low - room, high + room)), 0.12)


def _most(values: Array) -> Array:
    """Return two values between which most of the others lie; none if there are none."""
    finite = values[np.isfinite(values)]
    return np.quantile(finite, [CHARTS.tail, 1 - CHARTS.tail]) if len(finite) else finite


# --- constraints ----------------------------------------------------------------------------------


def constraint_chart(name: str, numbers: Array, slack: Array) -> Chart | None:
    """Describe the slack of one constraint by trial: positive where it is met.

    Args:
        name: The constraint.
        numbers: Numbers of the trials.
        slack: The slack in each.
    """
    slack = np.where(np.isfinite(slack), slack, np.nan)
    if np.isnan(slack).all():
        return None
    low, high = padded([*slack, 0.0], 0.05)
    met = slack >= 0
    return Chart(
        title=f"Slack of {name} by trial; negative where it is violated",
        x=_axis_over(numbers, "trial", is_whole=True),
        y=Axis(label="slack", low=low, high=high),
        marks=(
            Rule(look="limit", along="y", at=0.0),
            Points(look="chosen", x=numbers, y=_where(met, slack)),
            Points(look="infeasible", x=numbers, y=_where(~met, slack), shape="cross"),
        ),
        size=(320, 150),
    )


def constraints_chart(problem: Problem, history: History, recommended: int) -> Chart:
    """Describe the slack of each constraint over the trials, in parts of its size.

    Args:
        problem: The problem.
        history: The trials.
        recommended: Position of the recommended trial; negative without one.

    Raises:
        ModelError: There is no constraint, or no trial.
    """
    if not problem.constraints:
        raise ModelError("plot_constraints: the problem has no constraints, so there is no slack")
    if recommended < 0:
        raise ModelError("plot_constraints: no trial is complete, so there is no slack to draw")
    names, slacks = _slacks(problem, history)
    tightness = np.nan_to_num(slacks[recommended], nan=-np.inf)
    order = np.argsort(tightness, kind="stable")[: CHARTS.constraints]
    x = np.array([trial.number for trial in history], dtype=float)
    shown = slacks[:, order]
    finite = shown[np.isfinite(shown)]
    ends = np.quantile(finite if len(finite) else np.zeros(1), [0.05, 0.95])
    low, high = padded(np.append(ends, [0.0, 0.05]), 0.15)
    marks: list[Mark] = [
        Span(look="met", along="y", low=0.0, high=high, label="met"),
        Rule(look="limit", along="y", at=0.0),
        Rule(look="here", along="x", at=float(x[recommended]), label="recommended trial"),
    ]
    for place, k in reversed(list(enumerate(order))):
        look, slack = f"constraint{place}", slacks[:, k]
        label = short(names[k]) + ("" if place else " (tightest)")
        marks += [
            Line(look=look, x=x, y=np.clip(slack, low, high), label=label),
            Points(look=look, x=x, y=_where(slack >= 0, slack)),
            Points(look=look, x=x, y=_where(slack < 0, slack), is_open=True),
        ]
    hidden = len(names) - len(order)
    more = f"\n({hidden} constraints with more room are left out)" if hidden else ""
    return Chart(
        title=f"Slack of {len(order)} constraints over {len(x)} trials",
        x=_axis_over(x, "trial", is_whole=True),
        y=Axis(label=f"slack, in parts of its size{more}", low=low, high=high),
        marks=tuple(marks),
    )


def _slacks(problem: Problem, history: History) -> tuple[list[str], Array]:
    """Return names of the constraints, and their slacks (trials, constraints) by size.

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


# --- slices ---------------------------------------------------------------------------------------

_SLICE = (
    "The line is the prediction, the grey area its band, and dots are trials, the paler the "
    "farther they are from the slice. The diamond is the best point. Stretches where the bands "
    "exclude a feasible point are shaded."
)


def most_telling(slices: Sequence[Slice]) -> list[Slice]:
    """Return the slices with the largest effect, in their order."""
    effects = [-float(np.ptp(piece.mean)) for piece in slices]
    chosen = np.sort(np.argsort(effects, kind="stable")[: CHARTS.slices])
    return [slices[int(place)] for place in chosen]


def slice_limits(slices: Sequence[Slice]) -> tuple[float, float]:
    """Return limits that show all predictions, and bands as far as they leave these readable."""
    means = np.concatenate([piece.mean for piece in slices])
    ends = np.concatenate([np.append(piece.lower, piece.upper) for piece in slices])
    low, high = float(means.min()), float(means.max())
    room = (high - low) or np.inf
    return padded(np.append(means, np.clip(ends, low - room, high + room)))


def slice_charts(slices: Sequence[Slice], unit: str | None = None) -> list[Chart]:
    """Describe slices over the same vertical axis.

    Args:
        slices: The slices that are shown.
        unit: The unit of their value.
    """
    limits = slice_limits(slices) if slices else (0.0, 1.0)
    return [_slice_chart(piece, limits, unit) for piece in slices]


def _slice_chart(piece: Slice, limits: tuple[float, float], unit: str | None) -> Chart:
    at, low, high = piece.positions, piece.lower, piece.upper
    marks: list[Mark] = [
        Span(look="hopeless", along="x", low=start, high=end, label="infeasible by the bands")
        for start, end in _stretches(piece)
    ]
    label = with_unit(piece.along, piece.unit)
    if piece.labels:
        names = tuple(short(name) for name in piece.labels)
        x = Axis(label=label, low=-0.6, high=len(names) - 0.4, names=names)
        marks.append(Bars(look="band", x=at, lower=low, upper=high, label="band"))
        marks.append(Points(look="level", x=at, y=piece.mean, label="prediction"))
    else:
        x = _axis_over(at, label, logarithmic=piece.is_logarithmic)
        marks.append(Area(look="band", x=at, lower=low, upper=high, label="band"))
        marks.append(Line(look="mean", x=at, y=piece.mean, label="prediction"))
    near = piece.nearness >= CHARTS.nearness
    order = np.argsort(at)
    height = np.interp(piece.at, at[order], piece.mean[order])
    answers = Points(
        look="answer",
        x=piece.seen[near, 0],
        y=piece.seen[near, 1],
        label="answer (pale: far off)",
        depth=0.15 + 0.85 * piece.nearness[near],
        texts=tuple(f"{value:.6g}" for value in piece.seen[near, 1]),
    )
    here = Points(
        look="recommended",
        x=np.array([piece.at]),
        y=np.array([height]),
        label="recommended point",
        shape="diamond",
        is_inside_only=True,
    )
    return Chart(
        title=f"{piece.value} along {piece.along}: prediction, band and answers",
        x=x,
        y=Axis(label=with_unit(piece.value, unit), low=limits[0], high=limits[1]),
        marks=(*marks, answers, here),
        caption=_SLICE,
        size=_SMALL,
    )


def _stretches(piece: Slice) -> list[tuple[float, float]]:
    """Return where no point can meet all constraints, with half of the way to the next ones."""
    flags = np.concatenate([[0], (~piece.may_be_feasible).astype(int), [0]])
    edges = np.flatnonzero(np.diff(flags))
    runs = [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    at, last = piece.positions, len(piece.positions) - 1
    if piece.labels:
        return [(at[start] - 0.5, at[end] + 0.5) for start, end in runs]
    return [
        (0.5 * (at[max(start - 1, 0)] + at[start]), 0.5 * (at[end] + at[min(end + 1, last)]))
        for start, end in runs
    ]


# --- calibration ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """The answers of one output, and what all others predict of each.

    Attributes:
        name: The words for the output.
        answers: (answers,).
        mean: (answers,), what the others predict of each.
        deviation: (answers,), the standard deviation of this prediction.
        width: How far the band reaches, in deviations.
    """

    name: str
    answers: Array
    mean: Array
    deviation: Array
    width: float

    @property
    def errors(self) -> Array:
        """(answers,), in deviations."""
        return np.asarray((self.answers - self.mean) / self.deviation)

    @property
    def outside(self) -> Flags:
        """(answers,), True where an answer is outside its band."""
        return np.abs(self.errors) > self.width

    @property
    def worst(self) -> float:
        """The largest error in widths of the band."""
        known = np.abs(self.errors[np.isfinite(self.errors)])
        return float(known.max(initial=0.0)) / self.width


def calibrations(model: LearnedModel, outputs: Sequence[str]) -> list[Calibration]:
    """Return the leave-one-out predictions of some outputs of a black box.

    Raises:
        ModelError: The model has no such predictions.
    """
    box, table, widths = model.box.name, model.leave_one_out(), model.band_widths
    return [
        Calibration(
            box if name == box else f"{box}: {name}",
            table[name].to_numpy(),
            table[f"{name} mean"].to_numpy(),
            table[f"{name} deviation"].to_numpy(),
            float(widths[name]),
        )
        for name in outputs
    ]


def calibration_chart(row: Calibration) -> Chart:
    """Describe predictions with their bands against answers; on the diagonal they agree."""
    if not len(row.answers):
        raise ModelError(f"{row.name} has no answer yet")
    low, high = padded(np.append(row.answers, row.mean))
    ends = np.array([low, high])
    return Chart(
        title=f"Answers of {row.name} against what the other answers predict",
        x=Axis(label="answered", low=low, high=high),
        y=Axis(label="predicted without it", low=low, high=high),
        marks=(
            Line(look="limit", x=ends, y=ends, label="predicted = answered"),
            *_groups(row, row.answers, row.mean, row.width * row.deviation),
        ),
        caption="Each answer against what the others predict of it, with its band. "
        "Crosses lie outside.",
        size=_SMALL,
    )


def error_chart(row: Calibration) -> Chart:
    """Describe errors in deviations, in the order of the answers."""
    number = np.arange(1, len(row.answers) + 1, dtype=float)
    known = np.abs(row.errors[np.isfinite(row.errors)])
    largest = CHARTS.error * row.width
    most = min(max(float(known.max(initial=0.0)), row.width), largest) * 1.15
    return Chart(
        title=f"Errors of the predictions of {row.name}",
        x=_axis_over(number, "answer", is_whole=True),
        y=Axis(label="error in deviations", low=-most, high=most),
        marks=(
            Span(look="band", along="y", low=-row.width, high=row.width, label="band"),
            Rule(look="limit", along="y", at=0.0),
            *_groups(row, number, row.errors, None),
        ),
        size=_SMALL,
    )


def _groups(row: Calibration, x: Array, y: Array, spread: Array | None) -> list[Points]:
    """Return the answers inside and outside their bands."""
    groups: tuple[tuple[str, Flags, str, Shape], ...] = (
        ("answer", ~row.outside, "inside its band", "dot"),
        ("outside", row.outside, "outside its band", "cross"),
    )
    return [
        Points(
            look=look,
            x=x[own],
            y=y[own],
            label=label,
            shape=shape,
            spread=None if spread is None else spread[own],
            texts=tuple(f"{value:.6g}" for value in row.answers[own]),
            is_open=shape == "cross",
        )
        for look, own, label, shape in groups
        if own.any()
    ]


# --- all trials -----------------------------------------------------------------------------------


def contour_chart(
    better: Array, feasible: Flags, x: Array, y: Array, names: Sequence[str], best: Sequence[float]
) -> Chart:
    """Describe the minimized objective over two entries, (rows, columns): dark is good."""
    ranks = better.ravel().argsort().argsort().reshape(better.shape) / max(better.size - 1, 1)
    here = Points(
        look="recommended",
        x=np.array([best[0]]),
        y=np.array([best[1]]),
        shape="diamond",
        is_inside_only=True,
    )
    across, up = padded([*x, best[0]], 0.02), padded([*y, best[1]], 0.05)
    return Chart(
        title=f"Predicted objective over {names[0]} and {names[1]}: darker is better",
        x=Axis(label=names[0], low=across[0], high=across[1]),
        y=Axis(label=names[1], low=up[0], high=up[1]),
        marks=(Cells(x=x, y=y, shade=1 - ranks, allowed=feasible), here),
        caption="The darker, the better the predicted objective. The diamond is the best point."
        + ("" if feasible.all() else " Struck-out cells have no feasible point by the bands."),
        size=(520, 420),
    )


def parallel_chart(
    trials: Sequence[Trial], names: Sequence[str], lower: Array, upper: Array
) -> Chart | None:
    """Describe all trials over all entries of the design point; the best ones are darkest."""
    trials = [trial for trial in trials if len(trial.x) == len(names)][-CHARTS.trials :]
    if not trials or not names:
        return None
    span = np.where(upper > lower, upper - lower, 1.0)
    order = sorted(trials, key=lambda t: (t.violation > 0, t.objective), reverse=True)
    x = np.arange(len(names), dtype=float)
    marks: list[Mark] = []
    for rank, trial in enumerate(order):
        heights = (trial.x - lower) / span
        look = "infeasible-line" if trial.violation > 0 else f"rank{10 * rank // len(order)}"
        marks.append(Line(look=look, x=x, y=heights))
        if len(names) == 1:
            marks.append(Points(look=look, x=x, y=heights))
    return Chart(
        title=f"{len(trials)} trials over {len(names)} variables, each from its lower to its "
        "upper bound",
        x=Axis(
            low=-0.5,
            high=len(names) - 0.5,
            names=tuple(short(name, CHARTS.variable) for name in names),
        ),
        y=Axis(label="from lower to upper bound", low=-0.05, high=1.05),
        marks=tuple(marks),
        caption="Each line is a trial, from the lower to the upper bound of each variable. Dark "
        "lines are good, dotted ones violate a constraint.",
        size=(max(640, min(1400, 90 * len(names))), 280),
    )

"""Figures of a comparison: greys and dashes for the rivals, one colour for the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grisaille.lab.comparison.run import (
    Group,
    Results,
    quantile,
    seconds_per_suggestion,
    suggesting_seconds,
)
from grisaille.lab.comparison.run_folder import file_name
from grisaille.lab.comparison.tables import (
    COMPARISON,
    data_profile,
    performance_profile,
    solution_times,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


# --- figure style ---------------------------------------------------------------------------------
# The style of figures: lines, labels beside them, axes and legends.

# Distance between labels, as a part of the height of the axes.
_APART = 0.058


@dataclass(frozen=True, slots=True)
class Style:
    """How a strategy's line looks.

    Attributes:
        color: As matplotlib has it.
        dashes: Lengths of dash, gap, dash, gap ... in line widths; none for a solid line.
        width: Of the line.
        shade: How dark its band is.
    """

    color: str
    dashes: tuple[float, ...] = ()
    width: float = 1.3
    shade: float = 0.06

    @property
    def line(self) -> dict[str, Any]:
        """Arguments of `Axes.plot`."""
        return {"color": self.color, "linestyle": (0, self.dashes), "lw": self.width}


_ACCENT = Style("#b3202a", width=2.2, shade=0.18)
_GREYS = (
    Style("0.0"),
    Style("0.7", (4, 1.5), 1.5),
    Style("0.35", (6, 1.5, 1, 1.5)),
    Style("0.45", (2.5, 1)),
    Style("0.55", width=1.6),
    Style("0.6", (1, 1)),
    Style("0.65", (6, 3)),
    Style("0.2", (1, 2)),
    Style("0.25", (8, 2, 2, 2, 2, 2)),
    Style("0.7", (4, 1, 1, 1)),
)


def style_of(name: str, order: Sequence[str], reference: str) -> Style:
    """The style of a strategy: the same in every figure of a comparison.

    Args:
        name: The strategy.
        order: All of them.
        reference: The one in colour.
    """
    if name == reference:
        return _ACCENT
    rivals = [n for n in order if n != reference]
    # A strategy that is no longer compared gets a style that another one has too.
    place = rivals.index(name) if name in rivals else len(rivals)
    return _GREYS[place % len(_GREYS)]


def label_lines(axes: Axes, ends: Mapping[str, float], styles: Mapping[str, Style]) -> None:
    """Write each line's name beside its right end, without overlaps.

    Args:
        axes: Where the lines are, with a logarithmic vertical axis.
        ends: The value that each line ends with; nan if there is none.
        styles: The looks of the lines.
    """
    low, high = np.log(axes.get_ylim())
    known = {name: (np.log(end) - low) / (high - low) for name, end in ends.items() if end == end}
    known |= {name: 1.0 for name, end in ends.items() if end != end}
    names = sorted(known, key=known.__getitem__)
    for name, place in zip(names, spread([known[n] for n in names], _APART), strict=True):
        style, found = styles[name], ends[name] == ends[name]
        text = name if found else f"{name} (nothing feasible)"
        if found:
            axes.plot(
                [1.0, 1.035],
                [known[name], place],
                transform=axes.transAxes,
                color="0.7",
                lw=0.5,
                clip_on=False,
            )
        axes.plot(
            [1.045, 1.105], [place, place], transform=axes.transAxes, clip_on=False, **style.line
        )
        axes.text(
            1.12,
            place,
            text,
            transform=axes.transAxes,
            fontsize=8,
            va="center",
            color=style.color if style is _ACCENT else "black",
        )


def spread(places: Sequence[float], apart: float) -> list[float]:
    """Rising positions moved as little as is needed to keep a distance, and below 1.

    The nearest positions with p_{i+1} - p_i >= apart in the sense of least squares: without the
    distance, i * apart taken off, it is isotonic regression.
    """
    blocks: list[tuple[float, int]] = []
    for number, place in enumerate(places):
        blocks.append((place - number * apart, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (first, many), (second, few) = blocks[-2:]
            mean = (first * many + second * few) / (many + few)
            blocks[-2:] = [(mean, many + few)]
    levels = [level for level, size in blocks for _ in range(size)]
    most = 1 - apart * (len(levels) - 1)
    return [min(level, most) + number * apart for number, level in enumerate(levels)]


def tidy_regret_axis(axes: Axes, regrets: Array) -> None:
    """A logarithmic axis that fits some regrets, with labels also where it spans little."""
    axes.set_yscale("log")
    axes.spines[["top", "right"]].set_visible(False)
    finite = regrets[np.isfinite(regrets)]
    if not len(finite):
        axes.set_ylim(0.1, 1)
        return
    low, high = finite.min() / 1.5, finite.max() * 1.5
    axes.set_ylim(low, high)
    label_logarithms(axes.yaxis, low, high)


def label_logarithms(axis: Axis, low: float, high: float) -> None:
    """Write plain numbers on a logarithmic axis that spans little."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if high / low < 300:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def legend(figure: Figure, styles: Mapping[str, Style]) -> None:
    """Names of all lines, above a figure."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=name, **style.line) for name, style in styles.items()]
    rows = -(-len(handles) // int(figure.get_size_inches()[0] / 1.4))
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=-(-len(handles) // rows),
        frameon=False,
        fontsize=8,
        handlelength=3.2,
    )


# --- figures --------------------------------------------------------------------------------------

Array = NDArray[np.float64]
Lines = tuple[Array, Array, Array, Array]
"""Positions, and lower quartile, median and upper quartile there."""

_COLUMNS = 4
# Suggestions quicker than this many seconds are not drawn against time.
_AT_ONCE = 1e-3
_TOLERANCES = (1e-1, COMPARISON.solved)


def draw(results: Results, order: Sequence[str], folder: Path) -> list[Path]:
    """Draw all figures; returns the files.

    Args:
        results: The runs.
        order: Strategies in the order of legends.
        folder: Where to save them.
    """
    problems = _drawn(results)
    if not problems:
        return []
    styles = {
        name: style_of(name, order, results.reference) for name in results.strategies_of_all(order)
    }
    saved = [_draw_problem(results, problem, styles, folder) for problem in problems]
    return [
        _draw_page(results, styles, folder),
        *_draw_profiles(results, styles, folder),
        *saved,
    ]


def draw_regret(results: Results, order: Sequence[str], path: Path) -> None:
    """Draw one figure: of one problem in detail, or of several in small panels.

    Args:
        results: The runs; at least one did not fail.
        order: Strategies in the order of legends.
        path: The file to save it to.
    """
    styles = {
        name: style_of(name, order, results.reference) for name in results.strategies_of_all(order)
    }
    problems = _drawn(results)
    one = len(problems) == 1
    figure = _problem_figure(results, problems[0], styles) if one else _page(results, styles)
    figure.savefig(path, dpi=150)


def _drawn(results: Results) -> list[str]:
    """Problems with a run that did not fail."""
    return [p for p in results.problems if results.strategies([], [p])]


def over_evaluations(group: Group) -> Lines:
    """Quartiles of the regret after each evaluation, the initial design at 0."""
    low, middle, high = (quantile(group.curves, q) for q in (0.25, 0.5, 0.75))
    return np.arange(len(middle), dtype=float), low, middle, high


def over_seconds(group: Group) -> Lines:
    """Quartiles of the regret at moments of suggesting, as far as the median run goes."""
    clocks = [np.cumsum(suggesting_seconds(run)) for run in group.runs]
    end = float(np.median([clock[-1] for clock in clocks]))
    start = max(float(np.median([clock[0] for clock in clocks])), 1e-4)
    moments = np.geomspace(start, max(end, start), 200)
    regrets = np.array(
        [
            curve[np.searchsorted(clock, moments, side="right")]
            for clock, curve in zip(clocks, group.curves, strict=True)
        ]
    )
    low, middle, high = (quantile(regrets, q) for q in (0.25, 0.5, 0.75))
    return moments, low, middle, high


def _draw_problem(
    results: Results, problem: str, styles: Mapping[str, Style], folder: Path
) -> Path:
    path = folder / f"regret_{file_name(problem)}.png"
    _problem_figure(results, problem, styles).savefig(path, dpi=150)
    return path


def _problem_figure(results: Results, problem: str, styles: Mapping[str, Style]) -> Figure:
    """Draw one problem: regret against evaluations, and against time."""
    from matplotlib.ticker import MaxNLocator

    from grisaille.views.matplotlib_charts import NotebookFigure

    figure = NotebookFigure(figsize=(9.6, 4.0))
    left, right = figure.subplots(1, 2, sharey=True)
    # Clear of the labels, which lie between the panels.
    figure.subplots_adjust(left=0.075, right=0.985, top=0.9, bottom=0.13, wspace=0.5)
    names = results.strategies(list(styles), [problem])
    # Those that draw points would stretch the axis over decades in which nothing happens.
    slow = [n for n in names if _seconds(results.group(problem, n)) > _AT_ONCE] or names
    _plot(right, results, problem, slow, styles, over_seconds, bands=True)
    lines = _plot(left, results, problem, names, styles, over_evaluations, bands=True)
    right.set_xscale("log")
    label_logarithms(right.xaxis, *right.get_xlim())
    right.tick_params(labelleft=True)
    left.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    left.set_xlabel("evaluations after the initial design")
    right.set_xlabel("seconds of suggesting in all (those above 1 ms each)")
    left.set_ylabel("regret")
    seeds = max(len(results.group(problem, name).runs) for name in lines)
    figure.suptitle(f"{problem}: median of {seeds} seeds, and quartiles", fontsize=10)
    label_lines(left, {name: values[-1] for name, values in lines.items()}, styles)
    return figure


def _draw_page(results: Results, styles: Mapping[str, Style], folder: Path) -> Path:
    path = folder / "regret.png"
    _page(results, styles).savefig(path, dpi=150)
    return path


def _page(results: Results, styles: Mapping[str, Style]) -> Figure:
    """Draw every problem in a small panel."""
    from grisaille.views.matplotlib_charts import NotebookFigure

    problems = _drawn(results)
    kinds = {p: kind for kind, members in results.structures.items() for p in members}
    columns = min(_COLUMNS, len(problems))
    rows = -(-len(problems) // columns)
    figure = NotebookFigure(figsize=(2.7 * columns + 0.4, 2.15 * rows + 0.7), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for cell in axes.flat[len(problems) :]:
        cell.set_visible(False)
    for cell, problem in zip(axes.flat, problems, strict=False):
        names = results.strategies(list(styles), [problem])
        _plot(cell, results, problem, names, styles, over_evaluations, bands=False)
        cell.set_title(f"{problem} ({kinds[problem]})", fontsize=8)
        cell.tick_params(which="both", labelsize=7)
    figure.supxlabel("evaluations after the initial design", fontsize=9)
    figure.supylabel("median regret", fontsize=9)
    legend(figure, styles)
    return figure


def _plot(
    axes: Axes,
    results: Results,
    problem: str,
    names: Sequence[str],
    styles: Mapping[str, Style],
    lines_of: Callable[[Group], Lines],
    bands: bool,
) -> dict[str, Array]:
    """Median regrets on one problem; returns those that are drawn, by strategy."""
    drawn, ends = {}, []
    for name in _reference_on_top(results, names):
        group, style = results.group(problem, name), styles[name]
        positions, *quartiles = lines_of(group)
        low, middle, high = (_visible(values, group.resolution) for values in quartiles)
        axes.plot(positions, middle, **style.line)
        if bands:
            # A quartile without a feasible point has no end: the band goes to the edge.
            top = np.where(np.isnan(high) & ~np.isnan(low), 1e30, high)
            axes.fill_between(positions, low, top, color=style.color, alpha=style.shade, lw=0)
        drawn[name] = middle
        ends += [positions[0], positions[-1]]
    tidy_regret_axis(axes, np.concatenate(list(drawn.values())))
    axes.set_xlim(min(ends), 1.001 * max(ends))
    return drawn


def _reference_on_top(results: Results, names: Sequence[str]) -> list[str]:
    """In the order to draw: the one in colour comes last."""
    return sorted(names, key=lambda name: name == results.reference)


def _seconds(group: Group) -> float:
    return float(np.median([seconds_per_suggestion(run) for run in group.runs]))


def _visible(regrets: Array, least: float) -> Array:
    """Regrets as a logarithmic axis can show them."""
    return np.where(np.isfinite(regrets), np.maximum(regrets, least), np.nan)


def _draw_profiles(results: Results, styles: Mapping[str, Style], folder: Path) -> list[Path]:
    """Data and performance profiles, one row for each kind of problem and one for all."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    kinds = dict(results.structures)
    if len(kinds) > 1:
        kinds["all"] = results.problems
    rows = {
        kind: (problems, names)
        for kind, problems in kinds.items()
        if len(names := results.strategies(list(styles), problems)) > 1
    }
    if not rows:
        return []
    figure = Figure(figsize=(10.2, 2.5 * len(rows) + 0.7), layout="constrained")
    grid = figure.subplots(len(rows), len(_TOLERANCES) + 1, squeeze=False, sharey=True)
    for cells, (kind, (problems, names)) in zip(grid, rows.items(), strict=True):
        most = max(r.evaluations for p in problems for r in results.of(p))
        evaluations = np.arange(most + 1, dtype=float)
        for cell, tau in zip(cells, _TOLERANCES, strict=False):
            times = solution_times(results, problems, names, tau)
            for name in _reference_on_top(results, names):
                shares = data_profile(times[name], evaluations)
                cell.step(evaluations, shares, where="post", **styles[name].line)
            cases = len(times[names[0]])
            cell.set_title(f"{kind}: {tau:.0%} of the regret left ({cases} cases)", fontsize=8)
            cell.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        ratios = np.geomspace(1, max(2, len(evaluations) - 1), 300)
        relative = performance_profile(times, ratios)
        for name in _reference_on_top(results, names):
            cells[-1].step(ratios, relative[name], where="post", **styles[name].line)
        cells[-1].set_xscale("log")
        label_logarithms(cells[-1].xaxis, ratios[0], ratios[-1])
        cells[-1].set_title(
            f"{kind}: {_TOLERANCES[-1]:.0%} of the regret left ({cases} cases)", fontsize=8
        )
        cells[0].set_ylim(-0.02, 1.02)
        for cell in cells:
            cell.tick_params(labelsize=7)
            cell.spines[["top", "right"]].set_visible(False)
    for cell in grid[-1][:-1]:
        cell.set_xlabel("evaluations after the initial design", fontsize=8)
    grid[-1][-1].set_xlabel("multiple of what the quickest needs", fontsize=8)
    figure.supylabel("share of cases solved", fontsize=9)
    legend(figure, styles)
    path = folder / "profiles.png"
    figure.savefig(path, dpi=150)
    return [path]

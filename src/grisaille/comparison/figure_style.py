"""The style of figures: lines, labels beside them, axes and legends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

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

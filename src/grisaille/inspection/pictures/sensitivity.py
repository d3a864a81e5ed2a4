"""The picture of sensitivity: which variables and black boxes move the objective and the gap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from grisaille.inspection.influence import box_influence, variable_influence
from grisaille.inspection.inspection import Inspection
from grisaille.inspection.pictures.panels import panels_for, plain, say, short, with_unit

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

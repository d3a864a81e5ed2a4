"""The picture of constraints: how much room each leaves, trial by trial."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from grisaille.array_types import Array
from grisaille.errors import ModelError
from grisaille.inspection.pictures.panels import (
    ACCENT,
    mark_outside,
    padded,
    panels_for,
    plain,
    short,
)
from grisaille.language.constraint import TOO_LARGE
from grisaille.language.problem import Problem
from grisaille.records import History
from grisaille.reporting.constraint_table import equality_partners

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

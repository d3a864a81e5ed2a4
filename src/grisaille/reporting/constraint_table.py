"""The constraints of a problem side by side, each with its slack in its own unit."""

from __future__ import annotations

import numpy as np

from grisaille.array_types import Array
from grisaille.language.problem import Problem
from grisaille.records import History

# More constraints than this are left to tables; the tightest ones are shown.
_MOST_LINES = 8
# Longer formulas are cut, so that a line of the table fits into a terminal.
_LONGEST_NAME = 44
# A constraint counts as active if its slack is at most this part of its size over the trials.
_ACTIVE = 0.01


def tightness(constraints: Array, history: History) -> Array:
    """Constraint bodies (K,) in parts of their sizes over the trials: comparable across units."""
    with np.errstate(over="ignore", invalid="ignore"):  # bodies may be infinite
        sizes = history.constraint_sizes()
        usable = np.isfinite(sizes) & (sizes > 0)
        scaled = constraints / np.where(usable, sizes, 1.0)
    return np.nan_to_num(scaled, nan=np.inf, posinf=np.inf, neginf=-np.inf)


def constraint_lines(problem: Problem, constraints: Array, history: History) -> list[str]:
    """A table of the constraints at a point: slack, unit, and what is remarkable.

    Args:
        problem: The problem.
        constraints: The bodies at the point, (K,), met when <= 0.
        history: The trials.
    """
    tight = tightness(constraints, history)
    tolerances = problem.tolerances
    names, units = problem.constraint_names, problem.constraint_units
    chosen = np.sort(np.argsort(-tight, kind="stable")[:_MOST_LINES])
    rows = []
    for k in map(int, chosen):
        slack = -(constraints[k] + tolerances[k]) + 0.0  # no negative zero
        name = names[k]
        name = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 3] + "..."
        amount = f"{slack:.4g}{f' {units[k]}' if units[k] else ''}"
        rows.append((name, amount, _remark(constraints[k], slack, tight[k], tolerances[k])))
    wide = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [
        f"{name:<{wide[0]}}  slack {amount:<{wide[1]}}  {remark}".rstrip()
        for name, amount, remark in rows
    ]
    if len(constraints) > _MOST_LINES:
        lines.append(f"and {len(constraints) - _MOST_LINES} more, which are less tight")
    return lines


def _remark(body: float, slack: float, tight: float, tolerance: float) -> str:
    remarks = []
    if not body <= 0:
        remarks.append("violated")
    elif slack < 0:
        remarks.append("met within its tolerance")
    elif tight >= -_ACTIVE:
        remarks.append("active")
    if tolerance > 0:
        remarks.append(f"tolerance {tolerance:g}")
    return ", ".join(remarks)

"""The constraints of a problem side by side, each with its slack in its own unit."""

from __future__ import annotations

import numpy as np

from grisaille.array_types import Array
from grisaille.language.constraint import TOO_LARGE
from grisaille.language.problem import Problem
from grisaille.language.subject_to import DEFAULT_TOLERANCE
from grisaille.metrics import violations
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


def constraint_lines(
    problem: Problem, constraints: Array, history: History, allowed: Array | None = None
) -> list[str]:
    """A table of the constraints at a point: slack, unit, and what is remarkable.

    The two inequalities of an equality are one line, with what its sides differ by.

    Args:
        problem: The problem.
        constraints: The bodies at the point, (K,), met when <= 0.
        history: The trials.
        allowed: How far the bodies may be above 0 (`Trial.allowed`); None for not at all.
    """
    violated = violations(constraints, 0.0 if allowed is None else allowed)
    tight = tightness(constraints, history)
    tolerances, lenience = problem.tolerances, problem.lenience
    names, units = problem.constraint_names, problem.constraint_units
    partners = equality_partners(problem)
    shown = np.array([k for k in range(len(constraints)) if k not in partners.values()])
    worst = [max(tight[k], tight[partners.get(k, k)]) for k in shown.tolist()]
    chosen = np.sort(shown[np.argsort(np.negative(worst), kind="stable")[:_MOST_LINES]])
    rows = []
    for k in map(int, chosen):
        slack = -(constraints[k] + tolerances[k]) + 0.0  # no negative zero
        name, amount = names[k], f"slack {slack:.4g}"
        remark = _remark(constraints[k], violated[k] <= 0, slack, tight[k], tolerances[k])
        if k in partners:
            name, amount = name.replace(TOO_LARGE, ""), f"missed by {abs(slack):.4g}"
            met = max(violated[k], violated[partners[k]]) <= 0
            remark = f"{'' if met else 'violated, '}tolerance {tolerances[k]:g}"
            if lenience is not None and lenience[k] and constraints[[k, partners[k]]].max() > 0:
                reach = tolerances[k] + lenience[k]
                verb = "counts" if met else "violated, would count"
                remark = f"{verb} as closed up to {reach:g}; searches aim at {tolerances[k]:g}"
        name = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 3] + "..."
        rows.append((name, f"{amount}{f' {units[k]}' if units[k] else ''}", remark))
    wide = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [
        f"{name:<{wide[0]}}  {amount:<{wide[1]}}  {remark}".rstrip()
        for name, amount, remark in rows
    ]
    if len(shown) > _MOST_LINES:
        lines.append(f"and {len(shown) - _MOST_LINES} more, which are less tight")
    return lines


def equality_partners(problem: Problem) -> dict[int, int]:
    """For the first inequality of each scalar equality, the position of the second one."""
    partners: dict[int, int] = {}
    row = 0
    for constraint in problem.constraints:
        size = constraint.body.size
        if constraint.is_half and not constraint.flipped:
            partners |= {row + entry: row + size + entry for entry in range(size)}
        row += size
    return partners


def _remark(body: float, met: bool, slack: float, tight: float, tolerance: float) -> str:
    remarks = [how_met(body, met, slack, tight, tolerance)]
    if tolerance > 0:
        remarks.append(f"tolerance {tolerance:g}")
    return ", ".join(filter(None, remarks))


def how_met(body: float, met: bool, slack: float, tight: float, tolerance: float) -> str:
    """Say whether a constraint is violated, met within a tolerance only, or active; else nothing.

    Args:
        body: Its body at the point, met when <= 0.
        met: Whether it counts as met there.
        slack: The room that is left by the limit as written.
        tight: Its `tightness`.
        tolerance: Its tolerance, if the user gave one; else 0.
    """
    if not met:
        return "violated"
    if body > 0 and not tolerance:
        return f"met within {DEFAULT_TOLERANCE:g} of the size of its terms"
    if slack < 0:
        return "met within its tolerance"
    return "active" if tight >= -_ACTIVE else ""

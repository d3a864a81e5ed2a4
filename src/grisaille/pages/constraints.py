"""The constraints of a study side by side: slack at the best point, and how it went."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grisaille.pages.chart import Chart
from grisaille.pages.facts import StudyFacts, number
from grisaille.pages.study_charts import constraint_chart
from grisaille.reporting.constraint_table import how_met, tightness

# More charts than this say little.
_MOST_CHARTS = 12


@dataclass(frozen=True, slots=True)
class ConstraintRow:
    """One constraint.

    Attributes:
        name: Its name, or its formula.
        formula: Its formula, if it has a name; else empty.
        slack: The room that is left at the best point, with its unit.
        remark: "violated", "active", by which tolerance it is met, or empty.
        is_tightest: Whether no other constraint is tighter at the best point.
        met: In how many trials it was met, in percent.
        chart: Its slack by trial; None if there are too many constraints, or no trial.
    """

    name: str
    formula: str
    slack: str
    remark: str
    is_tightest: bool
    met: float
    chart: Chart | None


def constraint_rows(facts: StudyFacts) -> list[ConstraintRow]:
    """All constraints, in the order of the problem."""
    trials = [t for t in facts.history if len(t.constraints) == len(facts.constraints)]
    shown = facts.best or facts.least_violation
    if not trials or shown is None or len(shown.constraints) != len(facts.constraints):
        return []
    bodies, labels = shown.constraints, facts.labels
    tight = tightness(bodies, facts.history)
    met = np.mean([t.violations <= 0 for t in trials], axis=0)
    order = list(np.argsort(-tight, kind="stable"))
    rows = []
    for k, name in enumerate(facts.constraints):
        unit, formula = labels["constraint_units"][k], labels["formulas"][k]
        tolerance, met_here = labels["tolerances"][k], bool(shown.violations[k] <= 0)
        slack = -(bodies[k] + tolerance) + 0.0
        rows.append(
            ConstraintRow(
                name,
                "" if formula == name else formula,
                f"{number(slack, 4)} {unit or ''}".strip(),
                how_met(bodies[k], met_here, slack, tight[k], tolerance),
                order[0] == k,
                100 * float(met[k]),
                constraint_chart(facts, k) if k in order[:_MOST_CHARTS] else None,
            )
        )
    return rows

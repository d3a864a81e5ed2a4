"""The recorded facts of a study, in the user's names, units and sense.

Pages and reports are made from these facts. They come from a stored study, or from a result.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from grisaille.language.values import Value, ValueKind, kinds_from_plain, readable
from grisaille.records import History, Trial
from grisaille.study.identity import labels_of, learned_of, settings_of
from grisaille.study.log.event_log import Data
from grisaille.study.result import Result
from grisaille.study.state import StudyState
from grisaille.study.study_summary import Conclusion, concluded, conclusion_of
from grisaille.study.trial_tables import how_met, tightness
from grisaille.views.charts import Against, Chart, Course, constraint_chart, with_unit
from grisaille.views.inspection.convergence import Convergence, convergence


@dataclass(frozen=True, slots=True)
class FactsConstants:
    """The constants of the texts of a page.

    Attributes:
        plain: Numbers below this one have no power of ten. A choice of layout.
        charts: Constraints that have a chart. A choice of layout.
    """

    plain: float = 1e7
    charts: int = 12


FACTS = FactsConstants()


def number(value: float | None, digits: int = 6) -> str:
    """A number for people to read; a dash where there is none."""
    if value is None or np.isnan(value):
        return "–"
    # Whole numbers of a few digits more are easier to read than powers of ten.
    most = max(digits, len(f"{abs(value):.0f}")) if abs(value) < FACTS.plain else digits
    text = f"{value:.{most}g}"
    return text.replace("-", "−", 1) if text.startswith("-") else text


def shown(value: Value | None, digits: int = 6) -> str:
    """A label as it is, or a number."""
    return value if isinstance(value, str) else number(value, digits)


@dataclass(frozen=True)
class StudyFacts:
    """A study as far as it is recorded.

    Attributes:
        name: What it is called.
        settings: As stored: variables, black boxes, constraints, strategy.
        history: What was observed.
        concluded: What is believed of the answer; None to go by what was observed.
    """

    name: str
    settings: Data
    history: History = field(repr=False)
    concluded: Conclusion | None = field(default=None, repr=False)

    @classmethod
    def of_state(cls, name: str, state: StudyState) -> StudyFacts:
        """The facts of a stored study."""
        return cls(name, state.settings, state.history(), concluded(state))

    @classmethod
    def of_result(cls, result: Result, name: str) -> StudyFacts:
        """The facts of a result, which need not be stored anywhere."""
        settings = settings_of(result.problem, result.strategy, name, {}, None, result.evaluation)
        return cls(name, settings, result.history, conclusion_of(result))

    @property
    def sense(self) -> int:
        """1 if the user minimizes, -1 if the user maximizes."""
        return int(self.settings.get("sense", 1))

    @property
    def verb(self) -> str:
        """What the user does with the objective."""
        return "minimize" if self.sense == 1 else "maximize"

    @property
    def labels(self) -> Data:
        """Names, units and tolerances."""
        return labels_of(self.settings)

    @property
    def objective(self) -> str:
        """What the objective is called."""
        return str(self.labels["objective"] or "objective")

    @property
    def unit(self) -> str:
        """The unit of the objective, with a blank before it; empty without one."""
        unit = self.labels["objective_unit"]
        return f" {unit}" if unit else ""

    @property
    def goal(self) -> str:
        """What is to be minimized or maximized, with its formula where that is stored."""
        goals = [node["label"] for node in self.graph if node["kind"] == "goal"]
        return goals[0] if goals else f"{self.verb} {self.objective}"

    @property
    def entries(self) -> list[str]:
        """Names of the entries of a design point."""
        return list(self.settings.get("entries", []))

    @property
    def entry_units(self) -> list[str]:
        """Their units; empty without one."""
        return [unit or "" for unit in self.labels["entry_units"]]

    @property
    def kinds(self) -> list[ValueKind]:
        """What each entry can be."""
        return kinds_from_plain(self.settings.get("kinds"), len(self.entries))

    @property
    def constraints(self) -> list[str]:
        """Names of the constraints."""
        return list(self.settings.get("constraints", []))

    @property
    def boxes(self) -> dict[str, Any]:
        """The black boxes by name: inputs, outputs and cost."""
        return dict(self.settings.get("boxes", {}))

    @property
    def graph(self) -> list[dict[str, Any]]:
        """The nodes of the problem's picture; empty for studies of version 0.1."""
        return list(self.settings.get("graph") or [])

    @cached_property
    def went(self) -> Convergence:
        """How best value, bound and violations went."""
        costs = {name: float(box.get("cost", 1.0)) for name, box in self.boxes.items()}
        return convergence(self.history, self.sense, costs, learned_of(self.settings))

    def course(self, against: Against = "trial") -> Course:
        """Return all that charts of convergence show."""
        found = self.concluded
        shown = self.best or self.least_violation
        observed = np.nan if shown is None else shown.objective
        bound = None if found is None or found.bound is None else self.sense * found.bound.value
        places = [trial.number for trial in self.history]
        most = np.inf if self.best is None else self.best.objective
        return Course(
            self.went,
            self.sense,
            with_unit(self.objective, self.unit.strip()),
            self.sense * (observed if found is None or self.best is None else found.objective),
            self.sense * (most if found is None else found.most),
            bound,
            -1 if shown is None else places.index(shown.number),
            found is not None and found.is_believed,
            against,
        )

    @cached_property
    def best(self) -> Trial | None:
        """The trial with the best feasible value, as it is believed; None if none was feasible."""
        return self.history.best() if self.concluded is None else self.concluded.best

    @cached_property
    def least_violation(self) -> Trial | None:
        """The trial that comes closest to meeting the constraints; None without a trial."""
        return min(self.history, key=lambda t: t.violation, default=None)

    def value(self, minimized: float | None) -> str:
        """A value of the minimized objective in the user's sense, with its unit."""
        if minimized is None:
            return "–"
        return f"{number(self.sense * minimized, 8)}{self.unit}"

    def point(self, trial: Trial) -> list[tuple[str, str]]:
        """The design point of a trial: names and values with units."""
        if len(trial.x) != len(self.entries):
            return []  # the problem had other variables then
        values = readable(self.kinds, trial.x)
        rows = zip(self.entries, values, self.entry_units, strict=True)
        return [(name, f"{shown(value, 8)} {unit}".strip()) for name, value, unit in rows]

    def ranges(self) -> list[tuple[str, str]]:
        """What each entry of a design point may be."""
        limits = zip(
            self.entries,
            self.kinds,
            self.settings.get("lower", []),
            self.settings.get("upper", []),
            self.entry_units,
            strict=True,
        )
        return [
            (name, f"{kind.members(low, high) or f'[{low:g}, {high:g}]'} {unit}".strip())
            for name, kind, low, high, unit in limits
        ]


# --- constraints ----------------------------------------------------------------------------------
# The constraints of a study side by side: slack at the best point, and how it went.


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
                _slack_chart(name, facts.history, k) if k in order[: FACTS.charts] else None,
            )
        )
    return rows


def _slack_chart(name: str, history: History, constraint: int) -> Chart | None:
    """The slack of one constraint in all trials that have it."""
    trials = [t for t in history if constraint < len(t.constraints)]
    numbers = np.array([t.number for t in trials], dtype=float)
    slack = np.array([-t.constraints[constraint] for t in trials])
    return constraint_chart(name, numbers, slack)

"""The recorded facts of a study, in the user's names, units and sense.

Pages and reports are made from these facts. They come from a stored study, or from a result.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
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
from grisaille.views.inspection.convergence import Convergence, convergence

# Numbers below this one are written without a power of ten.
_PLAIN = 1e7


def number(value: float | None, digits: int = 6) -> str:
    """A number for people to read; a dash where there is none."""
    if value is None or np.isnan(value):
        return "–"
    # Whole numbers of a few digits more are easier to read than powers of ten.
    most = max(digits, len(f"{abs(value):.0f}")) if abs(value) < _PLAIN else digits
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
        went = convergence(self.history, self.sense, costs, learned_of(self.settings))
        if self.concluded is None or not self.concluded.is_believed:
            return went
        # The luckiest of noisy answers is no best value: what is believed now is.
        return replace(went, best=np.full(len(went.best), self.sense * self.concluded.objective))

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

"""The trials and the cost that a study has left."""

from __future__ import annotations

from dataclasses import dataclass

from grisaille.language.problem import Problem
from grisaille.study.state import QueryState, StudyState, TrialState

DEFAULT_TRIALS = 50
"""How many trials a run makes if it is given no limit."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a study may go on.

    Attributes:
        trials: Most trials in all; None for no limit.
        cost: Most cost of all evaluations together; None for no limit.
        gap_tol: Best value and bound may be so close that it stops; None for no such limit.
    """

    trials: int | None = None
    cost: float | None = None
    gap_tol: float | None = None

    def __post_init__(self) -> None:
        # They may be NumPy's numbers, and events are plain data.
        plain = {"trials": int, "cost": float, "gap_tol": float}
        for name, make in plain.items():
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, make(value))


def left(problem: Problem, state: StudyState, limits: Limits) -> tuple[int | None, float | None]:
    """Trials and cost that are left; None where there is no limit."""
    remaining = None
    if limits.trials is not None:
        remaining = max(limits.trials - state.made(), 0)
    if limits.cost is None:
        return remaining, None
    budget = limits.cost - spent(state) - _committed(problem, state)
    affordable = int((budget + 1e-9 * limits.cost) // problem.chain_cost)
    return affordable if remaining is None else min(remaining, affordable), budget


def spent(state: StudyState) -> float:
    """The cost of all evaluations so far, failed ones included."""
    costs = _costs(state)
    told = sum(costs[q.box] for q in state.queries.values() if q.state is QueryState.TOLD)
    failed = state.failed_attempts
    return float(told + sum(costs[name] * count for name, count in failed.items()))


def _committed(problem: Problem, state: StudyState) -> float:
    """The cost that pending trials will still have."""
    costs = _costs(state)
    cost = 0.0
    for trial in state.trials.values():
        if trial.state is TrialState.PENDING:
            cost += sum(costs[q.box] for q in trial.queries if q.is_open)
            if trial.suggestion.chain:
                calls = enumerate(problem.program.calls)
                cost += sum(c.box.cost for i, c in calls if trial.query_for(i) is None)
    return cost


def _costs(state: StudyState) -> dict[str, float]:
    """The cost of each black box, with those that a changed problem no longer has."""
    return {name: box["cost"] for name, box in state.settings.get("boxes", {}).items()}

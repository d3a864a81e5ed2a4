"""What a study may still spend."""

from __future__ import annotations

from dataclasses import dataclass

from grisaille.language.problem import Problem
from grisaille.study.state import Ledger, QueryState, TrialState


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a study may go on.

    Attributes:
        trials: Trials it may hold in all; None for any number.
        cost: Cost that all its evaluations together may have; None for any.
    """

    trials: int | None = None
    cost: float | None = None


def left(problem: Problem, ledger: Ledger, limits: Limits) -> tuple[int | None, float | None]:
    """Trials and cost that are left to decide about."""
    remaining = None
    if limits.trials is not None:
        remaining = max(limits.trials - len(ledger.trials), 0)
    if limits.cost is None:
        return remaining, None
    budget = limits.cost - spent(ledger) - _committed(problem, ledger)
    affordable = int((budget + 1e-9 * limits.cost) // problem.chain_cost)
    return affordable if remaining is None else min(remaining, affordable), budget


def spent(ledger: Ledger) -> float:
    """What all evaluations have cost, failed ones included."""
    costs = _costs(ledger)
    told = sum(costs[q.box] for q in ledger.queries.values() if q.state is QueryState.TOLD)
    failed = ledger.failed_attempts
    return float(told + sum(costs[name] * count for name, count in failed.items()))


def _committed(problem: Problem, ledger: Ledger) -> float:
    """What trials under way will still cost."""
    costs = _costs(ledger)
    cost = 0.0
    for trial in ledger.trials.values():
        if trial.state is TrialState.PENDING:
            cost += sum(costs[q.box] for q in trial.queries if q.is_open)
            if trial.suggestion.chain:
                calls = enumerate(problem.program.calls)
                cost += sum(c.box.cost for i, c in calls if trial.query_for(i) is None)
    return cost


def _costs(ledger: Ledger) -> dict[str, float]:
    """What each black box costs, those that a changed problem no longer has included."""
    return {name: box["cost"] for name, box in ledger.settings.get("boxes", {}).items()}

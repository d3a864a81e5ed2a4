"""The course of best value, bound and violations, trial by trial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from grisaille.array_types import Array, Flags
from grisaille.metrics import merits
from grisaille.records import History, first_tested


@dataclass(frozen=True, slots=True, eq=False)
class Convergence:
    """The complete trials in order, values in the user's sense; NaN where there is none.

    Attributes:
        numbers: (trials,), numbers of the trials.
        kinds: (trials,), why each was tried.
        objective: (trials,), as observed.
        violation: (trials,), the largest violation of a constraint.
        feasible: (trials,), whether all constraints were met.
        best: (trials,), the best feasible value so far, as observed.
        bound: (trials,), the bound of each decision.
        certified: (trials,), whether this bound was proved for its bands, which were tested.
        cost: (trials,), the cost of all answers up to the trial.
    """

    numbers: Array
    kinds: tuple[str, ...]
    objective: Array
    violation: Array
    feasible: Flags
    best: Array
    bound: Array
    certified: Flags
    cost: Array

    @property
    def carried_bound(self) -> Array:
        """The latest bound at each trial, (trials,): it counts until there is another one."""
        known = np.isfinite(self.bound)
        latest = np.maximum.accumulate(np.where(known, np.arange(len(known)), -1))
        return np.where(latest >= 0, self.bound[latest], np.nan) if len(known) else self.bound

    @property
    def gap(self) -> Array:
        """The distance between best value and latest bound, (trials,)."""
        return np.abs(self.best - self.carried_bound)


def convergence(
    history: History, sense: int, costs: Mapping[str, float], learned: Iterable[str] = ()
) -> Convergence:
    """How a study went; it needs no problem, only what is recorded.

    Args:
        history: The trials.
        sense: 1 if the user minimizes, -1 if the user maximizes.
        costs: What one answer of each black box costs; 1 if it is not listed.
        learned: Black boxes whose bands are learned, and certify nothing until they are tested.
    """
    trials = history.trials
    objective = np.array([t.objective for t in trials], dtype=float)
    violation = np.array([t.violation for t in trials], dtype=float)
    feasible = violation <= 0
    values = np.where(feasible, merits(objective, [t.openness for t in trials]), np.inf)
    least = np.minimum.accumulate(values)
    place = np.maximum.accumulate(np.where(values <= least, np.arange(len(trials)), 0))
    best = np.where(np.isfinite(least), objective[place], np.inf) if len(trials) else least
    bounds = [t.suggestion.bound if t.suggestion.has_bound else None for t in trials]
    shown = [None if b is None else (b.estimated if b.proved is None else b.proved) for b in bounds]
    cost = [sum(costs.get(seen.box, 1.0) for seen in t.observations) for t in trials]
    since = first_tested(learned, history)
    return Convergence(
        numbers=np.array([t.number for t in trials], dtype=float),
        kinds=tuple(str(t.suggestion.kind) for t in trials),
        objective=sense * objective,
        violation=violation,
        feasible=feasible,
        best=sense * np.where(np.isfinite(best), best, np.nan),
        bound=sense * np.array([np.nan if b is None else b for b in shown], dtype=float),
        certified=np.array(
            [
                b is not None and b.proved is not None and t.number >= since
                for b, t in zip(bounds, trials, strict=True)
            ],
            dtype=bool,
        ),
        cost=np.cumsum(np.array(cost, dtype=float)),
    )

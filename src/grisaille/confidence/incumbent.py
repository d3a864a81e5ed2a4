"""Which of the points tried is the best one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from grisaille.array_types import Array
from grisaille.confidence.plausible_set import PlausibleSet
from grisaille.metrics import violations
from grisaille.records import History, allowances


@dataclass(frozen=True, slots=True)
class Incumbent:
    """The best point tried.

    Attributes:
        position: Where its trial stands in the history's `trials`, counted from 0.
        objective: Its objective, minimized: observed when the boxes are free of noise, else the
            posterior mean.
        violation: Its largest constraint violation, likewise; 0 when all constraints are met.
        feasible: Whether it counts as feasible. With noise, constraints must hold with the
            confidence of the bands.
        upper: The most that its objective can be, by the bands; None if observed without noise.
    """

    position: int
    objective: float
    violation: float
    feasible: bool
    upper: float | None = None

    @property
    def most(self) -> float:
        """The most that its objective can be."""
        return self.objective if self.upper is None else self.upper


def find_incumbent(history: History, plausible: PlausibleSet | None) -> Incumbent | None:
    """The feasible trial of least objective, else the trial of least violation; None if no trial.

    Args:
        history: The trials.
        plausible: With noise the luckiest sample would win, so trials are judged by these bands.
            None when observations are exact.
    """
    if not len(history):
        return None
    if plausible is None:
        objectives = np.array([t.objective for t in history])
        worst = np.array([t.violation for t in history])
        doubts = worst
    else:
        design = torch.tensor(np.array([t.x for t in history]))
        with torch.no_grad():
            means = plausible.predict(design)
        objectives, constraints, deviations = (m.numpy() for m in means)
        allowed = allowances(history)
        worst = violations(constraints, allowed).max(1, initial=0.0)
        doubts = violations(constraints + deviations, allowed).max(1, initial=0.0)
    return best_of_trials(objectives, worst, doubts)


def best_of_trials(objectives: Array, worst: Array, doubts: Array) -> Incumbent:
    """The trial of least objective without doubts, else the one of least doubts.

    Args:
        objectives: Of each trial, minimized.
        worst: Its largest violation.
        doubts: By how much it may violate a constraint; it counts as feasible when 0.
    """
    # A point without a value (the root of a negative number, say) is of no use.
    doubts = np.where(np.isfinite(objectives), doubts, np.inf)
    feasible = doubts <= 0
    best = int(
        np.where(feasible, objectives, np.inf).argmin() if feasible.any() else doubts.argmin()
    )
    return Incumbent(best, float(objectives[best]), float(worst[best]), bool(feasible[best]))

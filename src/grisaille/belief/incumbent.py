"""The incumbent: the best of the points tried."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from grisaille.array_types import Array
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.metrics import merits, violations
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
        upper: The most that its objective can be, by the bands; with the price of a loop that is
            open. None if observed without noise, with all loops closed.
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


def find_incumbent(
    history: History,
    plausible: PlausibleSet | None,
    is_answer: bool = False,
    lenience: Array | None = None,
) -> Incumbent | None:
    """The feasible trial of least objective, else the trial of least violation; None if no trial.

    Args:
        history: The trials.
        plausible: With noise the luckiest sample would win, so trials are judged by these bands.
            None when observations are exact.
        is_answer: Whether a loop counts as closed that misses less than plants do. The trial of
            least merit is the best one then (`metrics.merits`).
        lenience: `Problem.lenience`, for noisy answers.
    """
    if not len(history):
        return None
    openness = np.zeros(len(history))
    if plausible is None:
        objectives = np.array([t.objective for t in history])
        missed = np.array([t.missed.max(initial=0.0) for t in history])
        worst = np.array([t.violation for t in history]) if is_answer else missed
        doubts = worst
        if is_answer:
            openness = np.array([t.openness for t in history])
    else:
        design = torch.tensor(np.array([t.x for t in history]))
        with torch.no_grad():
            means = plausible.predict(design)
        objectives, constraints, deviations = (m.numpy() for m in means)
        allowed = allowances(history)
        if is_answer and lenience is not None:
            reach, missed = allowed + lenience, constraints + deviations
            is_open = (missed > allowed) & (missed <= reach)
            parts = np.divide(missed, reach, out=np.zeros_like(reach), where=is_open)
            openness, allowed = parts.max(1, initial=0.0), reach
        worst = violations(constraints, allowed).max(1, initial=0.0)
        doubts = violations(constraints + deviations, allowed).max(1, initial=0.0)
    return best_of_trials(objectives, worst, doubts, merits(objectives, openness))


def best_of_trials(
    objectives: Array, worst: Array, doubts: Array, values: Array | None = None
) -> Incumbent:
    """The trial of least objective without doubts, else the one of least doubts.

    Args:
        objectives: Of each trial, minimized.
        worst: Its largest violation.
        doubts: By how much it may violate a constraint; it counts as feasible when 0.
        values: What trials without doubts are chosen by; the objectives by default.
    """
    values = objectives if values is None else values
    # A point without a value (the root of a negative number, say) is of no use.
    doubts = np.where(np.isfinite(objectives), doubts, np.inf)
    feasible = doubts <= 0
    best = int(np.where(feasible, values, np.inf).argmin() if feasible.any() else doubts.argmin())
    found = Incumbent(best, float(objectives[best]), float(worst[best]), bool(feasible[best]))
    is_open = bool(feasible[best]) and values[best] > objectives[best]
    return replace(found, upper=float(values[best])) if is_open else found

"""The regret curve of a run, and what is read off regret curves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grisaille.comparison.run import Run

Array = NDArray[np.float64]

# Optima are known to about this many digits, so that smaller regrets are all the same.
_DIGITS = 1e-6


def regret_curve(run: Run) -> Array:
    """Regret after the initial design and after each evaluation that follows, (evaluations + 1,).

    A run that ended early would recommend the same point ever after.
    """
    regrets = np.full(run.initial + run.evaluations + 1, np.nan)
    regrets[0] = np.inf
    for step in run.steps:
        regrets[step.number] = step.regret
    latest = np.maximum.accumulate(np.where(np.isnan(regrets), 0, np.arange(len(regrets))))
    return np.asarray(regrets[latest][run.initial :])


def suggesting_seconds(run: Run) -> Array:
    """Seconds of suggesting each evaluation after the initial design, (evaluations,).

    Evaluations that have no objective, and those after an early end, count as 0.
    """
    seconds = np.zeros(run.evaluations)
    for step in run.steps:
        if step.number > run.initial:
            seconds[step.number - run.initial - 1] = step.suggesting
    return seconds


def seconds_per_suggestion(run: Run) -> float:
    """Median of suggesting after the initial design; nan if nothing was suggested."""
    seconds = [step.suggesting for step in run.steps if step.number > run.initial]
    return float(np.median(seconds)) if seconds else np.nan


def final_value(run: Run) -> float:
    """The objective that a run came to, in the problem's own sense; nan if nothing is feasible."""
    last = regret_curve(run)[-1] if run.steps else np.inf
    if not np.isfinite(last) or run.optimum is None:
        return np.nan
    return float(run.optimum + run.sense * last)


def quantile(values: Array, share: float, axis: int = 0) -> Array:
    """A quantile by linear interpolation, infinite where one of its two neighbours is.

    NumPy's own has no value there, because it takes differences.
    """
    ordered = np.sort(np.moveaxis(np.asarray(values, dtype=float), axis, 0), axis=0)
    position = share * (len(ordered) - 1)
    below, above = ordered[int(np.floor(position))], ordered[int(np.ceil(position))]
    weight = position - np.floor(position)
    with np.errstate(invalid="ignore"):
        between = below + weight * (above - below)
    return np.asarray(np.where(below == above, below, between))


def resolution(run: Run) -> float:
    """The regret below which differences mean nothing, because the optimum is not known better."""
    return _DIGITS * max(1.0, abs(run.optimum or 0.0))


def first_at_most(curve: Array, target: float) -> float:
    """Position of the first finite value at or below a target; infinite if there is none."""
    reached = np.flatnonzero(np.isfinite(curve) & (curve <= target))
    return float(reached[0]) if len(reached) else np.inf

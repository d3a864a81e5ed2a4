"""Pictures of a study."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from grisaille.errors import ModelError, cut, shortened
from grisaille.language.problem import Problem
from grisaille.records import History, TrialKind

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_GREYS = {
    TrialKind.INITIAL: "0.75",
    TrialKind.OPTIMISTIC: "0.45",
    TrialKind.NARROWED: "0.6",
    TrialKind.DOUBTING: "1.0",
    TrialKind.RECOMMENDED: "0.0",
    TrialKind.ACQUIRED: "0.45",
    TrialKind.RANDOM: "0.75",
    TrialKind.OBSERVING: "0.9",
    TrialKind.OWN: "0.3",
    TrialKind.DATA: "0.85",
}


def plot_convergence(
    problem: Problem,
    history: History,
    fun: float,
    final_bound: float | None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Best feasible value and bound over trials, and under it the violation of each trial.

    The final value and bound are in the user's sense; the ending of the path chooses the format.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    sense = problem.sense
    numbers = np.arange(1, len(history) + 1)
    objective = np.array([t.objective for t in history])
    violation = np.array([t.violation for t in history])
    promises = [t.suggestion.bound.estimated for t in history]
    bound = np.array([np.nan if p is None else p for p in promises], dtype=float)
    best = np.minimum.accumulate(np.where(violation <= 0, objective, np.inf))
    best[~np.isfinite(best)] = np.nan

    constrained = len(problem.constraints) > 0
    figure = Figure(figsize=(7.2, 5.2 if constrained else 3.8), layout="constrained")
    heights = [3, 1] if constrained else [1]
    rows = figure.subplots(len(heights), sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    upper = rows[0]
    for kind, grey in _GREYS.items():
        chosen = np.array([t.suggestion.kind is kind for t in history])
        if chosen.any():
            upper.plot(
                numbers[chosen],
                sense * objective[chosen],
                "o",
                ms=5,
                color=grey,
                markeredgecolor="0.2",
                markeredgewidth=0.6,
                label=f"{kind} trial",
            )
    noisy = not problem.is_exact
    if noisy:  # the best raw sample is only the luckiest one
        upper.axhline(fun, color="black", lw=1.8, label="recommended (posterior mean)")
        best[:] = np.nan
    else:
        upper.step(
            numbers, sense * best, where="post", color="black", lw=1.8, label="best feasible"
        )
    known = np.isfinite(bound)
    if known.any():
        steps, values = numbers[known], bound[known]
        if final_bound is not None:
            steps = np.append(steps, len(history) + 0.5)
            values = np.append(values, sense * final_bound)
        upper.step(steps, sense * values, "--", where="post", color="0.35", lw=1.4, label="bound")
        # Between two bounds the last one counts.
        latest = np.maximum.accumulate(np.where(known, np.arange(len(bound)), -1))
        carried = np.where(latest >= 0, bound[latest], np.nan)
        both = carried <= best
        upper.fill_between(
            numbers[both],
            sense * carried[both],
            sense * best[both],
            step="post",
            color="0.92",
            label="gap",
        )
        _focus(upper, sense * np.concatenate([best, bound, [sense * fun]]))
    name = problem.objective_name or "objective"
    unit = f" in {problem.objective_unit}" if problem.objective_unit else ""
    upper.set_ylabel(f"{name}{unit} ({'minimize' if sense == 1 else 'maximize'})")
    upper.legend(fontsize=8, frameon=False)
    if constrained:
        rows[1].semilogy(
            numbers, np.where(violation > 0, violation, np.nan), "o", ms=4, color="0.3"
        )
        rows[1].set_ylabel("violation")
    rows[-1].set_xlabel("trial")
    rows[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    if path is not None:
        try:
            figure.savefig(path, dpi=150)
        except (OSError, ValueError) as error:  # no such folder; an ending that is no format
            raise ModelError(f"plot(path={shortened(path)}): {cut(str(error))}") from error
    return figure


def _focus(axes: object, values: np.ndarray) -> None:
    """Limit the axis to the range of best value and bound; early trials may lie far outside."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return
    low, high = np.quantile(finite, [0.05, 0.95])
    margin = 0.35 * (high - low) or 1.0
    axes.set_ylim(low - margin, high + margin)  # type: ignore[attr-defined]

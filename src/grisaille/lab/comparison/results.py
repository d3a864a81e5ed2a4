"""The runs of a comparison and their regret curves, grouped by problem and strategy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from grisaille.errors import ModelError
from grisaille.lab.comparison.run import Run, merit

# --- regret curves --------------------------------------------------------------------------------
# The regret curve of a run, and what is read off regret curves.

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


# --- results --------------------------------------------------------------------------------------
# The runs of a comparison, grouped by problem and strategy.

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Group:
    """The runs of one strategy on one problem that did not fail, by seed."""

    runs: tuple[Run, ...]

    @property
    def curves(self) -> Array:
        """Regret curves, (seeds, evaluations + 1)."""
        return np.array([regret_curve(run) for run in self.runs])

    @property
    def final(self) -> Array:
        """Final regrets, (seeds,)."""
        return np.asarray(self.curves[:, -1])

    @property
    def resolution(self) -> float:
        """The largest of its runs."""
        return max(resolution(run) for run in self.runs)

    @property
    def seeds(self) -> dict[int, Run]:
        """Its runs by seed."""
        return {run.job.seed: run for run in self.runs}


@dataclass(frozen=True, slots=True)
class Results:
    """Runs of several strategies on several problems.

    Attributes:
        runs: All of them, failed ones included.
        reference: The strategy that the others are compared with, drawn in colour; "" for none.
        baseline: The strategy against which its saving of evaluations is counted; "" for none.
        best_found: Problems whose optimum is not known: it is the best value of any run.
    """

    runs: tuple[Run, ...]
    reference: str = ""
    baseline: str = ""
    best_found: frozenset[str] = frozenset()

    @classmethod
    def measured(cls, runs: Iterable[Run], reference: str, baseline: str = "") -> Results:
        """Runs of which some may be on problems whose optimum is not known."""
        kept = list(runs)
        unknown = {run.job.problem for run in kept if run.optimum is None}
        for problem in unknown:
            best = _best_found(run for run in kept if run.job.problem == problem)
            kept = [_against(r, best) if r.job.problem == problem else r for r in kept]
        return cls(tuple(kept), reference, baseline, frozenset(unknown))

    def __post_init__(self) -> None:
        for problem in self.problems:
            budgets = sorted({(r.initial, r.evaluations) for r in self.of(problem)})
            if len(budgets) > 1:
                shown = " and ".join(f"{i} + {e}" for i, e in budgets)
                raise ModelError(
                    f"the runs on {problem} have {shown} evaluations, so they cannot share a "
                    "table: keep them in folders of their own"
                )

    @property
    def problems(self) -> list[str]:
        """Names of the problems, those of a kind together."""
        kinds = {run.job.problem: (run.structure, run.job.problem) for run in self.runs}
        return sorted(kinds, key=kinds.__getitem__)

    @property
    def structures(self) -> dict[str, list[str]]:
        """Problems by kind."""
        found: dict[str, list[str]] = {}
        kinds = {run.job.problem: run.structure for run in self.runs}
        for problem in self.problems:
            found.setdefault(kinds[problem], []).append(problem)
        return found

    def of(self, problem: str) -> list[Run]:
        """Every run on a problem."""
        return [run for run in self.runs if run.job.problem == problem]

    def strategies(self, order: Sequence[str], problems: Iterable[str]) -> list[str]:
        """Strategies with a run on each of some problems that did not fail, in a given order.

        Args:
            order: Names that come first, if they are there.
            problems: The problems.
        """
        each = [{r.job.strategy for r in self.of(p) if not r.failed} for p in problems]
        common = set.intersection(*each) if each else set()
        return [n for n in order if n in common] + sorted(common.difference(order))

    def strategies_of_all(self, order: Sequence[str]) -> list[str]:
        """Strategies with any run that did not fail, in a given order."""
        present = {run.job.strategy for run in self.runs if not run.failed}
        return [n for n in order if n in present] + sorted(present.difference(order))

    def group(self, problem: str, strategy: str) -> Group:
        """The runs of a strategy on a problem that did not fail."""
        chosen = (r for r in self.of(problem) if r.job.strategy == strategy and not r.failed)
        return Group(tuple(sorted(chosen, key=lambda run: run.job)))

    def starts(self, problem: str) -> dict[int, float]:
        """Regret of the best point of the initial design, by seed.

        Where none of it is feasible, the median over other seeds; where that is so for all seeds,
        the largest regret that any run on the problem came to.
        """
        runs = [run for run in self.of(problem) if not run.failed]
        starts = {run.job.seed: float(regret_curve(run)[0]) for run in runs}
        known = [value for value in starts.values() if np.isfinite(value)]
        if known:
            instead = float(np.median(known))
        else:
            reached = (step.regret for run in runs for step in run.steps)
            instead = max(filter(np.isfinite, reached), default=np.inf)
        return {seed: v if np.isfinite(v) else instead for seed, v in starts.items()}


def _best_found(runs: Iterable[Run]) -> float:
    """The least objective that any run came to, minimized; 0 if nothing feasible was found."""
    values = (step.regret for run in runs for step in run.steps)
    return float(min(filter(np.isfinite, values), default=0.0))


def _against(run: Run, best: float) -> Run:
    """A run with regrets against the best value of any run, which is minimized."""
    optimum, least, steps = run.sense * best, np.inf, []
    for step in run.steps:
        least = min(least, merit(step.objective, step.violation, optimum, run.sense))
        steps.append(replace(step, regret=step.regret - best, constrained_regret=least))
    return replace(run, optimum=optimum, steps=tuple(steps))

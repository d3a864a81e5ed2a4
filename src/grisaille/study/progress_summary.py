"""Where a study stands: best value, bounds, and the result of it all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grisaille.records import Bound, Refutation, Situation, Trial
from grisaille.reporting.progress import Row
from grisaille.solvers.certified import Certified
from grisaille.strategies.strategy import Strategy
from grisaille.study.result import Result, Shown, Status, build_result


@dataclass(frozen=True, slots=True)
class Standing:
    """A strategy and the situation it is in."""

    strategy: Strategy
    situation: Situation

    def last_bound(self) -> Bound:
        """The latest bound that a trial came with.

        Decisions made while others were under way, or with narrower bands, give none.
        """
        for trial in reversed(self.situation.history.trials):
            if trial.suggestion.has_bound:
                return trial.suggestion.bound
        return Bound()

    def result(
        self,
        status: Status,
        bound: Bound,
        message: str | None = None,
        refutation: Refutation | None = None,
    ) -> Result:
        """What has been found so far."""
        shown = Shown() if refutation is not None else self._shown(bound)
        return build_result(self.situation, self.strategy, status, message, shown, refutation)

    def reached(self, bound: Bound, gap_tol: float) -> Status | None:
        """The status to stop with when best value and bound are close enough."""
        levels = self._levels(bound)
        # With noise the best value is itself an estimate.
        exact = self.situation.problem.is_exact
        if levels.gap(levels.proved) <= gap_tol:
            return Status.OPTIMAL if exact else Status.GAP_TOL
        if not self._insists and levels.gap(levels.estimated) <= gap_tol:
            return Status.GAP_TOL
        return None

    def row(self, trial: Trial, seconds: float) -> Row:
        """The line that a table shows after a trial."""
        sense = self.situation.problem.sense
        bound = trial.suggestion.bound if trial.suggestion.has_bound else self.last_bound()
        levels, shown = self._levels(bound), self._shown(bound)
        gap = levels.gap(shown.value)
        return Row(
            trial=trial.number,
            kind=str(trial.suggestion.kind),
            best=sense * levels.best if np.isfinite(levels.best) else None,
            bound=None if shown.value is None else sense * shown.value,
            certified=shown.certified,
            gap=gap if np.isfinite(gap) else None,
            violation=trial.violation,
            evaluations=self.situation.history.counts(),
            seconds=seconds,
        )

    @property
    def _insists(self) -> bool:
        """Whether proofs were asked for, so that an estimate will not do."""
        return isinstance(getattr(self.strategy, "solver", None), Certified)

    def _levels(self, bound: Bound) -> _Levels:
        """Best value and bounds, those that the best value refutes left out.

        The best proved bound of all trials so far holds while all their bands do. Bands with
        learned hyper-parameters are given up when new ones are learned, and what they proved.
        """
        incumbent = self.strategy.incumbent(self.situation)
        found = incumbent is not None and incumbent.feasible
        best = incumbent.objective if incumbent is not None and found else np.inf
        most = best + 1e-9 * (1 + abs(best))
        proved = [bound.proved]
        if not self.strategy.learned(self.situation.problem):
            proved += [t.suggestion.bound.proved for t in self.situation.history]
        known = [v for v in proved if v is not None and v <= most]
        estimated = bound.estimated
        if estimated is not None and estimated > most:
            estimated = None
        return _Levels(best, max(known, default=None), estimated)

    def _shown(self, bound: Bound) -> Shown:
        """The certified bound, unless it is far from closed and an estimate says more."""
        levels = self._levels(bound)
        proved, estimated = levels.proved, levels.estimated
        if proved is None:
            return Shown(estimated, False, bound.reason)
        missing = levels.gap(estimated)
        if estimated is not None and np.isfinite(missing) and not self._insists:
            spread = np.std([t.objective for t in self.situation.history if t.violation == 0])
            enough = max(0.1 * missing, 1e-3 * float(spread), 2e-4 * abs(proved))
            if estimated - proved > enough:
                return Shown(estimated, False, bound.reason)
        return Shown(proved, True)


@dataclass(frozen=True, slots=True)
class _Levels:
    """The best value at some moment, infinite if none is feasible, and the bounds on it."""

    best: float
    proved: float | None
    estimated: float | None

    def gap(self, bound: float | None) -> float:
        """From a bound to the best value; infinite when one of them is missing."""
        return np.inf if bound is None else max(self.best - bound, 0.0)

"""How far a study is: its best value, its bound, and the result so far."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grisaille.certification.certificate import Certificate
from grisaille.confidence.incumbent import Incumbent
from grisaille.records import NO_BOUND, Bound, Refutation, Situation, Trial
from grisaille.reporting.progress import Row
from grisaille.solvers.certified import Certified
from grisaille.strategies.strategy import Strategy
from grisaille.study.result import Result, Status

_REASON = {
    Status.OPTIMAL: "best value and certified bound are as close as was asked for",
    Status.INFEASIBLE: "no point is feasible: proved, given the confidence bands",
    Status.RUNNING: "the study has not stopped",
    Status.MAX_TRIALS: "all trials were made",
    Status.MAX_COST: "another trial would cost more than max_cost leaves",
    Status.TIMEOUT: "the time was up",
    Status.GAP_TOL: "best value and estimated bound are within gap_tol",
    Status.CALLBACK: "the callback asked to stop",
    Status.INTERRUPTED: "interrupted from the keyboard; everything evaluated is in the result",
    Status.FAILED: "something went wrong",
    Status.NO_BLACK_BOX: "the problem has no black box: solved at once by multi-start search",
}


@dataclass(frozen=True)
class ProgressSummary:
    """What a strategy makes of the situation it is in; bounds are on the minimized objective."""

    strategy: Strategy
    situation: Situation

    @cached_property
    def incumbent(self) -> Incumbent | None:
        """The best point tried; None before the first trial."""
        # Asked for once: with noise, finding it learns every Gaussian process again.
        return self.strategy.incumbent(self.situation)

    @property
    def best(self) -> float:
        """The best feasible value; infinite if there is none."""
        best = self.incumbent
        return best.objective if best is not None and best.feasible else np.inf

    def last_bound(self) -> Bound:
        """The bound of the latest trial that has one.

        Trials that were decided while others were pending, or with narrower bands, have none.
        """
        for trial in reversed(self.situation.history.trials):
            if trial.suggestion.has_bound:
                return trial.suggestion.bound
        return NO_BOUND

    def reached(self, bound: Bound, gap_tol: float) -> Status | None:
        """The status to stop with if the best value and a bound are close enough."""
        bound = self._tenable(bound)
        # With noise the best value is itself an estimate.
        exact = self.situation.problem.is_exact
        if self._gap(bound.proved) <= gap_tol:
            return Status.OPTIMAL if exact else Status.GAP_TOL
        if not self._wants_proofs and self._gap(bound.estimated) <= gap_tol:
            return Status.GAP_TOL
        return None

    def row(self, trial: Trial, seconds: float) -> Row:
        """The line that a table shows after a trial."""
        sense = self.situation.problem.sense
        bound = trial.suggestion.bound if trial.suggestion.has_bound else self.last_bound()
        shown, certified = self._shown(bound)
        gap = self._gap(shown)
        return Row(
            trial=trial.number,
            kind=str(trial.suggestion.kind),
            best=sense * self.best if np.isfinite(self.best) else None,
            bound=None if shown is None else sense * shown,
            certified=certified,
            gap=gap if np.isfinite(gap) else None,
            violation=trial.violation,
            evaluations=self.situation.history.counts(),
            seconds=seconds,
        )

    def result(
        self,
        status: Status,
        bound: Bound,
        message: str | None = None,
        refutation: Refutation | None = None,
    ) -> Result:
        """What has been found so far."""
        problem, history = self.situation.problem, self.situation.history
        shown, certified = (None, False) if refutation is not None else self._shown(bound)
        best = self.incumbent
        below = -np.inf if shown is None else min(shown, self.best)
        low, high = (below, self.best) if problem.sense == 1 else (-self.best, -below)
        trial = None if best is None else history.trials[best.position]
        counts = {box.name: history.counts().get(box.name, 0) for box in problem.boxes}
        certificate = None
        if refutation is not None:
            certificate = Certificate(
                refutation.problem, refutation.history, refutation.beta, refutation.regions
            )
        text = (message or _REASON[status]) + self._shortfall(shown is None and refutation is None)
        if bound.reason and not certified and refutation is None:
            what = "there is no bound" if shown is None else "the bound is estimated"
            text += f"; {what}: {bound.reason}"
        return Result(
            x=None if trial is None else trial.x,
            fun=problem.sense * (np.nan if best is None else best.objective),
            success=best is not None and bool(best.feasible),
            maxcv=np.nan if best is None else best.violation,
            constr=np.zeros(0) if trial is None else trial.constraints,
            lower_bound=low,
            upper_bound=high,
            gap=high - low,
            certified=certified,
            certificate=certificate,
            status=status,
            message=text,
            evaluations=counts,
            nfev=sum(counts.values()),
            nit=len(history),
            failures=history.failures,
            history=history,
            problem=problem,
            strategy=self.strategy,
            evaluation=self.situation.evaluation,
            learned=self.strategy.learned(problem),
            best_trial=-1 if best is None else best.position,
        )

    def _shortfall(self, without_bound: bool) -> str:
        """What a message adds when no point tried is feasible."""
        best = self.incumbent
        if best is None or best.feasible:
            return ""
        text = (
            "; no point tried meets all constraints, x violates them least"
            if best.violation > 0
            else "; no point tried meets all constraints with the confidence of the bands, x does "
            "so in the mean"
        )
        searched = self.situation.history.trials[-1].suggestion.optimum is not None
        if without_bound and searched:
            text += "; no plausible feasible point was found either (not a proof that none exists)"
        return text

    @property
    def _wants_proofs(self) -> bool:
        """Whether the user asked for proofs, so that an estimate is not enough."""
        return isinstance(getattr(self.strategy, "solver", None), Certified)

    def _gap(self, bound: float | None) -> float:
        """From a bound to the best value; infinite if one of them is missing."""
        return np.inf if bound is None else max(self.best - bound, 0.0)

    def _tenable(self, bound: Bound) -> Bound:
        """A bound without the parts that the best value refutes, and with the best proved part.

        The best proved bound of all trials so far holds while all their bands do. Learned bands
        are given up when hyper-parameters are learned again, and so is what they proved.
        """
        most = self.best + 1e-9 * (1 + abs(self.best))
        proved = [bound.proved]
        if not self.strategy.learned(self.situation.problem):
            proved += [t.suggestion.bound.proved for t in self.situation.history]
        known = [v for v in proved if v is not None and v <= most]
        estimated = bound.estimated
        if estimated is not None and estimated > most:
            estimated = None
        return Bound(estimated, max(known, default=None), bound.reason)

    def _shown(self, bound: Bound) -> tuple[float | None, bool]:
        """The bound to show, and whether it is certified.

        The certified bound is shown unless its gap is large and an estimate says more.
        """
        bound = self._tenable(bound)
        proved, estimated = bound.proved, bound.estimated
        if proved is None:
            return estimated, False
        missing = self._gap(estimated)
        if estimated is not None and np.isfinite(missing) and not self._wants_proofs:
            spread = np.std([t.objective for t in self.situation.history if t.violation == 0])
            enough = max(0.1 * missing, 1e-3 * float(spread), 2e-4 * abs(proved))
            if estimated - proved > enough:
                return estimated, False
        return proved, True

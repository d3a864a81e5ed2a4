"""The progress of a study: its best value, its bound, and the result so far."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from grisaille.belief.incumbent import Incumbent, find_incumbent
from grisaille.errors import counted
from grisaille.language.unknowns import names_at_bounds, unknowns_of
from grisaille.proof.certificate import Certificate
from grisaille.records import NO_BOUND, Bound, Refutation, Situation, Trial, Untested, untested
from grisaille.search.certified import Certified
from grisaille.strategies.strategy import Strategy
from grisaille.study.border import incumbent_of
from grisaille.study.result import Assurance, Result, Status
from grisaille.views.progress import Row, certainty

_REASON = {
    Status.OPTIMAL: "best value and proved bound are as close as was asked for",
    Status.INFEASIBLE: "no point is feasible: proved, while the declared constants hold",
    Status.LIKELY_INFEASIBLE: "no point is feasible, even for bands twice as wide as the answers "
    "ask for and one deviation more: result.certificate.blame() names the constraints to relax",
    Status.RUNNING: "the study has not stopped",
    Status.MAX_TRIALS: "all trials were made",
    Status.MAX_COST: "another trial would cost more than max_cost leaves",
    Status.TIMEOUT: "the time was up",
    Status.GAP_TOL: "best value and bound are within gap_tol, also for bands twice as wide",
    Status.CALLBACK: "the callback asked to stop",
    Status.INTERRUPTED: "interrupted from the keyboard; everything evaluated is in the result",
    Status.FAILED: "something went wrong",
    Status.NO_BLACK_BOX: "the problem has no black box: solved at once by multi-start search",
}


@dataclass(frozen=True)
class ProgressSummary:
    """What a strategy makes of the situation it is in; bounds are on the minimized objective.

    Attributes:
        strategy: The strategy.
        situation: The situation.
        as_observed: Whether trials are judged by what was observed, and not by the strategy.
    """

    strategy: Strategy
    situation: Situation
    as_observed: bool = False

    @cached_property
    def incumbent(self) -> Incumbent | None:
        """The best point tried; None before the first trial."""
        if self.as_observed:
            return find_incumbent(self.situation.history, None, is_answer=True)
        # Asked for once: with noise, finding it learns every Gaussian process again.
        return incumbent_of(self.strategy, replace(self.situation, is_answer=True))

    @property
    def best(self) -> float:
        """The best feasible value; infinite if there is none."""
        best = self.incumbent
        return best.objective if best is not None and best.feasible else np.inf

    @property
    def most(self) -> float:
        """The most that the optimum can be; infinite if no point is feasible.

        With noise the best value is an estimate, and the upper end of its band counts.
        """
        best = self.incumbent
        return best.most if best is not None and best.feasible else np.inf

    def last_bound(self) -> Bound:
        """The bound of the latest trial that has one.

        Trials that were decided while others were pending, or with narrower bands, have none. One
        that withheld it leaves none of earlier trials.
        """
        for trial in reversed(self.situation.history.trials):
            if trial.suggestion.has_bound or trial.suggestion.bound.withheld:
                return trial.suggestion.bound
        return NO_BOUND

    def reached(self, bound: Bound, gap_tol: float) -> Status | None:
        """The status to stop with if the best value and a bound are close enough.

        "optimal" needs bands that hold by declaration: for others a closed gap is a guess, and none
        at all while too few answers have tested them.
        """
        bound, best = self._tenable(bound), self.incumbent
        if self._untested(bound) is not None:
            return None
        if best is not None and self.situation.history.trials[best.position].openness:
            return None  # an open loop closes no gap
        if self._gap(bound.proved) <= gap_tol:
            return Status.OPTIMAL if bound.is_declared else Status.GAP_TOL
        if not self._wants_proofs and self._gap(bound.estimated) <= gap_tol:
            return Status.GAP_TOL
        return None

    def row(self, trial: Trial, seconds: float) -> Row:
        """The line that a table shows after a trial."""
        sense = self.situation.problem.sense
        bound = trial.suggestion.bound if trial.suggestion.has_bound else self.last_bound()
        shown, certified = self._shown(bound)
        gap = self._gap(shown)
        doubted = self._untested(bound)
        return Row(
            trial=trial.number,
            kind=str(trial.suggestion.kind),
            best=sense * self.best if np.isfinite(self.best) else None,
            bound=None if shown is None else sense * shown,
            bound_is=certainty(certified, doubted),
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
        if refutation is None and bound.refutation is not None and not np.isfinite(self.best):
            refutation = bound.refutation
            verdict = Status.INFEASIBLE if bound.is_declared else Status.LIKELY_INFEASIBLE
            ended = "" if status is verdict else f"{message or _REASON[status]}; "
            status, message = verdict, ended + _REASON[verdict]
        optimal = status is Status.OPTIMAL
        shown, certified = (None, False) if refutation is not None else self._shown(bound, optimal)
        doubted = self._untested(bound)
        best = self.incumbent
        below = -np.inf if shown is None else min(shown, self.most)
        low, high = (below, self.most) if problem.sense == 1 else (-self.most, -below)
        trial = None if best is None else history.trials[best.position]
        counts = {box.name: history.counts().get(box.name, 0) for box in problem.boxes}
        certificate = None
        if refutation is not None:
            certificate = Certificate(
                refutation.problem, refutation.history, refutation.beta, refutation.regions
            )
        text = (message or _REASON[status]) + self._shortfall(shown is None and refutation is None)
        if trial is not None:
            text += self._at_bounds(trial)
        if best is None and status is not Status.FAILED:  # else the message says it
            text += self._failed()
        if bound.reason and not certified and refutation is None:
            what = "there is no bound" if shown is None else "the bound is an estimate"
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
            assurance=_assurance(shown, certified, bound, doubted),
            certified=certified and doubted is None,
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
        if not np.isfinite(best.objective):
            return (
                "; the objective has no finite value at any point tried: look where its formula "
                "divides, or takes a root or a logarithm"
            )
        text = (
            "; no point tried meets all constraints, x violates them least"
            if best.violation > 0
            else "; no point tried meets all constraints surely, because of noise: x meets them on "
            "average, and more trials near it would tell"
        )
        text += self._open_loops()
        searched = self.situation.history.trials[-1].suggestion.optimum is not None
        if without_bound and searched:
            text += (
                "; nor was a point found that might meet them by what is known (not a proof that "
                "none exists): check the constraints, or relax one"
            )
        return text

    def _open_loops(self) -> str:
        """What a message adds when trials miss equations of unknowns, and nothing else."""
        problem, history = self.situation.problem, self.situation.history
        rows = problem.row_equalities
        is_loop = np.array(
            [e is not None and bool(unknowns_of(e.residual)) for e in rows], dtype=bool
        )
        excess = [t.violations for t in history if len(t.constraints) == len(rows)]
        only = [v for v in excess if v[is_loop].any() and not v[~is_loop].any()]
        if not only:
            return ""
        least = min(only, key=lambda v: float(v.max()))
        worst = int(least.argmax())
        equation = rows[worst]
        assert equation is not None
        missed = _rounded_up(float(least[worst] + problem.tolerances[worst]))
        name = equation.name or "loop"
        naming = "" if equation.name else f"name it (equations={{{name!r}: ...}}) and "
        return (
            f"; {counted(len(only), 'trial')} of {len(history)} miss nothing but equations of "
            f"unknowns, the best of them {equation!r} by {missed:g}: if that is closed for you, "
            f"{naming}pass feasibility_tol={{{name!r}: {missed:g}}}"
        )

    def _at_bounds(self, trial: Trial) -> str:
        """What a message adds when an unknown of the answer lies at its bound."""
        variables = self.situation.problem.variables
        found = names_at_bounds(variables, trial.x)
        if not found:
            return ""
        noun = "unknowns" if len(found) > 1 else "unknown"
        return (
            f"; {noun} {', '.join(found)}: better points may lie beyond, so widen the bound unless "
            "nothing can be there"
        )

    def _failed(self) -> str:
        """What a message adds when evaluations failed and no trial is complete."""
        history = self.situation.history
        failures, counts = history.failures, Counter(f.box for f in history.failures)
        if not failures:
            return ""
        total = len(failures) + sum(history.counts().values())
        boxes = ", ".join(f"{name!r} {counted(n, 'time')}" for name, n in counts.items())
        return (
            f"; {len(failures)} of {counted(total, 'evaluation')} failed (black box {boxes}), the "
            f"last one: {failures[-1].reason}"
        )

    @property
    def _wants_proofs(self) -> bool:
        """Whether the user asked for proofs, so that an estimate is not enough."""
        return isinstance(getattr(self.strategy, "solver", None), Certified)

    def _untested(self, bound: Bound) -> Untested | None:
        """Learned bands that too few answers have tested for a bound to rest on them."""
        return None if bound.is_declared else self._untested_bands

    @cached_property
    def _untested_bands(self) -> Untested | None:
        situation = self.situation
        return untested(self.strategy.learned(situation.problem), situation.history)

    def _gap(self, bound: float | None) -> float:
        """From a bound to the best value; infinite if one of them is missing."""
        return np.inf if bound is None else max(self.most - bound, 0.0)

    def _tenable(self, bound: Bound) -> Bound:
        """A bound without the parts that the best value refutes, and with the best proved part.

        The best proved bound of all trials so far holds while all their bands do. Bands that are a
        guess change with every answer, and only the latest ones count.
        """
        if bound.withheld:
            return bound
        most = self.most + 1e-9 * (1 + abs(self.most))
        proved = [bound.proved]
        if bound.is_declared:
            proved += [t.suggestion.bound.proved for t in self.situation.history]
        known = [v for v in proved if v is not None and v <= most]
        estimated = bound.estimated
        if estimated is not None and estimated > most:
            estimated = None
        return replace(bound, estimated=estimated, proved=max(known, default=None))

    def _shown(self, bound: Bound, optimal: bool = False) -> tuple[float | None, bool]:
        """The bound to show, and whether it is certified.

        The certified bound is shown unless its gap is large and an estimate says more. It is shown
        in any case if the status "optimal" rests on it.
        """
        bound = self._tenable(bound)
        proved, estimated = bound.proved, bound.estimated
        if proved is None:
            return estimated, False
        missing = self._gap(estimated)
        certified_only = optimal or self._wants_proofs
        if estimated is not None and np.isfinite(missing) and not certified_only:
            spread = np.std([t.objective for t in self.situation.history if t.violation == 0])
            enough = max(0.1 * missing, 1e-3 * float(spread), 2e-4 * abs(proved))
            if estimated - proved > enough:
                return estimated, False
        return proved, True


def _rounded_up(value: float) -> float:
    """A number with two digits that is not below `value`."""
    if not (np.isfinite(value) and value > 0):
        return value
    unit = 10.0 ** (np.floor(np.log10(value)) - 1)
    return float(f"{np.ceil(value / unit) * unit:.3g}")


def _assurance(
    shown: float | None, certified: bool, bound: Bound, doubted: Untested | None
) -> Assurance:
    """What a bound rests on."""
    if shown is None:
        return Assurance.NONE
    if doubted is not None:
        return Assurance.UNTESTED
    if not certified:
        return Assurance.ESTIMATED
    return Assurance.PROVED if bound.is_declared else Assurance.CERTIFIED

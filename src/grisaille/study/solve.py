"""The loop behind `Problem.solve`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace

import numpy as np
import torch

from grisaille.checks import is_whole
from grisaille.confidence.beliefs import is_exact
from grisaille.confidence.plausible import PlausibleSet
from grisaille.confidence.relaxation import relaxed
from grisaille.errors import ModelError
from grisaille.modeling.problem import Problem
from grisaille.modeling.program import Program
from grisaille.records import History, Refutation, Suggestion, Trial, TrialKind
from grisaille.reporting.progress import Progress, Row, Silence, show_progress
from grisaille.solvers.certified import Certified
from grisaille.solvers.multistart import MultiStart
from grisaille.solvers.relaxation import ProofStatus
from grisaille.strategies.optimistic import Optimistic
from grisaille.strategies.strategy import Bound, Evaluation, Situation, Strategy
from grisaille.study.evaluation import Evaluator
from grisaille.study.result import Result, Shown, Status, build_result

# Most boxes spent on constraints that read no black box, before any trial.
_KNOWN_BOXES = 1000


def solve(
    problem: Problem,
    *,
    trials: int,
    strategy: Strategy | None,
    evaluation: Evaluation,
    seed: int,
    timeout: float | None,
    gap_tol: float | None,
    callback: Callable[[Trial], object] | None,
    progress: bool | None,
) -> Result:
    """See `Problem.solve`."""
    _check_arguments(trials, evaluation, seed, timeout, gap_tol, strategy, callback)
    if not problem.boxes:
        return _solve_white(problem, seed)
    run = Run(strategy or Optimistic(), Situation(problem, History(), seed, evaluation, trials))
    with _one_thread():
        run.refutation = _refute_known_parts(problem, seed)
    if run.refutation is not None:
        return run.result(Status.INFEASIBLE, Bound())
    view = nullcontext(Silence()) if progress is False else show_progress(problem, progress)
    with view as table:
        try:
            status = run.until_stopped(timeout, gap_tol, callback, table)
        except KeyboardInterrupt:
            # Whoever pressed Ctrl-C does not want to wait for another search.
            return run.result(Status.INTERRUPTED, run.last_bound())
        except Exception as error:
            error.result = run.result(  # type: ignore[attr-defined]
                Status.FAILED, run.last_bound(), str(error)
            )
            if len(run.situation.history) or run.situation.history.loose:
                error.add_note("What was evaluated before is in this exception's `result`.")
            raise
        if status is Status.INFEASIBLE:
            return run.result(status, Bound())
        table.doing("computing the final bound")
        with _one_thread():
            bound = run.strategy.bound(run.situation)
    return run.result(status, bound)


@dataclass(slots=True)
class Run:
    """A study in progress: a strategy, and the situation it is in."""

    strategy: Strategy
    situation: Situation
    refutation: Refutation | None = None

    def until_stopped(
        self,
        timeout: float | None,
        gap_tol: float | None,
        callback: Callable[[Trial], object] | None,
        table: Progress,
    ) -> Status:
        """Make trials until there is a reason to stop."""
        started = time.perf_counter()
        while self.situation.remaining:
            if timeout is not None and time.perf_counter() - started >= timeout:
                return Status.TIMEOUT
            number = len(self.situation.history) + 1
            before = time.perf_counter()
            table.doing(f"trial {number}: choosing what to try")
            with _one_thread():
                suggestion = self.strategy.suggest(self.situation)
            if suggestion.refutation is not None:
                self.refutation = suggestion.refutation
                return Status.INFEASIBLE
            if gap_tol is not None:
                reached = self._reached(suggestion, gap_tol)
                if reached is not None:
                    return reached
            table.doing(f"trial {number}: evaluating the black boxes")
            trial = self._evaluate(suggestion, time.perf_counter() - before)
            table.add(self._row(trial, time.perf_counter() - started))
            if callback is not None and callback(trial):
                return Status.CALLBACK
        return Status.MAX_TRIALS

    def last_bound(self) -> Bound:
        """The latest bound there is."""
        trials = self.situation.history.trials
        return _bound_of(trials[-1].suggestion) if trials else Bound()

    def result(self, status: Status, bound: Bound, message: str | None = None) -> Result:
        """What has been found so far."""
        shown = Shown() if self.refutation is not None else self._shown(bound)
        return build_result(self.situation, self.strategy, status, message, shown, self.refutation)

    def _reached(self, suggestion: Suggestion, gap_tol: float) -> Status | None:
        """The status to stop with when best value and bound are close enough."""
        standing = self._standing(_bound_of(suggestion))
        # With noise the best value is itself an estimate.
        exact = all(is_exact(box) for box in self.situation.problem.boxes)
        if standing.gap(standing.proved) <= gap_tol:
            return Status.OPTIMAL if exact else Status.GAP_TOL
        if not self._insists and standing.gap(standing.estimated) <= gap_tol:
            return Status.GAP_TOL
        return None

    @property
    def _insists(self) -> bool:
        """Whether proofs were asked for, so that an estimate will not do."""
        return isinstance(getattr(self.strategy, "solver", None), Certified)

    def _standing(self, bound: Bound) -> _Standing:
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
            proved += [t.suggestion.proved for t in self.situation.history]
        known = [v for v in proved if v is not None and v <= most]
        estimated = bound.promise
        if estimated is not None and estimated > most:
            estimated = None
        return _Standing(best, max(known, default=None), estimated)

    def _shown(self, bound: Bound) -> Shown:
        """The certified bound, unless it is far from closed and an estimate says more."""
        standing = self._standing(bound)
        proved, estimated = standing.proved, standing.estimated
        if proved is None:
            return Shown(estimated, False, bound.reason)
        missing = standing.gap(estimated)
        if estimated is not None and np.isfinite(missing) and not self._insists:
            spread = np.std([t.objective for t in self.situation.history if t.violation == 0])
            enough = max(0.1 * missing, 1e-3 * float(spread), 2e-4 * abs(proved))
            if estimated - proved > enough:
                return Shown(estimated, False, bound.reason)
        return Shown(proved, True)

    def _evaluate(self, suggestion: Suggestion, suggesting_seconds: float) -> Trial:
        history = self.situation.history
        evaluator = Evaluator(self.situation.problem, suggestion)
        started = time.perf_counter()
        try:
            trial = evaluator.run(len(history) + 1)
        except BaseException:  # whatever it was, what had been answered by then is kept
            history = replace(history, loose=(*history.loose, *evaluator.observations))
            self.situation = replace(self.situation, history=history)
            raise
        trial = replace(trial, seconds=(suggesting_seconds, time.perf_counter() - started))
        remaining = None if self.situation.remaining is None else self.situation.remaining - 1
        self.situation = replace(
            self.situation, history=history.with_trial(trial), remaining=remaining
        )
        return trial

    def _row(self, trial: Trial, seconds: float) -> Row:
        sense = self.situation.problem.sense
        bound = _bound_of(trial.suggestion)
        standing, shown = self._standing(bound), self._shown(bound)
        gap = standing.gap(shown.value)
        return Row(
            trial=trial.number,
            kind=str(trial.suggestion.kind),
            best=sense * standing.best if np.isfinite(standing.best) else None,
            bound=None if shown.value is None else sense * shown.value,
            certified=shown.certified,
            gap=gap if np.isfinite(gap) else None,
            violation=trial.violation,
            evaluations=self.situation.history.counts(),
            seconds=seconds,
        )


@dataclass(frozen=True, slots=True)
class _Standing:
    """The best value at some moment, infinite if none is feasible, and the bounds on it."""

    best: float
    proved: float | None
    estimated: float | None

    def gap(self, bound: float | None) -> float:
        """From a bound to the best value; infinite when one of them is missing."""
        return np.inf if bound is None else max(self.best - bound, 0.0)


def _solve_white(problem: Problem, seed: int) -> Result:
    """A problem without black boxes needs no learning: search it once, and prove the answer."""
    box = relaxed(PlausibleSet(problem.program, {}, {}))
    search = MultiStart(starts=48, samples=8192, iterations=200)
    solver = Certified(1e-9, 1e-4, 20_000, search=search)
    solution = solver.solve(box, box.lower.new_zeros(0, problem.program.size), seed)
    proof = solution.proof
    assert proof is not None
    x = np.array(solution.point.numpy())
    trial = Evaluator(problem, Suggestion(TrialKind.RECOMMENDED, x)).run(1)
    run = Run(Optimistic(), Situation(problem, History((trial,)), seed))
    if proof.status is ProofStatus.INFEASIBLE:
        run.refutation = Refutation(problem, History(), proof.leaves)
        return run.result(Status.INFEASIBLE, Bound())
    proved = proof.lower if np.isfinite(proof.lower) else None
    bound = Bound(solution.value if solution.feasible else None, proved, proof.reason)
    if proof.status is ProofStatus.OPTIMAL and trial.violation == 0:
        message = "the problem has no black box: solved at once, and proved"
        return run.result(Status.OPTIMAL, bound, message)
    return run.result(Status.NO_BLACK_BOX, bound)


def _refute_known_parts(problem: Problem, seed: int) -> Refutation | None:
    """Proof that constraints which read no black box cannot be met together, if it is found."""
    program = problem.program
    known = [
        constraint
        for constraint in problem.constraints
        if not Program([constraint.body], problem.variables).calls
    ]
    if not known:
        return None
    # Any objective will do; this one names all variables, in their order.
    anything = sum((np.sum(v) for v in problem.variables[1:]), np.sum(problem.variables[0]))
    demands = Problem(minimize=anything, subject_to=known)
    box = relaxed(PlausibleSet(demands.program, {}, {}))
    nothing = box.lower.new_zeros(0, program.size)
    proof = Certified(boxes=_KNOWN_BOXES).solve(box, nothing, seed).proof
    if proof is None or proof.status is not ProofStatus.INFEASIBLE:
        return None
    return Refutation(demands, History(), proof.leaves)


def _bound_of(suggestion: Suggestion) -> Bound:
    return Bound(suggestion.promise, suggestion.proved)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let PyTorch work on one thread for a while.

    The tensors are small: threads that wait for one another cost more than they bring, seconds per
    trial on a busy machine.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _check_arguments(
    trials: int,
    evaluation: str,
    seed: int,
    timeout: float | None,
    gap_tol: float | None,
    strategy: object,
    callback: object,
) -> None:
    if not is_whole(trials) or trials < 1:
        raise ModelError(f"solve(trials={trials!r}): trials must be a whole number of at least 1")
    if evaluation not in ("separate", "chained"):
        raise ModelError(f"solve(evaluation={evaluation!r}): use 'separate' or 'chained'")
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ModelError(f"solve(seed={seed!r}): a seed is a whole number of at least 0")
    for name, value in (("timeout", timeout), ("gap_tol", gap_tol)):
        if value is not None and (not isinstance(value, int | float) or not value >= 0):
            raise ModelError(f"solve({name}={value!r}): pass a number of at least 0, or None")
    if strategy is not None and (isinstance(strategy, type) or not hasattr(strategy, "suggest")):
        raise ModelError(
            f"solve(strategy={strategy!r}): pass a strategy object such as gs.Optimistic()"
        )
    if callback is not None and not callable(callback):
        raise ModelError(f"solve(callback={callback!r}): pass a function of one trial")

"""The loop behind `Problem.solve`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace

import numpy as np
import torch

from grisaille.checks import is_whole
from grisaille.confidence.plausible import PlausibleSet
from grisaille.confidence.relaxation import relaxed
from grisaille.errors import ModelError
from grisaille.modeling.problem import Problem
from grisaille.records import History, Refutation, Suggestion, Trial, TrialKind
from grisaille.reporting.progress import Progress, Row, Silence, show_progress
from grisaille.solvers.certified import Certified
from grisaille.solvers.multistart import MultiStart
from grisaille.solvers.relaxation import ProofStatus
from grisaille.strategies.optimistic import Optimistic
from grisaille.strategies.strategy import Bound, Evaluation, Situation, Strategy
from grisaille.study.evaluation import Evaluator
from grisaille.study.result import Result, Status, build_result


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
            bound = self._bound(suggestion)
            if gap_tol is not None and self._gap(bound) <= gap_tol:
                return Status.OPTIMAL if bound.certified else Status.GAP_TOL
            table.doing(f"trial {number}: evaluating the black boxes")
            trial = self._evaluate(suggestion, time.perf_counter() - before)
            table.add(self._row(trial, time.perf_counter() - started))
            if callback is not None and callback(trial):
                return Status.CALLBACK
        return Status.MAX_TRIALS

    def last_bound(self) -> Bound:
        """The latest bound there is."""
        trials = self.situation.history.trials
        return self._bound(trials[-1].suggestion) if trials else Bound()

    def result(self, status: Status, bound: Bound, message: str | None = None) -> Result:
        """What has been found so far."""
        known = Bound() if self.refutation is not None else self._best_of(bound)
        return build_result(self.situation, self.strategy, status, message, known, self.refutation)

    def _bound(self, suggestion: Suggestion) -> Bound:
        """What is known about the optimum when a suggestion is made."""
        if suggestion.proved is not None:
            return self._best_of(Bound(suggestion.proved, certified=True))
        return self._best_of(Bound(suggestion.promise))

    def _best_of(self, bound: Bound) -> Bound:
        """The best certified bound of all trials so far: it holds while all their bands do.

        Bands with learned hyper-parameters are given up when new ones are learned, and what they
        proved with them.
        """
        if self.strategy.learned(self.situation.problem):
            return bound
        proved = [t.suggestion.proved for t in self.situation.history]
        known = [value for value in proved if value is not None]
        if bound.certified and bound.value is not None:
            known.append(bound.value)
        return Bound(max(known), certified=True) if known else bound

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

    def _gap(self, bound: Bound) -> float:
        best = self.strategy.incumbent(self.situation)
        if best is None or not best.feasible or bound.value is None:
            return np.inf
        return best.objective - bound.value

    def _row(self, trial: Trial, seconds: float) -> Row:
        best = self.strategy.incumbent(self.situation)
        sense = self.situation.problem.sense
        bound = self._bound(trial.suggestion)
        gap = self._gap(bound)
        return Row(
            trial=trial.number,
            kind=str(trial.suggestion.kind),
            best=sense * best.objective if best is not None and best.feasible else None,
            bound=None if bound.value is None else sense * bound.value,
            certified=bound.certified,
            gap=gap if np.isfinite(gap) and gap >= 0 else None,
            violation=trial.violation,
            evaluations=self.situation.history.counts(),
            seconds=seconds,
        )


def _solve_white(problem: Problem, seed: int) -> Result:
    """A problem without black boxes needs no learning: search it once, and prove the answer."""
    problem_of_box = relaxed(PlausibleSet(problem.program, {}, {}))
    search = MultiStart(starts=48, samples=8192, iterations=200)
    nothing = problem_of_box.lower.new_zeros(0, problem.program.size)
    solution = Certified(boxes=20_000, search=search).solve(problem_of_box, nothing, seed)
    proof = solution.proof
    assert proof is not None
    x = np.array(solution.point.numpy())
    trial = Evaluator(problem, Suggestion(TrialKind.RECOMMENDED, x)).run(1)
    run = Run(Optimistic(), Situation(problem, History((trial,)), seed))
    if proof.status is ProofStatus.INFEASIBLE:
        run.refutation = Refutation(proof.leaves)
        return run.result(Status.INFEASIBLE, Bound())
    if proof.status is ProofStatus.OPTIMAL:
        message = "the problem has no black box: solved at once, and proved"
        return run.result(Status.OPTIMAL, Bound(proof.lower, certified=True), message)
    estimate = Bound(solution.value if solution.feasible else None, reason=proof.reason)
    return run.result(Status.NO_BLACK_BOX, estimate)


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

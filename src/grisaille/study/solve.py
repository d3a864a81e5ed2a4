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
from grisaille.errors import ModelError
from grisaille.modeling.problem import Problem
from grisaille.records import History, Suggestion, Trial, TrialKind
from grisaille.reporting.progress import Progress, Row, Silence, show_progress
from grisaille.solvers.multistart import MultiStart
from grisaille.strategies.optimistic import Optimistic
from grisaille.strategies.strategy import Evaluation, Situation, Strategy
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
            return run.result(Status.INTERRUPTED, run.last_promise())
        except Exception as error:
            error.result = run.result(  # type: ignore[attr-defined]
                Status.FAILED, run.last_promise(), str(error)
            )
            if len(run.situation.history) or run.situation.history.loose:
                error.add_note("What was evaluated before is in this exception's `result`.")
            raise
        table.doing("computing the final bound")
        with _one_thread():
            bound = run.strategy.bound(run.situation)
    return run.result(status, bound)


@dataclass(slots=True)
class Run:
    """A study in progress: a strategy, and the situation it is in."""

    strategy: Strategy
    situation: Situation

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
            if gap_tol is not None and self._gap(suggestion.promise) <= gap_tol:
                return Status.GAP_TOL
            table.doing(f"trial {number}: evaluating the black boxes")
            trial = self._evaluate(suggestion, time.perf_counter() - before)
            table.add(self._row(trial, time.perf_counter() - started))
            if callback is not None and callback(trial):
                return Status.CALLBACK
        return Status.MAX_TRIALS

    def last_promise(self) -> float | None:
        """The latest bound there is."""
        trials = self.situation.history.trials
        return trials[-1].suggestion.promise if trials else None

    def result(self, status: Status, bound: float | None, message: str | None = None) -> Result:
        """What has been found so far."""
        return build_result(self.situation, self.strategy, status, message, bound)

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

    def _gap(self, promise: float | None) -> float:
        best = self.strategy.incumbent(self.situation)
        if best is None or not best.feasible or promise is None:
            return np.inf
        return best.objective - promise

    def _row(self, trial: Trial, seconds: float) -> Row:
        best = self.strategy.incumbent(self.situation)
        sense = self.situation.problem.sense
        promise = trial.suggestion.promise
        gap = self._gap(promise)
        return Row(
            trial=trial.number,
            kind=str(trial.suggestion.kind),
            best=sense * best.objective if best is not None and best.feasible else None,
            bound=None if promise is None else sense * promise,
            gap=gap if np.isfinite(gap) and gap >= 0 else None,
            violation=trial.violation,
            evaluations=self.situation.history.counts(),
            seconds=seconds,
        )


def _solve_white(problem: Problem, seed: int) -> Result:
    """A problem without black boxes needs no learning: search it once."""
    plausible = PlausibleSet(problem.program, {}, {})
    solution = MultiStart(starts=48, samples=8192, iterations=200).solve(
        plausible.box_problem(), plausible.lower.new_zeros(0, problem.program.size), seed
    )
    x = np.array(solution.point.numpy())
    trial = Evaluator(problem, Suggestion(TrialKind.RECOMMENDED, x)).run(1)
    run = Run(Optimistic(), Situation(problem, History((trial,)), seed))
    return run.result(Status.NO_BLACK_BOX, solution.value if solution.feasible else None)


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

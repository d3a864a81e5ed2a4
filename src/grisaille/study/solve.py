"""The loop behind `Problem.solve`."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import numpy as np
import torch

from grisaille.confidence.plausible import PlausibleSet
from grisaille.errors import GrisailleError, ModelError
from grisaille.modeling.problem import Problem
from grisaille.records import History, Suggestion, Trial, TrialKind
from grisaille.reporting.progress import Progress, Row, show_progress
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
    _check_arguments(trials, evaluation, seed, timeout, gap_tol)
    if strategy is not None and not hasattr(strategy, "suggest"):
        raise ModelError(
            f"solve(strategy={strategy!r}): pass a strategy object such as gs.Optimistic()"
        )
    if not problem.boxes:
        return _solve_white(problem, seed)
    strategy = Optimistic() if strategy is None else strategy
    started = time.perf_counter()
    situation = Situation(problem, History(), seed, evaluation, trials)
    status = Status.MAX_TRIALS
    view: AbstractContextManager[Progress | None] = (
        nullcontext() if progress is False else show_progress(problem, live=progress)
    )
    with view as table:
        try:
            while len(situation.history) < trials:
                if timeout is not None and time.perf_counter() - started >= timeout:
                    status = Status.TIMEOUT
                    break
                before = time.perf_counter()
                with _one_thread():
                    suggestion = strategy.suggest(situation)
                best = strategy.incumbent(situation)
                if gap_tol is not None and best is not None and best.feasible:
                    promise = suggestion.promise
                    if promise is not None and best.objective - promise <= gap_tol:
                        status = Status.GAP_TOL
                        break
                evaluator = Evaluator(problem, suggestion)
                suggested = time.perf_counter()
                try:
                    trial = evaluator.run(len(situation.history), suggested - before)
                except BaseException:
                    loose = (*situation.history.loose, *evaluator.observations)
                    kept = dataclasses.replace(situation.history, loose=loose)
                    situation = dataclasses.replace(situation, history=kept)
                    raise
                evaluating = time.perf_counter() - suggested
                trial = dataclasses.replace(trial, seconds=(suggested - before, evaluating))
                history = situation.history.with_trial(trial)
                situation = dataclasses.replace(
                    situation, history=history, remaining=trials - len(history)
                )
                if table is not None:
                    table.add(_row(situation, strategy, trial, time.perf_counter() - started))
                if callback is not None and callback(trial) is True:
                    status = Status.CALLBACK
                    break
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except GrisailleError as error:
            promise = _last_promise(situation.history)
            error.result = build_result(situation, strategy, Status.FAILED, str(error), promise)
            raise
    if status is Status.INTERRUPTED:  # whoever pressed Ctrl-C does not want another search
        return build_result(situation, strategy, status, None, _last_promise(situation.history))
    with _one_thread():
        bound = strategy.bound(situation)
    return build_result(situation, strategy, status, None, bound)


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


def _last_promise(history: History) -> float | None:
    return history.trials[-1].suggestion.promise if len(history) else None


def _row(situation: Situation, strategy: Strategy, trial: Trial, seconds: float) -> Row:
    best = strategy.incumbent(situation)
    sense = situation.problem.sense
    promise = trial.suggestion.promise
    feasible = best is not None and best.feasible
    return Row(
        trial=trial.number + 1,
        kind=str(trial.suggestion.kind),
        best=sense * best.objective if best is not None and feasible else None,
        bound=None if promise is None else sense * promise,
        gap=None if promise is None or best is None or not feasible else best.objective - promise,
        violation=trial.violation,
        evaluations=situation.history.counts(),
        seconds=seconds,
    )


def _solve_white(problem: Problem, seed: int) -> Result:
    """A problem without black boxes needs no learning: search it once."""
    plausible = PlausibleSet(problem.program, {}, beta=1.0)
    solution = MultiStart(starts=48, samples=8192, iterations=200).solve(
        plausible.box_problem(), torch.zeros(0, problem.program.size, dtype=torch.float64), seed
    )
    x = solution.point.numpy().copy()
    trial = Evaluator(problem, Suggestion(TrialKind.RECOMMENDED, x)).run(0, 0.0)
    situation = Situation(problem, History((trial,)), seed)
    bound = solution.value if solution.feasible else None
    return build_result(situation, Optimistic(), Status.NO_BLACK_BOX, None, bound)


def _check_arguments(
    trials: int, evaluation: str, seed: int, timeout: float | None, gap_tol: float | None
) -> None:
    if not isinstance(trials, int | np.integer) or isinstance(trials, bool) or trials < 1:
        raise ModelError(f"solve(trials={trials!r}): trials must be a whole number of at least 1")
    if evaluation not in ("separate", "chained"):
        raise ModelError(f"solve(evaluation={evaluation!r}): use 'separate' or 'chained'")
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ModelError(f"solve(seed={seed!r}): a seed is a whole number of at least 0")
    for name, value in (("timeout", timeout), ("gap_tol", gap_tol)):
        if value is not None and not value >= 0:
            raise ModelError(f"solve({name}={value!r}): pass a number of at least 0, or None")

"""One run of a study: it ends with a result, also when it is interrupted or fails."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from grisaille.errors import text_of
from grisaille.execution.evaluators import evaluators_for
from grisaille.interrupts import Uninterrupted, interruptible
from grisaille.records import NO_BOUND, Refutation, Trial
from grisaille.reporting.progress import Progress, show_progress
from grisaille.study.argument_checks import check_functions, check_run
from grisaille.study.budget import DEFAULT_TRIALS, Limits
from grisaille.study.one_thread import one_thread
from grisaille.study.presolve import refute_known_parts
from grisaille.study.progress_summary import ProgressSummary
from grisaille.study.result import Result, Status
from grisaille.study.runner import Runner
from grisaille.study.session import Session

# Gaps that differ by no more than this part of the larger one look the same to a reader.
_SAME_GAP = 0.05


def run(
    session: Session,
    *,
    trials: int | None,
    executor: Any,
    workers: int | None,
    timeout: float | None,
    gap_tol: float | None,
    stop_if_infeasible: bool,
    max_cost: float | None,
    callback: Callable[[Trial], object] | None,
    progress: bool | None,
) -> Result:
    """See `Study.run`."""
    check_run(
        trials,
        workers,
        timeout,
        gap_tol,
        max_cost,
        callback,
        stop_if_infeasible,
        executor,
        progress,
    )
    problem = session.problem
    check_functions(problem)
    if trials is None and max_cost is None:
        trials = DEFAULT_TRIALS
    limits = Limits(trials, max_cost, gap_tol)
    table, silent = Progress(), progress is not None and not progress
    # Interrupts raise where something may take long: in a search, an evaluation, a pause. Elsewhere
    # they could leave a lock behind that a thread waits for, or lose an answer.
    with Uninterrupted() as interrupts:
        try:
            refutation = interruptible(partial(_refuted_by_known_parts, session))
            if refutation is not None:
                summary = session.summary(limits)
                return summary.result(Status.INFEASIBLE, NO_BOUND, refutation=refutation)
            view = nullcontext(table) if silent else show_progress(problem, progress, trials)
            with view as table, evaluators_for(executor, workers) as evaluators:
                runner = Runner(
                    session,
                    limits,
                    evaluators,
                    timeout,
                    stop_if_infeasible,
                    callback,
                    table,
                )
                try:
                    result = runner.result()
                except BaseException:
                    runner.give_up()
                    raise
        except KeyboardInterrupt:
            interrupts.answer()
            # Nobody wants to wait for another search, or for a storage that is away.
            with session.impatient():
                summary = session.summary(limits)
            result = _result_so_far(summary, Status.INTERRUPTED)
        except BaseException as error:
            with session.cleaning_up():
                _attach_result(error, session.summary(limits))
            raise
    session.conclude(result)
    result.message += _changed_gap(table.shown_gap, result.gap)
    if table.trouble:
        result.message += f"; the view was switched off: {table.trouble}"
    return result


def _changed_gap(shown: float | None, gap: float) -> str:
    """What a message adds if the gap is not the one that the table showed last."""
    if shown is None or abs(gap - shown) <= _SAME_GAP * max(gap, shown):
        return ""
    now = f"is {gap:.3g}" if np.isfinite(gap) else "is unknown"
    return (
        f"; the gap {now}, not {shown:.3g} as in the last line of the table, because the bound was "
        "worked out anew from all answers"
    )


def _refuted_by_known_parts(session: Session) -> Refutation | None:
    """The proof that no point is feasible, if the known parts alone give one."""
    state = session.state()
    if state.trials:
        return None
    with one_thread():
        return refute_known_parts(session.problem, int(state.settings["seed"]))


def _attach_result(error: BaseException, summary: ProgressSummary) -> None:
    """Attach to an error what was found before it."""
    history = summary.situation.history
    reason = text_of(error) or type(error).__name__
    error.result = _result_so_far(summary, Status.FAILED, reason)  # type: ignore[attr-defined]
    if len(history) or history.loose:
        error.add_note("What was evaluated before is in this exception's `result`.")


def _result_so_far(summary: ProgressSummary, status: Status, reason: str = "") -> Result:
    """The result of a run that was broken off, by the strategy's judgement if there is one."""
    bound = summary.last_bound()
    try:
        return interruptible(lambda: summary.result(status, bound, reason))
    except (Exception, KeyboardInterrupt):  # the model fails, or somebody cannot wait for it
        return replace(summary, as_observed=True).result(status, bound, reason)

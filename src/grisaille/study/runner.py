"""Evaluating a study: here, in child processes, or wherever an executor sends it."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Future
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from grisaille.checks import is_number, is_whole
from grisaille.errors import (
    AssumptionError,
    EvaluationError,
    GrisailleError,
    ModelError,
    ProtocolError,
)
from grisaille.execution.evaluators import Hands, hands_for
from grisaille.records import Bound, Refutation, Suggestion, Trial
from grisaille.reporting.progress import Progress, Silence, show_progress
from grisaille.study.budget import Limits, left
from grisaille.study.presolve import refute_known_parts
from grisaille.study.progress_summary import Standing
from grisaille.study.result import Result, Status
from grisaille.study.session import Desk, Query
from grisaille.study.state import QueryEntry, TrialState
from grisaille.study.threads import one_thread
from grisaille.study.transitions import Page, check_range

if TYPE_CHECKING:
    from grisaille.study.study import Study

Value = TypeVar("Value")

# A study stops when its first trials all break off, or later so many in a row.
_FIRST_BROKEN = 5
_BROKEN_IN_A_ROW = 10
# A suggestion is made ahead when it takes more than this part of an evaluation.
_AHEAD = 0.05
# How often to look whether other processes left something to do, in seconds.
_POLL = 0.1


def run(
    study: Study,
    *,
    trials: int | None,
    executor: Any,
    workers: int | None,
    timeout: float | None,
    gap_tol: float | None,
    max_cost: float | None,
    callback: Callable[[Trial], object] | None,
    progress: bool | None,
) -> Result:
    """See `Study.run`."""
    _check_arguments(trials, workers, timeout, gap_tol, max_cost, callback)
    _check_functions(study)
    if trials is None and max_cost is None:
        trials = 50
    desk = study.desk
    limits = Limits(trials, max_cost)
    if not desk.ledger().trials:
        with one_thread():
            refutation = refute_known_parts(study.problem, study.seed)
        if refutation is not None:
            standing = desk.standing(limits)
            return standing.result(Status.INFEASIBLE, Bound(), refutation=refutation)
    view = nullcontext(Silence()) if progress is False else show_progress(study.problem, progress)
    with view as table, hands_for(executor, workers) as hands:
        runner = Runner(desk, limits, hands, timeout, gap_tol, callback, table)
        try:
            status = runner.until_stopped()
            standing = desk.standing(limits)
            if status is Status.INFEASIBLE:
                return standing.result(status, Bound(), refutation=runner.refutation)
            table.doing("computing the final bound")
            with one_thread():
                bound = study.strategy.bound(standing.situation)
            return standing.result(status, bound)
        except KeyboardInterrupt:
            runner.let_go()
            # Whoever pressed Ctrl-C does not want to wait for another search.
            standing = desk.standing(limits)
            return standing.result(Status.INTERRUPTED, standing.last_bound())
        except BaseException as error:
            with suppress(GrisailleError):  # the first error is the one to tell
                runner.let_go()
                _attach_result(error, desk.standing(limits))
            raise


def _attach_result(error: BaseException, standing: Standing) -> None:
    """Leave what was found before an error with it."""
    history = standing.situation.history
    reason = str(error) or type(error).__name__
    error.result = standing.result(  # type: ignore[attr-defined]
        Status.FAILED, standing.last_bound(), reason
    )
    if len(history) or history.loose:
        error.add_note("What was evaluated before is in this exception's `result`.")


@dataclass(slots=True)
class _Flight:
    """An evaluation under way."""

    query: Query
    future: Future[Any]
    started: float


@dataclass(slots=True)
class Runner:
    """Keeps hands busy until there is a reason to stop."""

    desk: Desk
    limits: Limits
    hands: Hands
    timeout: float | None
    gap_tol: float | None
    callback: Callable[[Trial], object] | None
    table: Progress
    refutation: Refutation | None = None
    _started: float = field(default_factory=time.perf_counter)
    _flying: dict[str, _Flight] = field(default_factory=dict)
    _landed: queue.SimpleQueue[tuple[str, float]] = field(default_factory=queue.SimpleQueue)
    _status: Status | None = None
    _broken: list[str] = field(default_factory=list)
    _cause: BaseException | None = None
    _suggesting: float = 0.0
    _unbounded: int = 0
    _evaluating: list[float] = field(default_factory=list)

    def until_stopped(self) -> Status:
        """Suggest, evaluate and record until there is a reason to stop; then finish the rest."""
        while True:
            while len(self._flying) < self.hands.slots and self._send_one():
                pass
            if self._flying:
                self._make_one_ahead()
                self._receive_one()
            elif self._status is not None:
                if not self._others_may_need_help():
                    return self._status
                time.sleep(_POLL)
            else:
                time.sleep(_POLL)  # others are deciding, or have what this waits for

    def let_go(self) -> None:
        """Stop what can be stopped, and give the rest back."""
        self.hands.cancel()
        for flight in self._flying.values():
            flight.future.cancel()
        self.desk.give_back()

    def _others_may_need_help(self) -> bool:
        """Whether other processes are at work, so that what they lose may have to be done here."""
        used_up = self._status in (Status.MAX_TRIALS, Status.MAX_COST)
        return used_up and not self._is_late() and self.desk.others_at_work()

    def _send_one(self) -> bool:
        """Send one query to a free hand; False if there is none to send now."""
        self._look_at_the_clock()
        query = self.desk.take()
        while query is None:
            if self._status is not None or not self._suggest():
                return False
            query = self.desk.take()
        self.table.doing(f"trial {query.trial}: evaluating {query.box}")
        started = time.perf_counter()
        box = self.desk.boxes[query.box]
        future = self.hands.submit(box, query.arguments)
        self._flying[query.id] = _Flight(query, future, started)
        name = query.id
        future.add_done_callback(lambda _: self._landed.put((name, time.perf_counter())))
        return True

    def _suggest(self) -> bool:
        """Start one more trial; False if there will be none, or none yet."""
        number = len(self.desk.ledger().trials) + 1
        self.table.doing(f"trial {number}: choosing what to try")
        before = time.perf_counter()
        decision = self.desk.decide(self.limits)
        self._suggesting = time.perf_counter() - before
        suggestion = decision.suggestion
        if decision.status is not None:
            self._status = decision.status
            self.refutation = None if suggestion is None else suggestion.refutation
            return False
        if suggestion is None:
            return False
        reached = self._reached(suggestion)
        if reached is not None:
            self.desk.drop_decision()
            self._status = reached
            return False
        started = self.desk.start(suggestion)
        self._look_after(number)
        return started

    def _look_after(self, number: int) -> None:
        """Count a trial that broke off although no black box failed: a known part did."""
        trial = self.desk.ledger().trials.get(number)
        if trial is not None and trial.state is TrialState.BROKEN:
            self._broke_off(number, trial.reason)

    def _broke_off(self, number: int, reason: str) -> None:
        self.table.note(f"trial {number} broke off: {reason}")
        self._broken.append(reason)
        self._stop_if_nothing_works()

    def _reached(self, suggestion: Suggestion) -> Status | None:
        """The status to stop with if the gap is closed."""
        if self.gap_tol is None:
            return None
        standing = self.desk.standing(self.limits)
        bound = suggestion.bound
        if not suggestion.has_bound:
            # Made while others are under way, or with narrower bands: work one out now and then.
            self._unbounded += 1
            if self._unbounded % self.hands.slots:
                return None
            with one_thread():
                bound = self.desk.strategy.bound(standing.situation)
        return standing.reached(bound, self.gap_tol)

    def _make_one_ahead(self) -> None:
        """Have the next trial ready before a hand is free, if choosing it takes a while."""
        if self.hands.slots == 1 or len(self._flying) < self.hands.slots or not self._evaluating:
            return
        slow = self._suggesting > _AHEAD * float(np.median(self._evaluating))
        self._look_at_the_clock()
        if slow and self._status is None and next(self.desk.ledger().waiting(), None) is None:
            self._suggest()

    def _look_at_the_clock(self) -> None:
        if self._status is None and self._is_late():
            self._status = Status.TIMEOUT

    def _is_late(self) -> bool:
        return self.timeout is not None and time.perf_counter() - self._started >= self.timeout

    def _receive_one(self) -> None:
        name, ended = self._landed.get()
        flight = self._flying.pop(name)
        query, seconds = flight.query, ended - flight.started
        self._evaluating.append(seconds)
        box = self.desk.boxes[query.box]
        where = f"black box {box.name!r} at {box.describe(query.inputs)}"
        try:
            answer = flight.future.result()
            outputs = box.check(answer, where)
            check_range(box, query.inputs, outputs)
        except AssumptionError as error:
            self._fail(query, str(error))
            raise
        except BrokenExecutor as error:
            self._lose(query, f"{where}: the process that evaluated it died ({error})")
            raise EvaluationError(
                f"{where}: the executor broke, a worker process died: {error}; pass workers= "
                "instead of executor= to have child processes that are replaced when they die"
            ) from error
        except CancelledError:
            self._lose(query, f"{where}: the executor cancelled it")
        except EvaluationError as error:
            text = str(error)
            self._fail(query, text if text.startswith(where) else f"{where}: {text}", error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # sys.exit() in a function ends the evaluation, not more
            self._fail(query, f"{where} raised {type(error).__name__}: {error}", error)
        else:
            trial = self._write(query, lambda page, entry: page.tell(entry, outputs, seconds))
            if trial is not None:
                self._completed(trial)
            else:
                self._look_after(query.trial)

    def _write(self, query: Query, record: Callable[[Page, QueryEntry], Value]) -> Value | None:
        """Record something about a query, unless others have settled it meanwhile."""

        def unless_settled(page: Page) -> Value | None:
            entry = page.ledger.queries[query.id]
            return record(page, entry) if entry.is_open else None

        return self.desk.write(unless_settled)

    def _completed(self, trial: Trial) -> None:
        self._broken.clear()
        elapsed = time.perf_counter() - self._started
        self.table.add(self.desk.standing(self.limits).row(trial, elapsed))
        if self.callback is not None and self.callback(trial) and self._status is None:
            self._status = Status.CALLBACK

    def _fail(self, query: Query, reason: str, cause: BaseException | None = None) -> None:
        def record(page: Page, entry: QueryEntry) -> TrialState:
            _, budget = left(page.problem, page.ledger, self.limits)
            # What is left has this query's cost taken off once; a second attempt costs it again.
            affordable = budget is None or budget >= self.desk.boxes[query.box].cost
            page.fail(entry, reason, may_retry=affordable)
            return page.ledger.trials[query.trial].state

        self._cause = cause
        state = self._write(query, record)
        if state is TrialState.BROKEN:
            self._broke_off(query.trial, reason)
        elif state is TrialState.COMPLETE:  # a probe failed, and it was the last of its trial
            record_of = self.desk.ledger().trials[query.trial].record
            assert record_of is not None
            self._completed(record_of)

    def _lose(self, query: Query, reason: str) -> None:
        self._write(query, lambda page, entry: page.fail(entry, reason, lost=True))

    def _stop_if_nothing_works(self) -> None:
        ever = len(self.desk.ledger().history())
        limit = _BROKEN_IN_A_ROW if ever else _FIRST_BROKEN
        if len(self._broken) < limit:
            return
        count = f"all {limit} trials" if not ever else f"{limit} trials in a row"
        reasons = "\n".join(f"  {reason}" for reason in dict.fromkeys(self._broken[-3:]))
        raise EvaluationError(
            f"{count} failed, so the study stops; the last ones:\n{reasons}"
        ) from self._cause


def _check_functions(study: Study) -> None:
    for box in study.problem.boxes:
        if box.fn is None:
            raise ProtocolError(
                f"black box {box.name!r} has no function (fn=None): give it one to solve here, or "
                "use ask and tell of a gs.Study"
            )


def _check_arguments(
    trials: object,
    workers: object,
    timeout: object,
    gap_tol: object,
    max_cost: object,
    callback: object,
) -> None:
    for name, value in (("trials", trials), ("workers", workers)):
        if value is not None and (not is_whole(value) or value < 1):  # type: ignore[operator]
            raise ModelError(f"{name}={value!r}: pass a whole number of at least 1")
    for name, value in (("timeout", timeout), ("gap_tol", gap_tol), ("max_cost", max_cost)):
        if value is not None and (not is_number(value) or not 0 <= value < np.inf):  # type: ignore[operator]
            raise ModelError(f"{name}={value!r}: pass a finite number of at least 0, or None")
    if callback is not None and not callable(callback):
        raise ModelError(f"callback={callback!r}: pass a function of one trial")

"""One process's access to a study: reads the log, takes the write lock, hands out queries."""

from __future__ import annotations

import logging
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from grisaille.array_types import Array
from grisaille.belief.incumbent import Incumbent
from grisaille.errors import EvaluationError, ModelError, StorageError
from grisaille.interrupts import Uninterrupted, interruptible
from grisaille.language.problem import Problem
from grisaille.records import Bound, Situation, Suggestion, Trial
from grisaille.strategies.strategy import Strategy
from grisaille.study.border import bound_of, suggestion_of
from grisaille.study.events import Asked, Changed, Concluded, Created
from grisaille.study.identity import check_same_study, is_changed, refuse_changed, settings_of
from grisaille.study.log.event_log import (
    ConnectionLostError,
    Data,
    Event,
    Log,
    MemoryLog,
    Turn,
)
from grisaille.study.log.heartbeat import HEARTBEAT, Heartbeat, this_worker
from grisaille.study.one_thread import one_thread
from grisaille.study.progress_summary import ProgressSummary
from grisaille.study.result import Result, Status
from grisaille.study.state import (
    Limits,
    Query,
    QueryEntry,
    QueryState,
    StudyState,
    TrialEntry,
    TrialState,
    left,
)
from grisaille.study.study_summary import stored_conclusion
from grisaille.study.writer import Chain, Decision, Writer, recompute
from grisaille.theory.beta import Theory

# --- log access -----------------------------------------------------------------------------------
# The log of a study as one process uses it: by several threads, and with patience.


@dataclass(frozen=True, slots=True)
class SessionConstants:
    """The constants of a session, in seconds unless it says otherwise.

    Attributes:
        retry_for: Time during which an unreachable database is tried again. A choice of patience.
        pause: Time after which a waiting thread can be interrupted. A choice of patience.
        long: Time without news after which waiting is worth a line. A choice of patience.
        look_every: Time between looks for queries of lost workers. A choice of patience.
        broken: Trials in a row that may break off before their first query. A choice of patience.
        poll: Time between looks for the suggestion of another process. A choice of patience.
    """

    retry_for: float = 600.0
    pause: float = 0.1
    long: float = 10.0
    look_every: float = 2.0
    broken: int = 10
    poll: float = 0.05


SESSION = SessionConstants()


MEMORY = "memory"
"""Name of the storage for studies that end with their process."""


def open_log(storage: str, name: str) -> Log:
    """The log of a study, created if necessary."""
    if storage == MEMORY:
        return MemoryLog()
    from grisaille.study.log.database import Database

    return Database(storage).create(name)


class LogAccess:
    """Reads and writes the log of a study, one thread at a time.

    Args:
        log: The log.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._lock = threading.RLock()
        # What is known to be recorded. The state may be ahead of it, within a turn.
        self._events: list[Event] = []
        self._state = StudyState(self._events)
        self._is_spoilt = False
        self.state()

    def state(self) -> StudyState:
        """What is recorded by now; waits if the connection is lost.

        Without patience it is what was recorded when the connection was lost.
        """
        try:
            return self._retrying(self._read)
        except StorageError:
            if self._log.this_thread.patient:
                raise
            with self._alone():
                return self._whole()

    def look(self, at: Callable[[StudyState], Value]) -> Value:
        """Look at what is recorded by now, while no other thread changes it."""
        self.state()
        with self._alone():
            return at(self._whole())

    def write(self, record: Callable[[Turn, StudyState], Value]) -> Value:
        """Write to the log while nobody else can; waits if the connection is lost.

        Args:
            record: Appends events to the turn, and includes them in the state.
        """
        batch = uuid.uuid4().hex
        values: list[Value] = []

        def attempt() -> Value:
            self._read()  # a long event of somebody else's, while nobody waits for this one
            with self._log.turn(self._state.position, batch) as turn:
                self._state.apply(turn.news)
                if not (values and turn.arrived()):
                    values.append(record(turn, self._state))
            self._events += [*turn.news, *turn.appended]
            if turn.appended and turn.appended[-1].number > self._state.position:
                # Long ones are included now: nobody waits, and they are recorded.
                interruptible(partial(self._state.apply, turn.appended))
            return values[-1]

        return self._retrying(attempt)

    @contextmanager
    def impatient(self) -> Iterator[None]:
        """A context in which this thread does not wait long, because somebody waits for the end."""
        this_thread = self._log.this_thread
        before, this_thread.patient = this_thread.patient, False
        try:
            yield
        finally:
            this_thread.patient = before

    def _read(self) -> StudyState:
        news = self._log.read(self._state.position)
        self._state.apply(news)
        self._events += news
        return self._state

    def _whole(self) -> StudyState:
        """The state, put together again if it was left with what was not recorded."""
        if self._is_spoilt:
            self._state = StudyState(self._events)
            self._is_spoilt = False
        return self._state

    def _retrying(self, attempt: Callable[[], Value]) -> Value:
        """Use the log, and try again for a while if it cannot be reached."""
        deadline = time.monotonic() + SESSION.retry_for
        pause = 1.0
        while True:
            try:
                return self._attempted(attempt)
            except ConnectionLostError as error:
                if not self._log.this_thread.patient or time.monotonic() > deadline:
                    raise
                logging.getLogger("grisaille").warning("%s: trying again", error)
            interruptible(partial(time.sleep, pause))
            pause = min(2 * pause, 30.0)

    def _attempted(self, attempt: Callable[[], Value]) -> Value:
        with self._alone():
            self._whole()
            try:
                return attempt()
            except BaseException:
                self._is_spoilt = True  # it may hold what was not recorded, or a part of it
                raise

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """A context for one thread at a time, which interrupts do not leave half done."""
        with Uninterrupted():
            while not self._lock.acquire(timeout=SESSION.pause):
                interruptible(lambda: None)
            try:
                yield
            finally:
                self._lock.release()


# --- waiting --------------------------------------------------------------------------------------
# Saying whom a process waits for, once that takes long.


class Waiting:
    """Logs one line each time this process has waited long for another one."""

    def __init__(self) -> None:
        self._what: tuple[str, int] | None = None
        self._since = 0.0
        self._said = False

    def continues(self, worker: str, does: str, position: int) -> None:
        """Note that this process still waits.

        Args:
            worker: The worker it waits for.
            does: What that one is to do, in words.
            position: Number of the last event of the study.
        """
        what = (f"waiting for worker {worker}, which {does}", position)
        if what != self._what:
            self._what, self._since, self._said = what, time.monotonic(), False
        if not self._said and time.monotonic() - self._since >= SESSION.long:
            self._said = True
            logging.getLogger("grisaille").warning(
                "%s; if it is stopped or gone, others take over %g s after its last heartbeat",
                what[0],
                HEARTBEAT.lease,
            )


# --- session --------------------------------------------------------------------------------------

Value = TypeVar("Value")

NO_LIMITS = Limits()


class Session:
    """What one process may do with a study, among other processes.

    Args:
        problem: The problem.
        strategy: How to choose.
        name: What the study is called in its storage.
        storage: Address of the storage.
        retries: How often a failed evaluation is tried again.
    """

    def __init__(
        self, problem: Problem, strategy: Strategy, name: str, storage: str, retries: int
    ) -> None:
        self.problem = problem
        self.strategy = strategy
        self.name = name
        self.boxes = {box.name: box for box in problem.boxes}
        # Whether observed rows that answer a whole chain become trials. The theorems are about
        # trials that the algorithm chose; other answers are given to it.
        self.makes_trials = not isinstance(getattr(strategy, "beta", None), Theory)
        self._retries = retries
        self._chain = Chain(problem)
        self.worker = this_worker()
        self._heartbeat: Heartbeat | None = None
        self._next_look = 0.0
        self._waiting = Waiting()
        self._opened_with: Data = {}
        self.changes = ""
        self._deciding: int | None = None  # the thread that decides
        self._to_give_back: set[str] = set()
        self._log = open_log(storage, name)
        self._access = LogAccess(self._log)

    def create_or_resume(
        self, seed: int | None, evaluation: str | None, allow_changes: bool
    ) -> None:
        """Resume the stored study, or create a new one.

        Raises:
            ProtocolError: The stored study was made with something else.
        """

        def settings_now(stored: Data) -> dict[str, Any]:
            return settings_of(self.problem, self.strategy, self.name, stored, seed, evaluation)

        def record(writer: Writer) -> None:
            settings = settings_now(stored := writer.state.settings)
            if not stored:
                writer.append(Created(settings))
            elif not check_same_study(stored, settings, allow_changes):
                writer.append(Changed(settings))
                if stored["problem"] != settings["problem"]:
                    self.changes = recompute(writer)

        stored = self.state().settings
        self._chain.check(evaluation or stored.get("evaluation"))
        # Usually there is nothing to write, and reading is enough.
        if not (stored and check_same_study(stored, settings_now(stored), allow_changes)):
            self.write(record)
        self._opened_with = self.state().settings

    def state(self) -> StudyState:
        """What is recorded by now; other threads may change it. Waits if the connection is lost."""
        return self._access.state()

    def look(self, at: Callable[[StudyState], Value]) -> Value:
        """Look at what is recorded by now, while no other thread changes it."""
        return self._access.look(at)

    def events(self) -> list[Event]:
        """Everything that is recorded, in order."""
        return self._log.read(0)

    def summary(self, limits: Limits = NO_LIMITS) -> ProgressSummary:
        """How far the study is now."""
        situation = self.look(
            lambda now: self._situation(now, *left(self.problem, now, limits), limits.gap_tol)
        )
        return ProgressSummary(self.strategy, situation)

    def situation_of(self, trial: int) -> Situation:
        """The situation that the decision for a trial was made in."""
        refuse_changed(self._opened_with, self.state().settings, "strategy")
        entry, changed = self.look(lambda state: (state.trials[trial], state.changed))
        if entry.known < changed:
            raise ModelError(
                f"trial {trial} was decided for another problem or by another strategy, before "
                "the study was changed: it cannot be derived again"
            )
        events = (e for e in self._log.read(0) if e.number <= entry.known)
        return self._situation(StudyState(events), entry.remaining, entry.budget, entry.gap_tol)

    def take(
        self, most: int | None = None, *, lease: float | None = None, by_worker: bool = True
    ) -> Query | None:
        """Take a query that is ready and that nobody has; None if there is none.

        Args:
            most: Of so many trials only, the first ones; None for all.
            lease: Seconds after which it may be given to somebody else; None for never.
            by_worker: Whether this process evaluates it, so that its death releases the query.
        """
        if by_worker:
            self._start_heartbeat()
            nothing = self.look(lambda state: next(state.waiting(most), None)) is None
            if nothing and not self._to_give_back and time.monotonic() < self._next_look:
                return None  # without the write lock: many processes may be looking
            self._next_look = time.monotonic() + SESSION.look_every

        to_give_back = set(self._to_give_back)

        def record(writer: Writer) -> Query | None:
            self._release(writer, to_give_back)
            writer.find_lost(self.worker.name)
            entry = next(writer.state.waiting(most), None)
            if entry is None:
                return None
            holder = self.worker.name if by_worker else None
            until = None if lease is None else float(writer.turn.now() + lease)
            writer.append(Asked(entry.id, holder, until))
            return self.query(entry)

        query = self.write(record)
        self._to_give_back -= to_give_back
        return query

    def take_trial(self) -> TrialEntry | None:
        """Take all queries of the oldest pending trial that nobody evaluates; None if none."""

        def record(writer: Writer) -> int | None:
            for trial in writer.state.trials.values():
                states = [query.state for query in trial.queries]
                free = QueryState.WAITING in states and QueryState.ASKED not in states
                if trial.state is TrialState.PENDING and free:
                    for query in trial.open_calls():
                        writer.append(Asked(query.id, holder=None, until=None))
                    return trial.number
            return None

        number = self.write(record)
        return None if number is None else self.state().trials[number]

    def take_or_suggest(
        self, take: Callable[[], Value | None], limits: Limits, complaint: str
    ) -> Value | None:
        """What `take` takes, from a new trial if there is nothing else; None if there is no more.

        Raises:
            EvaluationError: Too many new trials broke off; says so with the complaint.
        """
        broken = 0
        while (taken := take()) is None:
            if broken == SESSION.broken:
                reason = self.look(lambda state: list(state.trials.values())[-1].reason)
                raise EvaluationError(complaint.format(broken=broken, reason=reason))
            decision = self.decide(limits)
            if decision is None:
                interruptible(partial(time.sleep, SESSION.poll))
            elif isinstance(decision, Status) or decision.suggestion.refutation is not None:
                return None
            else:
                broken += self.start(decision)
        return taken

    def decide(self, limits: Limits) -> Decision | Status | None:
        """Let the strategy decide what to try next.

        Returns:
            The decision; or the status to stop with, if the limits leave nothing to decide; or
            None, if another process is deciding, so that one may ask again.
        """
        self._start_heartbeat()
        me, this_thread = self.worker.name, threading.get_ident()

        def begin(writer: Writer) -> Status | tuple[Situation, int] | None:
            refuse_changed(self._opened_with, writer.state.settings, "strategy")
            decider = writer.turn.decider
            if decider == me and self._deciding not in (None, this_thread):
                return None  # another thread is deciding
            if decider not in (None, me) and writer.turn.alive(str(decider)):
                does = "computes the next suggestion"
                self._waiting.continues(str(decider), does, writer.state.position)
                return None
            remaining, budget = left(self.problem, writer.state, limits)
            if remaining is not None and remaining < 1:
                more = limits.trials is None or writer.state.made() < limits.trials
                return Status.MAX_COST if more else Status.MAX_TRIALS
            writer.turn.decider = me
            self._deciding = this_thread
            situation = self._situation(writer.state, remaining, budget, limits.gap_tol)
            return situation, writer.state.position

        try:
            begun = self.write(begin)
        except BaseException:
            self._decides_no_longer()
            raise
        if begun is None or isinstance(begun, Status):
            return begun
        started = time.perf_counter()
        try:
            with one_thread():
                suggestion = interruptible(partial(suggestion_of, self.strategy, begun[0]))
                believed = interruptible(partial(self._believed, suggestion, begun[0]))
        except BaseException:
            with self.cleaning_up():
                self.drop_decision()
            raise
        seconds = time.perf_counter() - started
        if suggestion.refutation is not None:
            self.drop_decision()
        return Decision(suggestion, *begun, seconds, believed=believed)

    def _believed(self, suggestion: Suggestion, situation: Situation) -> Incumbent | None:
        """The best trial as the strategy judges; None if it was observed without noise.

        Views that do not have the problem show it: the best observed value may be the luckiest.
        """
        if self.problem.is_exact or not suggestion.kind.is_chosen or not len(situation.history):
            return None
        answered = replace(situation, pending=())  # what is learned once for several questions
        best = ProgressSummary(self.strategy, answered).incumbent
        return None if best is None or best.upper is None else best

    def conclude(self, result: Result) -> None:
        """Record a result, so that every view shows it until there is another answer.

        It is left out if it cannot be recorded, or if it is no longer new.
        """

        def record(writer: Writer) -> None:
            state = writer.state
            new = stored_conclusion(result, state.learned)
            if state.history() is result.history and Concluded.recorded(state.settings) != new:
                writer.append(Changed({"concluded": new}))

        with self.cleaning_up():
            self.write(record)

    def start(self, decision: Decision) -> bool:
        """Record a decision as the next trial; False if it no longer counts."""

        def record(writer: Writer) -> bool:
            if writer.turn.decider != self.worker.name:
                return False
            writer.turn.decider = None
            # Others may have taken over, or have changed the strategy.
            if is_changed(self._opened_with, writer.state.settings, "strategy"):
                return False
            writer.start(decision)
            return True

        try:
            return self.write(record)
        finally:
            self._decides_no_longer()

    def drop_decision(self) -> None:
        """Let others decide, if this thread was to: it does not want its decision."""
        if self._deciding == threading.get_ident():
            try:
                self.write(lambda writer: writer.stop_deciding(self.worker.name))
            finally:
                self._decides_no_longer()

    def _decides_no_longer(self) -> None:
        if self._deciding == threading.get_ident():  # else another thread has begun
            self._deciding = None

    def give_back(self, queries: Iterable[str]) -> None:
        """Release queries of this process, now or when it takes the next one."""
        names = set(queries)
        self._to_give_back |= names
        self.write(lambda writer: self._release(writer, names))
        self._to_give_back -= names

    def _release(self, writer: Writer, queries: Iterable[str]) -> None:
        for entry in map(writer.state.queries.__getitem__, queries):
            if entry.holder == self.worker.name:
                writer.release(entry)

    @contextmanager
    def cleaning_up(self) -> Iterator[None]:
        """A context for what an interrupt or an error leaves behind.

        Nothing waits long in it, and the storage may be away: the error is what to report.
        """
        with self.impatient(), suppress(Exception):
            yield

    def impatient(self) -> AbstractContextManager[None]:
        """A context in which nothing waits long for the storage."""
        return self._access.impatient()

    def others_at_work(self) -> bool:
        """Whether other processes hold queries, or are deciding."""
        return self.look(self._others_at_work)

    def _others_at_work(self, state: StudyState) -> bool:
        for query in state.asked():
            if query.holder is not None and query.holder != self.worker.name:
                does = f"evaluates query {query.id}"
                self._waiting.continues(query.holder, does, state.position)
                return True
        return False

    def bound(self, situation: Situation) -> Bound:
        """What the strategy can say of the optimum; may take long."""
        with one_thread():
            return interruptible(partial(bound_of, self.strategy, situation))

    def query(self, entry: QueryEntry) -> Query:
        """A query as a user sees it."""
        arguments = tuple(self.boxes[entry.box].split(entry.inputs))
        return Query(entry.id, entry.box, arguments, entry.inputs, entry.trial)

    def _writer(self, turn: Turn, state: StudyState) -> Writer:
        parts = self.problem, self._chain, self._retries, self.makes_trials
        return Writer(turn, state, *parts)

    def write(self, record: Callable[[Writer], Value]) -> Value:
        """Write to the log while nobody else can; waits if the connection is lost."""

        def record_in(turn: Turn, state: StudyState) -> Value:
            refuse_changed(self._opened_with, state.settings, "problem")
            return record(self._writer(turn, state))

        return self._access.write(record_in)

    def keep(self, query: Query, outputs: Array, seconds: float) -> tuple[Trial | None, bool]:
        """Record an answer: in its trial, else as an observation. See `Writer.keep`.

        Raises:
            ProtocolError: Another process has changed the problem; the answer is an observation.
        """

        def record(turn: Turn, state: StudyState) -> tuple[Trial | None, bool]:
            writer = self._writer(turn, state)
            changed = is_changed(self._opened_with, state.settings, "problem")
            return writer.keep(state.queries[query.id], outputs, seconds, changed)

        kept = self._access.write(record)
        refuse_changed(self._opened_with, self.state().settings, "problem")
        return kept

    def close(self) -> None:
        """Give back what this process holds, and close the storage."""
        with Uninterrupted():
            if self._heartbeat is not None:
                with self.cleaning_up():  # queries also become free when this process ends
                    self.write(lambda writer: writer.release_all(self.worker.name))
                self._heartbeat.stop()
                self._heartbeat = None
            self._log.close()

    def _start_heartbeat(self) -> None:
        """Let other processes know that this one is alive."""
        if self._heartbeat is None and not isinstance(self._log, MemoryLog):
            with Uninterrupted():  # else its process and its thread might be forgotten
                self._heartbeat = Heartbeat(self._log, self.worker)
                weakref.finalize(self, self._heartbeat.stop)  # for studies that nobody closes

    def _situation(
        self, state: StudyState, remaining: int | None, budget: float | None, gap_tol: float | None
    ) -> Situation:
        return Situation(
            self.problem,
            state.history(),
            int(state.settings["seed"]),
            "chained" if state.settings["evaluation"] == "chained" else "separate",
            remaining,
            state.pending(),
            state.count(TrialState.PARTIAL, TrialState.BROKEN),
            budget,
            gap_tol,
        )

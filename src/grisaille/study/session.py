"""Who may do what when: the study's log, its ledger, and this process among others."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from grisaille.errors import GrisailleError, ModelError, ProtocolError
from grisaille.language.problem import Problem
from grisaille.records import Situation, Suggestion
from grisaille.storage.log import ConnectionLostError, Kind, Log
from grisaille.storage.memory import MemoryLog
from grisaille.storage.worker import Heartbeat, this_worker
from grisaille.strategies.strategy import Strategy
from grisaille.study.budget import Limits, left
from grisaille.study.chain import Chain
from grisaille.study.identity import check_same_study, settings_of
from grisaille.study.progress_summary import Standing
from grisaille.study.result import Status
from grisaille.study.state import Ledger, QueryEntry, TrialState
from grisaille.study.threads import one_thread
from grisaille.study.transitions import Page

Array = NDArray[np.float64]
Value = TypeVar("Value")

# How long to go on trying when the database cannot be reached, in seconds.
_PATIENCE = 600.0
# How often a worker looks for queries of others that are gone, in seconds.
_LOOK = 2.0
NO_LIMITS = Limits()

MEMORY = "memory"
"""The storage of studies that end with their process."""


@dataclass(frozen=True, slots=True)
class Query:
    """One evaluation of one black box that a study wants.

    Attributes:
        id: Its name within the study, such as `12-1`.
        box: Name of the black box.
        arguments: What to call it with: a float for a scalar, else an array.
        inputs: The same numbers in a row.
        trial: Number of the trial it belongs to.
    """

    id: str
    box: str
    arguments: tuple[Any, ...]
    inputs: Array
    trial: int


@dataclass(frozen=True, slots=True)
class Decision:
    """What came of asking a strategy.

    Attributes:
        suggestion: What it wants tried; None if the limits leave nothing to decide.
        status: Why there is no more to decide, if so.
        waited: Whether somebody else was deciding, so that one may ask again.
    """

    suggestion: Suggestion | None = None
    status: Status | None = None
    waited: bool = False


class Desk:
    """The inner side of a study.

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
        self._retries = retries
        self._chain = Chain(problem)
        self._worker = this_worker()
        self._heartbeat: Heartbeat | None = None
        self._next_look = 0.0
        self._made_for: list[str] = []
        self._log = _open_log(storage, name)
        self._ledger = Ledger(self._log.read(0))

    def settle(self, seed: int | None, evaluation: str | None, allow_changes: bool) -> None:
        """Become the stored study, or a new one.

        Raises:
            ProtocolError: What is stored was made with something else.
        """

        def record(page: Page) -> None:
            stored = page.ledger.settings
            settings = settings_of(self.problem, self.strategy, self.name, stored, seed, evaluation)
            if not stored:
                page.append(Kind.CREATED, settings)
            elif not check_same_study(stored, settings, allow_changes):
                page.append(Kind.CHANGED, settings)
                if stored["problem"] != settings["problem"]:
                    page.recompute()

        stored = self._ledger.settings
        same = False
        if stored:  # most often nothing is to be written, so that reading is enough
            settings = settings_of(self.problem, self.strategy, self.name, stored, seed, evaluation)
            same = check_same_study(stored, settings, allow_changes)
        if not same:
            self.write(record)
        self._made_for = self._ledger.settings["problem"]

    def ledger(self) -> Ledger:
        """What is recorded by now; a lost connection is waited for."""
        return self._patiently(self._read)

    def _read(self) -> Ledger:
        self._ledger.apply(self._log.read(self._ledger.position))
        return self._ledger

    def standing(self, limits: Limits = NO_LIMITS) -> Standing:
        """Where the study stands now."""
        ledger = self.ledger()
        return Standing(self.strategy, self._situation(ledger, *left(self.problem, ledger, limits)))

    def past(self, trial: int) -> Situation:
        """The situation that the decision for a trial was made in."""
        entry = self.ledger().trials[trial]
        if entry.known < self._ledger.changed:
            raise ModelError(
                f"trial {trial} was decided for another problem or by another strategy, before "
                "the study was changed: it cannot be derived again"
            )
        events = (e for e in self._log.read(0) if e.number <= entry.known)
        return self._situation(Ledger(events), entry.remaining, entry.budget)

    def take(self, *, lease: float | None = None, by_worker: bool = True) -> Query | None:
        """A query that is ready and that nobody has; None if there is none.

        Args:
            lease: Seconds after which it may be given to somebody else; None for never.
            by_worker: Whether this process evaluates it, so that its death sets the query free.
        """
        if by_worker:
            self._live()
            nothing = next(self.ledger().waiting(), None) is None
            if nothing and time.monotonic() < self._next_look:
                return None  # without a turn: many may be looking
            self._next_look = time.monotonic() + _LOOK

        def record(page: Page) -> Query | None:
            page.find_lost(self._worker.name)
            entry = next(page.ledger.waiting(), None)
            if entry is None:
                return None
            holder = self._worker.name if by_worker else None
            until = None if lease is None else page.turn.now() + lease
            page.append(Kind.ASKED, {"query": entry.id, "holder": holder, "until": until})
            return self.query(entry)

        return self.write(record)

    def decide(self, limits: Limits) -> Decision:
        """Ask the strategy what to try next, unless somebody else is doing so already."""
        self._live()
        me = self._worker.name

        def begin(page: Page) -> Decision | tuple[Situation, int]:
            decider = page.turn.decider
            if decider not in (None, me) and page.turn.alive(str(decider)):
                return Decision(waited=True)
            remaining, budget = left(self.problem, page.ledger, limits)
            if remaining is not None and remaining < 1:
                more = limits.trials is None or len(page.ledger.trials) < limits.trials
                return Decision(status=Status.MAX_COST if more else Status.MAX_TRIALS)
            page.turn.decider = me
            return self._situation(page.ledger, remaining, budget), page.ledger.position

        begun = self.write(begin)
        if isinstance(begun, Decision):
            return begun
        situation, known = begun
        started = time.perf_counter()
        try:
            with one_thread():
                suggestion = self.strategy.suggest(situation)
        except BaseException:
            self.drop_decision()
            raise
        self._deciding = (situation, known, time.perf_counter() - started)
        if suggestion.refutation is not None:
            self.drop_decision()
            return Decision(suggestion, Status.INFEASIBLE)
        return Decision(suggestion)

    def start(self, suggestion: Suggestion) -> bool:
        """Record a decision as the next trial; False if somebody else has taken over meanwhile."""
        situation, known, seconds = self._deciding

        def record(page: Page) -> bool:
            if page.turn.decider != self._worker.name:
                return False
            page.turn.decider = None
            page.start(suggestion, situation.remaining, situation.budget, known, seconds)
            return True

        return self.write(record)

    def drop_decision(self) -> None:
        """Let others decide: what was decided here is not wanted."""
        self.write(self._stop_deciding)

    def give_back(self) -> None:
        """Release every query that this process holds."""

        def record(page: Page) -> None:
            self._stop_deciding(page)
            for entry in page.ledger.asked():
                if entry.holder == self._worker.name:
                    page.append(Kind.RELEASED, {"query": entry.id})

        self.write(record)

    def others_at_work(self) -> bool:
        """Whether other processes hold queries, or are deciding."""
        held = [q.holder for q in self.ledger().asked()]
        return any(holder not in (None, self._worker.name) for holder in held)

    def query(self, entry: QueryEntry) -> Query:
        """A query as a user sees it."""
        arguments = tuple(self.boxes[entry.box].split(entry.inputs))
        return Query(entry.id, entry.box, arguments, entry.inputs, entry.trial)

    def write(self, record: Callable[[Page], Value]) -> Value:
        """Do something in a turn of its own; a lost connection is waited for."""
        batch = uuid.uuid4().hex
        values: list[Value] = []

        def attempt() -> Value:
            with self._log.turn(self._ledger.position, batch) as turn:
                self._ledger.apply(turn.news)
                self._check_unchanged()
                if not (values and turn.arrived()):
                    page = Page(turn, self._ledger, self.problem, self._chain, self._retries)
                    values.append(record(page))
            return values[-1]

        return self._patiently(attempt)

    def _check_unchanged(self) -> None:
        """Refuse to go on after another process has changed the problem."""
        if self._made_for and self._ledger.settings.get("problem") != self._made_for:
            raise ProtocolError(
                f"study {self.name!r} was changed by another process: open it again with the "
                "changed problem"
            )

    def _patiently(self, attempt: Callable[[], Value]) -> Value:
        """Do something with the log, again and again while it cannot be reached."""
        deadline = time.monotonic() + _PATIENCE
        pause = 1.0
        while True:
            try:
                return attempt()
            except ConnectionLostError as error:
                self._ledger = Ledger()
                if time.monotonic() > deadline:
                    raise
                logging.getLogger("grisaille").warning("%s: trying again", error)
                time.sleep(pause)
                pause = min(2 * pause, 30.0)
            except BaseException:
                self._ledger = Ledger()  # it may hold what was not recorded: read it again
                raise

    def close(self) -> None:
        """Give back what this process holds, and let go of the storage."""
        if self._heartbeat is not None:
            with suppress(GrisailleError):  # the end of this process gives back too
                self.give_back()
            self._heartbeat.stop()
            self._heartbeat = None
        self._log.close()

    def _live(self) -> None:
        """See to it that others can tell whether this process is alive."""
        if self._heartbeat is None and not isinstance(self._log, MemoryLog):
            self._heartbeat = Heartbeat(self._log, self._worker)

    def _stop_deciding(self, page: Page) -> None:
        if page.turn.decider == self._worker.name:
            page.turn.decider = None

    def _situation(self, ledger: Ledger, remaining: int | None, budget: float | None) -> Situation:
        return Situation(
            self.problem,
            ledger.history(),
            int(ledger.settings["seed"]),
            "chained" if ledger.settings["evaluation"] == "chained" else "separate",
            remaining,
            ledger.pending(),
            ledger.count(TrialState.PARTIAL, TrialState.BROKEN),
            budget,
        )


def _open_log(storage: str, name: str) -> Log:
    if storage == MEMORY:
        return MemoryLog()
    from grisaille.storage.database import Database

    return Database(storage).create(name)

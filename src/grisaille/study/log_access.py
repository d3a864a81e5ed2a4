"""The log of a study as one process uses it: by several threads, and with patience."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from grisaille.errors import StorageError
from grisaille.interrupts import Uninterrupted, interruptible
from grisaille.storage.event_log import ConnectionLostError, Event, Log, Turn
from grisaille.storage.memory import MemoryLog
from grisaille.study.state import StudyState

Value = TypeVar("Value")

# How long to keep trying when the database cannot be reached, in seconds.
_RETRY_FOR = 600.0
# How often a thread that waits for another one can be interrupted, in seconds.
_PAUSE = 0.1


MEMORY = "memory"
"""Name of the storage for studies that end with their process."""


def open_log(storage: str, name: str) -> Log:
    """The log of a study, created if necessary."""
    if storage == MEMORY:
        return MemoryLog()
    from grisaille.storage.database import Database

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
        deadline = time.monotonic() + _RETRY_FOR
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
            while not self._lock.acquire(timeout=_PAUSE):
                interruptible(lambda: None)
            try:
                yield
            finally:
                self._lock.release()

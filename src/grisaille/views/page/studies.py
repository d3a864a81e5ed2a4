"""The studies that a server shows, and the log of each one at any event.

A page is a function of the log. It holds no data itself, so that a server can be killed, replaced
or shared, and the past can be shown. Everything that pages show without the problem, such as its
graph and the names of inputs, is stored with the study.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from grisaille.errors import GrisailleError, ModelError, StorageError, shortened
from grisaille.records import History
from grisaille.study.log.database import Database, DatabaseLog
from grisaille.study.log.event_log import Event, Log
from grisaille.study.state import StudyState
from grisaille.study.study import Study

# --- study log ------------------------------------------------------------------------------------
# The log of a study as a page reads it: what is new, and how the study was at any event.

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class KeptConstants:
    """The constants of what a server keeps of studies.

    Attributes:
        moments: Moments of the past that are kept, for a slider that moves to and fro. A choice.
        retry: Seconds after which a study that cannot be opened is tried again. A choice of
            patience.
    """

    moments: int = 8
    retry: float = 3.0


KEPT = KeptConstants()


class StudyLog:
    """Reads the events of one study. Several threads may use it.

    Args:
        name: The study.
        read: Gives the events after a number.
        holds: Tells if the study still holds an event: it does not once it was deleted or replaced.
    """

    def __init__(
        self,
        name: str,
        read: Callable[[int], list[Event]],
        holds: Callable[[Event], bool] = lambda event: True,
    ) -> None:
        self.name = name
        self._read = read
        self._holds = holds
        self._lock = threading.RLock()
        self._events: list[Event] = []
        self._now = StudyState()
        self._past: OrderedDict[int, StudyState] = OrderedDict()

    def refresh(self) -> int:
        """Read what is new; returns the number of the last event.

        Raises:
            StorageError: The storage cannot be read, or the study is damaged.
        """
        with self._lock:
            news = self._read(self._now.position)
            self._now.apply(news)
            self._events += news
            return self._now.position

    @property
    def position(self) -> int:
        """The number of the last event that was read."""
        return self._now.position

    def is_current(self) -> bool:
        """True if the study that was read is still stored.

        Raises:
            StorageError: The storage cannot be read.
        """
        with self._lock:
            return bool(self._events) and self._holds(self._events[-1])

    def look(self, at: int | None, view: Callable[[StudyState], Value]) -> Value:
        """Look at the study as it was after an event, while no other thread changes it.

        Args:
            at: Number of the event; None for now. Numbers beyond the last event mean the last one.
            view: Takes from the state what is wanted. It must be quick: others wait.
        """
        with self._lock:
            return view(self._state(at))

    def history(self, at: int | None) -> History:
        """What was observed after an event. The same object as long as nothing changes."""
        return self.look(at, StudyState.history)

    def events(self, before: int, most: int) -> list[Event]:
        """At most so many events up to a number, the latest first."""
        with self._lock:
            last = min(before, len(self._events))
            return self._events[max(0, last - most) : last][::-1]

    def event(self, number: int) -> Event | None:
        """One event; None if there is no such event."""
        with self._lock:
            return self._events[number - 1] if 1 <= number <= len(self._events) else None

    def _state(self, at: int | None) -> StudyState:
        if at is None or at >= self._now.position:
            return self._now
        number = max(at, 1)
        if number not in self._past:
            self._past[number] = StudyState(self._events[:number])
            if len(self._past) > KEPT.moments:
                self._past.popitem(last=False)
        self._past.move_to_end(number)
        return self._past[number]


# --- studies --------------------------------------------------------------------------------------
# The studies that a server shows: those of a storage, or those that run in this process.


class Studies(Protocol):
    """What a server shows."""

    @property
    def where(self) -> str:
        """Where they are, in words, without passwords."""
        ...

    def names(self) -> list[str]:
        """The names of all studies."""
        ...

    def log(self, name: str) -> StudyLog | None:
        """The log of a study; None if there is no such study."""
        ...

    def study(self, name: str) -> Study:
        """The study with its problem, to learn from it and to record answers.

        Raises:
            GrisailleError: Its problem is not known here, and why.
        """
        ...

    def forget(self, name: str) -> None:
        """Open the study anew next time it is asked for."""
        ...


class StoredStudies:
    """The studies of a database.

    Args:
        storage: Address of the database.
        open_study: Opens a study by name with its problem; raises GrisailleError if it cannot.
    """

    def __init__(self, storage: str, open_study: Callable[[str], Study]) -> None:
        self._database = Database(storage)
        self._open_study = open_study
        self._logs: dict[str, StudyLog] = {}
        self._studies: dict[str, Study] = {}
        self._unknown: dict[str, tuple[float, GrisailleError]] = {}
        self._lock = threading.Lock()
        # Opening runs the user's file, which may take long: pages need not wait for it.
        self._opening = threading.Lock()

    @property
    def where(self) -> str:
        """The address, without passwords."""
        return self._database.where

    def names(self) -> list[str]:
        """The names of all studies, as they are stored."""
        return self._database.names()

    def log(self, name: str) -> StudyLog | None:
        """The log of a study; None if there is no such study."""
        known = self._logs.get(name)
        if known is not None and known.is_current():
            return known
        if known is not None and known.position:  # it was deleted, and perhaps made again
            self.forget(name)
        stored = self._database.open(name)
        with self._lock:
            if self._logs.get(name) is not known:  # another thread was here meanwhile
                return self._logs.get(name)
            self._logs.pop(name, None)
            if stored is not None:
                reads = partial(_read, stored), partial(_holds, stored)
                self._logs[name] = StudyLog(name, *reads)
            return self._logs.get(name)

    def study(self, name: str) -> Study:
        """The study with its problem, opened once and kept."""
        with self._opening:
            if name in self._studies:
                return self._studies[name]
            moment, error = self._unknown.get(name, (-math.inf, None))
            if error is not None and time.monotonic() - moment < KEPT.retry:
                raise error
            try:
                self._studies[name] = self._open_study(name)
            except GrisailleError as failure:
                self._unknown[name] = (time.monotonic(), failure)
                raise
            return self._studies[name]

    def forget(self, name: str) -> None:
        """Open the study anew next time: another process has changed it."""
        with self._opening:
            self._unknown.pop(name, None)
            study = self._studies.pop(name, None)
            if study is not None:
                study.close()

    def close(self) -> None:
        """Close the studies that were opened, and the database."""
        with self._lock:
            for name in list(self._studies):
                self.forget(name)
            self._database.close()


class RunningStudies:
    """Studies of this process, by name. Two of one name get a number."""

    where = "this process"

    def __init__(self) -> None:
        self._studies: dict[str, Study] = {}
        self._logs: dict[str, StudyLog] = {}
        self._lock = threading.RLock()

    def add(self, study: Study) -> str:
        """Show a study; returns the name that it is shown under."""
        with self._lock:
            for name, known in self._studies.items():
                if known is study:
                    return name
            name, number = study.name, 1
            while name in self._studies:
                number += 1
                name = f"{study.name} ({number})"
            self._studies[name] = study
            self._logs[name] = StudyLog(name, lambda after: study.events()[after:])
            return name

    def names(self) -> list[str]:
        """The names of all studies, in the order of their runs."""
        return list(self._studies)

    def log(self, name: str) -> StudyLog | None:
        """The log of a study; None if there is no such study."""
        return self._logs.get(name)

    def study(self, name: str) -> Study:
        """The study itself."""
        return self._studies[name]

    def forget(self, name: str) -> None:
        """Nothing to do: the study of this process is the one that is shown."""


def _read(log: Log, after: int) -> list[Event]:
    """The events after a number. A page asks again soon, and need not wait for a database."""
    log.this_thread.patient = False
    return log.read(after)


def _holds(log: DatabaseLog, event: Event) -> bool:
    """True if the study still holds an event."""
    log.this_thread.patient = False
    return log.holds(event)


def read_all(studies: Studies) -> None:
    """Read the log of every study, so that whoever opens its page first does not wait for it."""
    with suppress(StorageError):
        for name in studies.names():
            with suppress(StorageError, ModelError):
                refreshed(studies, name)


def refreshed(studies: Studies, name: str) -> StudyLog:
    """The log of a study, up to date.

    Raises:
        ModelError: There is no such study.
        StorageError: It cannot be read.
    """
    log = studies.log(name)
    if log is None:
        known = ", ".join(map(repr, studies.names()[:10])) or "none"
        raise ModelError(f"there is no study {shortened(name)} in {studies.where}: it has {known}")
    if not log.refresh():
        raise StorageError(f"study {name!r} has no events yet")
    return log

"""The log of a study: what happened, in order, as plain data.

A study is its log. Everything else (trials, pending queries, answers, failures) follows from the
events. So a study that was killed is the study up to its last event, and a decision can be derived
again from the events before it.

A study is stored as events, not as rows that are updated: exact replay, safety and this contract
(read, take a turn, append) follow from that one idea. The price is that opening a study reads its
log, 0.1 to 0.2 s for 1,000 trials (`python -m benchmarks.studies_overhead`).
"""

from __future__ import annotations

import json
import shlex
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from grisaille.errors import StorageError
from grisaille.interrupts import Uninterrupted

# --- event log ------------------------------------------------------------------------------------


class ConnectionLostError(StorageError):
    """The database cannot be reached now; it may be back in a moment."""


class BusyError(ConnectionLostError):
    """The database was reached, but cannot do it now."""


class DamagedError(StorageError):
    """A study does not hold what was recorded.

    Args:
        study: Name of the study; None if that is not known.
        event: Number of an event.
        complaint: What is wrong with it.
    """

    def __init__(self, study: str | None, event: int, complaint: str) -> None:
        self.event = event
        self.complaint = complaint
        which = "the study" if study is None else f"study {study!r}"
        command = "grisaille check" + ("" if study is None else f" {shlex.quote(study)}")
        super().__init__(
            f"{which} is damaged: its event {event} {complaint}; restore the database from a copy, "
            f"or see what is whole with {command} and save it with {command} --save URL"
        )


class NewerError(StorageError):
    """A newer version recorded an event of a study.

    Args:
        study: Name of the study; None if that is not known.
        event: The event.
    """

    def __init__(self, study: str | None, event: Event) -> None:
        self.event = event
        which = "the study" if study is None else f"study {study!r}"
        super().__init__(
            f"{which} was written by a newer Grisaille: its event {event.number} is of a kind that "
            f"this version does not know, {event.kind!r}; upgrade with pip install --upgrade "
            "grisaille"
        )


LAST_MOMENT = 253402300799.0
"""The end of the year 9999: later moments cannot be shown."""

Data = Mapping[str, Any]
"""Plain data, as JSON can hold it."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a study.

    Attributes:
        number: Counts from 1, without gaps.
        kind: What happened.
        data: The details.
        time: When it was recorded, in seconds since 1970.
        verified: True if it was read with a checksum that matches, so that it is as recorded.
    """

    number: int
    kind: str
    data: Data
    time: float
    verified: bool = field(default=False, compare=False, repr=False)


def text_of(data: Data) -> str:
    """Return the data of an event as JSON, as it is stored."""
    return json.dumps(data, allow_nan=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Worker:
    """A process that holds queries.

    Attributes:
        name: Unique among all workers, past ones included.
        host: The machine it runs on.
        process: Its process number there.
        began: When it began, in the machine's own notation.
    """

    name: str
    host: str
    process: int
    began: str


class Turn(Protocol):
    """Exclusive access to write to the log, until the turn ends."""

    news: Sequence[Event]
    """The events since the last one that the writer knows of."""
    decider: str | None
    """Name of the worker that computes the next suggestion; may be set."""
    appended: list[Event]
    """The events of this turn, which are recorded when it ends."""

    def append(self, kind: str, data: Data, text: str | None = None) -> Event:
        """Record one more event.

        Args:
            kind: What happened.
            data: The details.
            text: `text_of` the details, if they are long and it was written before the turn.
        """
        ...

    def arrived(self) -> bool:
        """Whether this batch is recorded already, by an attempt whose confirmation was lost."""
        ...

    def alive(self, worker: str) -> bool:
        """Whether a worker still runs, as far as can be told."""
        ...

    def now(self) -> float:
        """The time by the storage's clock, which all workers share."""
        ...


class ThisThread(threading.local):
    """What each thread that uses a log wants of it."""

    patient = True
    """Whether to wait long for other writers; may be set."""


class Log(Protocol):
    """The events of one study."""

    this_thread: ThisThread

    @property
    def address(self) -> str | None:
        """Where other processes find it, passwords included; None if they cannot."""
        ...

    def read(self, after: int) -> list[Event]:
        """The events whose number is larger than `after`."""
        ...

    def turn(self, after: int, batch: str = "") -> AbstractContextManager[Turn]:
        """Wait for a turn to write. At its end all appended events are recorded, or none.

        Args:
            after: Number of the last event the writer knows of.
            batch: A unique name for the events that will be appended.
        """
        ...

    def beat(self, worker: Worker, lease: float) -> None:
        """Record that a worker is alive, and will report again within `lease` seconds."""
        ...

    def close(self) -> None:
        """Close files and connections."""
        ...


# --- memory ---------------------------------------------------------------------------------------
# A log in the memory of this process, lost when the process ends.


class MemoryLog:
    """The events of one study, in a list."""

    address: str | None = None

    def __init__(self) -> None:
        self.this_thread = ThisThread()
        self._events: list[Event] = []
        self._decider: str | None = None
        self._lock = threading.Lock()

    def read(self, after: int) -> list[Event]:
        """The events whose number is larger than `after`."""
        return self._events[after:]

    @contextmanager
    def turn(self, after: int, batch: str = "") -> Iterator[MemoryTurn]:
        """Wait for a turn to write. At its end all appended events are recorded, or none."""
        with Uninterrupted(), self._lock:
            turn = MemoryTurn(self._events[after:], len(self._events), self._decider)
            yield turn
            self._events.extend(turn.appended)
            self._decider = turn.decider

    def beat(self, worker: Worker, lease: float) -> None:
        """Do nothing: all users of this memory are one process."""

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class MemoryTurn:
    """A turn to write to a log in memory."""

    def __init__(self, news: Sequence[Event], length: int, decider: str | None) -> None:
        self.news = news
        self.decider = decider
        self.appended: list[Event] = []
        self._length = length

    def append(self, kind: str, data: Data, text: str | None = None) -> Event:
        """Record one more event."""
        number = self._length + len(self.appended) + 1
        self.appended.append(Event(number, kind, data, time.time()))
        return self.appended[-1]

    def arrived(self) -> bool:
        """False: no confirmation can be lost."""
        return False

    def alive(self, worker: str) -> bool:
        """True: all users of this memory are one process."""
        return True

    def now(self) -> float:
        """The time of this machine."""
        return time.time()

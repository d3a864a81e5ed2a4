"""A log in the memory of this process, lost when the process ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from grisaille.interrupts import Uninterrupted
from grisaille.storage.event_log import Data, Event, Kind, ThisThread, Worker


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

    def append(self, kind: Kind, data: Data, text: str | None = None) -> Event:
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

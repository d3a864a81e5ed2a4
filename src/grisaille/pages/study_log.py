"""The log of a study as a page reads it: what is new, and how the study was at any event."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from grisaille.records import History
from grisaille.storage.event_log import Event
from grisaille.study.state import StudyState

Value = TypeVar("Value")

# How many moments of the past are kept, for a slider that moves forth and back.
_MOMENTS = 8


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
            if len(self._past) > _MOMENTS:
                self._past.popitem(last=False)
        self._past.move_to_end(number)
        return self._past[number]

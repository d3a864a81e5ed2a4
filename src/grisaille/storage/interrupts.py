"""Interrupts that wait: Ctrl-C raises only where nothing is left half done.

Python raises KeyboardInterrupt wherever the main thread happens to be, also between taking a lock
and the code that would release it. So a turn to write holds interrupts back until it has ended,
and lets them through only while it waits for others.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, Self, TypeVar

Value = TypeVar("Value")

# SIGTERM too: programs that want to end well make it raise, as the command line does.
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Signals:
    """The signals of this process; only the main thread uses this.

    Attributes:
        installed: Whether signals come here.
        held: Whether they wait.
        waiting: Those that came meanwhile.
        delivered: Those that were passed on since signals come here.
    """

    def __init__(self) -> None:
        self.installed = False
        self.held = False
        self.waiting: list[int] = []
        self.delivered: set[int] = set()
        self._before: dict[int, Callable[[int, FrameType | None], Any]] = {}

    def install(self) -> None:
        """Let signals come here, if they have a handler in Python."""
        self.delivered.clear()
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler) and handler != self._receive:
                self._before[number] = handler
                signal.signal(number, self._receive)
        self.installed = True

    def uninstall(self) -> None:
        """Let signals go where they went before."""
        self.installed = False
        for number, handler in self._before.items():
            if signal.getsignal(number) == self._receive:
                signal.signal(number, handler)

    def take(self) -> list[int]:
        """The signals that wait, each once; none of them waits any longer."""
        # A termination counts more than an interrupt: the first one that raises is the only one.
        waiting = sorted(set(self.waiting), reverse=True)
        self.waiting.clear()
        return waiting

    def deliver(self, numbers: Iterable[int], frame: FrameType | None = None) -> None:
        """Call the handlers that signals had before; most raise."""
        for number in numbers:
            self.delivered.add(number)
            self._before[number](number, frame)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.held:
            self.waiting.append(number)
        else:
            self.deliver([number], frame)


_signals = _Signals()


class Uninterrupted:
    """A context without interrupts: those that come meanwhile are delivered at its end.

    Attributes:
        answered: Set it if an interrupt was answered, so that the same wish, repeated out of
            impatience, is not delivered again.
    """

    answered = False

    def __enter__(self) -> Self:
        self._in_main_thread = _in_main_thread()
        if not self._in_main_thread:  # only that one is interrupted
            return self
        self._held_before = _signals.held
        self._outermost = not _signals.installed
        try:
            if self._outermost:
                _signals.install()
            _signals.held = True
        except BaseException:
            if self._outermost:
                _signals.uninstall()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if not self._in_main_thread:
            return
        if self.answered:
            answered = {signal.SIGINT, *_signals.delivered}
            _signals.waiting = [n for n in _signals.waiting if n not in answered]
        waiting = [] if self._held_before else _signals.take()
        _signals.held = self._held_before
        if self._outermost:
            _signals.uninstall()
        _signals.deliver(waiting)


def interruptible(work: Callable[[], Value]) -> Value:
    """Do some work that may take long: interrupts are delivered at once, those that wait first.

    This is a function, not a context: the end of a context can be interrupted itself.
    """
    if not (_in_main_thread() and _signals.installed):
        return work()
    held = _signals.held
    try:
        _signals.held = False
        _signals.deliver(_signals.take())
        return work()
    finally:
        _signals.held = held


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()

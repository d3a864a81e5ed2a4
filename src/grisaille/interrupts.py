"""Interrupts that wait: Ctrl-C raises only where nothing is left half done.

Python raises KeyboardInterrupt wherever the main thread happens to be, also between taking a lock
and the code that would release it. So a turn to write holds interrupts back until it has ended,
and lets them through only while it waits for others.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable
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
        hurry: What to call when one has to wait.
    """

    def __init__(self) -> None:
        self.installed = False
        self.held = False
        self.waiting: list[int] = []
        self.delivered: set[int] = set()
        self.hurry: Callable[[], None] | None = None
        self._before: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._hook_before = sys.unraisablehook
        self._raised: tuple[int, int] | None = None

    def install(self) -> None:
        """Let signals come here and wait, if they have a handler in Python."""
        self.waiting.clear()
        self.delivered.clear()
        self.hurry = None
        self.held = True
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler) and handler != self._receive:
                self._before[number] = handler
                signal.signal(number, self._receive)
        if sys.unraisablehook != self._repeat_swallowed:
            self._hook_before = sys.unraisablehook
            sys.unraisablehook = self._repeat_swallowed
        self.installed = True

    def uninstall(self) -> None:
        """Let signals go where they went before."""
        # From here on each call may raise: what is then left installed passes signals on.
        self.installed = False
        if sys.unraisablehook == self._repeat_swallowed:
            sys.unraisablehook = self._hook_before
        for number, handler in reversed(self._before.items()):
            if signal.getsignal(number) == self._receive:
                signal.signal(number, handler)

    def deliver_waiting(self) -> None:
        """Call the handlers of the signals that wait, each once; most raise."""
        # A termination counts more than an interrupt: the first one that raises is the only one.
        waiting = sorted(set(self.waiting), reverse=True)
        self.waiting.clear()
        for number in waiting:
            self._deliver(number, None)

    def _deliver(self, number: int, frame: FrameType | None) -> None:
        self.delivered.add(number)
        try:
            self._before[number](number, frame)
        except BaseException as error:
            # Not the exception itself, which would keep everything alive that its frames refer to.
            self._raised = id(error), number
            raise

    def _repeat_swallowed(self, report: sys.UnraisableHookArgs) -> None:
        """Repeat a signal whose exception came in a finalizer, where Python only prints it."""
        if self._raised is None or id(report.exc_value) != self._raised[0]:
            self._hook_before(report)
            return
        number, self._raised = self._raised[1], None
        # Not now: this is still called by the finalizer. Not `threading`, which it may have
        # interrupted while that holds its lock.
        _thread.start_new_thread(_send_soon, (number,))

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.installed and self.held:
            self.waiting.append(number)
            if self.hurry is not None:
                self.hurry()
        else:
            self._deliver(number, frame)


def _send_soon(number: int) -> None:
    main = threading.main_thread().ident
    assert main is not None
    time.sleep(0.01)
    signal.pthread_kill(main, number)


_signals = _Signals()


class Uninterrupted:
    """A context without interrupts: those that come meanwhile are delivered at its end.

    Args:
        hurry: Called whenever an interrupt has to wait for this context: it should end soon.
    """

    def __init__(self, hurry: Callable[[], None] | None = None) -> None:
        self._hurry = hurry

    def __enter__(self) -> Self:
        self._answered = False
        self._in_main_thread = _in_main_thread()
        if not self._in_main_thread:  # only that one is interrupted
            return self
        self._outermost = not _signals.installed
        self._held_before = not self._outermost and _signals.held
        if self._outermost:
            _signals.install()
        _signals.held = True
        self._hurry_before = _signals.hurry
        if self._hurry is not None:
            _signals.hurry = self._hurry
            if _signals.waiting:
                self._hurry()
        return self

    def answer(self) -> None:
        """Forget interrupts, those that come later too: they are one wish, which was answered."""
        self._answered = True
        if self._in_main_thread:
            answered = {signal.SIGINT, *_signals.delivered}
            _signals.waiting = [n for n in _signals.waiting if n not in answered]

    def __exit__(self, *_: object) -> None:
        if not self._in_main_thread:
            return
        _signals.hurry = self._hurry_before
        if self._outermost:
            _signals.uninstall()
        if self._answered:
            self.answer()
        _signals.held = self._held_before
        if not self._held_before:
            _signals.deliver_waiting()


def interruptible(work: Callable[[], Value]) -> Value:
    """Do some work that may take long: interrupts are delivered at once, those that wait first.

    This is a function, not a context: the end of a context can be interrupted itself.
    """
    if not (_in_main_thread() and _signals.installed):
        return work()
    held = _signals.held
    try:
        _signals.held = False
        _signals.deliver_waiting()
        return work()
    finally:
        _signals.held = held


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()

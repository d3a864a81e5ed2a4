"""Interrupts that wait: Ctrl-C raises only where nothing is left half done.

Python raises KeyboardInterrupt wherever the main thread happens to be, also between taking a lock
and the code that would release it. So a turn to write holds interrupts back until it has ended,
and lets them through only while it waits for others.

Handlers hold interrupts back, not a blocked signal: another thread would receive that signal, and
Python would still run its handler in the main thread. Long work is passed in as a function
(`interruptible`), because the end of a context can be interrupted itself.
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
_Handler = Callable[[int, FrameType | None], Any]

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
        # The handlers that were replaced. The last one may be of a library that was started in an
        # earlier run: it passes signals on to `_receive`, which then calls the one before it.
        self._before: dict[int, list[_Handler]] = {}
        self._left_behind: set[int] = set()
        # Those that are at work.
        self._called: dict[int, tuple[_Handler, ...]] = {}
        self._hook_before = sys.unraisablehook
        self._raised: tuple[int, type[BaseException], int] | None = None

    def install(self) -> None:
        """Let signals come here and wait, if they have a handler in Python."""
        self.waiting.clear()
        self.delivered.clear()
        self._called.clear()
        self.hurry = None
        self.held = True
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler) and handler != self._receive:
                self._remember(number, handler)
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
        for number, handlers in reversed(self._before.items()):
            if signal.getsignal(number) == self._receive:
                signal.signal(number, handlers[-1])
                self._left_behind.discard(number)
            else:
                self._left_behind.add(number)

    def deliver_waiting(self) -> None:
        """Call the handlers of the signals that wait, each once; most raise."""
        # A termination counts more than an interrupt: the first one that raises is the only one.
        waiting = sorted(set(self.waiting), reverse=True)
        self.waiting.clear()
        for number in waiting:
            self._deliver(number, None)

    def _remember(self, number: int, handler: _Handler) -> None:
        """Remember a handler that is replaced now."""
        handlers = self._before.setdefault(number, [])
        if handler in handlers:
            del handlers[handlers.index(handler) + 1 :]
        elif number in self._left_behind:
            handlers.append(handler)
        else:
            handlers[-1:] = [handler]

    def _deliver(self, number: int, frame: FrameType | None, passed_on: bool = False) -> None:
        """Call the latest handler that is not at work on this signal already.

        Args:
            number: The signal.
            frame: Where it came.
            passed_on: Whether a handler of somebody else passes it on to this one.
        """
        self.delivered.add(number)
        handlers, called = self._before[number], self._called.get(number, ())
        # One that is first in line now passes signals on to where it came from.
        at_work = called or ((signal.getsignal(number),) if passed_on else ())
        last_resort = signal.default_int_handler if passed_on else handlers[-1]
        handler = next((h for h in reversed(handlers) if h not in at_work), last_resort)
        self._called[number] = (*called, handler)
        try:
            handler(number, frame)
        except BaseException as error:
            # Not the exception itself, which would keep everything alive that its frames refer to.
            self._raised = id(error), type(error), number
            raise
        finally:
            self._called[number] = called

    def _repeat_swallowed(self, report: sys.UnraisableHookArgs) -> None:
        """Repeat a signal whose exception came in a finalizer, where Python only prints it."""
        # The type too: once it is gone, another exception may have its id.
        raised = id(report.exc_value), report.exc_type
        if self._raised is None or raised != self._raised[:2]:
            self._hook_before(report)
            return
        number, self._raised = self._raised[2], None
        # Not now: this is still called by the finalizer. Not `threading`, which it may have
        # interrupted while that holds its lock.
        _thread.start_new_thread(_send_soon, (number,))

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.installed and self.held:
            self.waiting.append(number)
            if self.hurry is not None:
                self.hurry()
        else:
            # Python calls a handler from the frame that it interrupts.
            self._deliver(number, frame, passed_on=frame is not sys._getframe().f_back)


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

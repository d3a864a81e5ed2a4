"""Interrupts: they wait for the end of a turn, and nothing is left half done."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import grisaille.interrupts
from grisaille.interrupts import Uninterrupted, interruptible
from grisaille.study.log.event_log import Log
from tests.study.log.log_helpers import log_of


@pytest.fixture(autouse=True)
def no_earlier_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """No handlers of earlier runs are remembered, as in a new process."""
    monkeypatch.setattr(grisaille.interrupts, "_signals", grisaille.interrupts._Signals())


@pytest.fixture(autouse=True)
def ctrl_c_raises() -> Iterator[None]:
    """SIGINT raises, also if this test run ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_an_interrupt_waits_for_the_end():
    done = []

    def work() -> None:
        with Uninterrupted():
            press()
            press()
            done.append("after the interrupts")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done
    press_is_no_longer_held()


def test_an_interrupt_waits_for_the_end_of_the_outermost_context():
    done = []

    def work() -> None:
        with Uninterrupted():
            with Uninterrupted():
                press()
            done.append("after the inner context")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done


def test_an_interrupt_that_waits_ends_what_may_take_long_at_once():
    done = []

    def work() -> None:
        with Uninterrupted():
            press()
            interruptible(lambda: done.append("too late"))

    with pytest.raises(KeyboardInterrupt):
        work()
    assert not done


def test_what_may_take_long_is_interrupted_and_what_follows_it_is_not():
    done = []

    def work() -> None:
        with Uninterrupted():
            with contextlib.suppress(KeyboardInterrupt):
                interruptible(press)
            press()
            done.append("after the second interrupt")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done


def test_an_interrupt_that_was_answered_is_not_delivered_again():
    with Uninterrupted() as interrupts:
        with contextlib.suppress(KeyboardInterrupt):
            interruptible(press)
        press()
        interrupts.answer()
    press_is_no_longer_held()


def test_an_interrupt_that_comes_in_a_finalizer_is_not_lost():
    class Finalized:
        def __del__(self) -> None:
            press()

    done = []

    def work() -> None:
        Finalized()
        done.append("after the finalizer")
        for _ in range(1000):
            time.sleep(0.01)
        done.append("after a long time")

    def run() -> None:
        with Uninterrupted():
            interruptible(work)

    hook = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt):
        run()
    assert done == ["after the finalizer"]
    assert sys.unraisablehook is hook


@pytest.mark.parametrize("has_the_id_of_an_interrupt", [False, True])
def test_another_exception_of_a_finalizer_is_reported_as_before(
    monkeypatch, has_the_id_of_an_interrupt
):
    error = ValueError("not an interrupt")

    class Finalized:
        def __del__(self) -> None:
            raise error

    if has_the_id_of_an_interrupt:  # of one that is gone
        gone = id(error), KeyboardInterrupt, signal.SIGINT
        monkeypatch.setattr(grisaille.interrupts._signals, "_raised", gone)
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: reported.append(report.exc_type))
    with Uninterrupted():
        Finalized()
    assert reported == [ValueError]


def test_a_termination_is_held_if_it_raises():
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise SystemExit

    before = signal.signal(signal.SIGTERM, stop)
    done = []

    def work() -> None:
        with Uninterrupted() as interrupts:
            signal.raise_signal(signal.SIGTERM)
            press()
            interrupts.answer()  # the interrupt is, the termination is not
            done.append("after the signals")

    try:
        with pytest.raises(SystemExit):
            work()
        assert done
        assert signal.getsignal(signal.SIGTERM) is stop
    finally:
        signal.signal(signal.SIGTERM, before)


def pass_on(calls: list[str], *, by_sending: bool = False) -> None:
    """Install a handler that passes interrupts on to the one before it."""
    before = signal.getsignal(signal.SIGINT)
    assert callable(before)

    def handler(number: int, frame: FrameType | None) -> None:
        calls.append("library")
        if by_sending:
            signal.signal(number, before)
            press()
        else:
            before(number, frame)

    signal.signal(signal.SIGINT, handler)


@pytest.mark.parametrize(
    ("moment", "by_sending"),
    [
        ("held", False),
        ("held", True),
        ("let through", False),
        ("let through", True),
        ("after the last run", False),
    ],
)
def test_a_handler_that_an_earlier_run_left_behind_passes_interrupts_on(moment, by_sending):
    calls: list[str] = []

    def run(work: Callable[[], None]) -> None:
        with Uninterrupted():
            if moment == "held":
                work()
            else:
                interruptible(work)

    run(lambda: pass_on(calls, by_sending=by_sending))
    run(lambda: None)
    with pytest.raises(KeyboardInterrupt):
        press() if moment == "after the last run" else run(press)
    assert calls == ["library"]
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_handlers_that_two_runs_left_behind_are_called_once_each():
    calls: list[str] = []
    for _ in range(2):
        with Uninterrupted():
            pass_on(calls)
    with pytest.raises(KeyboardInterrupt), Uninterrupted():
        interruptible(press)
    assert calls == ["library", "library"]
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_a_handler_that_puts_itself_first_in_every_run_passes_interrupts_on():
    before: Any = None
    calls: list[str] = []

    def handler(number: int, frame: FrameType | None) -> None:
        calls.append("library")
        before(number, frame)

    def put_first() -> None:
        nonlocal before
        if signal.getsignal(signal.SIGINT) is not handler:
            before = signal.signal(signal.SIGINT, handler)

    def run(work: Callable[[], None]) -> None:
        with Uninterrupted():
            put_first()
            interruptible(work)

    run(lambda: None)
    run(lambda: None)
    with pytest.raises(KeyboardInterrupt):
        run(press)
    assert calls == ["library"]
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_an_interrupt_during_the_work_of_a_handler_calls_it_again():
    calls: list[str] = []

    def handler(_number: int, _frame: FrameType | None) -> None:
        calls.append("mine")
        if len(calls) < 3:
            press()

    signal.signal(signal.SIGINT, handler)
    with Uninterrupted():
        interruptible(press)
    assert len(calls) == 3
    assert signal.getsignal(signal.SIGINT) is handler
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_an_ignored_interrupt_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Uninterrupted():
        press()
        assert interruptible(lambda: 3) == 3
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_another_thread_holds_no_interrupt():
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with Uninterrupted():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    with pytest.raises(KeyboardInterrupt):
        press()
    leave.set()
    thread.join()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_an_interrupt_at_any_step_of_a_turn_leaves_no_lock_behind(kind, tmp_path):
    log = log_of("memory" if kind == "memory" else f"sqlite:///{tmp_path}/s.db")
    log.this_thread.patient = False

    def write() -> None:
        with log.turn(known) as turn:
            turn.append("told", {})
            turn.append("told", {})

    known, step = 0, 1
    while interrupted_at(step, write, log):
        known = len(log.read(0))
        assert known % 2 == 0
        step += 1
    assert step > 10
    log.close()


def interrupted_at(step: int, write: Callable[[], None], log: Log) -> bool:
    """Write with an interrupt at a step, then write again; False if there are fewer steps."""
    steps = 0
    files = {
        contextlib.__file__,
        __file__,
        *map(str, Path(grisaille.interrupts.__file__).parent.glob("*.py")),
    }

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal steps
        if frame.f_code.co_filename not in files:
            return None
        if event in ("line", "return"):
            steps += 1
            if steps == step:
                press()
        return trace

    def take_a_turn() -> None:
        with log.turn(len(log.read(0))):
            pass

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        write()
    except KeyboardInterrupt:
        sys.settrace(before)
        # The exception is alive here, and with it everything that its frames refer to.
        writer = threading.Thread(target=take_a_turn, daemon=True)
        writer.start()
        writer.join(20)
        assert not writer.is_alive(), f"the lock was left behind at step {step}"
        press_is_no_longer_held()
        return True
    finally:
        sys.settrace(before)
    return False


def press_is_no_longer_held() -> None:
    with pytest.raises(KeyboardInterrupt):
        press()

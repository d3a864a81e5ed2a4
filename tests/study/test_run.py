"""How a run ends: what its message says, and what an interrupt leaves."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import FrameType
from typing import Any

import pytest

import grisaille as gs
from grisaille.study.evaluation.child_process import ChildPool
from tests.study.study_helpers import QUICK
from tests.study.test_run_runner import boxed

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("ctrl_c_raises")]


@pytest.mark.parametrize("lock", range(1, 7))
def test_an_interrupt_that_comes_with_a_lock_leaves_no_thread_waiting_for_it(lock, monkeypatch):
    taken, waiting = 0, []

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal taken
        if not (
            frame.f_code.co_filename == threading.__file__ and frame.f_code.co_name == "__enter__"
        ):
            return None
        if event == "return":
            taken += 1
            if taken == lock:
                signal.raise_signal(signal.SIGINT)
        return trace

    def join(pool: ChildPool, _: float | None) -> None:
        for thread in pool._threads:
            thread.join(20)
            waiting.extend([thread] if thread.is_alive() else [])

    def box(x: float) -> float:
        return x**2

    monkeypatch.setattr(ChildPool, "_join", join)
    study = gs.Study(boxed(box), strategy=gs.RandomSearch())
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        result = study.run(1000, workers=1, progress=False)
    finally:
        sys.settrace(before)
    assert result.status == gs.Status.INTERRUPTED
    assert not waiting
    assert study.pending == []


def test_an_answer_that_was_made_before_the_interrupt_is_recorded():
    class Executor:
        def submit(self, call: Callable[[], object]) -> Future[object]:
            future: Future[object] = Future()
            future.set_result(call())
            return future

    def callback(_: gs.Trial) -> None:
        raise KeyboardInterrupt

    calls: list[float] = []

    def box(x: float) -> float:
        calls.append(x)
        return x**2

    study = gs.Study(boxed(box), strategy=gs.RandomSearch())
    result = study.run(9, executor=Executor(), workers=3, callback=callback, progress=False)
    assert result.status == gs.Status.INTERRUPTED
    assert len(calls) == 3
    assert len(study.history) == 3
    assert study.pending == []


def test_an_interrupt_within_an_evaluation_with_a_timeout_ends_the_run():
    def press() -> None:
        signal.pthread_kill(main, signal.SIGINT)

    def box(x: float) -> float:
        import time

        time.sleep(600)
        return x

    main = threading.get_ident()
    timer = threading.Timer(1.0, press)
    timer.start()
    study = gs.Study(boxed(box, timeout=900), strategy=gs.RandomSearch())
    result = study.run(3, progress=False)
    timer.join()
    assert result.status == gs.Status.INTERRUPTED
    assert result.nit == 0
    assert study.pending == []


def test_a_second_interrupt_while_the_trials_are_judged_gives_them_as_observed(monkeypatch):
    def callback(trial: gs.Trial) -> None:
        if trial.number == 4:
            signal.raise_signal(signal.SIGINT)

    def judging(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    study = gs.Study(boxed(lambda x: x**2), strategy=gs.RandomSearch())
    study.run(3, progress=False)
    monkeypatch.setattr("grisaille.study.progress_summary.ProgressSummary.row", lambda *_: None)
    monkeypatch.setattr(gs.RandomSearch, "incumbent", judging)
    result = study.run(9, callback=callback, progress=False)
    assert result.status == gs.Status.INTERRUPTED
    assert result.nit == 4
    assert result.fun == min(trial.objective for trial in study.history)


def test_a_gap_other_than_the_last_one_shown_is_explained(capsys):
    problem = gs.problems.bazaraa().problem
    result = problem.solve(9, strategy=QUICK)
    last = float(capsys.readouterr().out.splitlines()[-1].split()[5])
    assert result.gap < 0.9 * last
    assert result.message == (
        f"all trials were made; the gap is {result.gap:.3g}, not {last:.3g} as in the last line of "
        "the table, because the bound was worked out anew from all answers"
    )
    silent = problem.solve(9, strategy=QUICK, progress=False)
    assert silent.message == "all trials were made"

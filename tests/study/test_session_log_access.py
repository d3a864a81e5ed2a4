"""One handle of a study: threads that share it, and a storage that is away or in use."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

import grisaille as gs
from grisaille.study.log.event_log import ConnectionLostError
from tests.study.study_helpers import QUICK, parabola
from tests.study.test_run_runner import boxed

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_refused_answer_does_not_disturb_other_threads(kind, tmp_path):
    storage = "memory" if kind == "memory" else f"sqlite:///{tmp_path}/s.db"
    study = gs.Study(parabola(upper=100), strategy=gs.RandomSearch(), storage=storage, name="s")
    together = threading.Barrier(4)

    def answer(_: int) -> None:
        together.wait()
        for _ in range(5):
            (query,) = study.ask()
            with pytest.raises(gs.AssumptionError):
                study.tell(query, 1000.0)
            with pytest.raises(gs.ProtocolError):
                study.tell("no such query", 1.0)
            assert study.tell(query, (query.arguments[0] - 1) ** 2) is not None

    def look(_: int) -> None:
        together.wait()
        done = 0
        while done < 15:
            assert done <= len(study.history)
            done = len(study.history)
            assert study.cost >= done
            assert len(study.pending) <= 3

    with ThreadPoolExecutor(4) as threads:
        futures = [threads.submit(answer, k) for k in range(3)] + [threads.submit(look, 3)]
        for future in futures:
            future.result()
    assert len(study.history) == 15
    points = [trial.x.tolist() for trial in study.history]
    assert len({tuple(point) for point in points}) == 15
    assert [event.number for event in study.events()] == list(range(1, len(study.events()) + 1))
    study.close()


def test_a_thread_that_does_not_wait_leaves_the_patience_of_the_others_alone(tmp_path):
    study = gs.Study(parabola(), strategy=QUICK, storage=f"sqlite:///{tmp_path}/s.db", name="s")
    session, this_thread = study._session, study._session._log.this_thread
    entered, leave = threading.Event(), threading.Event()

    def end_of_a_run() -> bool:
        with session.impatient():
            entered.set()
            leave.wait(60)
        return this_thread.patient

    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(end_of_a_run)
        entered.wait(60)
        assert this_thread.patient
        with session.impatient():
            leave.set()
            assert other.result(60)
            assert not this_thread.patient
    assert this_thread.patient
    study.close()


def test_after_an_interrupt_nobody_waits_for_a_storage_that_is_away(tmp_path, monkeypatch):
    calls = []

    def away(*_: object) -> None:
        raise ConnectionLostError("the cable is out")

    def box(x: float) -> float:
        calls.append(x)
        if len(calls) == 4:
            monkeypatch.setattr(study._session._log, "turn", away)
            monkeypatch.setattr(study._session._log, "read", away)
            raise KeyboardInterrupt
        return x**2

    def refuse_to_wait(seconds: float) -> None:
        raise AssertionError(f"waited {seconds} s")

    study = gs.Study(boxed(box), strategy=QUICK, storage=f"sqlite:///{tmp_path}/s.db", name="s")
    with monkeypatch.context() as patched:
        patched.setattr("grisaille.study.session.time.sleep", refuse_to_wait)
        result = study.run(6, progress=False)
    assert result.status == gs.Status.INTERRUPTED
    assert result.nit == 3
    monkeypatch.undo()
    assert len(study.pending) == 1
    first, second = study._session.take(), study._session.take()  # the first was not given back
    assert first is not None
    assert [query.id for query in study.pending] == [first.id]
    assert second is None
    study._session.give_back([first.id])
    assert study.run(6, progress=False).nit == 6
    assert study.pending == []
    study.close()


def test_waiting_for_a_storage_that_is_away_is_interrupted(tmp_path, monkeypatch, ctrl_c_raises):
    study = gs.Study(parabola(), strategy=QUICK, storage=f"sqlite:///{tmp_path}/s.db", name="s")

    def away(*_: object) -> None:
        raise ConnectionLostError("the cable is out")

    monkeypatch.setattr(study._session._log, "read", away)
    monkeypatch.setattr(
        "grisaille.study.session.time.sleep", lambda _: signal.raise_signal(signal.SIGINT)
    )
    with pytest.raises(KeyboardInterrupt):
        study.history  # noqa: B018
    monkeypatch.undo()
    study.close()


def test_waiting_for_a_lock_is_interrupted(tmp_path, monkeypatch, ctrl_c_raises):
    study = gs.Study(parabola(), strategy=QUICK, storage=f"sqlite:///{tmp_path}/s.db", name="s")
    other = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with monkeypatch.context() as patched:
        patched.setattr(
            "grisaille.study.log.database.time.sleep", lambda _: signal.raise_signal(signal.SIGINT)
        )
        with pytest.raises(KeyboardInterrupt):
            study.observe("f", [0.5], [0.5])
    other.execute("ROLLBACK")
    other.close()
    assert study.observe("f", [0.5], [0.5]) == 1
    study.close()


def test_after_an_interrupt_nobody_waits_for_a_lock(tmp_path):
    file, calls = tmp_path / "s.db", []
    other = sqlite3.connect(file, isolation_level=None)

    def box(x: float) -> float:
        calls.append(x)
        if len(calls) == 3:
            other.execute("BEGIN IMMEDIATE")
            raise KeyboardInterrupt
        return x**2

    study = gs.Study(boxed(box), strategy=QUICK, storage=f"sqlite:///{file}", name="s")
    assert study.run(6, progress=False).nit == 2
    study.close()
    other.close()


def test_a_second_interrupt_while_the_run_ends_still_gives_the_result(monkeypatch, ctrl_c_raises):
    calls = []

    def box(x: float) -> float:
        calls.append(x)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        return x**2

    study = gs.Study(boxed(box), strategy=QUICK)
    give_back = study._session.give_back

    def interrupted(queries: set[str]) -> None:
        signal.raise_signal(signal.SIGINT)
        give_back(queries)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(study._session, "give_back", interrupted)
    result = study.run(6, progress=False)
    assert result.status == gs.Status.INTERRUPTED
    assert result.nit == 2
    assert study.pending == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_asking_that_is_interrupted_keeps_nothing(monkeypatch, ctrl_c_raises):
    study = gs.Study(parabola(), strategy=gs.RandomSearch())
    suggest = gs.RandomSearch.suggest

    def interrupted(self, situation):
        if situation.started == 2:
            signal.raise_signal(signal.SIGINT)
        return suggest(self, situation)

    monkeypatch.setattr(gs.RandomSearch, "suggest", interrupted)
    with pytest.raises(KeyboardInterrupt):
        study.ask(3)
    assert study.pending == []


def test_a_study_that_nobody_closes_leaves_no_heartbeat_and_no_open_file_behind(tmp_path):
    study = gs.Study(
        parabola(), strategy=gs.RandomSearch(), storage=f"sqlite:///{tmp_path}/s.db", name="s"
    )
    study.run(1, progress=False)
    heart = study._session._heartbeat
    assert heart is not None
    thread, process = heart._thread, heart._process
    assert thread.is_alive()
    assert process is not None
    assert process.poll() is None
    assert any(file.startswith(str(tmp_path)) for file in open_files())
    del study, heart
    thread.join(60)
    assert not thread.is_alive()
    assert process.poll() is not None
    assert not any(file.startswith(str(tmp_path)) for file in open_files())


def open_files() -> list[str]:
    """The files that this process has open."""
    files = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # it was open to list the others
            files.append(os.readlink(f"/proc/self/fd/{number}"))
    return files

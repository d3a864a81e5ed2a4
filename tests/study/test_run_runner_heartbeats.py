"""Runs beside workers that give no sign of life, or that only seem to give none."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import grisaille as gs
from grisaille.study import session
from grisaille.study.log import database
from grisaille.study.state import Limits
from tests.study.study_helpers import QUICK
from tests.study.test_run_runner import boxed

pytestmark = pytest.mark.slow


# Runs one trial, with a short lease. Its black box notes each call.
WORKER = """
import ctypes, functools, pathlib, sqlite3, sys, time
import grisaille as gs
from grisaille.study.log import database, heartbeat
from grisaille.study import session
from tests.study.study_helpers import QUICK
from tests.study.test_run_runner import boxed

folder, behaviour = pathlib.Path(sys.argv[1]), sys.argv[2]
session.Heartbeat = functools.partial(heartbeat.Heartbeat, lease=2.0)

def last_seen():
    with sqlite3.connect(folder / "s.db", timeout=60) as connection:
        return connection.execute("SELECT max(seen) FROM grisaille_workers").fetchone()

def box(x):
    first = last_seen()
    while last_seen() == first:
        time.sleep(0.01)
    (folder / "evaluating").touch()
    if behaviour == "holds the interpreter lock":
        ctypes.PyDLL(None).sleep(5)
    else:
        while not (folder / "continue").exists():
            time.sleep(0.01)
    return x**2

study = gs.Study(boxed(box), strategy=QUICK, storage=f"sqlite:///{folder}/s.db", name="s")
study.run(1, progress=False)
study.close()
"""


def start_worker(folder: Path, behaviour: str) -> subprocess.Popen[bytes]:
    """A worker that is in its evaluation."""
    worker = subprocess.Popen([sys.executable, "-c", WORKER, str(folder), behaviour])
    for _ in range(6000):
        if (folder / "evaluating").exists():
            return worker
        time.sleep(0.01)
    worker.kill()
    raise AssertionError("the worker evaluates nothing")


def open_study(folder, function):
    """The study of the worker, as this process opens it, with a function of its own."""
    storage = f"sqlite:///{folder}/s.db"
    return gs.Study(boxed(function), strategy=QUICK, storage=storage, name="s")


@pytest.fixture
def quick(monkeypatch):
    """Looks for lost workers all the time, and says at once whom it waits for."""
    monkeypatch.setattr(session, "SESSION", replace(session.SESSION, look_every=0.1, long=0.0))


def test_a_worker_that_holds_the_interpreter_lock_for_several_leases_keeps_its_query(
    tmp_path, monkeypatch, quick
):
    worker = start_worker(tmp_path, "holds the interpreter lock")
    # As if the worker ran on another machine: only its heartbeats count.
    monkeypatch.setattr(database, "this_host", lambda: "elsewhere")
    calls: list[float] = []
    study = open_study(tmp_path, lambda x: calls.append(x) or x**2)
    assert study.run(1, progress=False).nit == 1
    assert worker.wait() == 0
    assert not calls
    assert not study.state.failed_attempts
    assert not study.history.loose
    study.close()


def test_the_query_of_a_stopped_worker_is_free_after_its_lease_and_its_late_answer_is_kept(
    tmp_path, quick, caplog
):
    worker = start_worker(tmp_path, "waits")
    worker.send_signal(signal.SIGSTOP)
    calls: list[float] = []
    study = open_study(tmp_path, lambda x: calls.append(x) or x**2)
    result = study.run(1, timeout=60, progress=False)
    holder = next(e.data["holder"] for e in study.events() if e.kind == "asked")
    (tmp_path / "continue").touch()
    worker.send_signal(signal.SIGCONT)
    assert worker.wait() == 0
    assert result.nit == 1
    assert len(calls) == 1
    assert f"waiting for worker {holder}, which evaluates query 1-1; if it is" in caplog.text
    assert [o.outputs.tolist() for o in study.history.loose] == [[calls[0] ** 2]]
    study.close()


def test_a_process_that_waits_for_a_suggestion_says_who_computes_it_once(tmp_path, quick, caplog):
    other, study = (open_study(tmp_path, lambda x: x**2) for _ in "ab")
    other._session.decide(Limits())
    study.run(1, timeout=0.5, progress=False)
    name = other._session.worker.name
    assert caplog.text.count(f"waiting for worker {name}, which computes the next sugg") == 1
    other.close()
    study.close()

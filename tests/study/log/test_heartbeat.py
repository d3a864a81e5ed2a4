"""Whether a worker is alive, and what keeps it so."""

from __future__ import annotations

import ctypes
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from grisaille.errors import StorageError
from grisaille.study.log import heartbeat_script
from grisaille.study.log.database import WORKERS, Database, excuse
from grisaille.study.log.event_log import Log, MemoryLog, Worker
from grisaille.study.log.heartbeat import Heartbeat, this_host, this_worker
from tests.study.evaluation.evaluation_helpers import is_gone, pids_in
from tests.study.log.log_helpers import log_of

pytestmark = pytest.mark.slow


# Starts a heartbeat and, if it is told to, a process that inherits all its pipes.
PARENT = """
import os, pathlib, sys, time
from grisaille.study.log.database import Database
from grisaille.study.log.heartbeat import Heartbeat, this_worker
heart = Heartbeat(Database(sys.argv[1]).create("s"), this_worker(), lease=0.4)
folder = pathlib.Path(sys.argv[2])
heir = os.fork() if sys.argv[3] == "forks" else None
if heir != 0:
    (folder / "note").write_text(f"{heart._process.pid} {heir or ''}")
    (folder / "note").rename(folder / "pids")
time.sleep(600)
"""


def counted(log: Log) -> list[Worker]:
    """The workers for which this process beats from now on, in order."""
    beats: list[Worker] = []
    beat = log.beat
    log.beat = lambda *a: (beats.append(a[0]), beat(*a))[1]  # type: ignore[method-assign]
    return beats


def last_seen(storage: str) -> float:
    """The time of the last heartbeat in a database."""
    engine = sa.create_engine(storage, poolclass=sa.NullPool)
    with engine.connect() as connection:
        return float(connection.execute(sa.select(sa.func.max(WORKERS.c.seen))).scalar_one())


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for a condition."""
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never happened")


def test_a_worker_lives_if_it_reported_within_its_lease_and_its_process_runs(storage):
    if storage == "memory":
        pytest.skip("memory has one process")
    log = log_of(storage)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    log.beat(Worker("here", this_host(), os.getpid(), this_worker().began), 60.0)
    log.beat(Worker("here and silent", this_host(), os.getpid(), this_worker().began), -1.0)
    log.beat(Worker("dead", this_host(), gone.pid, ""), 1e9)
    log.beat(Worker("far and silent", "elsewhere", 1, ""), -1.0)
    log.beat(Worker("far", "elsewhere", os.getpid(), ""), 60.0)
    with log.turn(0) as turn:
        names = ("here", "here and silent", "dead", "far and silent", "far", "unheard of")
        assert [turn.alive(name) for name in names] == [True, False, False, False, True, False]
    log.close()


def test_a_heartbeat_goes_on_while_this_process_cannot_run_any_thread(storage):
    if storage == "memory":
        pytest.skip("memory has one process")
    log = log_of(storage)
    beats = counted(log)
    heart = Heartbeat(log, this_worker(), lease=0.4)
    first = last_seen(storage)
    wait_until(lambda: last_seen(storage) > first)
    before = last_seen(storage)
    ctypes.PyDLL(None).sleep(1)  # holds the interpreter lock
    assert last_seen(storage) > before
    heart.stop()
    assert len(beats) == 1
    log.close()


def test_a_heartbeat_ends_when_it_is_stopped(tmp_path):
    log = log_of(f"sqlite:///{tmp_path}/s.db")
    heart = Heartbeat(log, this_worker(), lease=0.4)
    assert heart._process is not None
    heart.stop()
    assert is_gone(heart._process.pid)
    log.close()


@pytest.mark.parametrize("heir", ["forks", "does not fork"])
def test_the_process_of_a_heartbeat_ends_with_a_worker_that_is_killed(tmp_path, heir):
    storage = f"sqlite:///{tmp_path}/s.db"
    parent = subprocess.Popen([sys.executable, "-c", PARENT, storage, str(tmp_path), heir])
    child, *heirs = pids_in(tmp_path)
    parent.kill()
    parent.wait()
    try:
        assert is_gone(child)
    finally:
        for pid in heirs:
            os.kill(pid, signal.SIGKILL)


def test_a_stopped_worker_has_no_heartbeat_until_it_is_continued(tmp_path):
    storage = f"sqlite:///{tmp_path}/s.db"
    arguments = [storage, str(tmp_path), "does not fork"]

    def is_silent() -> bool:
        before = last_seen(storage)
        time.sleep(1)
        return last_seen(storage) == before

    with subprocess.Popen([sys.executable, "-c", PARENT, *arguments]) as parent:
        try:
            pids_in(tmp_path)
            first = last_seen(storage)
            wait_until(lambda: last_seen(storage) > first)
            parent.send_signal(signal.SIGSTOP)
            assert any(is_silent() for _ in range(10))
            silent = last_seen(storage)
            parent.send_signal(signal.SIGCONT)
            wait_until(lambda: last_seen(storage) > silent)
        finally:
            parent.kill()


def test_a_thread_beats_if_the_process_cannot_start(tmp_path, monkeypatch, caplog):
    log = log_of(f"sqlite:///{tmp_path}/s.db")
    beats = counted(log)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no python"))
    heart = Heartbeat(log, this_worker(), lease=0.2)
    wait_until(lambda: len(beats) > 2)
    heart.stop()
    assert "heartbeats come from a thread" in caplog.text
    log.close()


def test_a_thread_beats_if_the_process_dies(tmp_path):
    log = log_of(f"sqlite:///{tmp_path}/s.db")
    beats = counted(log)
    heart = Heartbeat(log, this_worker(), lease=0.2)
    assert heart._process is not None
    heart._process.kill()
    wait_until(lambda: len(beats) > 2)
    heart.stop()
    log.close()


def test_the_password_of_an_address_is_not_on_the_command_line_of_a_heartbeat():
    log = MemoryLog()
    log.address = "postgresql+psycopg://user:secret@nowhere/studies"
    heart = Heartbeat(log, this_worker())
    assert heart._process is not None
    told = ""
    while "heartbeat_script" not in told:  # for a moment it is still a copy of this process
        told = Path(f"/proc/{heart._process.pid}/cmdline").read_text()
        assert heart._process.poll() is None
    told += Path(f"/proc/{heart._process.pid}/environ").read_text()
    heart.stop()
    assert "secret" not in told


def test_a_heartbeat_does_not_bring_a_deleted_file_back(tmp_path):
    file = tmp_path / "s.db"
    database = Database(f"sqlite:///{file}")
    database.create("s")
    database.close()
    file.unlink()
    with pytest.raises(StorageError, match="is no longer there"):
        database.beat(this_worker(), 60.0)
    assert not file.exists()


def test_a_heartbeat_finds_its_file_from_another_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = log_of("sqlite:///s.db")
    monkeypatch.chdir("/")
    assert log.address == f"sqlite:///{tmp_path}/s.db"
    log.close()


def test_a_fork_that_closes_the_log_does_not_stop_the_heartbeat(tmp_path):
    log = log_of(f"sqlite:///{tmp_path}/s.db")
    heart = Heartbeat(log, this_worker())
    assert heart._process is not None
    fork = os.fork()
    if fork == 0:
        try:
            heart.stop()
            log.close()
        finally:
            os._exit(0)
    os.waitpid(fork, 0)
    assert heart._process.poll() is None
    heart.stop()
    assert heart._process.poll() is not None
    log.close()


def test_the_rows_of_workers_that_are_gone_are_removed(storage):
    if storage == "memory":
        pytest.skip("memory has one process")
    database = Database(storage)
    database.create("s")
    gone, stopped, alive = (Worker(name, "elsewhere", 1, "") for name in ("gone", "stopped", "on"))
    database.beat(gone, -1.0)
    database.beat(stopped, -1.0)
    database.beat(alive, 60.0)

    def names() -> list[str]:
        with database.reading() as connection:
            return sorted(connection.execute(sa.select(WORKERS.c.name)).scalars())

    assert names() == ["on"]
    database.beat(stopped, 60.0)  # it was not gone after all
    assert names() == ["on", "stopped"]
    database.close()


def test_a_worker_with_a_damaged_row_counts_as_gone(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/s.db")
    log = database.create("s")
    worker = this_worker()
    database.beat(worker, 60.0)
    with log.turn(0) as turn:
        assert turn.alive(worker.name)
    with database.exclusive() as connection:
        connection.execute(sa.text("UPDATE grisaille_workers SET process='x', seen='y'"))
    with log.turn(0) as turn:
        assert not turn.alive(worker.name)
    database.close()


def later(database: Database, worker: str, seconds: float) -> None:
    """Let the last heartbeat of a worker have been so much earlier."""
    mine = sa.update(WORKERS).where(WORKERS.c.name == worker)
    with database.exclusive() as connection:
        connection.execute(mine.values(seen=WORKERS.c.seen - seconds))


def test_a_lock_that_kept_heartbeats_out_is_not_held_against_workers(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/s.db")
    log = database.create("s")
    for name in ("punctual", "gone"):
        database.beat(Worker(name, "elsewhere", 1, ""), 60.0)
    later(database, "punctual", 150.0)
    later(database, "gone", 200.0)

    def are_alive() -> list[bool]:
        with log.turn(0) as turn:
            return [turn.alive("punctual"), turn.alive("gone")]

    assert are_alive() == [False, False]  # unless something was locked
    with database.exclusive() as connection:
        excuse(connection, 139.0)  # the last heartbeat was 11 s before this lock
    assert are_alive() == [True, False]
    later(database, "punctual", 40.0)
    with database.exclusive() as connection:
        excuse(connection, 39.0)
    assert are_alive() == [False, False]  # it had time for a heartbeat between two locks
    database.close()


def test_a_turn_that_lasts_longer_than_a_lease_excuses_the_workers(tmp_path):
    storage = f"sqlite:///{tmp_path}/s.db"
    log = log_of(storage)
    log.beat(Worker("far", "elsewhere", 1, ""), 1.0)
    first = last_seen(storage)
    with log.turn(0):
        time.sleep(1.2)
    assert last_seen(storage) > first
    log.close()


def test_whoever_waited_for_the_database_judges_nobody_by_a_heartbeat(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/s.db")
    log = database.create("s")
    database.beat(Worker("far", "elsewhere", 1, ""), 60.0)
    later(database, "far", 100.0)
    other = sqlite3.connect(tmp_path / "s.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")  # a program of the user, say
    ending = threading.Timer(1.5, lambda: other.execute("ROLLBACK"))
    ending.start()
    with log.turn(0) as turn:
        assert turn.alive("far")
    with log.turn(0) as turn:
        assert not turn.alive("far")
    ending.join()
    other.close()
    database.close()


def test_a_heartbeat_that_fails_is_tried_again_soon(tmp_path, monkeypatch):
    tried: list[float] = []
    request = {"address": "sqlite:///", "path": sys.path, "lease": 60.0}
    request["worker"] = {**asdict(this_worker()), "process": os.getppid()}
    pauses = iter([False, False, False, True])

    def wait(*arguments: object) -> tuple[bool]:
        tried.append(float(str(arguments[-1])))
        return (next(pauses),)

    answers = iter([True, False, True])
    monkeypatch.setattr(
        sys, "stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps(request).encode()))
    )
    monkeypatch.setattr(heartbeat_script.select, "select", wait)
    monkeypatch.setattr(heartbeat_script, "_beat", lambda *_: next(answers))
    heartbeat_script.main()
    assert tried == [15.0, 15.0, 1.0, 15.0]

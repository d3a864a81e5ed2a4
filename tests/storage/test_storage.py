"""Logs: what every storage promises, and what files and servers do when they are in trouble."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

import grisaille as gs
from grisaille.storage.database import Database
from grisaille.storage.log import Kind, Log, Worker
from grisaille.storage.memory import MemoryLog
from grisaille.storage.worker import Heartbeat, this_host, this_worker


def log_of(storage: str, name: str = "s") -> Log:
    return MemoryLog() if storage == "memory" else Database(storage).create(name)


def test_what_is_appended_in_a_turn_is_read_back_in_order(storage):
    log = log_of(storage)
    with log.turn(0) as turn:
        turn.append(Kind.CREATED, {"a": 0.1 + 0.2, "b": [1e-300, "nan"], "c": "ä\n'\""})
        turn.append(Kind.ASKED, {"n": None})
    with log.turn(2) as turn:
        assert turn.news == []
        assert turn.append(Kind.TOLD, {}).number == 3
    events = log.read(0)
    assert [e.number for e in events] == [1, 2, 3]
    assert [e.kind for e in events] == [Kind.CREATED, Kind.ASKED, Kind.TOLD]
    assert events[0].data == {"a": 0.1 + 0.2, "b": [1e-300, "nan"], "c": "ä\n'\""}
    assert [e.number for e in log.read(2)] == [3]
    log.close()


def test_a_turn_that_raises_records_nothing(storage):
    log = log_of(storage)

    def fail() -> None:
        with log.turn(0) as turn:
            turn.append(Kind.CREATED, {})
            turn.decider = "me"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert log.read(0) == []
    with log.turn(0) as turn:
        assert turn.decider is None
    log.close()


def test_a_turn_sees_what_was_recorded_since_and_who_decides(storage):
    log = log_of(storage)
    with log.turn(0) as turn:
        turn.append(Kind.CREATED, {})
        turn.append(Kind.TOLD, {})
        turn.decider = "me"
    with log.turn(1) as turn:
        assert [e.kind for e in turn.news] == [Kind.TOLD]
        assert turn.decider == "me"
        turn.decider = None
    with log.turn(2) as turn:
        assert turn.decider is None
    log.close()


def test_a_worker_of_this_machine_lives_as_long_as_its_process(storage):
    if storage == "memory":
        pytest.skip("memory has one process")
    log = log_of(storage)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    log.beat(Worker("here", this_host(), os.getpid(), this_worker().began), 1e-9)
    log.beat(Worker("dead", this_host(), gone.pid, ""), 1e9)
    log.beat(Worker("far and silent", "elsewhere", 1, ""), -1.0)
    log.beat(Worker("far", "elsewhere", os.getpid(), ""), 60.0)
    with log.turn(0) as turn:
        names = ("here", "dead", "far and silent", "far", "unheard of")
        assert [turn.alive(name) for name in names] == [True, False, False, True, False]
    log.close()


def test_a_heartbeat_keeps_a_worker_alive_until_it_is_stopped(tmp_path):
    log = log_of(f"sqlite:///{tmp_path}/s.db")
    me = this_worker()
    beats = []
    beat = log.beat
    log.beat = lambda *a: (beats.append(a), beat(*a))[1]  # type: ignore[method-assign]
    heart = Heartbeat(log, me, lease=0.2)
    while len(beats) < 4:
        pass
    heart.stop()
    count = len(beats)
    assert beats[0] == (me, 0.2)
    assert len(beats) == count
    log.close()


def test_many_processes_that_create_and_write_at_once_lose_nothing(storage):
    if storage == "memory":
        pytest.skip("memory has one process")
    script = """
import sys
from grisaille.storage.database import Database
from grisaille.storage.log import Kind
log = Database(sys.argv[1]).create("crowd")
for n in range(20):
    with log.turn(0) as turn:
        turn.append(Kind.TOLD, {"who": sys.argv[2], "n": n})
"""
    crowd = [subprocess.Popen([sys.executable, "-c", script, storage, str(k)]) for k in range(6)]
    assert [p.wait() for p in crowd] == [0] * 6
    database = Database(storage)
    assert database.names() == ["crowd"]
    log = database.open("crowd")
    assert log is not None
    events = log.read(0)
    assert [e.number for e in events] == list(range(1, 121))
    for k in range(6):
        assert [e.data["n"] for e in events if e.data["who"] == str(k)] == list(range(20))
    log.close()


def test_studies_of_one_database_do_not_mix(storage):
    if storage == "memory":
        pytest.skip("memory holds one study")
    database = Database(storage)
    first, second = database.create("first"), database.create("second")
    with first.turn(0) as turn:
        turn.append(Kind.CREATED, {"of": "first"})
    assert second.read(0) == []
    assert database.names() == ["first", "second"]
    assert database.open("third") is None
    database.delete("first")
    assert database.names() == ["second"]
    database.close()


def test_a_batch_that_arrived_is_recognized(storage):
    if storage == "memory":
        pytest.skip("nothing gets lost on the way to memory")
    log = log_of(storage)
    with log.turn(0, "batch-1") as turn:
        turn.append(Kind.TOLD, {})
    with log.turn(0, "batch-1") as turn:
        assert turn.arrived()
    with log.turn(0, "batch-2") as turn:
        assert not turn.arrived()
    log.close()


def test_an_answer_survives_a_lost_connection_and_is_not_recorded_twice(tmp_path, monkeypatch):
    from grisaille.storage.log import ConnectionLostError

    x = gs.Variable("x", lower=0, upper=1)
    problem = gs.Problem(minimize=gs.BlackBox(lambda x: x, name="f", noise=0)(x))
    study = gs.Study(problem, storage=f"sqlite:///{tmp_path}/s.db", name="s")
    (query,) = study.ask()
    turn = study._session._log.turn
    troubles = ["before", "after"]

    def unreliable(after, batch=""):
        from contextlib import contextmanager

        @contextmanager
        def wrapped():
            trouble = troubles.pop(0) if troubles else None
            if trouble == "before":
                raise ConnectionLostError("the cable is out")
            with turn(after, batch) as inner:
                yield inner
            if trouble == "after":
                raise ConnectionLostError("the confirmation got lost")

        return wrapped()

    monkeypatch.setattr(study._session._log, "turn", unreliable)
    monkeypatch.setattr("time.sleep", lambda _: None)
    trial = study.tell(query, 0.5)
    assert trial is not None
    assert trial.objective == 0.5
    assert not troubles
    assert [o.outputs.tolist() for o in study.history.observations()] == [[0.5]]
    study.close()


def test_older_tables_are_brought_up_to_date_and_keep_their_data(storage):
    if storage == "memory":
        pytest.skip("memory has no tables")

    def add_column(connection: Connection) -> None:
        connection.execute(text("ALTER TABLE grisaille_studies ADD COLUMN remark TEXT"))

    old = Database(storage, migrations=())
    log = old.create("s")
    with log.turn(0) as turn:
        turn.append(Kind.CREATED, {"kept": True})
    old.close()
    new = Database(storage, migrations=(add_column,))
    log = new.create("s")
    assert log.read(0)[0].data == {"kept": True}
    with new.reading() as connection:
        connection.execute(text("SELECT remark FROM grisaille_studies"))
        assert connection.execute(text("SELECT version FROM grisaille_schema")).scalar() == 2
    assert Database(storage, migrations=(add_column,)).create("s").read(0)  # not a second time
    new.close()
    with pytest.raises(gs.StorageError, match=r"newer Grisaille \(its tables have version 2"):
        Database(storage, migrations=()).open("s")


def test_a_migration_that_fails_changes_nothing(storage):
    if storage == "memory":
        pytest.skip("memory has no tables")

    def broken(connection: Connection) -> None:
        connection.execute(text("ALTER TABLE grisaille_studies ADD COLUMN remark TEXT"))
        raise ZeroDivisionError

    Database(storage, migrations=()).create("s").close()
    with pytest.raises(ZeroDivisionError):
        Database(storage, migrations=(broken,)).create("s")
    database = Database(storage, migrations=())
    assert database.names() == ["s"]
    with database.reading() as connection:
        assert connection.execute(text("SELECT version FROM grisaille_schema")).scalar() == 1
        columns = connection.execute(text("SELECT * FROM grisaille_studies")).keys()
        assert "remark" not in list(columns)
    database.close()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("study.db", "no database address"),
        ("sqlite://", "names no file"),
        ("sqlite:////no/such/folder/s.db", "there is no folder '/no/such/folder'"),
        ("mysql://host/x", "only SQLite and PostgreSQL are supported"),
        ("nonsense://x", "no database address"),
        ("postgresql+psycopg://nobody@localhost:1/x", "cannot be reached"),
    ],
)
def test_bad_addresses_get_a_sentence(url, message):
    with pytest.raises(gs.StorageError, match=message):
        Database(url).create("s")


def test_a_file_that_is_no_database_is_left_alone(tmp_path):
    file = tmp_path / "thesis.txt"
    file.write_text("years of work " * 100)
    with pytest.raises(gs.StorageError, match="not a SQLite file"):
        Database(f"sqlite:///{file}").create("s")
    assert file.read_text() == "years of work " * 100


def test_an_empty_file_holds_no_study(tmp_path):
    (tmp_path / "empty.db").touch()
    assert Database(f"sqlite:///{tmp_path}/empty.db").names() == []
    assert Database(f"sqlite:///{tmp_path}/absent.db").names() == []
    assert not (tmp_path / "absent.db").exists()


def test_what_is_stored_is_plain_json(tmp_path):
    x = gs.Variable("x", lower=0, upper=1)
    problem = gs.Problem(minimize=gs.BlackBox(lambda x: x, name="f", noise=0)(x))
    study = gs.Study(problem, storage=f"sqlite:///{tmp_path}/s.db", name="s")
    study.run(4, progress=False)
    study.close()
    with sqlite3.connect(tmp_path / "s.db") as connection:
        rows = connection.execute("SELECT kind, data FROM grisaille_events").fetchall()
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    assert {kind for kind, _ in rows} >= {"created", "suggested", "asked", "told", "completed"}
    for _, data in rows:
        json.loads(data, parse_constant=refuse)


@pytest.fixture
def small_disk(tmp_path: Path):
    """A disk of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    done = mount and subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True
    )
    if not done or done.returncode:
        pytest.skip("mounting needs root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def _started(folder: Path) -> tuple[gs.Study, gs.Query]:
    x = gs.Variable("x", lower=0, upper=1)
    problem = gs.Problem(minimize=gs.BlackBox(lambda x: x, name="f", noise=0)(x))
    study = gs.Study(problem, storage=f"sqlite:///{folder}/s.db", name="s")
    study.run(3, progress=False)
    (query,) = study.ask()
    return study, query


def test_a_full_disk_gives_a_sentence_and_leaves_the_data_intact(small_disk):
    study, query = _started(small_disk)
    ballast = small_disk / "ballast"
    with ballast.open("wb", buffering=0) as stream, contextlib.suppress(OSError):
        while True:
            stream.write(b"0" * 4096)

    def go_on() -> None:
        for n in range(100):  # a little may still fit
            study.observe("f", [0.001 * n], [0.001 * n])

    with pytest.raises(gs.StorageError, match="the disk is full: free some space"):
        go_on()
    seen = len(list(study.history.observations()))
    assert seen >= 3
    ballast.unlink()
    assert study.tell(query, 0.5) is not None
    study.close()
    with sqlite3.connect(small_disk / "s.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    again = gs.Study(study.problem, storage=study.storage, name="s")
    assert len(again.history) == 4
    assert len(list(again.history.observations())) == seen + 1
    again.close()


def test_a_read_only_disk_gives_a_sentence_and_can_still_be_listed(small_disk):
    study, query = _started(small_disk)
    study.close()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    again = gs.Study(study.problem, storage=study.storage, name="s")
    assert len(again.history) == 3
    with pytest.raises(gs.StorageError, match="read-only: make the file and its folder writable"):
        again.tell(query, 0.5)
    assert len(again.history) == 3
    assert Database(study.storage).names() == ["s"]
    again.close()
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    again = gs.Study(study.problem, storage=study.storage, name="s")
    assert again.tell(query, 0.5) is not None
    again.close()

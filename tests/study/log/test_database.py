"""Databases: many writers, and files and servers that are in trouble."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

import grisaille as gs
from grisaille.study.log.database import Database

pytestmark = pytest.mark.slow


def test_many_processes_that_create_and_write_at_once_lose_nothing(storage):
    if storage == "memory":
        pytest.skip("memory has one process")
    script = """
import sys
import traceback
from grisaille.study.log.database import Database
log = Database(sys.argv[1]).create("crowd")
for n in range(20):
    with log.turn(0) as turn:
        turn.append("told", {"who": sys.argv[2], "n": n})
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
        turn.append("created", {"of": "first"})
    assert second.read(0) == []
    assert database.names() == ["first", "second"]
    assert database.open("third") is None
    database.delete("first")
    assert database.names() == ["second"]
    database.close()


def test_an_answer_survives_a_lost_connection_and_is_not_recorded_twice(tmp_path, monkeypatch):
    from grisaille.study.log.event_log import ConnectionLostError

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


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("study.db", "no database address"),
        ("sqlite://", "names no file"),
        ("sqlite:///a%00b.db", "names no file"),
        ("sqlite:///file:x.db?uri=true", "write the path alone"),
        ("sqlite:///x.db?uri=true", "takes no options, so nothing may follow a question mark"),
        ("sqlite:///what?/s.db", r"question mark; if it belongs to the path, write %3F"),
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


MISTAKEN = [
    "postgresql+psycopg://lab:s3cret@127.0.0.1:1/x",
    "postgresql+psycopg://lab@127.0.0.1:1/x?password=s3cret",
    "postgresql+psycopg://lab@127.0.0.1:1/x?pasword=s3cret",
    "postgresql+psycopg://lab@127.0.0.1:1/x?sslmode=require;password=s3cret",
    "postgresql+psycopg://lab@127.0.0.1:1/x?port=s3cret",
    "postgresql+psycopg://lab@127.0.0.1:1/x&password=s3cret",
    "postgresql+psycopg://lab:s3cret@127.0.0.1:one/x",
    "postgresql+psycopg://lab:s3@cret@127.0.0.1:1/x",
    "postgresql+psycopg://lab:s3cret/x",
    "postgresql+psycopg://lab:s3cret",
    "postgresql+nonsense://lab:s3cret@127.0.0.1:1/x",
    "postgresql:/lab:s3cret@127.0.0.1:1/x",
    "lab:s3cret@127.0.0.1:1/x",
    "host=127.0.0.1 user=lab password=s3cret",
    "mysql://lab:s3cret@127.0.0.1:1/x",
    "nonsense://lab:s3cret@127.0.0.1:1/x",
    "sqlite://lab:s3cret@127.0.0.1:1/x",
    "sqlite:///lab:s3cret@127.0.0.1:1/x",
]


@pytest.mark.parametrize("url", MISTAKEN)
def test_no_error_about_an_address_shows_its_password_not_even_its_traceback(url):
    with pytest.raises(gs.StorageError) as caught:
        Database(url).create("s")
    shown = "".join(traceback.format_exception(caught.value))
    assert "s3" not in shown
    assert "cret" not in shown
    assert "***" in str(caught.value)


def test_a_password_with_an_at_sign_is_refused_with_how_to_write_it():
    with pytest.raises(gs.StorageError, match=r"more than one @: write those of a password as %40"):
        Database("postgresql+psycopg://lab:s3@cret@127.0.0.1:1/x")


def test_a_driver_that_repeats_the_password_is_not_quoted(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/lab:s3cret@x.db"

    def connect(*_: object, **__: object) -> sqlite3.Connection:
        raise sqlite3.OperationalError("cannot connect with password s3cret")

    monkeypatch.setattr("sqlite3.connect", connect)
    with pytest.raises(gs.StorageError, match=r"with password \*\*\*") as caught:
        Database(url).create("s")
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))


def test_a_fork_is_told_to_open_the_study_again(tmp_path):
    study, query = _started(tmp_path)
    ours, theirs = os.pipe()
    fork = os.fork()
    if fork == 0:
        try:
            study.tell(query, 0.5)
        except gs.StorageError as error:
            os.write(theirs, str(error).encode())
        finally:
            study.close()
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as said:
        assert "open the study again here" in said.read()
    os.waitpid(fork, 0)
    assert study.tell(query, 0.5) is not None
    study.close()

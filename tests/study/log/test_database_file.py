"""The file of a database that disappears while it is in use."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import grisaille as gs
from grisaille.study.log.database import Database
from tests.study.study_helpers import QUICK, parabola

pytestmark = pytest.mark.slow


def delete(file: Path) -> None:
    file.unlink()


def delete_with_journal(file: Path) -> None:
    for found in file.parent.glob(f"{file.name}*"):
        found.unlink()


def move(file: Path) -> None:
    file.rename(file.with_name("elsewhere.db"))


def replace(file: Path) -> None:
    other = file.with_name("other.db")
    Database(f"sqlite:///{other}").create("s").close()
    shutil.move(other, file)


LOSSES: list[Callable[[Path], None]] = [delete, delete_with_journal, move, replace]


@pytest.mark.parametrize("lose", LOSSES)
def test_a_study_whose_file_disappears_says_so_and_is_saved_beside_it(lose, tmp_path):
    file = tmp_path / "my study.db"
    storage = f"sqlite:///{file}"
    other = Database(storage).create("other")
    with other.turn(0) as turn:
        turn.append("created", {"of": "other"})
    other.close()
    study = gs.Study(parabola(), strategy=QUICK, storage=storage, name="s")
    study.run(3, progress=False)
    (query,) = study.ask()
    recorded = study.events()
    lose(file)
    with pytest.raises(gs.StorageError, match=r"my study.db' was deleted, moved or rep") as caught:
        study.tell(query, 0.5)
    copy = tmp_path / "my study-recovered.db"
    assert str(copy) in str(caught.value)
    with pytest.raises(gs.StorageError, match=r"my study-recovered\.db"):
        study.tell(query, 0.5)
    study.close()
    assert file.exists() == (lose is replace)
    assert [found.name for found in tmp_path.glob("*-recovered*")] == [copy.name]
    address = str(caught.value).split("storage=")[1].strip("'")
    again = gs.Study(parabola(), strategy=QUICK, storage=address, name="s")
    assert again.events() == recorded
    assert again.tell(query, 0.5) is not None
    again.close()
    log = Database(address).open("other")
    assert log is not None
    assert [event.data for event in log.read(0)] == [{"of": "other"}]
    log.close()


def test_the_run_ends_with_the_result_so_far_when_the_file_disappears(tmp_path):
    file, calls = tmp_path / "s.db", []

    def box(x: float) -> float:
        calls.append(x)
        if len(calls) == 4:
            file.unlink()
        return x**2

    x = gs.Variable("x", lower=-2, upper=3)
    problem = gs.Problem(minimize=gs.BlackBox(box, name="f", noise=0)(x))
    study = gs.Study(problem, strategy=QUICK, storage=f"sqlite:///{file}", name="s")
    with pytest.raises(gs.StorageError, match=r"s-recovered\.db") as caught:
        study.run(6, progress=False)
    assert caught.value.result is not None
    assert caught.value.result.nit == 3
    study.close()
    again = gs.Study(
        problem, strategy=QUICK, storage=f"sqlite:///{tmp_path}/s-recovered.db", name="s"
    )
    assert again.run(6, progress=False).nit == 6
    again.close()


def test_a_copy_overwrites_nothing(tmp_path):
    file = tmp_path / "s.db"
    log = Database(f"sqlite:///{file}").create("s")
    (tmp_path / "s-recovered.db").write_text("precious")
    (tmp_path / "s-recovered-2.db-wal").write_text("precious")
    file.unlink()
    with pytest.raises(gs.StorageError, match=r"s-recovered-3\.db"):
        log.read(0)
    assert (tmp_path / "s-recovered.db").read_text() == "precious"
    assert (tmp_path / "s-recovered-2.db-wal").read_text() == "precious"
    with sqlite3.connect(tmp_path / "s-recovered-3.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    log.close()


def test_a_file_whose_folder_disappears_is_saved_with_other_temporary_files(tmp_path, monkeypatch):
    folder, elsewhere = tmp_path / "folder", tmp_path / "temporary"
    folder.mkdir()
    elsewhere.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    log = Database(f"sqlite:///{folder}/s.db").create("s")
    shutil.rmtree(folder)
    with pytest.raises(gs.StorageError, match=r"temporary/s-recovered\.db"):
        log.read(0)
    assert Database(f"sqlite:///{elsewhere}/s-recovered.db").names() == ["s"]
    log.close()


def test_a_file_that_is_back_is_used_again(tmp_path):
    file = tmp_path / "s.db"
    log = Database(f"sqlite:///{file}").create("s")
    file.rename(tmp_path / "away.db")
    with pytest.raises(gs.StorageError, match="was deleted, moved or replaced"):
        log.read(0)
    (tmp_path / "away.db").rename(file)
    with log.turn(0) as turn:
        turn.append("created", {})
    assert len(log.read(0)) == 1
    log.close()


@pytest.mark.parametrize("name", ["a b.db", "a%20b.db", "100%25.db", "what%3F.db", "ä#1.db"])
def test_unusual_characters_in_a_path_name_the_same_file_for_everybody(name, tmp_path):
    storage = f"sqlite:///{tmp_path}/{name}"
    log = Database(storage).create("s")
    with log.turn(0) as turn:
        turn.append("created", {})
    log.close()
    expected = name.replace("%20", " ").replace("%25", "%").replace("%3F", "?")
    assert [found.name for found in tmp_path.iterdir()] == [expected]
    assert Database(storage).names() == ["s"]


def test_an_empty_file_becomes_a_database_that_readers_and_writers_share(tmp_path):
    file = tmp_path / "s.db"
    file.touch()
    Database(f"sqlite:///{file}").create("s").close()
    with sqlite3.connect(file) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()

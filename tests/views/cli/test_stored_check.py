"""What is said of damaged studies, and how what is whole is saved."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from grisaille.study.log.database import Database
from grisaille.study.log.event_log import Event
from grisaille.views.cli import main
from tests.study.stored.make_study import HERE
from tests.study.test_events import EVENTS
from tests.views.cli.cli_helpers import solved

pytestmark = pytest.mark.slow


@pytest.fixture
def two(model, place, capsys) -> str:
    """Two studies, `whole` and `torn`; one answer of the second is another than was recorded."""
    solved(model(), place, "whole", 3)
    solved(model(), place, "torn", 3)
    change(
        place,
        "UPDATE grisaille_events SET data=replace(data, '\"outputs\":[', '\"outputs\":[1') "
        "WHERE study=2 AND kind='told' AND number=(SELECT min(number) FROM grisaille_events "
        "WHERE study=2 AND kind='told')",
    )
    capsys.readouterr()
    return place


def change(place: str, statement: str) -> None:
    with closing(sqlite3.connect(place.removeprefix("sqlite:///"))) as connection, connection:
        connection.execute(statement)


def test_status_lists_the_other_studies_and_marks_a_damaged_one(two, capsys):
    assert main(["status", "--storage", two]) == 3
    printed = capsys.readouterr()
    assert "whole  finished  3 of 3" in printed.out
    assert "torn" not in printed.out
    assert "study 'torn' is damaged: its event 5 is not what was recorded" in printed.err
    assert main(["status", "--storage", two, "--json"]) == 3
    whole, torn = json.loads(capsys.readouterr().out)
    assert whole["trials"]["complete"] == 3
    assert torn["name"] == "torn"
    assert "its event 5" in torn["damaged"]


@pytest.mark.parametrize(
    "command",
    [["show", "torn"], ["export", "torn"], ["result", "torn"], ["resume", "torn"], ["ask", "torn"]],
)
def test_no_command_uses_a_damaged_study(two, capsys, command):
    assert main([*command, "--storage", two]) == 3
    error = capsys.readouterr().err
    assert "study 'torn' is damaged" in error
    assert "grisaille check torn --save URL" in error
    assert "Traceback" not in error


def test_check_names_every_damaged_event_and_exits_with_3(two, capsys):
    assert main(["check", "whole", "--storage", two]) == 0
    assert "whole  " in capsys.readouterr().out
    assert main(["check", "--storage", two]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[0::3] == ["whole", "whole"]
    assert lines[2].split()[0::3] == ["torn", "damaged"]
    assert "study 'torn': event 5 is not what was recorded: its checksum differs" in lines
    assert main(["check", "toy", "--storage", two]) == 2
    assert "no study 'toy'" in capsys.readouterr().err


def test_what_is_whole_is_saved_and_goes_on(two, model, tmp_path: Path, capsys):
    copy = f"sqlite:///{tmp_path}/copy.db"
    assert main(["check", "torn", "--storage", two, "--save", copy]) == 3
    assert f"saved in {copy}, 2 events left out" in capsys.readouterr().out
    assert main(["check", "--storage", copy]) == 0
    assert main(["resume", "torn", "--storage", copy, "--file", model(), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["status", "--storage", copy, "--json"]) == 0
    (saved,) = json.loads(capsys.readouterr().out)
    assert saved["trials"]["complete"] == 3  # the lost answer was asked for again
    assert main(["check", "torn", "--storage", two, "--save", two]) == 3
    assert "has a study 'torn' already" in capsys.readouterr().err


def test_a_damaged_study_can_be_deleted(two, capsys):
    assert main(["delete", "torn", "--storage", two, "--yes"]) == 0
    assert "Deleted the damaged study 'torn'" in capsys.readouterr().out
    assert main(["status", "--storage", two]) == 0


@pytest.fixture
def newer(place) -> str:
    """A study that a newer version continued, with an event of a kind that came later."""
    noted = Event(len(EVENTS) + 1, "noted", {"text": "hot"}, EVENTS[-1].time)
    with closing(Database(place)) as database:
        database.store("plant", [*EVENTS, noted])
    return place


def test_no_command_calls_a_study_of_a_newer_version_damaged(newer, capsys):
    for command in (["status"], ["show", "plant"], ["export", "plant"], ["ask", "plant"]):
        assert main([*command, "--storage", newer]) == 3
        error = capsys.readouterr().err
        assert "study 'plant' was written by a newer Grisaille: its event 63 is of a kind" in error
        assert "upgrade with pip install --upgrade grisaille" in error
        assert "is damaged" not in error


def test_a_study_of_a_newer_version_is_not_saved_without_its_events(newer, tmp_path, capsys):
    copy = f"sqlite:///{tmp_path}/copy.db"
    assert main(["check", "--storage", newer, "--save", copy]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["plant", "63", "0", "newer"]
    assert any("this version does not know, 'noted'; upgrade with pip" in line for line in lines)
    assert lines[-1].endswith("nothing is saved, because events of a newer Grisaille would be lost")
    assert not (tmp_path / "copy.db").exists()
    with closing(Database(newer)) as database:
        assert database.open("plant").read(62)[0].data == {"text": "hot"}


def test_a_study_of_a_newer_version_can_be_deleted(newer, capsys):
    assert main(["delete", "plant", "--storage", newer, "--yes"]) == 0
    assert "Deleted study 'plant', which a newer Grisaille wrote" in capsys.readouterr().out


def test_check_says_that_events_of_older_versions_have_no_checksum(tmp_path: Path, capsys):
    shutil.copy(HERE / "study_0_1.db", tmp_path / "old.db")
    before = (tmp_path / "old.db").read_bytes()
    assert main(["check", "--storage", f"sqlite:///{tmp_path}/old.db"]) == 0
    printed = capsys.readouterr().out
    assert "plant  62      62                whole" in printed
    assert "Events without a checksum were written by an older version" in printed
    assert (tmp_path / "old.db").read_bytes() == before


def test_check_tells_what_sqlite_finds_and_saves_the_events_it_can_read(
    place, tmp_path: Path, capsys
):
    seen = next(event for event in EVENTS if event.kind == "observed")
    first = len(EVENTS) + 1
    more = [replace(seen, number=number) for number in range(first, first + 300)]
    with closing(Database(place)) as database:
        database.store("plant", [*EVENTS, *more])
    file = tmp_path / "studies.db"
    with closing(sqlite3.connect(file)) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name='grisaille_events'"
        ).fetchone()
    content = bytearray(file.read_bytes())
    inner = content[(root - 1) * size]
    assert inner == 5  # the table has several pages
    # The last page of the table.
    leaf = int.from_bytes(content[(root - 1) * size + 8 : (root - 1) * size + 12])
    content[(leaf - 1) * size : leaf * size] = bytes(size)
    file.write_bytes(content)
    copy = f"sqlite:///{tmp_path}/copy.db"
    assert main(["check", "--storage", place, "--save", copy]) == 3
    printed = capsys.readouterr().out
    assert "SQLite's integrity check: " in printed
    assert f"saved in {copy}" in printed
    assert main(["show", "plant", "--storage", copy]) == 0
    with closing(Database(copy)) as database:
        assert first < len(database.open("plant").read(0)) < first + 300


@pytest.mark.parametrize("name", ["\ud800", "a\0"])
def test_a_name_that_cannot_be_stored_is_one_of_no_study(two, capsys, name):
    assert main(["check", name, "--storage", two]) == 2
    assert "there is no study '" in capsys.readouterr().err


def test_an_address_that_cannot_be_written_is_refused(two, capsys):
    assert main(["check", "--storage", "sqlite:///\udcff.db"]) == 3
    assert r"'sqlite:///\udcff.db' has characters that no address has" in capsys.readouterr().err
    assert main(["check", "whole", "--storage", two, "--save", "sqlite:///\udcff.db"]) == 3
    assert "has characters that no address has" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["", " "])
def test_saving_to_an_empty_address_is_refused(two, capsys, address):
    assert main(["check", "whole", "--storage", two, "--save", address]) == 2
    assert "--save is empty: pass the URL of another database" in capsys.readouterr().err

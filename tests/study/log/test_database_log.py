"""Damage to a stored event is noticed when it is read."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import text

import grisaille as gs
from grisaille.study.log.database import Damage, Database, read_row, row_of
from grisaille.study.log.event_log import DamagedError, Event

pytestmark = pytest.mark.slow


EVENT = Event(3, "told", {"outputs": [0.1, "nan"], "reason": "ü"}, 1.7e9 + 0.1)


def stored(storage: str) -> Database:
    """A database with a study of three events."""
    database = Database(storage)
    with database.create("tank").turn(0, "b") as turn:
        for number in range(3):
            turn.append("released", {"query": str(number)})
    return database


def change(database: Database, statement: str) -> None:
    with database.exclusive() as connection:
        connection.execute(text(statement))


def test_an_event_is_read_as_it_was_written():
    assert read_row(row_of(EVENT, 7, "b"), 7) == EVENT


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("number", 4),
        ("kind", "failed"),
        ("time", 1.7e9),
        ("data", json.dumps({"outputs": [0.2, "nan"], "reason": "ü"})),
        ("batch", "c"),
        ("checksum", ""),
    ],
)
def test_a_change_of_any_column_is_noticed(column, value):
    read = read_row({**row_of(EVENT, 7, "b"), column: value}, 7)
    assert isinstance(read, Damage)
    assert "checksum" in read.complaint


def test_an_event_of_another_study_is_noticed():
    assert isinstance(read_row(row_of(EVENT, 7, "b"), 8), Damage)


def test_an_event_without_a_checksum_is_taken_as_it_is():
    changed = row_of(EVENT, 7, "b") | {"data": '{"a":1}', "checksum": None}
    read = read_row(changed, 7)
    assert read == Event(3, "told", {"a": 1}, EVENT.time)
    assert not read.verified
    assert read_row(row_of(EVENT, 7, "b"), 7).verified


@pytest.mark.parametrize(
    ("column", "value", "complaint"),
    [
        ("kind", 7, "unknown kind, 7"),
        ("time", "noon", "no time, but 'noon'"),
        ("time", 1e300, "no time"),
        ("data", '{"a":', "no JSON"),
        ("data", "[" * 100_000, "no JSON"),
        ("data", b"\xff", "no JSON"),
        ("data", "[1]", "no JSON object"),
    ],
)
def test_an_event_without_a_checksum_must_still_be_an_event(column, value, complaint):
    read = read_row(row_of(EVENT, 7, "b") | {column: value, "checksum": None}, 7)
    assert isinstance(read, Damage)
    assert complaint in read.complaint


def test_a_damaged_event_is_named_with_its_study_and_what_to_do(storage):
    if storage == "memory":
        pytest.skip("memory has no tables")
    database = stored(storage)
    change(database, 'UPDATE grisaille_events SET data=\'{"query":"9"}\' WHERE number=2')
    log = database.open("tank")
    with pytest.raises(gs.StorageError, match=r"study 'tank' is damaged: its event 2 is not what"):
        log.read(0)
    with pytest.raises(DamagedError, match=r"grisaille check tank --save URL"), log.turn(0):
        pass
    assert [read.number for read in log.read(2)] == [3]
    database.close()


@pytest.mark.parametrize(("number", "missing"), [(1, 1), (2, 2), (3, 3)])
def test_a_missing_event_is_noticed_even_the_last_one(storage, number, missing):
    if storage == "memory":
        pytest.skip("memory has no tables")
    database = stored(storage)
    change(database, f"DELETE FROM grisaille_events WHERE number={number}")
    log = database.open("tank")
    with pytest.raises(DamagedError, match=rf"its event {missing} is missing"):
        log.read(0)
    with pytest.raises(DamagedError, match=rf"its event {missing} is missing"), log.turn(0):
        pass
    found, _unchecked = log.examine()
    assert [d.number for d in found if isinstance(d, Damage)] == [missing]
    database.close()


def test_a_value_of_another_type_in_a_sqlite_file_is_noticed(tmp_path):
    database = stored(f"sqlite:///{tmp_path}/study.db")
    change(database, "UPDATE grisaille_events SET number='x', time='y' WHERE number=2")
    with pytest.raises(DamagedError, match="event"):
        database.open("tank").read(0)
    database.close()

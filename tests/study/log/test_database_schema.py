"""Older tables are brought up to date."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection, text

import grisaille as gs
from grisaille.study.log.database import Database

pytestmark = pytest.mark.slow


def test_older_tables_are_brought_up_to_date_and_keep_their_data(storage):
    if storage == "memory":
        pytest.skip("memory has no tables")

    def add_column(connection: Connection) -> None:
        connection.execute(text("ALTER TABLE grisaille_studies ADD COLUMN remark TEXT"))

    old = Database(storage, migrations=())
    log = old.create("s")
    with log.turn(0) as turn:
        turn.append("created", {"kept": True})
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


def make_version_1(storage: str) -> None:
    """A database as version 1 wrote it."""
    database = Database(storage)
    with database.create("s").turn(0) as turn:
        turn.append("released", {"query": "1-1"})
    with database.exclusive() as connection:
        connection.execute(text("ALTER TABLE grisaille_events DROP COLUMN checksum"))
        connection.execute(text("ALTER TABLE grisaille_studies DROP COLUMN events"))
        connection.execute(text("UPDATE grisaille_schema SET version=1"))
    database.close()


def test_tables_without_checksums_are_read_as_they_are_and_get_them_with_the_next_event(storage):
    if storage == "memory":
        pytest.skip("memory has no tables")
    make_version_1(storage)
    database = Database(storage)
    log = database.open("s")
    assert [event.number for event in log.read(0)] == [1]
    found, unchecked = log.examine()
    assert (len(found), unchecked) == (1, 1)
    with database.reading() as connection:  # reading changes nothing
        assert connection.execute(text("SELECT version FROM grisaille_schema")).scalar() == 1
    with database.create("s").turn(1) as turn:
        turn.append("released", {"query": "1-2"})
    found, unchecked = database.open("s").examine()
    assert (len(found), unchecked) == (2, 1)
    database.close()
    with pytest.raises(gs.StorageError, match="written by a newer Grisaille"):
        Database(storage, migrations=()).open("s")


def test_a_version_that_is_no_number_gets_a_sentence(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/study.db")
    database.create("s")
    with database.exclusive() as connection:
        connection.execute(text("UPDATE grisaille_schema SET version='x'"))
    with pytest.raises(gs.StorageError, match="version of the tables is 'x'"):
        database.names()
    database.close()

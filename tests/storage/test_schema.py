"""Older tables are brought up to date."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection, text

import grisaille as gs
from grisaille.storage.database import Database
from grisaille.storage.event_log import Kind


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

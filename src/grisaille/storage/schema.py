"""The tables of a database, their version, and how to bring older ones up to date."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import (
    Column,
    Connection,
    Float,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    insert,
    inspect,
    select,
    update,
)

from grisaille.errors import StorageError

METADATA = MetaData()

SCHEMA = Table(
    "grisaille_schema",
    METADATA,
    Column("version", Integer, nullable=False),
)

STUDIES = Table(
    "grisaille_studies",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(255), unique=True, nullable=False),
    # The worker that computes the next suggestion: one at a time.
    Column("decider", String(255)),
    # The number of a deleted study is never used again.
    sqlite_autoincrement=True,
)

EVENTS = Table(
    "grisaille_events",
    METADATA,
    Column("study", Integer, ForeignKey(STUDIES.c.id), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(32), nullable=False),
    Column("time", Float, nullable=False),
    Column("data", Text, nullable=False),
    # Events of one transaction share a batch: after a lost connection it tells what arrived.
    Column("batch", String(32), nullable=False),
)

WORKERS = Table(
    "grisaille_workers",
    METADATA,
    Column("name", String(255), primary_key=True),
    Column("host", String(255), nullable=False),
    Column("process", Integer, nullable=False),
    # When the process began: its number may be used again after its end.
    Column("began", String(32), nullable=False),
    Column("seen", Float, nullable=False),
    Column("lease", Float, nullable=False),
)

Migration = Callable[[Connection], None]

MIGRATIONS: Sequence[Migration] = ()
"""The step from version 1 to 2, from 2 to 3, and so on: each changes tables and keeps all data."""


def prepare(connection: Connection, where: str, migrations: Sequence[Migration]) -> None:
    """Make the tables, or bring them up to date, within the connection's transaction.

    Args:
        connection: An open transaction.
        where: The address of the database, for messages.
        migrations: All steps there are; the current version is one more than their number.
    """
    current = len(migrations) + 1
    version = found_version(connection)
    if version is None:
        METADATA.create_all(connection)
        connection.execute(insert(SCHEMA).values(version=current))
        return
    refuse_newer(version, current, where)
    for step in migrations[version - 1 :]:
        step(connection)
    if version < current:
        connection.execute(update(SCHEMA).values(version=current))


def found_version(connection: Connection) -> int | None:
    """The version of the tables in a database; None if it has none."""
    if not inspect(connection).has_table(SCHEMA.name):
        return None
    version = connection.execute(select(SCHEMA.c.version)).scalar()
    return None if version is None else int(version)


def refuse_newer(version: int, current: int, where: str) -> None:
    """Raise StorageError if a newer version wrote the tables."""
    if version > current:
        raise StorageError(
            f"{where} was written by a newer Grisaille (its tables have version {version}, this "
            f"one knows {current}): upgrade with pip install --upgrade grisaille"
        )

"""The tables of a database, their version, and how to bring older ones up to date."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

from grisaille.errors import StorageError

METADATA = sa.MetaData()

SCHEMA = sa.Table("grisaille_schema", METADATA, sa.Column("version", sa.Integer, nullable=False))

STUDIES = sa.Table(
    "grisaille_studies",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(255), unique=True, nullable=False),
    # The worker that computes the next suggestion: one at a time.
    sa.Column("decider", sa.String(255)),
    # How many events were recorded, at least: the last ones may get lost without a gap.
    sa.Column("events", sa.Integer),
    # The number of a deleted study is never used again.
    sqlite_autoincrement=True,
)

EVENTS = sa.Table(
    "grisaille_events",
    METADATA,
    sa.Column("study", sa.Integer, sa.ForeignKey(STUDIES.c.id), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("time", sa.Float, nullable=False),
    sa.Column("data", sa.Text, nullable=False),
    # Events of one transaction share a batch: after a lost connection it tells what arrived.
    sa.Column("batch", sa.String(32), nullable=False),
    # Of all other columns. Events of version 1 have none.
    sa.Column("checksum", sa.String(16)),
)

WORKERS = sa.Table(
    "grisaille_workers",
    METADATA,
    sa.Column("name", sa.String(255), primary_key=True),
    sa.Column("host", sa.String(255), nullable=False),
    sa.Column("process", sa.Integer, nullable=False),
    # When the process began: its number may be used again after its end.
    sa.Column("began", sa.String(32), nullable=False),
    sa.Column("seen", sa.Float, nullable=False),
    sa.Column("lease", sa.Float, nullable=False),
)

Migration = Callable[[sa.Connection], None]


def _add_checksums(connection: sa.Connection) -> None:
    """From version 1 to 2: what was recorded before is neither counted nor has checksums."""
    connection.execute(sa.text("ALTER TABLE grisaille_events ADD COLUMN checksum VARCHAR(16)"))
    connection.execute(sa.text("ALTER TABLE grisaille_studies ADD COLUMN events INTEGER"))


MIGRATIONS: Sequence[Migration] = (_add_checksums,)
"""The step from version 1 to 2, from 2 to 3, and so on: each changes tables and keeps all data."""


def prepare(connection: sa.Connection, where: str, migrations: Sequence[Migration]) -> None:
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
        connection.execute(sa.insert(SCHEMA).values(version=current))
        return
    refuse_newer(version, current, where)
    for step in migrations[version - 1 :]:
        step(connection)
    if version < current:
        connection.execute(sa.update(SCHEMA).values(version=current))


def found_version(connection: sa.Connection) -> int | None:
    """The version of the tables in a database; None if it has none."""
    if not sa.inspect(connection).has_table(SCHEMA.name):
        return None
    version: Any = connection.execute(sa.select(SCHEMA.c.version)).scalar()
    if version is None or type(version) is int:
        return version
    raise StorageError(
        f"the version of the tables is {version!r}, which is no number: the database is damaged, "
        "restore it from a copy"
    )


def refuse_newer(version: int, current: int, where: str) -> None:
    """Raise StorageError if a newer version wrote the tables."""
    if version > current:
        raise StorageError(
            f"{where} was written by a newer Grisaille (its tables have version {version}, this "
            f"one knows {current}): upgrade with pip install --upgrade grisaille"
        )

"""Logs in a database: a SQLite file for one machine, PostgreSQL for many."""

from __future__ import annotations

import json
import os
import sqlite3
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import exc

from grisaille.errors import StorageError, cut, shortened
from grisaille.storage.address import masked, masked_in
from grisaille.storage.event_log import ConnectionLostError, Data, Event, Kind, Worker
from grisaille.storage.schema import (
    EVENTS,
    MIGRATIONS,
    STUDIES,
    Migration,
    found_version,
    prepare,
    refuse_newer,
)
from grisaille.storage.worker_table import is_alive, now, record_beat

# How long a writer of a SQLite file waits for the others, in seconds.
_PATIENCE = 120.0


class Database:
    """A database with any number of studies.

    Args:
        url: As SQLAlchemy takes it: `sqlite:///study.db`, `postgresql+psycopg://user@host/name`.
        migrations: Steps from older versions of the tables to the current one.
    """

    def __init__(self, url: str, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        self._engine = _engine(url)
        weakref.finalize(self, self._engine.dispose)  # for studies that nobody closes
        self._migrations = migrations
        self._address = url
        self.where = masked(url)
        self.address = _absolute(self._engine.url)

    def names(self) -> list[str]:
        """The names of all studies, in the order they were created; none if there is no file."""
        return self._select(sa.select(STUDIES.c.name).order_by(STUDIES.c.id))

    def open(self, name: str) -> DatabaseLog | None:
        """The log of a study; None if the study does not exist."""
        found = self._select(sa.select(STUDIES.c.id).where(STUDIES.c.name == name))
        return DatabaseLog(self, int(found[0])) if found else None

    def create(self, name: str) -> DatabaseLog:
        """The log of a study, created if necessary; older tables are brought up to date."""
        log = self.open(name)
        if log is not None and self._is_current():
            return log
        if self._engine.dialect.name == "sqlite" and not self._exists():
            # With this property of the file, readers and one writer do not block one another.
            with _explaining_errors(self._address):
                self._use_write_ahead_log()
        with self.exclusive() as connection:
            if self._engine.dialect.name == "postgresql":  # two processes may create the tables
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(7273829)"))
            prepare(connection, self.where, self._migrations)
        if self.open(name) is None:
            # Another process may have just created it.
            with suppress(exc.IntegrityError), self.exclusive() as connection:
                connection.execute(sa.insert(STUDIES).values(name=name))
        log = self.open(name)
        assert log is not None
        return log

    def _use_write_ahead_log(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                with self._engine.connect().execution_options(autocommit=True) as connection:
                    connection.exec_driver_sql("PRAGMA journal_mode=WAL")
                return
            except exc.OperationalError as error:  # unlike others, this statement does not wait
                if "locked" not in str(error.orig) or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def delete(self, name: str) -> None:
        """Remove a study and everything recorded of it."""
        with self.exclusive() as connection:
            ids = sa.select(STUDIES.c.id).where(STUDIES.c.name == name)
            found = connection.execute(ids).scalar()
            connection.execute(sa.delete(EVENTS).where(EVENTS.c.study == found))
            connection.execute(sa.delete(STUDIES).where(STUDIES.c.id == found))

    @contextmanager
    def exclusive(self) -> Iterator[sa.Connection]:
        """A transaction that may write."""
        with _explaining_errors(self._address):
            writing = self._engine.connect().execution_options(writes=True)
            with writing as connection, connection.begin():
                yield connection

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that reads."""
        with _explaining_errors(self._address), self._engine.begin() as connection:
            yield connection

    def beat(self, worker: Worker, lease: float) -> None:
        """Record that a worker is alive, and will report again within `lease` seconds."""
        if not self._exists():
            raise StorageError(f"{self.where} is no longer there: somebody deleted it")
        with self.exclusive() as connection:
            record_beat(connection, worker, lease)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _exists(self) -> bool:
        """Whether the SQLite file exists: opening a missing one would create it."""
        path = self._engine.url.database
        return self._engine.dialect.name != "sqlite" or bool(path and Path(path).exists())

    def _is_current(self) -> bool:
        with self.reading() as connection:
            return found_version(connection) == len(self._migrations) + 1

    def _select(self, query: sa.Select[tuple[Any]]) -> list[Any]:
        """What a query finds; nothing if the file or the tables do not exist."""
        if not self._exists():
            return []
        with self.reading() as connection:
            version = found_version(connection)
            if version is None:
                return []
            refuse_newer(version, len(self._migrations) + 1, self.where)
            return list(connection.execute(query).scalars())


class DatabaseLog:
    """The events of one study in a database."""

    def __init__(self, database: Database, study: int) -> None:
        self._database = database
        self._study = study
        self.address: str | None = database.address

    def read(self, after: int) -> list[Event]:
        """The events whose number is larger than `after`."""
        with self._database.reading() as connection:
            return _events(connection, self._study, after)

    @contextmanager
    def turn(self, after: int, batch: str = "") -> Iterator[DatabaseTurn]:
        """Wait for a turn to write. At its end all appended events are recorded, or none."""
        with self._database.exclusive() as connection:
            # In PostgreSQL the writers of a study wait for this row.
            row = connection.execute(
                sa.select(STUDIES.c.decider).where(STUDIES.c.id == self._study).with_for_update()
            ).one_or_none()
            if row is None:
                raise StorageError(
                    f"the study is no longer in {self._database.where}: somebody deleted it"
                )
            turn = DatabaseTurn(connection, self._study, after, row.decider, batch)
            yield turn
            turn.finish()

    def beat(self, worker: Worker, lease: float) -> None:
        """Record that a worker is alive, and will report again within `lease` seconds."""
        self._database.beat(worker, lease)

    def close(self) -> None:
        """Close all connections."""
        self._database.close()


class DatabaseTurn:
    """A turn to write to a log in a database: an open transaction."""

    def __init__(
        self, connection: sa.Connection, study: int, after: int, decider: str | None, batch: str
    ) -> None:
        self._connection = connection
        self._study = study
        self._batch = batch
        self._before = decider
        self.decider = decider
        self.news: Sequence[Event] = _events(connection, study, after)
        self._length = after + len(self.news)
        last = sa.select(sa.func.max(EVENTS.c.number)).where(EVENTS.c.study == study)
        if (connection.execute(last).scalar() or 0) != self._length:
            raise StorageError(
                "the study no longer holds what was read of it: somebody deleted or replaced it"
            )
        self._appended: list[Event] = []

    def append(self, kind: Kind, data: Data) -> Event:
        """Record one more event."""
        number = self._length + len(self._appended) + 1
        self._appended.append(Event(number, kind, data, self.now()))
        return self._appended[-1]

    def arrived(self) -> bool:
        """Whether this batch is recorded already, by an attempt whose confirmation was lost."""
        mine = (EVENTS.c.study == self._study) & (EVENTS.c.batch == self._batch)
        found = self._connection.execute(sa.select(EVENTS.c.number).where(mine).limit(1))
        return found.scalar() is not None

    def alive(self, worker: str) -> bool:
        """Whether a worker still runs, by its heartbeat and, on this machine, its process."""
        return is_alive(self._connection, worker)

    def now(self) -> float:
        """The time by the database's clock, which all workers share."""
        return now(self._connection)

    def finish(self) -> None:
        """Write what was appended."""
        if self._appended:
            self._connection.execute(
                sa.insert(EVENTS),
                [
                    {
                        "study": self._study,
                        "number": e.number,
                        "kind": str(e.kind),
                        "time": e.time,
                        "data": json.dumps(e.data, allow_nan=False, separators=(",", ":")),
                        "batch": self._batch,
                    }
                    for e in self._appended
                ],
            )
        if self.decider != self._before:
            mine = STUDIES.c.id == self._study
            self._connection.execute(sa.update(STUDIES).where(mine).values(decider=self.decider))


def _events(connection: sa.Connection, study: int, after: int) -> list[Event]:
    rows = connection.execute(
        sa.select(EVENTS.c.number, EVENTS.c.kind, EVENTS.c.data, EVENTS.c.time)
        .where((EVENTS.c.study == study) & (EVENTS.c.number > after))
        .order_by(EVENTS.c.number)
    )
    return [Event(r.number, Kind(r.kind), json.loads(r.data), r.time) for r in rows]


def _absolute(url: sa.URL) -> str:
    """An address for other processes: it stays valid when the working directory changes."""
    if url.get_backend_name() == "sqlite":
        url = url.set(database=os.path.abspath(str(url.database)))
    return url.render_as_string(hide_password=False)


def _engine(url: str) -> sa.Engine:
    shown = f"storage {shortened(masked(url))}"
    unsupported = f"{shown}: only SQLite and PostgreSQL are supported"
    # SQLAlchemy's errors may repeat a password, so none is the cause of ours: tracebacks print it.
    try:
        made = sa.make_url(url)
        options: dict[str, Any] = {}
        if made.get_backend_name() not in ("sqlite", "postgresql"):
            sa.create_engine(made)  # explains what is wrong with an invalid address
            raise StorageError(unsupported)
        if made.get_backend_name() == "sqlite":
            if not made.database or made.database == ":memory:":
                raise StorageError(
                    f"{shown} names no file: write sqlite:///study.db, or leave storage= out for "
                    "a study in memory"
                )
            if made.database.startswith("file:"):
                raise StorageError(f"{shown}: write the path alone, as in sqlite:///study.db")
            folder = Path(made.database).resolve().parent
            if not folder.is_dir():
                where = shortened(masked_in(str(folder), url))
                raise StorageError(f"{shown}: there is no folder {where}")
            options["connect_args"] = {"timeout": _PATIENCE}
            if _is_read_only(Path(made.database)):
                options["creator"] = partial(_connect_read_only, made.database)
        elif url.count("@") > 1:  # a part of the password would count as the server's name
            raise StorageError(f"{shown} has more than one @: write those of a password as %40")
        engine = sa.create_engine(made, pool_pre_ping=True, **options)
    except (exc.ArgumentError, exc.NoSuchModuleError, OSError, ValueError, TypeError) as error:
        raise StorageError(
            f"{shown} is no database address ({cut(masked_in(str(error), url))}): write "
            "sqlite:///study.db or postgresql+psycopg://user@host/database"
        ) from None
    except ModuleNotFoundError as error:
        if made.get_backend_name() != "postgresql":
            raise StorageError(unsupported) from None
        raise StorageError(
            f"{shown} needs the package {error.name!r}: write postgresql+psycopg:// and pip "
            "install 'grisaille[postgresql]'"
        ) from None
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _set_up_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _is_read_only(file: Path) -> bool:
    """Whether nobody can write to a file, so that it can be read without its journal files."""
    if not file.exists() or (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)):
        return False
    journal = file.with_name(f"{file.name}-wal")
    return not journal.exists() or journal.stat().st_size == 0


def _connect_read_only(file: str) -> sqlite3.Connection:
    address = f"file:{quote(str(Path(file).resolve()))}?immutable=1"
    return sqlite3.connect(address, uri=True, check_same_thread=False)


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # `_begin_sqlite` begins transactions
    # An answer may have taken days: it must be on the disk before it counts, if power fails.
    connection.execute("PRAGMA synchronous=FULL")


def _begin_sqlite(connection: sa.Connection) -> None:
    options = connection.get_execution_options()
    if not options.get("autocommit"):
        # A writer takes the lock at once: taking it after reading could fail.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writes") else "BEGIN")


@contextmanager
def _explaining_errors(url: str) -> Iterator[None]:
    """Turn the errors of a database into sentences, without the passwords of its address."""
    try:
        yield
    except exc.IntegrityError:
        raise
    except exc.DBAPIError as error:
        where, what = masked(url), masked_in(str(error.orig).strip(), url)
        # A traceback prints the cause of an error, too.
        cause = error if masked_in(str(error), url) == str(error) else None
        advice = {
            "database or disk is full": "the disk is full: free some space and start again",
            "attempt to write a readonly database": "it is read-only: make the file and its "
            "folder writable",
            "unable to open database file": "it cannot be opened: check the folder and your rights",
            "file is not a database": "it is not a SQLite file",
            "disk image is malformed": "the file is damaged: restore it from a copy, or save what "
            "can be read with the program sqlite3 and its command .recover",
        }
        for complaint, meaning in advice.items():
            if complaint in what:
                safe = "" if "damaged" in meaning else "; everything recorded before is safe"
                raise StorageError(f"{where}: {meaning}{safe}") from cause
        if error.connection_invalidated or "connect" in what or "locked" in what:
            raise ConnectionLostError(f"{where} cannot be reached: {what}") from cause
        raise StorageError(f"{where}: {what}") from cause

"""Logs in a database: a SQLite file for one machine, PostgreSQL for many."""

from __future__ import annotations

import logging
import os
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import exc

from grisaille.errors import StorageError
from grisaille.interrupts import Uninterrupted, interruptible
from grisaille.storage.address import file_address, masked
from grisaille.storage.database_file import DatabaseFile
from grisaille.storage.engine import (
    IMPATIENCE,
    PATIENCE,
    ConflictError,
    connect_to,
    explaining_errors,
)
from grisaille.storage.event_log import (
    BusyError,
    ConnectionLostError,
    DamagedError,
    Data,
    Event,
    Kind,
    Worker,
)
from grisaille.storage.event_rows import Damage, read_rows, row_of, select_rows
from grisaille.storage.schema import (
    EVENTS,
    MIGRATIONS,
    STUDIES,
    Migration,
    found_version,
    prepare,
    refuse_newer,
)
from grisaille.storage.server import Server
from grisaille.storage.worker_table import is_alive, now, record_beat

Value = TypeVar("Value")

# How long to wait before something is tried again that a server was too busy for, in seconds.
_PAUSE = 0.5


class Database:
    """A database with any number of studies.

    Args:
        url: As SQLAlchemy takes it: `sqlite:///study.db`, `postgresql+psycopg://user@host/name`.
        migrations: Steps from older versions of the tables to the current one.
    """

    def __init__(self, url: str, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        self._engine, self._file = connect_to(url)
        self._server = Server(self._engine) if self._file is None else None
        self._process = os.getpid()
        # For studies that nobody closes.
        weakref.finalize(self, _close, self._process, self._engine, self._file)
        self._migrations = migrations
        self._version: int | None = None
        self._address = url
        self.where = masked(url)
        # For other processes: it stays valid when the working directory changes.
        self.address = url if self._file is None else file_address(self._file.path)

    def names(self) -> list[str]:
        """The names of all studies, in the order they were created; none if there is no file."""
        return self._select(sa.select(STUDIES.c.name).order_by(STUDIES.c.id))

    def open(self, name: str) -> DatabaseLog | None:
        """The log of a study; None if the study does not exist."""
        found = self._select(sa.select(STUDIES.c.id).where(STUDIES.c.name == name))
        return DatabaseLog(self, int(found[0]), name) if found else None

    def create(self, name: str) -> DatabaseLog:
        """The log of a study, created if necessary; older tables are brought up to date."""
        return self._patiently(lambda: self._create(name))

    def _create(self, name: str) -> DatabaseLog:
        log = self.open(name)
        if log is not None and self._is_current():
            return log
        if not self._exists():
            # With this property of the file, readers and one writer do not block one another.
            with explaining_errors(self._address):
                self._use_write_ahead_log()
        with self.exclusive() as connection:
            if self._engine.dialect.name == "postgresql":  # two processes may create the tables
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(7273829)"))
            prepare(connection, self.where, self._migrations)
        if self.open(name) is None:
            # Another process may have just created it.
            with suppress(ConflictError), self.exclusive() as connection:
                connection.execute(sa.insert(STUDIES).values(name=name))
        log = self.open(name)
        if log is None:
            raise BusyError(f"{self.where}: somebody deletes study {name!r} while it is created")
        return log

    def _use_write_ahead_log(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                with self._engine.connect().execution_options(autocommit=True) as connection:
                    connection.exec_driver_sql("PRAGMA journal_mode=WAL")
                return
            except exc.OperationalError as error:  # unlike others, this statement does not wait
                if "locked" not in str(error.orig) or time.monotonic() > deadline:
                    raise
                interruptible(partial(time.sleep, 0.05))

    def delete(self, name: str) -> None:
        """Remove a study and everything recorded of it."""
        self._patiently(lambda: self._delete(name))

    def _delete(self, name: str) -> None:
        with self.exclusive() as connection:
            # Writers of the study wait for this row, and find it gone.
            ids = sa.select(STUDIES.c.id).where(STUDIES.c.name == name).with_for_update()
            found = connection.execute(ids).scalar()
            connection.execute(sa.delete(EVENTS).where(EVENTS.c.study == found))
            connection.execute(sa.delete(STUDIES).where(STUDIES.c.id == found))

    def store(self, name: str, events: Sequence[Event]) -> None:
        """Record the events of a study that this database does not have yet, all or none.

        Raises:
            StorageError: It has a study of this name.
        """
        if self.open(name) is not None:
            raise StorageError(f"{self.where} has a study {name!r} already: name another database")
        with self.create(name).turn(0, uuid.uuid4().hex) as turn:
            turn.appended.extend(events)

    def file_complaints(self) -> list[str]:
        """What SQLite finds wrong with the file. A server looks after its own files."""
        if self._file is None or not self._exists():
            return []
        with self.reading() as connection:
            found = connection.exec_driver_sql("PRAGMA integrity_check").scalars()
            return [str(line) for line in found if line != "ok"]

    @contextmanager
    def exclusive(self, patient: bool = True) -> Iterator[sa.Connection]:
        """A transaction that may write.

        Args:
            patient: Whether to wait long for other writers.
        """
        with self._transaction(patient, writes=True) as connection:
            yield connection

    @contextmanager
    def reading(self, patient: bool = True) -> Iterator[sa.Connection]:
        """A transaction that reads."""
        with self._transaction(patient) as connection:
            yield connection

    @contextmanager
    def _transaction(self, patient: bool, writes: bool = False) -> Iterator[sa.Connection]:
        """A transaction that always ends: an interrupt meanwhile is delivered after it."""
        alone = self._server.transaction(patient) if self._server else Uninterrupted()
        with alone, explaining_errors(self._address):
            if os.getpid() != self._process:
                raise StorageError(
                    f"{self.where} was opened before this process was forked from another one, "
                    "and its connections belong to that one: open the study again here"
                )
            self._check_file()
            patience = PATIENCE if patient else IMPATIENCE
            options = {"writes": writes, "patience": patience}
            connecting = self._engine.connect().execution_options(**options)
            with connecting as connection, connection.begin():
                self._check_file()  # it may have changed before the transaction began
                yield connection

    def beat(self, worker: Worker, lease: float) -> None:
        """Record that a worker is alive, and will report again within `lease` seconds."""
        if not self._exists():
            raise StorageError(f"{self.where} is no longer there: somebody deleted it")
        self._patiently(lambda: self._beat(worker, lease))

    def _beat(self, worker: Worker, lease: float) -> None:
        with self.exclusive() as connection:
            record_beat(connection, worker, lease)

    def _patiently(self, attempt: Callable[[], Value]) -> Value:
        """Try again for a while if the database is busy; a wrong address is reported at once."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return attempt()
            except BusyError as error:
                if time.monotonic() > deadline:
                    raise
                logging.getLogger("grisaille").warning("%s: trying again", error)
            interruptible(partial(time.sleep, _PAUSE))

    def close(self) -> None:
        """Close all connections."""
        _close(self._process, self._engine, self._file)

    def _check_file(self) -> None:
        if self._file is not None:
            self._file.check()

    def _exists(self) -> bool:
        """Whether there is something to read: opening a missing SQLite file would create it."""
        return self._file is None or self._file.has_content()

    def _is_current(self) -> bool:
        return self._version == len(self._migrations) + 1

    @property
    def has_checksums(self) -> bool:
        """Whether the tables hold checksums, as far as is known: older ones do not."""
        return self._version is not None and self._version > 1

    def _select(self, query: sa.Select[tuple[Any]]) -> list[Any]:
        """What a query finds; nothing if the file or the tables do not exist."""
        return self._patiently(lambda: self._selected(query)) if self._exists() else []

    def _selected(self, query: sa.Select[tuple[Any]]) -> list[Any]:
        with self.reading() as connection:
            self._version = found_version(connection)
            if self._version is None:
                return []
            refuse_newer(self._version, len(self._migrations) + 1, self.where)
            return list(connection.execute(query).scalars())


class DatabaseLog:
    """The events of one study in a database."""

    def __init__(self, database: Database, study: int, name: str) -> None:
        self.patient = True
        self._database = database
        self._study = study
        self._name = name
        self._has_checksums = database.has_checksums
        self.address: str | None = database.address

    def read(self, after: int) -> list[Event]:
        """The events whose number is larger than `after`."""
        with self._database.reading(self.patient) as connection:
            counted = None
            if after == 0 and self._has_checksums:
                # Before the events: others may record more of them meanwhile.
                mine = STUDIES.c.id == self._study
                counted = connection.execute(sa.select(STUDIES.c.events).where(mine)).scalar()
            events = self._events(connection, after)
            self._check_count(after + len(events), counted)
            return events

    def _events(self, connection: sa.Connection, after: int) -> list[Event]:
        rows = connection.execute(select_rows(self._study, after, self._has_checksums))
        events: list[Event] = []
        for read in read_rows(rows.mappings(), self._study, after):
            if isinstance(read, Damage):
                raise DamagedError(self._name, read.number, read.complaint)
            events.append(read)
        return events

    def examine(self) -> tuple[list[Event | Damage], int]:
        """All events, damaged ones included, and how many of them have no checksum."""
        try:
            with self._database.reading() as connection:
                rows = self._rows(connection, select_rows(self._study, 0, self._has_checksums))
                last = self._last_number(connection)
        except ConnectionLostError:
            raise
        except StorageError:  # a damaged page: the others may still be read
            rows, last = self._readable_rows()
        found = list(read_rows(rows, self._study, 0))
        there = max((read.number for read in found), default=0)
        found += [Damage(number, "is missing") for number in range(there + 1, last + 1)]
        return found, sum(row.get("checksum") is None for row in rows)

    def _readable_rows(self) -> tuple[list[dict[str, Any]], int]:
        """The rows that can be read one by one, and how many were recorded, as far as is known."""
        last, rows = 0, []
        with suppress(StorageError), self._database.reading() as connection:
            last = self._last_number(connection)
        number = 0
        while number < last:
            number += 1
            one = select_rows(self._study, number - 1, self._has_checksums)
            with suppress(StorageError), self._database.reading() as connection:
                rows += self._rows(connection, one.where(EVENTS.c.number == number))
        return rows, last

    def _rows(self, connection: sa.Connection, query: sa.Select[Any]) -> list[dict[str, Any]]:
        return [dict(row) for row in connection.execute(query).mappings()]

    def _last_number(self, connection: sa.Connection) -> int:
        """The number of the last event that was recorded, as far as is known."""
        mine = EVENTS.c.study == self._study
        last: Any = connection.execute(sa.select(sa.func.max(EVENTS.c.number)).where(mine)).scalar()
        counted: Any = None
        if self._has_checksums:
            study = STUDIES.c.id == self._study
            counted = connection.execute(sa.select(STUDIES.c.events).where(study)).scalar()
        return max((n for n in (last, counted) if isinstance(n, int)), default=0)

    def _check_count(self, there: int, counted: object) -> None:
        if isinstance(counted, int) and there < counted:
            raise DamagedError(
                self._name, there + 1, f"is missing, of {counted} that were recorded"
            )

    @contextmanager
    def turn(self, after: int, batch: str = "") -> Iterator[DatabaseTurn]:
        """Wait for a turn to write. At its end all appended events are recorded, or none."""
        with self._database.exclusive(self.patient) as connection:
            # In PostgreSQL the writers of a study wait for this row.
            row = connection.execute(
                sa.select(STUDIES.c.decider, STUDIES.c.events)
                .where(STUDIES.c.id == self._study)
                .with_for_update()
            ).one_or_none()
            if row is None:
                raise StorageError(
                    f"the study is no longer in {self._database.where}: somebody deleted it"
                )
            news = self._events(connection, after)
            self._check_count(after + len(news), row.events)
            turn = DatabaseTurn(connection, self._study, after, news, row.decider, batch)
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
        self,
        connection: sa.Connection,
        study: int,
        after: int,
        news: Sequence[Event],
        decider: str | None,
        batch: str,
    ) -> None:
        self._connection = connection
        self._study = study
        self._batch = batch
        self._before = decider
        self.decider = decider
        self.news = news
        self._length = after + len(news)
        last = sa.select(sa.func.max(EVENTS.c.number)).where(EVENTS.c.study == study)
        if (connection.execute(last).scalar() or 0) != self._length:
            raise StorageError(
                "the study no longer holds what was read of it: somebody deleted or replaced it"
            )
        self.appended: list[Event] = []

    def append(self, kind: Kind, data: Data) -> Event:
        """Record one more event."""
        number = self._length + len(self.appended) + 1
        self.appended.append(Event(number, kind, data, self.now()))
        return self.appended[-1]

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
        changes: dict[str, Any] = {}
        if self.appended:
            rows = [row_of(event, self._study, self._batch) for event in self.appended]
            self._connection.execute(sa.insert(EVENTS), rows)
            changes["events"] = self.appended[-1].number
        if self.decider != self._before:
            changes["decider"] = self.decider
        if changes:
            mine = STUDIES.c.id == self._study
            self._connection.execute(sa.update(STUDIES).where(mine).values(changes))


def _close(process: int, engine: sa.Engine, file: DatabaseFile | None) -> None:
    if os.getpid() != process:
        return  # this is a fork: the connections belong to the other process
    engine.dispose()
    if file is not None:
        file.close()

"""A database with studies: a SQLite file for one machine, PostgreSQL for many."""

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
from grisaille.storage.address import file_address, is_unstorable, masked
from grisaille.storage.database_file import DatabaseFile
from grisaille.storage.database_log import DatabaseLog
from grisaille.storage.engine import (
    IMPATIENCE,
    PATIENCE,
    ConflictError,
    connect_to,
    explaining_errors,
)
from grisaille.storage.event_log import BusyError, Event, Worker
from grisaille.storage.network_folder import network_file_system
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
from grisaille.storage.worker_table import record_beat

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
        """The log of a study; None if the study does not exist, as none does of such a name."""
        if is_unstorable(name):
            return None
        found = self._select(sa.select(STUDIES.c.id).where(STUDIES.c.name == name))
        return DatabaseLog(self, int(found[0]), name) if found else None

    def create(self, name: str) -> DatabaseLog:
        """The log of a study, created if necessary; older tables are brought up to date."""
        self._warn_of_network()
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
        try:
            with self.reading() as connection:
                found = connection.exec_driver_sql("PRAGMA integrity_check").scalars()
                return [str(line) for line in found if line != "ok"]
        except BusyError:
            raise
        except StorageError as error:  # so damaged that the check itself breaks off
            return [str(error)]

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
        began = time.monotonic()
        with self.exclusive() as connection:
            record_beat(connection, worker, lease, time.monotonic() - began)

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

    def _warn_of_network(self) -> None:
        kind = None if self._file is None else network_file_system(self._file.path.parent)
        if kind is not None:
            logging.getLogger("grisaille").warning(
                "%s is on a network file system (%s), where two machines do not see what the other "
                "one records, and answers are lost: let only one machine use it, or use PostgreSQL",
                self.where,
                kind,
            )

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


def _close(process: int, engine: sa.Engine, file: DatabaseFile | None) -> None:
    if os.getpid() != process:
        return  # this is a fork: the connections belong to the other process
    engine.dispose()
    if file is not None:
        file.close()

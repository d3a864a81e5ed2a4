"""A database with studies: a SQLite file for one machine, PostgreSQL for many."""

from __future__ import annotations

import _thread
import logging
import os
import socket
import sqlite3
import tempfile
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import exc

from grisaille.errors import StorageError, cut, shortened
from grisaille.interrupts import Uninterrupted, interruptible
from grisaille.study.log.address import file_address, is_unstorable, masked, masked_in, path_in
from grisaille.study.log.database_log import DatabaseLog
from grisaille.study.log.event_log import BusyError, ConnectionLostError, Event, Worker
from grisaille.study.log.schema import (
    EVENTS,
    MIGRATIONS,
    STUDIES,
    WORKERS,
    Migration,
    found_version,
    prepare,
    refuse_newer,
)
from grisaille.study.log.worker_table import record_beat

# --- database file --------------------------------------------------------------------------------
# The file of a SQLite database: the same one as long as a study is open.


@dataclass(frozen=True, slots=True)
class DatabaseConstants:
    """The constants of databases, in seconds.

    Attributes:
        file_pause: Time that SQLite waits for a lock before Python can be interrupted. A choice of
            patience.
        patience: Time that a transaction on a SQLite file waits for others. A choice of patience.
        impatience: The same while this process is ending. A choice of patience.
        connection_pause: Time between looks, in addition to what SQLite waits. A choice of
            patience.
        last: Time that a transaction may take while this process is ending. A choice of patience.
        pause: Time before a busy server is asked again. A choice of patience.
    """

    file_pause: float = 0.2
    patience: float = 120.0
    impatience: float = 0.5
    connection_pause: float = 0.01
    last: float = 0.5
    pause: float = 0.5


DATABASE = DatabaseConstants()


class DatabaseFile:
    """The file of a SQLite database, which somebody may delete, move or replace.

    The first connection stays open. It still reads the file when the path no longer leads there,
    so everything that was recorded can be saved.

    Args:
        path: Where the file is, or will be created.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read_only = _is_read_only(path)
        self._identity: tuple[int, int] | None = None
        self._first: sqlite3.Connection | None = None
        self._copy: Path | None = None
        self._lock = threading.Lock()

    def connect(self) -> sqlite3.Connection:
        """A new connection; creates the file only if it was never there."""
        if self._read_only:
            return _connect(self.path, "immutable=1")
        return _connect(self.path, "mode=rwc" if self._identity is None else "mode=rw")

    def has_content(self) -> bool:
        """Whether the file exists and was written to: opening a missing one would create it."""
        return self.path.exists() and self.path.stat().st_size > 0

    def check(self) -> None:
        """Check that the path leads to the file that was opened first.

        Raises:
            StorageError: It does not; says where everything recorded is saved.
        """
        if self._read_only:
            return
        with self._lock:
            if self._identity in (None, _identity_of(self.path)):
                self._copy = None
                if self._first is None:
                    self._open_first()
                return
            if self._copy is None:
                self._copy = self._save()
                # Whoever finds out may not be able to tell: a heartbeat, or a study that closes.
                logging.getLogger("grisaille").warning("%s", self._complaint())
            raise StorageError(self._complaint())

    def close(self) -> None:
        """Close the first connection; the next check opens another one."""
        with self._lock:
            if self._first is not None:
                self._first.close()
            self._first = None

    def _complaint(self) -> str:
        if self._copy is None:
            saved = "what it held could not be saved"
        else:
            saved = (
                f"everything recorded is saved in {str(self._copy)!r}: open the study with "
                f"storage={file_address(self._copy)!r}"
            )
        return (
            f"the database file {str(self.path)!r} was deleted, moved or replaced while it was in "
            f"use; {saved}"
        )

    def _open_first(self) -> None:
        """Open the first connection, if there is a file and nobody has locked it."""
        identity = _identity_of(self.path)
        if identity is None:
            return
        connection = _connect(self.path, "mode=rw")
        with suppress(sqlite3.Error):
            # SQLite opens the file and its journal when it reads.
            connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
            if _identity_of(self.path) == identity:
                self._first, self._identity = connection, identity
                return
        connection.close()

    def _save(self) -> Path | None:
        """Save the file as it was, under a new name; None if that is not possible."""
        if self._first is None:
            return None
        for folder in (self.path.parent, Path(tempfile.gettempdir())):
            try:
                copy = _new_file(folder, self.path)
            except OSError:  # the folder may be gone too
                continue
            try:
                with closing(sqlite3.connect(copy, isolation_level=None)) as target:
                    self._first.backup(target)
                    target.execute("PRAGMA journal_mode=WAL")
                    with suppress(sqlite3.OperationalError):  # there may be no tables yet
                        # Nobody works with the copy, whatever they had of the lost file.
                        target.execute(f"DELETE FROM {WORKERS.name}")
            except sqlite3.Error:
                copy.unlink()
            else:
                return copy
        return None


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    address = f"file:{quote(str(path.resolve()))}?{mode}"
    return sqlite3.connect(address, uri=True, timeout=DATABASE.file_pause, check_same_thread=False)


def _identity_of(path: Path) -> tuple[int, int] | None:
    """What tells files apart, whatever they are called; None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _new_file(folder: Path, like: Path) -> Path:
    """Create an empty file with a name that nothing has."""
    number = 0
    while True:
        number += 1
        more = "" if number == 1 else f"-{number}"
        file = folder / f"{like.stem}-recovered{more}{like.suffix}"
        if any(Path(f"{file}{end}").exists() for end in ("-wal", "-shm", "-journal")):
            continue
        try:
            file.touch(exist_ok=False)
        except FileExistsError:
            continue
        return file


def _is_read_only(file: Path) -> bool:
    """Whether nobody can write to a file, so that it can be read without its journal files."""
    if not file.exists() or (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)):
        return False
    journal = file.with_name(f"{file.name}-wal")
    return not journal.exists() or journal.stat().st_size == 0


# --- engine ---------------------------------------------------------------------------------------
# Connections to a database: from an address to transactions that wait and can be interrupted.

# What a server answers when it may work a moment later: others got in the way of a transaction
# (serialization failure, deadlock), the server starts or ends, it has too many connections. The
# last two have no number when a connection is made.
_BUSY = {"40001", "40P01", "57P01", "57P02", "57P03", "53300"}
_BUSY_TEXTS = ("the database system is", "too many clients", "remaining connection slots")


_DAMAGED = (
    "the file is damaged: restore it from a copy, save what is whole with grisaille check --save "
    "URL, or what can be read at all with the program sqlite3 and its command .recover"
)


class ConflictError(StorageError):
    """Something of this name is there already."""


def connect_to(url: str) -> tuple[sa.Engine, DatabaseFile | None]:
    """The engine for an address, and the file that it names, if it does.

    Raises:
        StorageError: The address is not one of a SQLite file or a PostgreSQL server.
    """
    shown = f"storage {shortened(masked(url))}"
    if is_unstorable(url):
        raise StorageError(f"{shown} has characters that no address has: write it as plain text")
    unsupported = f"{shown}: only SQLite and PostgreSQL are supported"
    file = None
    # SQLAlchemy's errors may repeat a password, so none is the cause of ours: tracebacks print it.
    try:
        made = sa.make_url(url)
        options: dict[str, Any] = {}
        if made.get_backend_name() not in ("sqlite", "postgresql"):
            sa.create_engine(made)  # explains what is wrong with an invalid address
            raise StorageError(unsupported)
        if made.get_backend_name() == "sqlite":
            file = DatabaseFile(_path_in(url))
            options["creator"] = file.connect
        elif url.count("@") > 1:  # a part of the password would count as the server's name
            raise StorageError(f"{shown} has more than one @: write those of a password as %40")
        else:
            # Whatever the database's default is: a turn reads what was written while it waited.
            options["isolation_level"] = "READ COMMITTED"
            if made.get_driver_name() == "psycopg":
                # A pooler such as pgbouncer gives each transaction another connection, which does
                # not know statements that were prepared on the last one.
                options["connect_args"] = {"prepare_threshold": None}
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
    if file is not None:
        sa.event.listen(engine, "connect", _set_up_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
    return engine, file


def _path_in(url: str) -> Path:
    shown = f"storage {shortened(masked(url))}"
    if path_in(url) in ("", ":memory:") or "\0" in path_in(url):
        raise StorageError(
            f"{shown} names no file: write sqlite:///study.db, or leave storage= out for a study "
            "in memory"
        )
    if path_in(url).startswith("file:"):
        raise StorageError(f"{shown}: write the path alone, as in sqlite:///study.db")
    if "?" in url:
        raise StorageError(
            f"{shown}: a SQLite address takes no options, so nothing may follow a question mark; "
            "if it belongs to the path, write %3F instead"
        )
    path = Path(path_in(url)).absolute()  # the working directory may change
    if not path.parent.is_dir():
        where = shortened(masked_in(str(path.parent), url))
        raise StorageError(f"{shown}: there is no folder {where}")
    return path


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # `_begin_sqlite` begins transactions
    # An answer may have taken days: it must be on the disk before it counts, if power fails.
    connection.execute("PRAGMA synchronous=FULL")


def _begin_sqlite(connection: sa.Connection) -> None:
    options = connection.get_execution_options()
    if options.get("autocommit"):
        return
    driver: Any = connection.connection.driver_connection
    if options.get("writes"):  # takes the lock at once: taking it after reading could fail
        take_lock = "BEGIN IMMEDIATE"
    else:
        driver.execute("BEGIN")
        take_lock = "SELECT count(*) FROM sqlite_master"
    deadline = time.monotonic() + options.get("patience", DATABASE.patience)
    while True:
        try:
            driver.execute(take_lock).fetchall()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
        interruptible(partial(time.sleep, DATABASE.connection_pause))


@contextmanager
def explaining_errors(url: str) -> Iterator[None]:
    """Turn the errors of a database into sentences, without the passwords of its address."""
    try:
        yield
    except UnicodeDecodeError as error:
        if b"malformed" not in error.object:
            raise
        # SQLite repeats damaged text in its message, which Python cannot read then.
        raise StorageError(f"{masked(url)}: {_DAMAGED}") from error
    except (exc.DBAPIError, sqlite3.Error) as error:
        told = error.orig if isinstance(error, exc.DBAPIError) else error
        where, what = masked(url), masked_in(str(told).strip(), url)
        # A traceback prints the cause of an error, too.
        cause = error if masked_in(str(error), url) == str(error) else None
        advice = {
            "database or disk is full": "the disk is full: free some space and start again",
            "attempt to write a readonly database": "it is read-only: make the file and its "
            "folder writable",
            "unable to open database file": "it cannot be opened: check the folder and your rights",
            "file is not a database": "it is not a SQLite file",
            "malformed": _DAMAGED,
        }
        for complaint, meaning in advice.items():
            if complaint in what:
                safe = "" if "damaged" in meaning else "; everything recorded before is safe"
                raise StorageError(f"{where}: {meaning}{safe}") from cause
        if getattr(told, "sqlstate", None) in _BUSY or any(text in what for text in _BUSY_TEXTS):
            raise BusyError(f"{where}: {what}") from cause
        if isinstance(error, exc.IntegrityError):
            raise ConflictError(f"{where}: {what}") from cause
        lost = isinstance(error, exc.DBAPIError) and error.connection_invalidated
        if lost or "connect" in what or "locked" in what:
            raise ConnectionLostError(f"{where} cannot be reached: {what}") from cause
        raise StorageError(f"{where}: {what}") from cause


# --- network folder -------------------------------------------------------------------------------
# Folders on a network file system, where SQLite works for the processes of one machine only.

_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = {
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "fuse.ceph",
    "fuse.glusterfs",
    "fuse.sshfs",
    "gpfs",
    "lustre",
    "nfs",
    "nfs4",
    "smb3",
}


def network_file_system(folder: Path) -> str | None:
    """The kind of network file system that a folder is on; None if it is local, or not known."""
    try:
        device = folder.stat().st_dev
        mounts = _MOUNTS.read_text().splitlines()
    except OSError:  # not Linux
        return None
    number = f"{os.major(device)}:{os.minor(device)}"
    for mount in mounts:
        # Number, parent and device; after a dash the kind of file system.
        place, _, source = mount.partition(" - ")
        if place.split()[2] == number and source.split()[0] in _NETWORK:
            return source.split()[0]
    return None


# --- server ---------------------------------------------------------------------------------------
# A PostgreSQL server, which may be away: after an interrupt nobody waits for it.


class Server:
    """The connections of an engine to a PostgreSQL server.

    A driver waits for an answer as long as the connection stands, and asks the server before it
    gives up. So the connections are cut when a transaction takes long and somebody waits.

    Args:
        engine: The engine.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._connections: weakref.WeakSet[Any] = weakref.WeakSet()
        self._thread = threading.local()
        sa.event.listen(engine, "do_connect", self._connect)

    @contextmanager
    def transaction(self, patient: bool) -> Iterator[None]:
        """A context that ends soon after an interrupt, which is delivered then.

        Args:
            patient: Whether it may take long, and may connect to the server, if there is no
                interrupt.
        """
        hurried, ended = False, _thread.allocate_lock()
        ended.acquire()

        def cut_soon() -> None:
            if ended.acquire(timeout=DATABASE.last):
                ended.release()
            else:
                self._cut()

        def hurry() -> None:
            nonlocal hurried
            if not hurried:
                hurried = True
                # Not `threading`, which an interrupt may find while it holds its lock.
                _thread.start_new_thread(cut_soon, ())

        with Uninterrupted(hurry):
            self._thread.patient = patient
            if not patient:
                hurry()
            try:
                yield
            finally:
                ended.release()

    def _connect(self, dialect: Any, _record: Any, arguments: Any, options: Any) -> Any:
        if not self._thread.patient:
            raise dialect.loaded_dbapi.OperationalError("there is no connection any more")
        connection = interruptible(lambda: dialect.connect(*arguments, **options))
        self._connections.add(connection)
        return connection

    def _cut(self) -> None:
        """End all connections at once, whatever waits for them."""
        for connection in list(self._connections):
            # One that is closed has no number. The driver still owns the number of the others.
            with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as ours:
                ours.shutdown(socket.SHUT_RDWR)


# --- database -------------------------------------------------------------------------------------

Value = TypeVar("Value")


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
        deadline = time.monotonic() + DATABASE.patience
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
            patience = DATABASE.patience if patient else DATABASE.impatience
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
        deadline = time.monotonic() + DATABASE.patience
        while True:
            try:
                return attempt()
            except BusyError as error:
                if time.monotonic() > deadline:
                    raise
                logging.getLogger("grisaille").warning("%s: trying again", error)
            interruptible(partial(time.sleep, DATABASE.pause))

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

"""A database with studies: a SQLite file for one machine, PostgreSQL for many.

It has a table of studies, one of their events, and one of the workers that are alive. Rows of
events have checksums. A `DatabaseLog` gives turns to write to a study.
"""

from __future__ import annotations

import _thread
import hashlib
import json
import logging
import os
import socket
import sqlite3
import tempfile
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import exc

from grisaille.errors import StorageError, cut, shortened
from grisaille.interrupts import Uninterrupted, interruptible
from grisaille.study.log.address import file_address, is_unstorable, masked, masked_in, path_in
from grisaille.study.log.event_log import (
    LAST_MOMENT,
    BusyError,
    ConnectionLostError,
    DamagedError,
    Data,
    Event,
    ThisThread,
    Worker,
    text_of,
)
from grisaille.study.log.heartbeat import beginning_of, this_host

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


# --- workers --------------------------------------------------------------------------------------

# A lock of this many seconds may have delayed heartbeats. A turn of a study with 2,000 rows of six
# outputs takes 0.015 s, and a lease is 60 s: shorter locks make no heartbeat late.
_LONG_LOCK = 1.0


def record_beat(
    connection: sa.Connection, worker: Worker, lease: float, waited: float = 0.0
) -> None:
    """Record that a worker is alive, and will report again within `lease` seconds.

    Args:
        connection: A transaction that writes.
        worker: The worker.
        lease: How long the heartbeat counts, in seconds.
        waited: How long it had to wait for the database, in seconds.
    """
    values = {"seen": now(connection), "lease": lease}
    known = WORKERS.c.name == worker.name
    if not connection.execute(sa.update(WORKERS).where(known).values(values)).rowcount:
        connection.execute(sa.insert(WORKERS).values(**asdict(worker), **values))
        if not was_locked(connection, waited):
            _forget_gone(connection, values["seen"])
    excuse(connection, waited)


def was_locked(connection: sa.Connection, seconds: float) -> bool:
    """True if a transaction that took so long, or waited so long, kept heartbeats out."""
    # Servers lock rows, and nobody locks those of other workers.
    return connection.dialect.name == "sqlite" and seconds >= _LONG_LOCK


def excuse(connection: sa.Connection, seconds: float) -> None:
    """Give workers half a lease more if a lock kept their heartbeats out.

    Workers that were late before the lock began are not excused, and nobody is excused twice
    without a heartbeat between two locks: a dead worker is found even if many locks are long.

    Args:
        connection: A transaction that writes.
        seconds: How long it has waited and lasted.
    """
    if not was_locked(connection, seconds):
        return
    moment = now(connection)
    late = moment - WORKERS.c.lease / 2
    kept_out = (WORKERS.c.seen < late) & (WORKERS.c.seen + WORKERS.c.lease / 2 > moment - seconds)
    connection.execute(sa.update(WORKERS).where(kept_out).values(seen=late))


def _forget_gone(connection: sa.Connection, moment: float) -> None:
    """Remove the workers whose lease is over: a worker without a row counts as gone, too.

    One that was only stopped is recorded again with its next heartbeat.
    """
    over = sa.select(WORKERS.c.name).where(WORKERS.c.seen + WORKERS.c.lease < moment)
    # Two workers that begin at once do not wait for one another.
    names = over.with_for_update(skip_locked=True)
    connection.execute(sa.delete(WORKERS).where(WORKERS.c.name.in_(names)))


def is_alive(connection: sa.Connection, worker: str, waited: float = 0.0) -> bool:
    """Whether a worker runs: it reported within its lease, and its process is there.

    Only processes of this machine can be looked for. A process that is there may be stopped, so the
    heartbeat counts in any case, unless the database was locked until now: then it may be late, and
    the next look tells.

    Args:
        connection: A transaction.
        worker: Name of the worker.
        waited: How long the transaction had to wait for the database, in seconds.
    """
    row = connection.execute(sa.select(WORKERS).where(WORKERS.c.name == worker)).one_or_none()
    if row is None or not all(
        isinstance(n, int | float) for n in (row.process, row.seen, row.lease)
    ):
        return False  # nobody beats a damaged row
    if row.host == this_host() and beginning_of(row.process) != row.began:
        return False
    return was_locked(connection, waited) or bool(row.seen + row.lease >= now(connection))


def now(connection: sa.Connection) -> float:
    """The time by the database's clock, which all workers share."""
    if connection.dialect.name == "postgresql":
        clock = sa.text("SELECT extract(epoch FROM clock_timestamp())")
        return float(connection.execute(clock).scalar_one())
    return time.time()


# --- event rows -----------------------------------------------------------------------------------
# Events as rows of a table, each with a checksum that tells whether it is what was recorded.


@dataclass(frozen=True, slots=True)
class Damage:
    """Something that is not what was recorded.

    Attributes:
        number: Number of the event.
        complaint: What is wrong with it, such as "has another checksum than was recorded".
    """

    number: int
    complaint: str


def row_of(event: Event, study: int, batch: str, text: str | None = None) -> dict[str, Any]:
    """An event as a row of the table of events; `text` is that of its data, if it is known."""
    row = {
        "study": study,
        "number": event.number,
        "kind": event.kind,
        "time": event.time,
        "data": text_of(event.data) if text is None else text,
        "batch": batch,
    }
    return {**row, "checksum": _checksum(row)}


def select_rows(study: int, after: int, with_checksums: bool) -> sa.Select[tuple[Any, ...]]:
    """The rows of a study whose number is larger than `after`, in order.

    Args:
        study: Number of the study.
        after: The last number that is not wanted.
        with_checksums: Whether the table has them; an older one, which is only read, does not.
    """
    names = ["number", "kind", "data", "time", "batch", *["checksum"] * with_checksums]
    # As the database holds them: a damaged value may not be of its column's type.
    columns: list[Any] = [
        sa.type_coerce(EVENTS.c[name], sa.types.NullType).label(name) for name in names
    ]
    mine = (EVENTS.c.study == study) & (EVENTS.c.number > after)
    return sa.select(*columns).where(mine).order_by(EVENTS.c.number)


def read_row(row: Mapping[str, Any], study: int) -> Event | Damage:
    """The event in a row, or what is wrong with it. A row without a checksum is taken as it is."""
    number, time = row["number"], row["time"]
    if not isinstance(number, int):
        return Damage(0, f"has the number {number!r}")
    if row.get("checksum") not in (None, _checksum({**row, "study": study})):
        return Damage(number, "is not what was recorded: its checksum differs")
    if not isinstance(row["kind"], str):
        return Damage(number, f"is of an unknown kind, {row['kind']!r}")
    if not (isinstance(time, int | float) and 0 <= time <= LAST_MOMENT):
        return Damage(number, f"has no time, but {time!r}")
    try:
        data = json.loads(row["data"])
    except (TypeError, ValueError, RecursionError) as error:
        return Damage(number, f"holds no JSON ({error})")
    if not isinstance(data, dict):
        return Damage(number, "holds no JSON object")
    verified = row.get("checksum") is not None
    return Event(number, row["kind"], data, float(time), verified)


def read_rows(rows: Iterable[Any], study: int, after: int) -> Iterator[Event | Damage]:
    """The events in rows; one that is missing before another is damage, too."""
    expected = after + 1
    for row in rows:
        read = read_row(row, study)
        if isinstance(read, Event):
            if read.number < expected:
                read = Damage(read.number, "is recorded twice")
            while expected < read.number:
                yield Damage(expected, "is missing")
                expected += 1
        expected = max(expected, read.number + 1)
        yield read


def _checksum(row: Mapping[str, Any]) -> str:
    parts = [row[name] for name in ("study", "number", "kind", "data", "batch")]
    time = row["time"]
    # To the last bit, however a database writes it.
    parts.append(float(time).hex() if isinstance(time, int | float) else time)
    text = "\n".join(map(str, parts)).encode("utf-8", "backslashreplace")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


# --- database log ---------------------------------------------------------------------------------
# The log of a study in a database, and turns to write to it.


class DatabaseLog:
    """The events of one study in a database."""

    def __init__(self, database: Database, study: int, name: str) -> None:
        self.this_thread = ThisThread()
        self._database = database
        self._study = study
        self._name = name
        self._has_checksums = database.has_checksums
        self.address: str | None = database.address

    def read(self, after: int) -> list[Event]:
        """The events whose number is larger than `after`."""
        with self._database.reading(self.this_thread.patient) as connection:
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

    def holds(self, event: Event) -> bool:
        """True if the study still holds an event; False after it was deleted or replaced."""
        with self._database.reading(self.this_thread.patient) as connection:
            mine = (EVENTS.c.study == self._study) & (EVENTS.c.number == event.number)
            # The next study that is made may get the number of one that was deleted.
            return connection.execute(sa.select(EVENTS.c.time).where(mine)).scalar() == event.time

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
        began = time.monotonic()
        with self._database.exclusive(self.this_thread.patient) as connection:
            waited = time.monotonic() - began
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
            turn = DatabaseTurn(connection, self._study, after, news, row.decider, batch, waited)
            yield turn
            turn.finish()
            excuse(connection, time.monotonic() - began)

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
        waited: float,
    ) -> None:
        self._connection = connection
        self._study = study
        self._batch = batch
        self._waited = waited
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
        self._texts: dict[int, str] = {}

    def append(self, kind: str, data: Data, text: str | None = None) -> Event:
        """Record one more event."""
        number = self._length + len(self.appended) + 1
        if text is not None:
            self._texts[number] = text
        self.appended.append(Event(number, kind, data, self.now()))
        return self.appended[-1]

    def arrived(self) -> bool:
        """Whether this batch is recorded already, by an attempt whose confirmation was lost."""
        mine = (EVENTS.c.study == self._study) & (EVENTS.c.batch == self._batch)
        found = self._connection.execute(sa.select(EVENTS.c.number).where(mine).limit(1))
        return found.scalar() is not None

    def alive(self, worker: str) -> bool:
        """Whether a worker still runs, by its heartbeat and, on this machine, its process."""
        return is_alive(self._connection, worker, self._waited)

    def now(self) -> float:
        """The time by the database's clock, which all workers share."""
        return now(self._connection)

    def finish(self) -> None:
        """Write what was appended."""
        changes: dict[str, Any] = {}
        if self.appended:
            rows = [
                row_of(event, self._study, self._batch, self._texts.get(event.number))
                for event in self.appended
            ]
            self._connection.execute(sa.insert(EVENTS), rows)
            changes["events"] = self.appended[-1].number
        if self.decider != self._before:
            changes["decider"] = self.decider
        if changes:
            mine = STUDIES.c.id == self._study
            self._connection.execute(sa.update(STUDIES).where(mine).values(changes))

"""Connections to a database: from an address to transactions that wait and can be interrupted."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from grisaille.errors import StorageError, cut, shortened
from grisaille.interrupts import interruptible
from grisaille.storage.address import is_unstorable, masked, masked_in, path_in
from grisaille.storage.database_file import DatabaseFile
from grisaille.storage.event_log import BusyError, ConnectionLostError

# How long a transaction on a SQLite file waits for others, in seconds: usually, and when somebody
# waits for this process to end.
PATIENCE = 120.0
IMPATIENCE = 0.5
# What a server answers when it may work a moment later: others got in the way of a transaction
# (serialization failure, deadlock), the server starts or ends, it has too many connections. The
# last two have no number when a connection is made.
_BUSY = {"40001", "40P01", "57P01", "57P02", "57P03", "53300"}
_BUSY_TEXTS = ("the database system is", "too many clients", "remaining connection slots")
# How often it looks, beside the time that SQLite itself waits each time.
_PAUSE = 0.01


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
    deadline = time.monotonic() + options.get("patience", PATIENCE)
    while True:
        try:
            driver.execute(take_lock).fetchall()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
        interruptible(partial(time.sleep, _PAUSE))


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

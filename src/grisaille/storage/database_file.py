"""The file of a SQLite database: the same one as long as a study is open."""

from __future__ import annotations

import logging
import os
import sqlite3
import tempfile
import threading
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from grisaille.errors import StorageError
from grisaille.storage.address import file_address
from grisaille.storage.schema import WORKERS

# How long SQLite waits for a lock before Python can be interrupted, in seconds.
_PAUSE = 0.2


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
    return sqlite3.connect(address, uri=True, timeout=_PAUSE, check_same_thread=False)


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

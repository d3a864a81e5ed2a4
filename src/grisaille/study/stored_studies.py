"""Studies by name, as they are recorded: reading them needs neither their problem nor a file."""

from __future__ import annotations

import difflib
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grisaille.errors import ModelError, StorageError, cut, shortened

if TYPE_CHECKING:
    from grisaille.study.log.database import Database
    from grisaille.study.state import StudyState


@dataclass(frozen=True, slots=True)
class Stored:
    """What is recorded of a study; reading it needs neither the problem nor write access.

    `where` is the storage without its passwords; `written` is when something was recorded last, in
    seconds since 1970.
    """

    name: str
    where: str
    state: StudyState
    written: float | None


@dataclass(frozen=True, slots=True)
class Damaged:
    """A study that cannot be read, and why."""

    name: str
    complaint: str


def read_studies(storage: str) -> tuple[str, list[Stored | Damaged]]:
    """The storage without its passwords, and all its studies, damaged ones included."""
    from grisaille.study.log.event_log import ConnectionLostError

    found: list[Stored | Damaged] = []
    with closing(database_of(storage)) as database:
        for name in database.names():
            try:
                stored = _read(database, name)
            except ConnectionLostError:
                raise
            except StorageError as error:
                found.append(Damaged(name, str(error)))
            else:
                if stored is not None:
                    found.append(stored)
        return database.where, found


def is_stored(storage: str, name: str) -> bool:
    """Whether there is a study of a name."""
    with closing(database_of(storage)) as database:
        stored = _read(database, name)
        return stored is not None and bool(stored.state.settings)


def read_study(storage: str, name: str) -> Stored:
    """One study; raises ModelError with the names of all studies if it does not exist."""
    with closing(database_of(storage)) as database:
        stored = _read(database, name)
        if stored is None:
            raise unknown_study(database, name)
        return stored


def delete_study(storage: str, name: str) -> None:
    """Remove a study and everything recorded of it."""
    with closing(database_of(storage)) as database:
        database.delete(name)


def database_of(storage: str) -> Database:
    """The database of an address."""
    from grisaille.study.log.database import Database

    return Database(storage)


def _read(database: Database, name: str) -> Stored | None:
    from grisaille.study.log.event_log import DamagedError, NewerError
    from grisaille.study.state import StudyState

    log = database.open(name)
    if log is None:
        return None
    events = log.read(0)
    written = events[-1].time if events else None
    try:
        return Stored(name, database.where, StudyState(events), written)
    except DamagedError as error:  # it may not know the name
        raise DamagedError(name, error.event, error.complaint) from error
    except NewerError as error:
        raise NewerError(name, error.event) from error


def unknown_study(database: Database, name: str) -> Exception:
    """The error for a study that does not exist, with the names of those that do."""
    names = database.names()
    if not names:
        return ModelError(
            f"there is no study {shortened(name)}, nor any other in {database.where}: make one "
            f"with grisaille create FILE --study {cut(name)}, or name another storage with "
            "--storage"
        )
    shown = cut(", ".join(map(repr, names)))
    near = difflib.get_close_matches(name, names, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return ModelError(
        f"there is no study {shortened(name)} in {database.where}, which has {shown}{hint}"
    )

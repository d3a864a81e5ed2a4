"""Studies by name: reading what is recorded, and opening them to continue."""

from __future__ import annotations

import argparse
import difflib
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import category

from grisaille.cli.problem_file import Definition, is_file, load
from grisaille.cli.remembered_files import remember, remembered
from grisaille.errors import ModelError, ProtocolError, StorageError, cut, printable, shortened

if TYPE_CHECKING:
    from grisaille.storage.database import Database
    from grisaille.study.state import StudyState
    from grisaille.study.study import Study


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
    from grisaille.storage.event_log import ConnectionLostError

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


def open_study(options: argparse.Namespace) -> Study:
    """A stored study with its problem, from `--file` or the file that is remembered for it.

    Args:
        options: With `study`, `storage`, `file`, and `allow_changes` where a command has it.
    """
    stored = read_study(options.storage, options.study)
    return make_study(load(options.file or _remembered_file(options.storage, stored)), options)


def make_study(definition: Definition, options: argparse.Namespace) -> Study:
    """The study of a name, new or stored, of the problem that a file defines.

    If the user has named the file in this call, it is remembered for the study.
    """
    from grisaille.study.study import Study

    try:
        study = Study(
            definition.problem,
            name=options.study,
            storage=options.storage,
            strategy=definition.strategy,
            seed=getattr(options, "seed", None),
            evaluation=getattr(options, "evaluation", None),
            allow_changes=getattr(options, "allow_changes", False),
        )
    except ProtocolError as error:  # in the words of the command line
        message = str(error).replace("allow_changes=True", "--allow-changes")
        raise ProtocolError(message) from error
    if study.changes:
        print(f"grisaille: {printable(study.changes)}", file=sys.stderr)
    if options.file is not None:
        remember(options.storage, options.study, options.file)
    return study


def _remembered_file(storage: str, stored: Stored) -> Path:
    file = remembered(storage, stored.name)
    if file is None:
        named = stored.state.settings.get("file")
        says = (
            "does not say which file defines its problem"
            if named is None
            else f"says that {str(named)!r} defines its problem, but you have not passed this file "
            "on this machine, and to load it is to run it"
        )
        raise ModelError(f"study {stored.name!r} {says}: pass a file that you trust with --file")
    if not is_file(file):
        raise ModelError(
            f"study {stored.name!r} was made from {file}, which is not on this machine: pass "
            "the file that defines its problem with --file"
        )
    return file


def database_of(storage: str) -> Database:
    """The database of an address."""
    from grisaille.storage.database import Database

    return Database(storage)


def _read(database: Database, name: str) -> Stored | None:
    from grisaille.storage.event_log import DamagedError
    from grisaille.study.state import StudyState

    log = None if _is_unstorable(name) else database.open(name)
    if log is None:
        return None
    events = log.read(0)
    written = events[-1].time if events else None
    try:
        return Stored(name, database.where, StudyState(events), written)
    except DamagedError as error:  # it may not know the name
        raise DamagedError(name, error.event, error.complaint) from error


def _is_unstorable(name: str) -> bool:
    """Whether a name has halves of characters, as Python reads bytes that are not UTF-8."""
    return any(category(character) == "Cs" for character in name)


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

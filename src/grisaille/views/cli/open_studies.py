"""Opening stored studies with their problems, from files that this user has named."""

from __future__ import annotations

import argparse
import json
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grisaille.errors import ModelError, ProtocolError, printable
from grisaille.study.log.address import masked
from grisaille.study.stored_studies import Stored, read_study
from grisaille.views.cli.problem_file import Definition, is_file, load
from grisaille.views.user_folder import user_folder

if TYPE_CHECKING:
    from grisaille.study.study import Study


# --- remembered files -----------------------------------------------------------------------------
# The file that defines the problem of a study, as this user has said on this machine.
#
# A study names its file too, for people to read. Whoever can write to the database can write
# any name there, and to load a file is to run it. So only what is remembered here is run
# without `--file`.


def remember(storage: str, study: str, file: Path) -> None:
    """Remember the file of a study; says so on standard error if that is not possible."""
    if remembered(storage, study) == file.resolve():
        return
    line = json.dumps({**_key(storage, study), "file": str(file.resolve())})
    try:
        place = _place()
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # One short text at the end of the file: processes that write at once do not mix.
        with place.open("a", encoding="utf-8") as stream:
            stream.write(f"{line}\n")
    except (OSError, RuntimeError) as error:
        print(
            f"grisaille: {file} cannot be remembered for study {study!r} ({error}): pass --file "
            "next time, or name a folder you can write to in the environment variable "
            "XDG_CONFIG_HOME",
            file=sys.stderr,
        )


def remembered(storage: str, study: str) -> Path | None:
    """The file that was remembered last for a study; None if there is none."""
    try:
        lines = _place().read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, RuntimeError):
        return None
    key = _key(storage, study)
    for line in reversed(lines):
        try:
            found = json.loads(line)
        except ValueError:  # a disk was full
            continue
        if isinstance(found, dict) and key.items() <= found.items() and "file" in found:
            return Path(str(found["file"]))
    return None


def _place() -> Path:
    """The file with what is remembered; raises RuntimeError if the user has no home."""
    return user_folder() / "problem_files.jsonl"


def _key(storage: str, study: str) -> dict[str, str]:
    """What identifies a study; several machines may share a home."""
    from sqlalchemy.engine import make_url

    url = make_url(storage)
    if url.get_backend_name() == "sqlite" and url.database:
        storage = f"sqlite:///{Path(url.database).resolve()}"
    return {"machine": socket.gethostname(), "storage": masked(storage), "study": study}


# --- open studies ---------------------------------------------------------------------------------
# Opening stored studies with their problems, to continue them.


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

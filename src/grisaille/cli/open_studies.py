"""Opening stored studies with their problems, to continue them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grisaille.cli.problem_file import Definition, is_file, load
from grisaille.cli.remembered_files import remember, remembered
from grisaille.errors import ModelError, ProtocolError, printable
from grisaille.study.stored_studies import Stored, read_study

if TYPE_CHECKING:
    from grisaille.study.study import Study


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

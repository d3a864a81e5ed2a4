"""Commands that read only: `check` examines stored studies, `diagram` draws a problem."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import TYPE_CHECKING

from grisaille.errors import ModelError, counted, printable
from grisaille.study.log.address import masked
from grisaille.study.stored_studies import database_of, unknown_study
from grisaille.views.cli.arguments import add_shared
from grisaille.views.cli.exit_codes import DONE, FAILURE
from grisaille.views.cli.problem_file import load
from grisaille.views.cli.status_and_show import table

if TYPE_CHECKING:
    from grisaille.study.log.database_log import Damage
    from grisaille.study.recovery import Recovery
    from grisaille.views.cli.arguments import Commands


# --- check ----------------------------------------------------------------------------------------
# The command `check`: whether studies are whole, and how to save what is.

# A damaged page takes many events with it; the first ones say enough.
_MOST_SHOWN = 10


def add_commands(commands: Commands) -> None:
    """Add `check` and `diagram`."""
    check = commands.add_parser("check", help="check that studies are whole, and save what is")
    check.add_argument("study", metavar="STUDY", nargs="?", help="only this one")
    add_shared(check, "--storage")
    check.add_argument(
        "--save",
        metavar="URL",
        help="write what is whole into this other database, which may be new",
    )
    check.set_defaults(run=_check)
    _add_diagram(commands)


def _check(options: argparse.Namespace) -> int:
    from grisaille.study.recovery import recover

    if options.save is not None and not options.save.strip():
        raise ModelError("--save is empty: pass the URL of another database")
    with closing(database_of(options.storage)) as database:
        complaints = database.file_complaints()
        names = database.names() if options.study is None else [options.study]
        rows, notes = [], []
        for name in names:
            log = database.open(name)
            if log is None:
                raise unknown_study(database, name)
            found, unchecked = log.examine()
            recovery = recover(found)
            left_out = recovery.left_out
            rows.append([name, str(len(found)), str(unchecked), "damaged" if left_out else "whole"])
            notes += _damages(name, left_out)
            if options.save:
                notes.append(_save(options.save, name, recovery))
    if rows:
        print(printable(table(["study", "events", "without checksum", "is"], rows)))
    if any(row[2] != "0" for row in rows):
        print("Events without a checksum were written by an older version: damage may go unseen.")
    complaints = [f"SQLite's integrity check: {line}" for line in complaints]
    for line in [*complaints, *notes]:
        print(printable(line))
    return FAILURE if complaints or any(row[3] == "damaged" for row in rows) else DONE


def _damages(name: str, left_out: list[Damage]) -> list[str]:
    shown = [f"study {name!r}: event {d.number} {d.complaint}" for d in left_out[:_MOST_SHOWN]]
    more = len(left_out) - len(shown)
    return [*shown, f"study {name!r}: and {counted(more, 'event')} more"] if more else shown


def _save(storage: str, name: str, recovery: Recovery) -> str:
    if not recovery.events:
        return f"study {name!r}: nothing can be saved, because its first event is lost"
    with closing(database_of(storage)) as target:
        target.store(name, recovery.events)
    saved = counted(len(recovery.events), "event")
    lost = counted(len(recovery.left_out), "event")
    return f"study {name!r}: {saved} saved in {masked(storage)}, {lost} left out"


# --- diagram --------------------------------------------------------------------------------------
# The command that draws a problem: `diagram`.


def _add_diagram(commands: Commands) -> None:
    """Add `diagram`."""
    diagram = commands.add_parser("diagram", help="draw the problem that a Python file defines")
    add_shared(diagram, "file")
    diagram.add_argument("--format", choices=("text", "mermaid", "dot"), default="text")
    diagram.set_defaults(run=_diagram)


def _diagram(options: argparse.Namespace) -> int:
    print(load(options.file).problem.diagram(options.format))
    return DONE

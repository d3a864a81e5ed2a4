"""Questions on paper: `ask --csv` writes a sheet, `tell --csv` reads what people wrote on it."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grisaille.cli.exit_codes import DONE, MISTAKE, NOTHING, say
from grisaille.cli.open_studies import open_study
from grisaille.errors import ModelError, counted, cut, printable
from grisaille.study.csv_files import read_sheet, write_table

if TYPE_CHECKING:
    from grisaille.study.study import Study


class InPlaceOfPositionals(argparse.Action):
    """An option with a file, which makes the arguments after STUDY optional."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        """Store the file."""
        setattr(namespace, self.dest, values)
        for action in parser._actions:
            if not action.option_strings and action.dest != "study":
                action.required = False


def check_ask(options: argparse.Namespace) -> None:
    """Raise ModelError if an option of `ask` needs another one."""
    for name in ("pending", "semicolons"):
        if getattr(options, name) and options.csv is None:
            raise ModelError(f"--{name} is about a sheet: name its file with --csv")


def ask_sheet(study: Study, options: argparse.Namespace) -> int:
    """Write the next questions to a file; prints what to do with it."""
    _check_replaceable(study, options.csv, options.pending)
    before = {query.id for query in study.pending}
    sheet = study.ask_sheet(
        options.n, trials=options.trials, lease=options.lease, pending=options.pending
    )
    shown = cut(str(options.csv))
    if not len(sheet):
        still = f": {_listed(before)} {'is' if len(before) == 1 else 'are'} still open, and "
        still += f"--pending writes {'it' if len(before) == 1 else 'them'} again"
        print(f"There is nothing to ask now{still if before else ''}; {shown} is not written.")
        return NOTHING
    try:
        write_table(options.csv, sheet, options.semicolons)
    except (OSError, ValueError) as error:
        for name in set(sheet["id"]) - before:  # nobody has seen them
            study.release(name)
        why = getattr(error, "strerror", None) or cut(str(error))
        raise ModelError(f"--csv {shown}: {why}") from error
    boxes = Counter(sheet["box"])
    counts = ", ".join(f"{box} {many}" for box, many in boxes.items())
    again = f"grisaille tell {shlex.quote(study.name)} --csv {shlex.quote(str(options.csv))}"
    print(
        printable(f"{shown}: {counted(len(sheet), 'question')} ({counts}); when it is filled in:")
    )
    print(printable(again))
    return DONE


def tell_sheet(options: argparse.Namespace) -> int:
    """Record the answers on a sheet; prints what became of each line."""
    if options.id is not None or options.seconds is not None or options.inputs is not None:
        raise ModelError(
            "tell STUDY --csv reads ids, values and inputs from the file: leave others out"
        )
    sheet, wrong = read_sheet(options.csv)
    with open_study(options) as study:
        outcomes = study.tell_sheet(sheet)
    for text in wrong:
        say(text, options.study)
    for outcome, message in zip(outcomes["outcome"], outcomes["message"], strict=True):
        if outcome == "refused":
            sys.stdout.flush()
            say(printable(message), options.study)
        else:
            print(printable(message), flush=True)
    counts = Counter(outcomes["outcome"])
    counts["refused"] += len(wrong)
    print(", ".join(f"{many} {what}" for what, many in counts.items() if many) or "no line", end="")
    print(f": {cut(str(options.csv))}")
    return MISTAKE if counts["refused"] else DONE


def _check_replaceable(study: Study, path: Path, pending: bool) -> None:
    """Raise ModelError if a new sheet would take the place of something that is not recorded."""
    from grisaille.study.sheets import open_questions, unrecorded_lines

    try:
        if not path.exists():
            return
    except (OSError, ValueError) as error:
        raise ModelError(f"--csv {cut(str(path))}: {error}") from error
    shown = cut(str(path))
    sheet, wrong = read_sheet(path)
    lines = [*unrecorded_lines(study, sheet), *(text.split(" has ")[0] for text in wrong)]
    if lines:
        again = f"grisaille tell {shlex.quote(study.name)} --csv {shlex.quote(str(path))}"
        raise ModelError(
            f"{shown} has answers that are not recorded, in {_listed(lines)}: {again} records "
            "them; or name another file"
        )
    still = open_questions(study, sheet)
    if still and not pending:
        raise ModelError(
            f"{shown} has questions that are still open ({_listed(still)}): add --pending to write "
            "them again with the new ones, or name another file"
        )


def _listed(names: Any) -> str:
    return ", ".join(sorted(map(str, names)))

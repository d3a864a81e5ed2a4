"""Commands about what was tried: `answers`, `correct`, `retract` and `enqueue`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grisaille.errors import ModelError, counted, cut, printable, shortened
from grisaille.views.cli.arguments import (
    STUDY_WITH_FILE,
    add_shared,
    allow_negative_values,
    typed_inputs,
)
from grisaille.views.cli.ask_and_tell import InPlaceOfPositionals
from grisaille.views.cli.exit_codes import DONE, NOTHING
from grisaille.views.cli.open_studies import open_study
from grisaille.views.cli.status_and_show import table

if TYPE_CHECKING:
    from grisaille.views.cli.arguments import Commands


def add_commands(commands: Commands) -> None:
    """Add `answers`, `correct`, `retract` and `enqueue`."""
    answers = commands.add_parser(
        "answers", help="list all answers, with the ids to correct or retract them by"
    )
    add_shared(answers, *STUDY_WITH_FILE)
    answers.add_argument("--box", metavar="BOX", help="of this black box only")
    answers.add_argument("--csv", type=Path, metavar="FILE", help="write them to a file")
    answers.set_defaults(run=_answers)

    correct = commands.add_parser(
        "correct",
        help="put the right answer in place of a wrong one",
        description="Put the right answer in place of a wrong one. The wrong one stays in the log, "
        "and everything from now on follows the right one. VALUE is JSON, as for tell.",
    )
    allow_negative_values(correct)
    add_shared(correct, *STUDY_WITH_FILE)
    correct.add_argument("id", metavar="ID", help="id of the answer, such as 7-1 or 12/1")
    correct.add_argument("value", metavar="VALUE", help="the right answer")
    add_shared(correct, "--inputs")
    correct.set_defaults(run=_correct)

    retract = commands.add_parser(
        "retract", help="take an answer back: nothing is learned from it any more"
    )
    add_shared(retract, *STUDY_WITH_FILE)
    retract.add_argument(
        "id", metavar="ID", help="id of the answer, such as 7-1; 12 for all rows 12/1, 12/2, ..."
    )
    retract.add_argument(
        "reason", metavar="REASON", nargs="?", default="retracted", help="why, in words"
    )
    retract.set_defaults(run=_retract)

    enqueue = commands.add_parser(
        "enqueue",
        help="have points of your own tried, before anything else is suggested",
        description="Have points of your own tried, before anything else is suggested: one point "
        "as values of all variables (unknowns may be left out), or many from a CSV file whose "
        "columns are the variables.",
    )
    add_shared(enqueue, *STUDY_WITH_FILE)
    enqueue.add_argument(
        "values",
        metavar="NAME=VALUE",
        nargs="+",
        default=[],
        help="a variable and its value: T=350, feed=[1,2] or feed[0]=1",
    )
    enqueue.add_argument(
        "--csv",
        type=Path,
        metavar="FILE",
        action=InPlaceOfPositionals,
        help="one point per row, in place of NAME=VALUE",
    )
    enqueue.set_defaults(run=_enqueue)


def _answers(options: argparse.Namespace) -> int:
    from grisaille.study.written import write_table

    with open_study(options) as study:
        frame = study.answers(options.box)
    if options.csv is not None:
        try:
            write_table(options.csv, frame)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or cut(str(error))
            raise ModelError(f"--csv {cut(str(options.csv))}: {why}") from error
        print(f"Written: {options.csv}, with {counted(len(frame), 'answer')}")
    elif len(frame):
        rows = [[_cell(value) for value in row] for row in frame.itertuples(index=False, name=None)]
        print(printable(table(list(map(str, frame.columns)), rows)))
    else:
        print(f"There is no answer in study {options.study!r} yet.")
    return DONE if len(frame) else NOTHING


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "-" if value != value else f"{value:.10g}"
    text = str(value)
    return "-" if text == "<NA>" else text


def _correct(options: argparse.Namespace) -> int:
    from grisaille.study.actions import correct_line
    from grisaille.study.written import parsed

    value = parsed(options.value, f"the answer {shortened(options.value.strip())}")
    with open_study(options) as study:
        print(correct_line(study, options.id, value, typed_inputs(options)))
    return DONE


def _retract(options: argparse.Namespace) -> int:
    from grisaille.study.actions import retract_line

    with open_study(options) as study:
        print(retract_line(study, options.id, options.reason))
    return DONE


def _enqueue(options: argparse.Namespace) -> int:
    from grisaille.study.actions import enqueue_lines
    from grisaille.study.written import read_table

    if (options.csv is None) == (not options.values):
        raise ModelError("enqueue: pass NAME=VALUE for all variables, or --csv FILE, not both")
    with open_study(options) as study:
        points = options.values if options.csv is None else read_table(options.csv)
        print("\n".join(enqueue_lines(study, points)))
    return DONE

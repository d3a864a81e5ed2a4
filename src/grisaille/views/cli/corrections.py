"""Commands about what was tried: `answers`, `correct`, `retract` and `enqueue`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grisaille.errors import ModelError, counted, cut, printable, shortened
from grisaille.study.csv_files import read_table, write_table
from grisaille.views.cli.arguments import (
    STUDY_WITH_FILE,
    add_shared,
    allow_negative_values,
    parse,
    typed_inputs,
)
from grisaille.views.cli.ask_and_tell import InPlaceOfPositionals
from grisaille.views.cli.exit_codes import DONE, NOTHING
from grisaille.views.cli.open_studies import open_study
from grisaille.views.cli.status_and_show import table

if TYPE_CHECKING:
    from grisaille.language.variable import Variable
    from grisaille.study.study import Study
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
    import numpy as np

    value = parse(options.value, f"the answer {shortened(options.value.strip())}")
    with open_study(options) as study:
        before = study.state.answer(options.id)
        study.correct(options.id, value, inputs=typed_inputs(options))
        now = study.state.answer(options.id)
        assert before is not None  # else there was nothing to correct
        assert now is not None
        moved = not np.array_equal(before.inputs, now.inputs)
        place = f" at {study.state.readable_inputs(now.box, now.inputs)}" if moved else ""
        print(
            f"{options.id} is corrected: {before.outputs.tolist()} was recorded, "
            f"{now.outputs.tolist()}{place} counts from now on{_trial_of(study, options.id)}"
        )
    return DONE


def _retract(options: argparse.Namespace) -> int:
    with open_study(options) as study:
        study.retract(options.id, options.reason)
        print(
            f"{options.id} is retracted: it stays in the log, but nothing is learned from it"
            f"{_trial_of(study, options.id)}"
        )
    return DONE


def _trial_of(study: Study, name: str) -> str:
    """What became of the trial that an answer belongs to."""
    from grisaille.study.state import TrialState
    from grisaille.study.trial_tables import outcome_text

    state = study.state
    query = state.queries.get(name)
    rows = (n for n, entry in state.trials.items() if name in entry.rows)
    number = next(rows, None) if query is None else query.trial
    if number is None:
        return ""
    entry = state.trials[number]
    if entry.record is not None:
        return f"; trial {number}: {outcome_text(study.problem, entry.record)}"
    if entry.state is TrialState.PENDING:
        asked = ", ".join(f"{q.id} ({q.box})" for q in entry.queries if q.is_open)
        return f"; trial {number} waits for {asked}"
    return f"; trial {number} has no objective any more"


def _enqueue(options: argparse.Namespace) -> int:
    if (options.csv is None) == (not options.values):
        raise ModelError("enqueue: pass NAME=VALUE for all variables, or --csv FILE, not both")
    with open_study(options) as study:
        if options.csv is None:
            points: Any = _point(options.values, study.problem.variables)
        else:
            points = read_table(options.csv)
        numbers = study.enqueue(points)
        wanted = study.state.settings.get("trials")
        made = study.state.made()
    which = f"trial {numbers[0]}" if len(numbers) == 1 else f"trials {numbers[0]} to {numbers[-1]}"
    print(f"{counted(len(numbers), 'point')} of your own, {which}: grisaille ask begins with that")
    if wanted is not None and made > wanted:
        print(f"The study is to have {wanted} trials: ask with --trials {made} to have them all.")
    return DONE


def _point(words: list[str], variables: Sequence[Variable]) -> dict[str, Any]:
    """A point, from words such as `T=350`; a label may stand without quotes, `catalyst=B`."""
    from grisaille.language.tables import entry_names

    point: dict[str, Any] = {}
    choices = {v.name for v in variables if v.labels}
    scalars = {name for v in variables for name in entry_names(v.name, v.shape)}
    for word in words:
        name, sign, text = word.partition("=")
        if not sign or not name.strip():
            raise ModelError(f"enqueue: {shortened(word)} is not NAME=VALUE, such as T=350")
        if name.strip() in point:
            raise ModelError(f"enqueue: {shortened(name.strip())} has two values: give one")
        is_label = name.strip() in choices and not text.strip().startswith('"')
        what = f"the value of {shortened(name.strip())}"
        point[name.strip()] = value = text.strip() if is_label else parse(text, what)
        if isinstance(value, list) and name.strip() in scalars:
            raise ModelError(
                f"enqueue: {shortened(word)} has several values, but {name.strip()} is one: give "
                "one, or pass --csv FILE for several points"
            )
    return point

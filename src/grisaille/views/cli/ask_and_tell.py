"""Commands about answers: ask, tell, fail, observe and the like; sheets; corrections."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grisaille.errors import GrisailleError, ModelError, counted, cut, printable, shortened
from grisaille.study.stored_studies import is_stored
from grisaille.views.cli.arguments import (
    LIMITS,
    STUDY_WITH_FILE,
    add_shared,
    add_trials,
    allow_negative_values,
    amount,
    count,
    positive,
    typed_inputs,
)
from grisaille.views.cli.exit_codes import DONE, MISTAKE, NOTHING, report, say
from grisaille.views.cli.open_studies import load, make_study, open_study
from grisaille.views.cli.stored import table

if TYPE_CHECKING:
    from grisaille.study.state import Query
    from grisaille.study.study import Study
    from grisaille.views.cli.arguments import Commands


# --- sheets ---------------------------------------------------------------------------------------
# Questions on paper: `ask --csv` writes a sheet, `tell --csv` reads what people wrote on it.


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
    from grisaille.language.values import write_table

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
    from grisaille.language.values import read_sheet

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
    from grisaille.language.values import read_sheet
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


# --- ask and tell ---------------------------------------------------------------------------------
# Commands to evaluate elsewhere: `create`, `ask`, `tell`, `fail`, `release`, `observe`.


def add_commands(commands: Commands) -> None:
    """Add `create`, `ask`, `tell`, `fail`, `release` and `observe`."""
    create = commands.add_parser(
        "create", help="make an empty study of the problem that a Python file defines"
    )
    add_shared(create, "file")
    create.add_argument("--study", metavar="NAME", required=True, help="what to call it")
    add_shared(create, "--storage")
    add_trials(create, "open")
    add_shared(create, "--max-cost", "--gap-tol", "--seed", "--evaluation")
    create.set_defaults(run=_create)

    ask = commands.add_parser(
        "ask",
        help="take the next evaluations to make, as JSON or as a sheet to fill in",
        description='Take the next evaluations to make, as JSON: a list of {"id", "box", '
        '"arguments", "inputs", "trial"}. Nobody else will get them. Nothing left: an empty list, '
        "and exit code 1. With --csv, as a table for people: rounded inputs, an empty column for "
        "each output, and one to say why there is no answer.",
    )
    add_shared(ask, *STUDY_WITH_FILE)
    ask.add_argument("-n", type=count, default=1, help="how many; default: %(default)s")
    ask.add_argument(
        "--lease", type=positive, metavar="SECONDS", help="after which others may get them"
    )
    add_trials(ask, "as when it was created or asked last")
    ask.add_argument("--csv", type=Path, metavar="FILE", help="write a sheet to fill in")
    ask.add_argument(
        "--pending",
        action="store_true",
        help="let questions that are still open stand on the sheet, too",
    )
    ask.add_argument(
        "--semicolons",
        action="store_true",
        help="write the sheet for spreadsheets that take 0,5 for a number",
    )
    ask.set_defaults(run=_ask)

    tell = commands.add_parser(
        "tell",
        help="record the answer to a query, or all answers on a sheet",
        description="Record the answer to a query. VALUE is JSON: a number, a list, or an object "
        'with names of outputs. `tell STUDY -` reads many answers, {"id": "3-1", "value": 0.5} or '
        '{"id": "3-2", "failed": "why"}, as a list or one per line. `tell STUDY --csv FILE` reads '
        "a sheet that ask --csv wrote and people filled in.",
    )
    allow_negative_values(tell)
    add_shared(tell, *STUDY_WITH_FILE)
    tell.add_argument("id", metavar="ID", help="id of the query, or - to read from standard input")
    tell.add_argument("value", metavar="VALUE", nargs="?", help="the answer; - to read it")
    tell.add_argument(
        "--seconds", type=amount, help="how long it took; default: since it was asked"
    )
    add_shared(tell, "--inputs")
    tell.add_argument(
        "--csv",
        type=Path,
        metavar="FILE",
        action=InPlaceOfPositionals,
        help="record the answers on this sheet, in place of ID and VALUE",
    )
    tell.set_defaults(run=_tell)

    fail = commands.add_parser("fail", help="record that an evaluation gave no answer")
    add_shared(fail, *STUDY_WITH_FILE, "id")
    fail.add_argument("reason", metavar="REASON", help="what happened, in words")
    fail.set_defaults(run=_fail)

    release = commands.add_parser("release", help="give a query back, unanswered")
    add_shared(release, *STUDY_WITH_FILE, "id")
    release.set_defaults(run=_release)

    observe = commands.add_parser(
        "observe",
        help="add answers of a black box that were made elsewhere",
        description="Add answers of a black box that were made elsewhere, from a CSV file: one row "
        "per answer, first a row with the names of the columns, as `answers` and sheets use them.",
    )
    add_shared(observe, *STUDY_WITH_FILE)
    observe.add_argument("box", metavar="BOX", help="name of the black box")
    observe.add_argument("table", metavar="FILE.csv", type=Path, help="the answers")
    observe.set_defaults(run=_observe)


def _create(options: argparse.Namespace) -> int:
    if is_stored(options.storage, options.study):
        raise ModelError(
            f"there is a study {options.study!r} already: go on with it (with --allow-changes if "
            "the problem has changed since), give this one another name, or remove the old one "
            f"with grisaille delete {shlex.quote(options.study)}"
        )
    with make_study(load(options.file), options) as study:
        limits = {name: getattr(options, name) for name in LIMITS}
        study.record_settings(file=str(options.file.resolve()), **limits)
    print(
        f"Study {options.study!r} is made, and empty: grisaille dashboard, ask or worker goes on."
    )
    return DONE


def _ask(options: argparse.Namespace) -> int:
    check_ask(options)
    if options.csv is not None:
        with open_study(options) as study:
            _keep_trials(study, options)
            return ask_sheet(study, options)
    # What the problem's file prints is not JSON.
    with redirect_stdout(sys.stderr), open_study(options) as study:
        _keep_trials(study, options)
        queries = study.ask(options.n, trials=options.trials, lease=options.lease)
    lines = ",\n".join("  " + json.dumps(_plain(query)) for query in queries)
    print(f"[\n{lines}\n]" if lines else "[]")
    return DONE if queries else NOTHING


def _keep_trials(study: Study, options: argparse.Namespace) -> None:
    """Store how many trials there are to be, so that it need not be said again."""
    if options.trials is not None:
        study.record_settings(trials=options.trials)


def _tell(options: argparse.Namespace) -> int:
    from grisaille.study.actions import record_line

    if options.csv is not None:
        return tell_sheet(options)
    answers = _answers(options)
    code = DONE
    with open_study(options) as study:
        for answer in answers:
            try:
                print(record_line(study, answer), flush=True)
            except GrisailleError as error:  # the others may have taken days: they count
                reported = report(error, options.study)
                code = code or reported
    return code


def _fail(options: argparse.Namespace) -> int:
    from grisaille.study.actions import record_line

    with open_study(options) as study:
        print(record_line(study, {"id": options.id, "failed": options.reason}))
    return DONE


def _release(options: argparse.Namespace) -> int:
    from grisaille.study.actions import release_line

    with open_study(options) as study:
        print(release_line(study, options.id))
    return DONE


def _observe(options: argparse.Namespace) -> int:
    from grisaille.language.values import read_table
    from grisaille.study.actions import observe_lines

    frame = read_table(options.table)
    with open_study(options) as study:
        print("\n".join(observe_lines(study, options.box, frame)))
    return DONE


def _plain(query: Query) -> dict[str, Any]:
    import numpy as np

    arguments = [a.tolist() if isinstance(a, np.ndarray) else a for a in query.arguments]
    return {
        "id": query.id,
        "box": query.box,
        "arguments": arguments,
        "inputs": query.inputs.tolist(),
        "trial": query.trial,
    }


def _answers(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The answers of a call; all are checked before any is recorded."""
    from grisaille.language.values import parsed

    if options.id != "-":
        if options.value is None:
            raise ModelError(f"tell {options.study} {options.id}: say the answer too, as JSON")
        text = sys.stdin.read() if options.value == "-" else options.value
        answer = {"id": options.id, "value": parsed(text, f"the answer {shortened(text.strip())}")}
        given = {"seconds": options.seconds, "inputs": typed_inputs(options)}
        return [{**answer, **{name: v for name, v in given.items() if v is not None}}]
    if options.value is not None or options.seconds is not None or options.inputs is not None:
        raise ModelError(
            "tell STUDY - reads ids, values, inputs and seconds from standard input: leave others "
            "out"
        )
    text = sys.stdin.read()
    if text.lstrip().startswith("["):
        found = parsed(text, "standard input")
    else:
        lines = enumerate(text.splitlines(), 1)
        found = [parsed(line, f"line {number}") for number, line in lines if line.strip()]
    for place, answer in enumerate(found, 1):
        known = {"id", "value", "failed", "seconds", "inputs"}
        if (
            not isinstance(answer, dict)
            or not isinstance(answer.get("id"), str)
            or ("value" in answer) == ("failed" in answer)
            or not set(answer) <= known
        ):
            raise ModelError(
                f"answer {place} is {shortened(answer)}, nothing is recorded: write "
                '{"id": "3-1", "value": 0.5}, if you like with "seconds" and "inputs", or '
                '{"id": "3-1", "failed": "why"}'
            )
    return list(found)


# --- corrections ----------------------------------------------------------------------------------
def add_corrections(commands: Commands) -> None:
    """Add `answers`, `correct`, `retract` and `enqueue`."""
    answers = commands.add_parser(
        "answers", help="list all answers, with the ids to correct or retract them by"
    )
    add_shared(answers, *STUDY_WITH_FILE)
    answers.add_argument("--box", metavar="BOX", help="of this black box only")
    answers.add_argument("--csv", type=Path, metavar="FILE", help="write them to a file")
    answers.set_defaults(run=_list_answers)

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


def _list_answers(options: argparse.Namespace) -> int:
    from grisaille.language.values import write_table

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
    from grisaille.language.values import parsed
    from grisaille.study.actions import correct_line

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
    from grisaille.language.values import read_table
    from grisaille.study.actions import enqueue_lines

    if (options.csv is None) == (not options.values):
        raise ModelError("enqueue: pass NAME=VALUE for all variables, or --csv FILE, not both")
    with open_study(options) as study:
        points = options.values if options.csv is None else read_table(options.csv)
        print("\n".join(enqueue_lines(study, points)))
    return DONE

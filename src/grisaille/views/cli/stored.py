"""Commands about studies as they are stored: status, show, result, export, delete and check."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grisaille.errors import ModelError, counted, cut, printable
from grisaille.study.log.address import masked
from grisaille.study.stored_studies import (
    Damaged,
    Stored,
    database_of,
    delete_study,
    read_studies,
    read_study,
    unknown_study,
)
from grisaille.views.cli.arguments import STUDY, STUDY_WITH_FILE, add_shared, count
from grisaille.views.cli.exit_codes import DONE, FAILURE, NOTHING
from grisaille.views.cli.open_studies import open_study

if TYPE_CHECKING:
    from grisaille.study.log.database import Damage
    from grisaille.study.recovery import Recovery
    from grisaille.views.cli.arguments import Commands


# Longer design points do not fit into the table of trials; JSON has them.
_MOST_ENTRIES = 6


def add_commands(commands: Commands) -> None:
    """Add `status`, `show` and `result`."""
    status = commands.add_parser("status", help="list studies, and how far they are")
    status.add_argument("study", metavar="STUDY", nargs="?", help="only this one")
    add_shared(status, "--storage", "--json")
    status.set_defaults(run=_status)

    show = commands.add_parser("show", help="show what is recorded of a study")
    add_shared(show, *STUDY)
    which = show.add_mutually_exclusive_group()
    which.add_argument("--last", type=count, default=10, metavar="N", help="trials to list")
    which.add_argument(
        "--table", action="store_true", help="list all trials, with all entries and constraints"
    )
    add_shared(show, "--json")
    show.set_defaults(run=_show)

    result = commands.add_parser("result", help="what a study has found, with a fresh bound")
    add_shared(result, *STUDY_WITH_FILE)
    result.set_defaults(run=_result)


def _result(options: argparse.Namespace) -> int:
    with open_study(options) as study:
        result = study.result()
    print(result)
    return DONE if result.success else NOTHING


def _status(options: argparse.Namespace) -> int:
    from grisaille.study.study_summary import summarize

    found: Sequence[Stored | Damaged]
    if options.study is None:
        where, found = read_studies(options.storage)
    else:
        stored = read_study(options.storage, options.study)
        where, found = stored.where, [stored]
    lines = [summarize(stored) for stored in found if isinstance(stored, Stored)]
    damaged = [stored for stored in found if isinstance(stored, Damaged)]
    if options.json:
        marked = [{"name": study.name, "damaged": study.complaint} for study in damaged]
        print(json.dumps([*lines, *marked], indent=2))
    elif lines:
        rows = [_cells(line) for line in lines]
        print(printable(table(list(rows[0]), [list(row.values()) for row in rows])))
    elif not damaged:
        print(f"There are no studies in {where} yet: grisaille solve FILE --study NAME makes one.")
    for study in damaged:
        print(f"grisaille: {printable(study.complaint)}", file=sys.stderr)
    return FAILURE if damaged else DONE


def _cells(line: dict[str, Any]) -> dict[str, str]:
    """The row of a study, by column."""
    trials = line["trials"]
    return {
        "study": line["name"],
        "state": "finished" if line["finished"] else "open",
        "complete": str(trials["complete"]) + _of(trials),
        "pending": str(trials["pending"]),
        "broken": str(trials["broken"]),
        "best": _number(line["best"]),
        "bound": _number(line["bound"]),
        "bound is": "-" if line["bound"] is None else _certainty(line),
        "gap": _number(line["gap"], 3),
        "failures": str(line["failures"]) + (f", {line['cured']} cured" if line["cured"] else ""),
        "evaluations": str(sum(line["evaluations"].values())),
        "last written": _local(line["written"]),
    }


def _show(options: argparse.Namespace) -> int:
    from grisaille.study.identity import labels_of
    from grisaille.study.study_summary import describe

    stored = read_study(options.storage, options.study)
    what = describe(stored, None if options.table else options.last)
    labels = labels_of(what["settings"])
    if options.json:
        print(json.dumps(what, indent=2))
    elif options.table:
        print(printable(_whole_table(what["last_trials"], labels)))
    else:
        print(printable("\n\n".join(_parts(what, labels))))
    return DONE


def _parts(what: dict[str, Any], labels: Mapping[str, Any]) -> list[str]:
    """The paragraphs that `show` prints; names and units are the stored labels."""
    parts = [_settings(what, labels), _best(what, labels)]
    if what["pending"]:
        headers = ["id", "box", "inputs", "held by", "since"]
        rows = []
        for q in what["pending"]:
            inputs = f"[{', '.join(map(_value, q['inputs']))}]"
            rows.append([q["id"], q["box"], inputs, _holder(q), _local(q["since"])])
        parts.append("pending queries\n" + table(headers, rows, "  "))
    if what["failed"]:
        lines = [
            f"  trial {f['trial']}: {f['reason']}".replace("\n", "\n    ") for f in what["failed"]
        ]
        parts.append("\n".join(["failures", *lines]))
    if what["last_trials"]:
        parts.append("last trials\n" + _trials(what["last_trials"], labels))
    return parts


def _trials(trials: list[dict[str, Any]], labels: Mapping[str, Any]) -> str:
    names = list(trials[0]["x"])
    if len(names) > _MOST_ENTRIES:
        names = []
    headers = [*map(_header, names, labels["entry_units"]), _header(*_objective(labels))]
    rows = [_trial_cells(t, names) for t in trials]
    return table(["trial", "kind", *headers, "violation"], rows, "  ")


def _trial_cells(trial: dict[str, Any], names: list[str]) -> list[str]:
    return [
        str(trial["trial"]),
        trial["kind"],
        *(_value(trial["x"][name]) for name in names),
        _number(trial["objective"]),
        "0" if trial["violation"] == 0 else _number(trial["violation"], 3),
    ]


def _whole_table(trials: list[dict[str, Any]], labels: Mapping[str, Any]) -> str:
    """All trials, with a column for each constraint, which is met when it is at most 0."""
    if not trials:
        return "No trial is complete yet."
    names, constraints = list(trials[0]["x"]), [c["constraint"] for c in trials[0]["constraints"]]
    # A formula is too long for a column.
    legend = {
        f"constraint[{k}]": name
        for k, (name, formula) in enumerate(zip(constraints, labels["formulas"], strict=True))
        if name == formula
    }
    columns = [
        f"constraint[{k}]" if f"constraint[{k}]" in legend else _header(name, unit)
        for k, (name, unit) in enumerate(zip(constraints, labels["constraint_units"], strict=True))
    ]
    headers = [*map(_header, names, labels["entry_units"]), _header(*_objective(labels))]
    rows = [
        [*_trial_cells(t, names), *(_number(c["body"]) for c in t["constraints"])] for t in trials
    ]
    lines = [f"{column}: {formula}" for column, formula in legend.items()]
    shown = table(["trial", "kind", *headers, "violation", *columns], rows)
    return "\n".join([shown, *([""] if lines else []), *lines])


def _objective(labels: Mapping[str, Any]) -> tuple[str, str | None]:
    """What the objective is called, and its unit."""
    return labels["objective"] or "objective", labels["objective_unit"]


def _unit(unit: str | None) -> str:
    """A unit behind a number."""
    return f" {unit}" if unit else ""


def _header(name: str, unit: str | None) -> str:
    return f"{name} [{unit}]" if unit else name


def _settings(what: dict[str, Any], labels: Mapping[str, Any]) -> str:
    settings, trials = what["settings"], what["trials"]
    counts = ", ".join(f"{name} {number}" for name, number in what["evaluations"].items())
    goal = "minimize" if settings.get("sense", 1) == 1 else "maximize"
    over = ", ".join(_ranges(settings, labels["entry_units"]))
    if labels["objective"] or labels["objective_unit"]:
        goal += f" {_header(*_objective(labels))}"
    demands = map(
        _constraint, settings.get("constraints", []), labels["formulas"], labels["tolerances"]
    )
    # Trials without an objective: of expensive boxes only, or of a problem that was changed.
    partial = f"{trials['partial']} partial, " if trials["partial"] else ""
    more = f", {trials['elsewhere']} made elsewhere" if trials["elsewhere"] else ""
    finished = ": finished" if what["finished"] else ""
    cured = f"; {counted(what['cured'], 'attempt')} failed and succeeded when tried again"
    lines = {
        "study": f"{what['name']} in {what['storage']}",
        "file": settings.get("file", "unknown: the study was made from Python"),
        "goal": f"{goal} over {over}",
        "subject to": "; ".join(demands) or "nothing",
        "strategy": settings.get("strategy", "-"),
        "seed": f"{settings.get('seed', '-')}, evaluation {settings.get('evaluation', '-')}",
        "trials": f"{trials['complete']}{_of(trials)} complete, {partial}"
        f"{trials['pending']} pending, {trials['broken']} broken{more}{finished}",
        "evaluations": (counts or "none") + (cured if what["cured"] else ""),
        "cost": f"{what['cost']:g}",
        "written": _local(what["written"]),
    }
    return "\n".join(f"{name:<12} {text}" for name, text in lines.items())


def _constraint(name: str, formula: str, tolerance: float) -> str:
    text = name if name == formula else f"{name}: {formula}"
    return f"{text} (tolerance {tolerance:g})" if tolerance else text


def _ranges(settings: dict[str, Any], units: Sequence[str | None]) -> list[str]:
    """What each entry of a design point may be, in a few words."""
    from grisaille.study.identity import stored_entries

    entries = zip(stored_entries(settings), units, strict=True)
    return [f"{entry.name} in {entry.range_text(_unit(unit))}" for entry, unit in entries]


def _best(what: dict[str, Any], labels: Mapping[str, Any]) -> str:
    best, least = what["best_trial"], what["least_violation"]
    unit = _unit(labels["objective_unit"])
    if best is None:
        text = "best         no feasible point so far"
        if least is not None:
            amount = _number(least["violation"], 3)
            text += f"; the least violation is {amount}, in trial {least['trial']}"
        return text
    value = _number(what["best"], 8)
    how = "believed of" if what["believed"] else "observed in"
    lines = [f"best         {value}{unit}, {how} trial {best['trial']}"]
    if what["bound"] is not None:
        lines.append(
            f"bound        {_number(what['bound'], 8)}{unit}, {_certainty(what, brief=False)}, "
            f"gap {_number(what['gap'], 3)}"
        )
    width = max(map(len, best["x"]))
    for (name, value), own in zip(best["x"].items(), labels["entry_units"], strict=True):
        lines.append(f"  {name:<{width}} = {_value(value, 8)}{_unit(own)}")
    return "\n".join(lines)


def _of(trials: dict[str, Any]) -> str:
    """How many trials are wanted, unless there are more already."""
    there = sum(trials[state] for state in ("complete", "partial", "pending", "broken"))
    wanted = trials["wanted"]
    return "" if wanted is None or wanted < there else f" of {wanted}"


def _holder(query: dict[str, Any]) -> str:
    if query["state"] == "waiting":
        return "nobody"
    return query["holder"] or "who asked" + (
        "" if query["until"] is None else f", until {_local(query['until'])}"
    )


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], indent: str = "") -> str:
    """Text in columns, two blanks apart."""
    widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
    lines = [
        indent + "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip()
        for line in (headers, *rows)
    ]
    return "\n".join(lines)


def _number(value: float | str | None, digits: int = 6) -> str:
    return "-" if value is None else f"{float(value):.{digits}g}"


def _value(value: float | str, digits: int = 6) -> str:
    """A label as it is, or a number."""
    return value if isinstance(value, str) else _number(value, digits)


def _certainty(line: dict[str, Any], brief: bool = True) -> str:
    """Return how sure the bound of a study is."""
    from grisaille.records import Untested
    from grisaille.views.progress import certainty

    doubted = None if line["untested"] is None else Untested(**line["untested"])
    if doubted is not None and not brief:
        return str(doubted)
    return certainty(line["certified"], doubted)


def _local(moment: str | None) -> str:
    """An ISO time in local time."""
    if moment is None:
        return "-"
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M:%S")


# --- export, delete -------------------------------------------------------------------------------
def add_export_and_delete(commands: Commands) -> None:
    """Add `export` and `delete`."""
    export = commands.add_parser("export", help="write a study as CSV, JSON or an Optuna study")
    add_shared(export, *STUDY)
    export.add_argument("--format", choices=("csv", "json"), help="default: csv")
    export.add_argument("--output", type=Path, metavar="FILE", help="default: standard output")
    export.add_argument(
        "--optuna", metavar="URL", help="write an Optuna study of that name into this database"
    )
    export.set_defaults(run=_export)

    delete = commands.add_parser("delete", help="remove a study and everything recorded of it")
    add_shared(delete, *STUDY)
    delete.add_argument("--yes", action="store_true", help="do not ask")
    delete.set_defaults(run=_delete)


def _export(options: argparse.Namespace) -> int:
    if options.optuna is not None and (options.format or options.output):
        raise ModelError("--optuna writes into a database: leave --format and --output out")
    state = read_study(options.storage, options.study).state
    if options.optuna is not None:
        from grisaille.adapters.optuna import export_optuna

        added = export_optuna(state, options.study, options.optuna)
        where = masked(options.optuna)
        print(f"Study {options.study!r} is in {where}, for Optuna: {added} trials added.")
        return DONE
    from grisaille.adapters.export import export_csv, export_json

    named = options.output is not None and options.output.suffix == ".json"
    if options.format == "json" or (options.format is None and named):
        text = json.dumps(export_json(state), indent=2) + "\n"
    else:
        text = export_csv(state)
    if options.output is None:
        sys.stdout.write(text)
        return DONE
    try:
        options.output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ModelError(f"--output {cut(str(options.output))}: {error.strerror}") from error
    print(f"Written: {options.output}")
    return DONE


def _delete(options: argparse.Namespace) -> int:
    what = _what_to_delete(options)
    if not options.yes:
        if not sys.stdin.isatty():
            raise ModelError(f"to delete {what} without being asked, pass --yes")
        if input(f"Delete {what}? [y/N] ").strip().lower() not in ("y", "yes"):
            print("Kept.")
            return DONE
    delete_study(options.storage, options.study)
    print(f"Deleted {what}.")
    return DONE


def _what_to_delete(options: argparse.Namespace) -> str:
    from grisaille.study.log.event_log import DamagedError, NewerError

    try:
        stored = read_study(options.storage, options.study)
    except DamagedError:
        return f"the damaged study {options.study!r} from {masked(options.storage)}"
    except NewerError:
        where = masked(options.storage)
        return f"study {options.study!r}, which a newer Grisaille wrote, from {where}"
    counts = sum(stored.state.history().counts().values())
    return (
        f"study {stored.name!r} with {len(stored.state.trials)} trials and {counts} evaluations "
        f"from {stored.where}"
    )


# --- check ----------------------------------------------------------------------------------------
# The command `check`: whether studies are whole, and how to save what is.

# A damaged page takes many events with it; the first ones say enough.
_MOST_SHOWN = 10


def add_check(commands: Commands) -> None:
    """Add `check`."""
    check = commands.add_parser("check", help="check that studies are whole, and save what is")
    check.add_argument("study", metavar="STUDY", nargs="?", help="only this one")
    add_shared(check, "--storage")
    check.add_argument(
        "--save",
        metavar="URL",
        help="write what is whole into this other database, which may be new",
    )
    check.set_defaults(run=_check)


def _check(options: argparse.Namespace) -> int:
    from grisaille.study.log.event_log import NewerError
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
            rows.append([name, str(len(found)), str(unchecked), _condition(recovery)])
            notes += _damages(name, recovery.left_out)
            if recovery.newer is not None:
                notes.append(str(NewerError(name, recovery.newer)))
            if options.save:
                notes.append(_save(options.save, name, recovery))
    if rows:
        print(printable(table(["study", "events", "without checksum", "is"], rows)))
    if any(row[2] != "0" for row in rows):
        print("Events without a checksum were written by an older version: damage may go unseen.")
    complaints = [f"SQLite's integrity check: {line}" for line in complaints]
    for line in [*complaints, *notes]:
        print(printable(line))
    return FAILURE if complaints or any(row[3] != "whole" for row in rows) else DONE


def _condition(recovery: Recovery) -> str:
    if recovery.left_out:
        return "damaged"
    return "whole" if recovery.newer is None else "newer"


def _damages(name: str, left_out: list[Damage]) -> list[str]:
    shown = [f"study {name!r}: event {d.number} {d.complaint}" for d in left_out[:_MOST_SHOWN]]
    more = len(left_out) - len(shown)
    return [*shown, f"study {name!r}: and {counted(more, 'event')} more"] if more else shown


def _save(storage: str, name: str, recovery: Recovery) -> str:
    if recovery.newer is not None:
        return (
            f"study {name!r}: nothing is saved, because events of a newer Grisaille would be lost"
        )
    if not recovery.events:
        return f"study {name!r}: nothing can be saved, because its first event is lost"
    with closing(database_of(storage)) as target:
        target.store(name, recovery.events)
    saved = counted(len(recovery.events), "event")
    lost = counted(len(recovery.left_out), "event")
    return f"study {name!r}: {saved} saved in {masked(storage)}, {lost} left out"

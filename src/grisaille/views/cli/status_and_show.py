"""Commands that read and change nothing: `status`, `show` and `result`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from grisaille.errors import counted, printable
from grisaille.study.stored_studies import Damaged, Stored, read_studies, read_study
from grisaille.views.cli.arguments import STUDY, STUDY_WITH_FILE, add_shared, count
from grisaille.views.cli.exit_codes import DONE, FAILURE, NOTHING
from grisaille.views.cli.open_studies import open_study

if TYPE_CHECKING:
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
        "file": settings.get("file", "unknown: the study was made elsewhere"),
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
    from grisaille.language.values import kinds_from_plain

    entries = settings.get("entries", [])
    nothing = [0] * len(entries)
    steps, flags = settings.get("steps", nothing), settings.get("logarithmic", nothing)
    kinds = kinds_from_plain(settings.get("kinds"), len(entries))
    limits = zip(entries, settings.get("lower", []), settings.get("upper", []), strict=True)
    texts = []
    for (name, low, high), unit, step, logarithmic, kind in zip(
        limits, units, steps, flags, kinds, strict=True
    ):
        if kind.members(low, high):
            texts.append(f"{name} in {kind.members(low, high)}{_unit(unit)}")
            continue
        text = f"{name} in [{low:g}, {high:g}]{_unit(unit)}"
        text += f" in steps of {step:g}" if step else ""
        texts.append(text + (" in the logarithm" if logarithmic else ""))
    return texts


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

"""Commands that read and change nothing: `status`, `show` and `result`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from grisaille.cli.arguments import STUDY, STUDY_WITH_FILE, add_shared, count
from grisaille.cli.exit_codes import DONE, FAILURE, NOTHING
from grisaille.cli.stored_studies import Damaged, Stored, open_study, read_studies, read_study
from grisaille.errors import counted, printable

if TYPE_CHECKING:
    from grisaille.cli.arguments import Commands

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
    show.add_argument("--last", type=count, default=10, metavar="N", help="trials to list")
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
    from grisaille.cli.study_summary import summarize

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
        "bound is": _certainty(line["certified"]),
        "gap": _number(line["gap"], 3),
        "failures": str(line["failures"]) + (f", {line['cured']} cured" if line["cured"] else ""),
        "evaluations": str(sum(line["evaluations"].values())),
        "last written": _local(line["written"]),
    }


def _show(options: argparse.Namespace) -> int:
    from grisaille.cli.study_summary import describe

    what = describe(read_study(options.storage, options.study), options.last)
    print(json.dumps(what, indent=2) if options.json else printable("\n\n".join(_parts(what))))
    return DONE


def _parts(what: dict[str, Any]) -> list[str]:
    """The paragraphs that `show` prints."""
    parts = [_settings(what), _best(what)]
    if what["pending"]:
        headers = ["id", "box", "inputs", "held by", "since"]
        rows = []
        for q in what["pending"]:
            inputs = f"[{', '.join(map(_number, q['inputs']))}]"
            rows.append([q["id"], q["box"], inputs, _holder(q), _local(q["since"])])
        parts.append("pending queries\n" + table(headers, rows, "  "))
    if what["failed"]:
        lines = [
            f"  trial {f['trial']}: {f['reason']}".replace("\n", "\n    ") for f in what["failed"]
        ]
        parts.append("\n".join(["failures", *lines]))
    if what["last_trials"]:
        parts.append("last trials\n" + _trials(what["last_trials"]))
    return parts


def _trials(trials: list[dict[str, Any]]) -> str:
    names = list(trials[0]["x"])
    if len(names) > _MOST_ENTRIES:
        names = []
    rows = [
        [
            str(t["trial"]),
            t["kind"],
            *(_number(t["x"][name]) for name in names),
            _number(t["objective"]),
            "0" if t["violation"] == 0 else _number(t["violation"], 3),
        ]
        for t in trials
    ]
    return table(["trial", "kind", *names, "objective", "violation"], rows, "  ")


def _settings(what: dict[str, Any]) -> str:
    settings, trials = what["settings"], what["trials"]
    counts = ", ".join(f"{name} {number}" for name, number in what["evaluations"].items())
    goal = "minimize" if settings.get("sense", 1) == 1 else "maximize"
    limits = zip(*(settings.get(key, []) for key in ("entries", "lower", "upper")), strict=True)
    over = ", ".join(f"{name} in [{low:g}, {high:g}]" for name, low, high in limits)
    # Trials without an objective: of expensive boxes only, or of a problem that was changed.
    partial = f"{trials['partial']} partial, " if trials["partial"] else ""
    more = f", {trials['elsewhere']} made elsewhere" if trials["elsewhere"] else ""
    finished = ": finished" if what["finished"] else ""
    cured = f"; {counted(what['cured'], 'attempt')} failed and succeeded when tried again"
    lines = {
        "study": f"{what['name']} in {what['storage']}",
        "file": settings.get("file", "unknown: the study was made elsewhere"),
        "goal": f"{goal} over {over}",
        "subject to": "; ".join(settings.get("constraints", [])) or "nothing",
        "strategy": settings.get("strategy", "-"),
        "seed": f"{settings.get('seed', '-')}, evaluation {settings.get('evaluation', '-')}",
        "trials": f"{trials['complete']}{_of(trials)} complete, {partial}"
        f"{trials['pending']} pending, {trials['broken']} broken{more}{finished}",
        "evaluations": (counts or "none") + (cured if what["cured"] else ""),
        "cost": f"{what['cost']:g}",
        "written": _local(what["written"]),
    }
    return "\n".join(f"{name:<12} {text}" for name, text in lines.items())


def _best(what: dict[str, Any]) -> str:
    best, least = what["best_trial"], what["least_violation"]
    if best is None:
        text = "best         no feasible point so far"
        if least is not None:
            amount = _number(least["violation"], 3)
            text += f"; the least violation is {amount}, in trial {least['trial']}"
        return text
    lines = [f"best         {_number(best['objective'], 8)}, observed in trial {best['trial']}"]
    if what["bound"] is not None:
        lines.append(
            f"bound        {_number(what['bound'], 8)} ({_certainty(what['certified'])}), "
            f"gap {_number(what['gap'], 3)}"
        )
    width = max(map(len, best["x"]))
    lines += [f"  {name:<{width}} = {_number(value, 8)}" for name, value in best["x"].items()]
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


def _certainty(certified: bool | None) -> str:
    return "-" if certified is None else "certified" if certified else "estimated"


def _local(moment: str | None) -> str:
    """An ISO time in local time."""
    if moment is None:
        return "-"
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M:%S")

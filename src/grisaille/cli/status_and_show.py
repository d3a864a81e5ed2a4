"""Commands that read and change nothing: `status`, `show` and `result`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from grisaille.cli.arguments import (
    add_json,
    add_storage,
    add_study,
    add_study_with_file,
    count,
)
from grisaille.cli.exit_codes import DONE, NOTHING

if TYPE_CHECKING:
    from grisaille.cli.arguments import Commands

_COLUMNS = (
    "study",
    "complete",
    "pending",
    "broken",
    "best",
    "bound",
    "bound is",
    "gap",
    "failures",
    "evaluations",
    "last written",
)
# Longer design points do not fit into the table of trials; JSON has them.
_MOST_ENTRIES = 6


def add_commands(commands: Commands) -> None:
    """Add `status`, `show` and `result`."""
    status = commands.add_parser("status", help="list studies, and how far they are")
    status.add_argument("study", metavar="STUDY", nargs="?", help="only this one")
    add_storage(status)
    add_json(status)
    status.set_defaults(run=_status)

    show = commands.add_parser("show", help="show what is recorded of a study")
    add_study(show)
    show.add_argument("--last", type=count, default=10, metavar="N", help="trials to list")
    add_json(show)
    show.set_defaults(run=_show)

    result = commands.add_parser("result", help="what a study has found, with a fresh bound")
    add_study_with_file(result)
    result.set_defaults(run=_result)


def _result(options: argparse.Namespace) -> int:
    from grisaille.cli.stored_studies import open_study

    with open_study(options) as study:
        result = study.result()
    print(result)
    return DONE if result.success else NOTHING


def _status(options: argparse.Namespace) -> int:
    from grisaille.cli.stored_studies import read_studies, read_study
    from grisaille.cli.study_summary import summarize

    if options.study is None:
        where, found = read_studies(options.storage)
    else:
        stored = read_study(options.storage, options.study)
        where, found = stored.where, [stored]
    lines = [summarize(stored) for stored in found]
    if options.json:
        print(json.dumps(lines, indent=2))
    elif lines:
        print(table(_COLUMNS, [_cells(line) for line in lines]))
    else:
        print(f"There are no studies in {where} yet: grisaille solve FILE --study NAME makes one.")
    return DONE


def _cells(line: dict[str, Any]) -> list[str]:
    trials = line["trials"]
    return [
        line["name"],
        str(trials["complete"]) + _of(trials),
        str(trials["pending"]),
        str(trials["broken"]),
        _number(line["best"]),
        _number(line["bound"]),
        _certainty(line["certified"]),
        _number(line["gap"], 3),
        str(line["failures"]),
        str(sum(line["evaluations"].values())),
        _local(line["written"]),
    ]


def _show(options: argparse.Namespace) -> int:
    from grisaille.cli.stored_studies import read_study
    from grisaille.cli.study_summary import describe

    what = describe(read_study(options.storage, options.study), options.last)
    print(json.dumps(what, indent=2) if options.json else "\n\n".join(_parts(what)))
    return DONE


def _parts(what: dict[str, Any]) -> list[str]:
    """The paragraphs that `show` prints."""
    parts = [_settings(what), _best(what)]
    if what["pending"]:
        rows = [
            [q["id"], q["box"], _numbers(q["inputs"]), _holder(q), _local(q["since"])]
            for q in what["pending"]
        ]
        parts.append(
            "pending queries\n" + table(["id", "box", "inputs", "held by", "since"], rows, "  ")
        )
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
    limits = zip(
        settings.get("entries", []),
        settings.get("lower", []),
        settings.get("upper", []),
        strict=True,
    )
    over = ", ".join(f"{name} in [{low:g}, {high:g}]" for name, low, high in limits)
    lines = {
        "study": f"{what['name']} in {what['storage']}",
        "file": settings.get("file", "unknown: the study was made elsewhere"),
        "goal": f"{goal} over {over}",
        "subject to": "; ".join(settings.get("constraints", [])) or "nothing",
        "strategy": settings.get("strategy", "-"),
        "seed": f"{settings.get('seed', '-')}, evaluation {settings.get('evaluation', '-')}",
        "trials": f"{trials['complete']}{_of(trials)} complete, {_partial(trials)}"
        f"{trials['pending']} pending, {trials['broken']} broken",
        "evaluations": counts or "none",
        "cost": f"{what['cost']:g}",
        "written": _local(what["written"]),
    }
    return "\n".join(f"{name:<12} {text}" for name, text in lines.items())


def _best(what: dict[str, Any]) -> str:
    best, least = what["best_trial"], what["least_violation"]
    if best is None:
        nearest = (
            ""
            if least is None
            else f"; the least violation is {_number(least['violation'], 3)}, in trial "
            f"{least['trial']}"
        )
        return f"best         no feasible point so far{nearest}"
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


def _numbers(values: Sequence[float | str]) -> str:
    return "[" + ", ".join(_number(v) for v in values) + "]"


def _certainty(certified: bool | None) -> str:
    return "-" if certified is None else "certified" if certified else "estimated"


def _local(moment: str | None) -> str:
    """An ISO time in local time."""
    from datetime import datetime

    if moment is None:
        return "-"
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _partial(trials: dict[str, Any]) -> str:
    """How many trials have no objective, if some: of expensive boxes, or of a changed problem."""
    return f"{trials['partial']} partial, " if trials["partial"] else ""

"""Measure strategies side by side: `make compare`, or `python -m benchmarks.comparison --help`."""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from benchmarks.collection import HALVES, makers
from benchmarks.command_line import main_of
from benchmarks.comparison.make_runs import make_missing_runs, runs_of
from benchmarks.comparison.plan import Plan, by_reason, make_plan
from benchmarks.comparison.report import write_report
from benchmarks.comparison.results import Results
from benchmarks.comparison.run_json import RunJson
from benchmarks.comparison.strategies_compared import strategies_compared
from benchmarks.run_folder import RunFolder
from grisaille import ModelError
from grisaille.cli.arguments import count
from grisaille.cli.exit_codes import DONE, FAILURE, handling_termination
from grisaille.problems import catalogue

Value = TypeVar("Value")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.comparison",
        description="Run every strategy on every known problem it applies to, from the same "
        "initial designs, and write tables and figures. Runs that are there are kept: the same "
        "command again goes on where it stopped.",
    )
    parser.add_argument(
        "--collection",
        choices=["known", *HALVES],
        default="known",
        help="known: the problems of grisaille.problems; development or held_out: the half of the "
        "collection, with noise left out; default: %(default)s",
    )
    parser.add_argument(
        "--problems", type=_names, metavar="A,B", help="names of problems; default: all"
    )
    parser.add_argument(
        "--strategies", type=_names, metavar="A,B", help="names of strategies; default: all"
    )
    parser.add_argument("--seeds", type=count, default=10, metavar="N", help="default: 10")
    parser.add_argument(
        "--evaluations",
        type=count,
        default=40,
        metavar="N",
        help="evaluations after the initial design of 2 (d + 1) points; default: 40",
    )
    parser.add_argument(
        "--folder", type=Path, default=Path("compare"), help="folder; default: %(default)s"
    )
    parser.add_argument(
        "--processes", type=count, default=os.cpu_count() or 1, metavar="N", help="runs at a time"
    )
    parser.add_argument("--retry", action="store_true", help="make runs that failed again")
    parser.add_argument(
        "--replace", action="store_true", help="make runs again whose settings have changed"
    )
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--list", action="store_true", help="list problems and strategies, and stop")
    only.add_argument(
        "--report", action="store_true", help="make tables and figures from what is there"
    )
    return parser


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _compare(options: argparse.Namespace) -> int:
    known = catalogue() if options.collection == "known" else makers(options.collection)
    problems = _pick("problem", known, options.problems)
    strategies = _pick("strategy", strategies_compared(), options.strategies)
    folder = RunFolder(options.folder, RunJson(_command(options)), "--folder")
    plan = make_plan(problems, strategies, options.seeds, options.evaluations)
    if options.list:
        return _list(plan, list(problems), list(strategies))
    if not options.report:
        try:
            with handling_termination():
                make_missing_runs(
                    folder,
                    plan,
                    processes=options.processes,
                    retry=options.retry,
                    replace=options.replace,
                )
        except KeyboardInterrupt:
            print(f"What was run is in {options.folder}: start again to go on.", file=sys.stderr)
            raise
    runs = runs_of(folder.load().values(), problems, strategies)
    if not runs:
        raise ModelError(
            f"there are no such runs in {str(options.folder)!r}: leave --report out to make them"
        )
    files = write_report(options.folder, Results(tuple(runs)), list(strategies), plan.left_out)
    print("Written: " + ", ".join(str(file) for file in files))
    failed = [run for run in runs if run.failed]
    for run in failed:
        print(f"failed: {run.job}: {run.message}", file=sys.stderr)
    return FAILURE if failed else DONE


def _command(options: argparse.Namespace) -> str:
    """What a user would type to make the same runs, wherever they are kept."""
    words = ["python", "-m", "benchmarks.comparison"]
    if options.collection != "known":
        words += ["--collection", options.collection]
    for name in ("problems", "strategies"):
        if getattr(options, name):
            words += [f"--{name}", ",".join(getattr(options, name))]
    words += ["--seeds", str(options.seeds), "--evaluations", str(options.evaluations)]
    return shlex.join(words)


def _list(plan: Plan, problems: Sequence[str], strategies: Sequence[str]) -> int:
    print("problems:   " + ", ".join(problems))
    print("strategies: " + ", ".join(strategies))
    if plan.left_out:
        print("\nleft out:")
    for (strategy, reason), names in by_reason(plan.left_out).items():
        print(f"  {strategy} on {', '.join(names)}: {reason}")
    return DONE


def _pick(what: str, known: Mapping[str, Value], wanted: Sequence[str] | None) -> dict[str, Value]:
    """Some entries of a table by name, or all; a name that is not there gets a sentence."""
    if wanted is None:
        return dict(known)
    if not wanted:
        raise ModelError(f"no {what} is named: there are {', '.join(map(repr, known))}")
    for name in wanted:
        if name not in known:
            folded = {key.lower(): key for key in known}
            near = difflib.get_close_matches(name.lower(), folded, 1)
            hint = f"; did you mean {folded[near[0]]!r}?" if near else ""
            raise ModelError(
                f"there is no {what} {name!r}: there are {', '.join(map(repr, known))}{hint}"
            )
    return {name: known[name] for name in wanted}


main = main_of(_parser, _compare)

if __name__ == "__main__":
    sys.exit(main())

"""Measure strategies side by side: `make compare`, or `python -m benchmarks.comparison --help`."""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from benchmarks.command_line import main_of
from grisaille import ModelError
from grisaille.views.cli.arguments import count
from grisaille.views.cli.compare import KNOWN_PROBLEMS, STRATEGIES
from grisaille.views.cli.exit_codes import DONE, FAILURE, handling_termination

if TYPE_CHECKING:
    from grisaille.lab.comparison.plan import ProblemMaker, StrategyMaker
    from grisaille.language.problem import Problem

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
        choices=["known", "development", "held_out"],
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
    if options.list:
        _list_names(options)  # at once: what follows loads PyTorch
    from benchmarks.comparison.strategies_compared import BASELINE, DEFAULT, strategies_compared
    from benchmarks.versions import versions
    from grisaille.lab.comparison.comparison import make_missing_runs, runs_of, write_report
    from grisaille.lab.comparison.plan import by_reason, make_plan
    from grisaille.lab.comparison.run import Results, RunJson
    from grisaille.lab.comparison.run_folder import RunFolder

    problems = _pick("problem", _problems(options.collection), options.problems)
    strategies: dict[str, StrategyMaker] = _pick(
        "strategy", strategies_compared(), options.strategies
    )
    folder = RunFolder(options.folder, RunJson(_command(options)), "--folder")
    budget = partial(_budget, options.evaluations)
    plan = make_plan(problems, strategies, range(options.seeds), budget, versions())
    if options.list:
        if plan.left_out:
            print("\nleft out:")
        for (strategy, reason), names in by_reason(plan.left_out).items():
            print(f"  {strategy} on {', '.join(names)}: {reason}")
        return DONE
    if not options.report:
        try:
            with handling_termination():
                make_missing_runs(
                    folder,
                    plan,
                    workers=options.processes,
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
    results = Results(tuple(runs), DEFAULT, BASELINE)
    files = write_report(options.folder, results, list(strategies), plan.left_out)
    print("Written: " + ", ".join(str(file) for file in files))
    failed = [run for run in runs if run.failed]
    for run in failed:
        print(f"failed: {run.job}: {run.message}", file=sys.stderr)
    return FAILURE if failed else DONE


def _problems(collection: str) -> dict[str, ProblemMaker]:
    """Makers of the problems of a collection, by name."""
    from benchmarks.collection import makers
    from grisaille.lab.comparison.plan import ComparedProblem
    from grisaille.lab.problems import catalogue

    known = catalogue() if collection == "known" else makers(collection)
    return {
        name: lambda seed, make=make: ComparedProblem.of(make(seed)) for name, make in known.items()
    }


def _budget(evaluations: int, problem: Problem) -> tuple[int, int]:
    """2 (d + 1) points of the initial design for d variables (Astudillo and Frazier 2021)."""
    return 2 * (problem.program.size + 1), evaluations


def _list_names(options: argparse.Namespace) -> None:
    known: Mapping[str, object] = dict.fromkeys(KNOWN_PROBLEMS)
    if options.collection != "known":
        known = _problems(options.collection)
    problems = _pick("problem", known, options.problems)
    strategies = _pick("strategy", dict.fromkeys(STRATEGIES), options.strategies)
    print("problems:   " + ", ".join(problems))
    print("strategies: " + ", ".join(strategies), flush=True)


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

"""The command that measures strategies side by side: `compare`."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from grisaille.cli.arguments import count
from grisaille.cli.ending import DONE, FAILURE, heeding_termination

if TYPE_CHECKING:
    from grisaille.cli.arguments import Commands
    from grisaille.comparison.plan import Plan

Value = TypeVar("Value")


def add_commands(commands: Commands) -> None:
    """Add `compare`."""
    compare = commands.add_parser(
        "compare",
        help="measure strategies side by side on known problems",
        description="Run every strategy on every known problem it applies to, from the same "
        "initial designs, and write tables and figures. Runs that are there are kept: the same "
        "command again goes on where it stopped.",
    )
    compare.add_argument(
        "--problems", type=_names, metavar="A,B", help="names of problems; default: all"
    )
    compare.add_argument(
        "--strategies", type=_names, metavar="A,B", help="names of strategies; default: all"
    )
    compare.add_argument("--seeds", type=count, default=10, metavar="N", help="default: 10")
    compare.add_argument(
        "--evaluations",
        type=count,
        default=40,
        metavar="N",
        help="evaluations after the initial design of 2 (d + 1) points; default: 40",
    )
    compare.add_argument(
        "--folder", type=Path, default=Path("compare"), help="folder; default: %(default)s"
    )
    compare.add_argument(
        "--processes", type=count, default=os.cpu_count() or 1, metavar="N", help="runs at a time"
    )
    compare.add_argument("--retry", action="store_true", help="make runs that failed again")
    compare.add_argument(
        "--replace", action="store_true", help="make runs again whose settings have changed"
    )
    only = compare.add_mutually_exclusive_group()
    only.add_argument("--list", action="store_true", help="list problems and strategies, and stop")
    only.add_argument(
        "--report", action="store_true", help="make tables and figures from what is there"
    )
    compare.set_defaults(run=_compare)


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _compare(options: argparse.Namespace) -> int:
    from grisaille.comparison.compare import compare
    from grisaille.comparison.contestants import contestants
    from grisaille.comparison.measures import Results
    from grisaille.comparison.plan import make_plan
    from grisaille.comparison.report import write_report
    from grisaille.comparison.storage import Folder, chosen
    from grisaille.errors import ModelError
    from grisaille.problems import catalogue

    problems = _pick("problem", catalogue(), options.problems)
    strategies = _pick("strategy", contestants(), options.strategies)
    folder = Folder(options.folder)
    plan = make_plan(problems, strategies, options.seeds, options.evaluations)
    if options.list:
        return _list(plan, list(problems), list(strategies))
    if not options.report:
        try:
            with heeding_termination():
                compare(
                    folder,
                    plan,
                    processes=options.processes,
                    command=_command(options),
                    retry=options.retry,
                    replace=options.replace,
                )
        except KeyboardInterrupt:
            print(f"What was run is in {options.folder}: start again to go on.", file=sys.stderr)
            raise
    runs = chosen(folder.load().values(), problems, strategies)
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
    words = ["grisaille", "compare"]
    for name in ("problems", "strategies"):
        if getattr(options, name):
            words += [f"--{name}", ",".join(getattr(options, name))]
    words += ["--seeds", str(options.seeds), "--evaluations", str(options.evaluations)]
    return shlex.join(words)


def _list(plan: Plan, problems: Sequence[str], strategies: Sequence[str]) -> int:
    from grisaille.comparison.plan import by_reason

    print("problems:   " + ", ".join(problems))
    print("strategies: " + ", ".join(strategies))
    if plan.left_out:
        print("\nleft out:")
    for (strategy, reason), names in by_reason(plan.left_out).items():
        print(f"  {strategy} on {', '.join(names)}: {reason}")
    return DONE


def _pick(what: str, known: Mapping[str, Value], wanted: Sequence[str] | None) -> dict[str, Value]:
    """Some entries of a table by name, or all; a name that is not there gets a sentence."""
    import difflib

    from grisaille.errors import ModelError

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

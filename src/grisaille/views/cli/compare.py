"""The command `compare`: strategies side by side on own and on known problems."""

from __future__ import annotations

import argparse
import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from grisaille.errors import ModelError, shortened
from grisaille.views.cli.arguments import add_shared, count
from grisaille.views.cli.exit_codes import (
    DONE,
    FAILURE,
    INTERRUPTED,
    TERMINATED,
    handling_termination,
)
from grisaille.views.cli.open_studies import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grisaille.lab.comparison.comparison import AnyProblem
    from grisaille.strategies.strategy import Strategy
    from grisaille.views.cli.arguments import Commands

# Those of `grisaille.problems.catalogue` and of the library, which load PyTorch: the list is
# printed at once.
KNOWN_PROBLEMS = (
    *("environmental", "langermann", "goldstein_price", "rosen_suzuki", "bazaraa", "sinusoidal"),
    *("williams_otto", "flowsheet", "pressure_vessel", "speed_reducer", "catalyst_choice"),
    *("additive_choice", "solvent_blend", "sellar", "recycle_loop", "flash"),
    *("environmental_field", "kinetic_calibration", "drop_wave"),
    *("ackley", "rosenbrock", "ackley_sine", "additive", "sum_of_squares", "shifted_square"),
    *("chain", "lp_with_embedded_gp", "toy_graph", "constrained_toy_graph", "complete_graph"),
)
STRATEGIES = (
    *("Optimistic", "EIFN", "EICF", "CUQB", "CONFIG", "LogEI", "MCBO", "CBO", "ConstrainedCBO"),
    *("RandomSearch", "SobolSearch"),
)
_USUAL = ("Optimistic", "LogEI", "SobolSearch")


def add_commands(commands: Commands) -> None:
    """Add `compare`."""
    compare = commands.add_parser(
        "compare",
        help="compare strategies on your problems, or on known ones",
        description="Run strategies on problems from the same initial points, and write tables and "
        "figures. Each run is stored as soon as it is done: the same command again goes on where "
        "it stopped.",
    )
    compare.add_argument(
        "problems",
        nargs="*",
        metavar="PROBLEM",
        help="a Python file that defines `problem`, whose `strategy`, if there is one, is compared "
        "too; or the name of a known problem (--list)",
    )
    compare.add_argument(
        "--strategies",
        metavar="A,B",
        help=f"names of strategies (--list); default: {','.join(_USUAL)}",
    )
    compare.add_argument("--seeds", type=count, default=10, metavar="N", help="default: 10")
    compare.add_argument(
        "--trials",
        type=count,
        default=40,
        metavar="N",
        help="trials of each run, those of the initial design included; default: 40",
    )
    compare.add_argument(
        "--folder", type=Path, default=Path("compare"), help="folder; default: %(default)s"
    )
    compare.add_argument(
        "--workers", type=count, metavar="N", help="make so many runs at once, in child processes"
    )
    compare.add_argument("--retry", action="store_true", help="make runs that failed again")
    compare.add_argument(
        "--replace", action="store_true", help="make runs again whose settings have changed"
    )
    add_shared(compare, "--quiet")
    compare.add_argument(
        "--list", action="store_true", help="list known problems and strategies, and stop"
    )
    compare.set_defaults(run=_compare)


def _compare(options: argparse.Namespace) -> int:
    if options.list:
        print("problems:   " + ", ".join(KNOWN_PROBLEMS))
        print("strategies: " + ", ".join(STRATEGIES))
        return DONE
    if not options.problems:
        raise ModelError("compare: name a Python file or a known problem; --list shows these")
    names = _names(options.strategies)
    problems, own = _problems(options.problems)
    from grisaille.lab.comparison.comparison import compare

    with handling_termination() as received:
        found = compare(
            problems,
            {**own, **_strategies(names)},
            options.seeds,
            trials=options.trials,
            folder=options.folder,
            workers=options.workers,
            retry=options.retry,
            replace=options.replace,
            progress=not options.quiet,
        )
    print(f"\n{found.table()}")
    files = found.save()
    if not options.quiet:
        print("Written: " + ", ".join(str(file) for file in files))
    if not found.complete:
        return TERMINATED if received else INTERRUPTED
    return FAILURE if any(run.failed for run in found.results.runs) else DONE


def _names(text: str | None) -> list[str]:
    """The strategies that were named, or the usual ones."""
    if text is None:
        return list(_USUAL)
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise ModelError(f"--strategies names no strategy: there are {', '.join(STRATEGIES)}")
    for name in names:
        if name not in STRATEGIES:
            raise ModelError(_unknown("strategy", name, STRATEGIES))
    return names


def _strategies(names: Sequence[str]) -> dict[str, Strategy]:
    import grisaille

    return {name: getattr(grisaille, name)() for name in names}


def _problems(given: Sequence[str]) -> tuple[dict[str, AnyProblem], dict[str, Strategy]]:
    """Problems by name, and the strategies that their files define, by the names of classes."""
    for name in given:
        if not name.endswith(".py") and name not in KNOWN_PROBLEMS:
            raise ModelError(_unknown("problem", name, KNOWN_PROBLEMS) + ", or pass a Python file")
    problems: dict[str, AnyProblem] = {}
    own: dict[str, Strategy] = {}
    for name in given:
        shown = Path(name).stem if name.endswith(".py") else name
        if shown in problems:
            raise ModelError(f"compare: two problems are called {shortened(shown)}")
        if not name.endswith(".py"):
            from grisaille.lab.problems import catalogue

            problems[shown] = catalogue()[name]
            continue
        definition = load(Path(name))
        problems[shown] = definition.problem
        if definition.strategy is not None:
            own.setdefault(type(definition.strategy).__name__, definition.strategy)
    return problems, own


def _unknown(what: str, name: str, known: Sequence[str]) -> str:
    folded = {key.lower(): key for key in known}
    near = difflib.get_close_matches(name.lower(), folded, 1)
    hint = f"; did you mean {folded[near[0]]!r}?" if near else ""
    return f"there is no {what} {shortened(name)}: there are {', '.join(map(repr, known))}{hint}"

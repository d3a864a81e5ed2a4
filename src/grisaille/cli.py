"""The command line: thin, and quick to answer `--help`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grisaille.modeling.problem import Problem
    from grisaille.study.result import Result


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    0: done, a feasible point was found; 1: done, but no feasible point; 2: a mistake in the call
    or in the problem; 3: a black box failed; 130: interrupted.
    """
    options = _parser().parse_args(arguments)
    from grisaille.errors import GrisailleError, ModelError

    try:
        return int(options.run(options))
    except ModelError as error:
        print(f"grisaille: {error}", file=sys.stderr)
        return 2
    except GrisailleError as error:
        print(f"grisaille: {error}", file=sys.stderr)
        if error.result is not None and error.result.nit:
            print(f"\nWhat was evaluated before:\n{error.result}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("grisaille: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="grisaille",
        description="Bayesian optimization of expensive nested grey-box functions.",
    )
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    parser.set_defaults(run=lambda options: _version() if options.version else _help(parser))
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    demo = commands.add_parser("demo", help="optimize the Williams-Otto reactor, live")
    _add_run_options(demo, trials=25)
    demo.set_defaults(run=_demo)

    solve = commands.add_parser("solve", help="solve the problem that a Python file defines")
    solve.add_argument("file", type=Path, help="a Python file that defines `problem`")
    _add_run_options(solve, trials=50)
    solve.add_argument("--evaluation", choices=("separate", "chained"), default="separate")
    solve.add_argument("--timeout", type=float, help="seconds after which no trial starts")
    solve.add_argument("--gap-tol", type=float, help="stop when best value and bound are this near")
    solve.set_defaults(run=_solve)

    diagram = commands.add_parser("diagram", help="draw the problem that a Python file defines")
    diagram.add_argument("file", type=Path, help="a Python file that defines `problem`")
    diagram.add_argument("--format", choices=("text", "mermaid", "dot"), default="text")
    diagram.set_defaults(run=_diagram)

    reproduce = commands.add_parser(
        "reproduce", help="run the paper's experiment again, and draw its figures beside ours"
    )
    reproduce.add_argument(
        "--output", type=Path, default=Path("reproduction"), help="folder; default: %(default)s"
    )
    reproduce.add_argument("--instances", type=int, default=100, help="default: %(default)s")
    reproduce.add_argument(
        "--setting",
        choices=("exact", "noisy", "learned"),
        action="append",
        help="exact (the default): true kernel, no noise; noisy: noise 0.05; learned: learned "
        "kernel; may be given several times",
    )
    reproduce.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, help="default: %(default)s"
    )
    reproduce.set_defaults(run=_reproduce)
    return parser


def _add_run_options(command: argparse.ArgumentParser, trials: int) -> None:
    command.add_argument("--trials", type=int, default=trials, help="default: %(default)s")
    command.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    command.add_argument("--plot", type=Path, help="save a picture of the convergence here")
    command.add_argument("--quiet", action="store_true", help="print the answer only")


def _help(parser: argparse.ArgumentParser) -> int:
    parser.print_help()
    return 0


def _version() -> int:
    from grisaille import __version__

    print(f"grisaille {__version__}")
    return 0


def _demo(options: argparse.Namespace) -> int:
    from grisaille.problems import williams_otto

    _check_picture(options.plot)
    problem = williams_otto().problem
    if not options.quiet:
        print("The Williams-Otto reactor: known prices, product fractions from a simulator.\n")
        print(problem.diagram(), end="\n\n")
    result = problem.solve(
        options.trials, seed=options.seed, progress=False if options.quiet else None
    )
    print(f"\n{result}\n")
    if result.x is not None:
        feed, temperature = result.x
        print(
            f"Feed {feed:.3f} kg/s of B at {temperature:.2f} °C: profit {-result.fun:.2f} $/s, and "
            f"no setting is estimated to earn more than {-result.lower_bound:.2f} $/s."
        )
    return _finish(result, options.plot or Path("grisaille-demo.png"))


def _check_picture(picture: Path | None) -> None:
    """Find out before a long run, not after it."""
    from grisaille.errors import ModelError

    if picture is not None and not picture.resolve().parent.is_dir():
        raise ModelError(f"--plot {picture}: there is no folder {str(picture.parent)!r}")


def _solve(options: argparse.Namespace) -> int:
    _check_picture(options.plot)
    result = _load(options.file).solve(
        options.trials,
        seed=options.seed,
        evaluation=options.evaluation,
        timeout=options.timeout,
        gap_tol=options.gap_tol,
        progress=False if options.quiet else None,
    )
    print(f"\n{result}")
    return _finish(result, options.plot)


def _diagram(options: argparse.Namespace) -> int:
    print(_load(options.file).diagram(options.format))
    return 0


def _reproduce(options: argparse.Namespace) -> int:
    from grisaille.errors import ModelError
    from grisaille.reproduction.experiment import Setting
    from grisaille.reproduction.run import reproduce

    for name in ("instances", "processes"):
        if getattr(options, name) < 1:
            raise ModelError(f"--{name} {getattr(options, name)}: at least 1")
    settings = [Setting(s) for s in options.setting or [Setting.EXACT]]
    try:
        files = reproduce(options.output, options.instances, settings, options.processes)
    except KeyboardInterrupt:
        print(f"What was run is in {options.output}: start again to go on.", file=sys.stderr)
        raise
    print(f"\n{files[0].read_text(encoding='utf-8')}")
    print("Written: " + ", ".join(str(file) for file in files))
    return 0


def _finish(result: Result, picture: Path | None) -> int:
    from grisaille.study.result import Status

    if picture is not None and result.nit:
        result.plot(str(picture))
        print(f"Picture saved to {picture}.")
    if result.status is Status.INTERRUPTED:
        return 130
    return 0 if result.success else 1


def _load(file: Path) -> Problem:
    """The `problem` that a file defines."""
    import runpy

    from grisaille.errors import ModelError
    from grisaille.modeling.problem import Problem

    if not file.is_file():
        raise ModelError(f"there is no file {str(file)!r}: pass a Python file that defines problem")
    # As when Python itself runs a file: its neighbours can be imported.
    sys.path.insert(0, str(file.resolve().parent))
    try:
        names = runpy.run_path(str(file), run_name="grisaille_problem")
    finally:
        sys.path.pop(0)
    problem = names.get("problem")
    if not isinstance(problem, Problem):
        found = (
            "nothing of that name"
            if problem is None
            else f"an object of type {type(problem).__name__}"
        )
        raise ModelError(
            f"{file} must define problem = gs.Problem(...) at its top level, found {found}"
        )
    return problem


if __name__ == "__main__":
    sys.exit(main())

"""Commands that evaluate: `demo`, `solve`, `resume` and `worker`."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grisaille.errors import ModelError, cut, printable
from grisaille.study.log.address import masked
from grisaille.views.cli.arguments import (
    LIMITS,
    STORAGE,
    STUDY_WITH_FILE,
    add_shared,
    add_trials,
    count,
    default_storage,
    seed,
)
from grisaille.views.cli.exit_codes import (
    DONE,
    INTERRUPTED,
    NOTHING,
    TERMINATED,
    handling_termination,
)
from grisaille.views.cli.open_studies import load, make_study, open_study

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grisaille.records import Trial
    from grisaille.study.result import Result
    from grisaille.study.study import Study
    from grisaille.views.cli.arguments import Commands

_LIMITS = ("--max-cost", "--gap-tol")
_VIEWS = ("--plot", "--quiet")
_WAYS = ("--workers", "--timeout", *_VIEWS)


def add_commands(commands: Commands) -> None:
    """Add `demo`, `solve`, `resume` and `worker`."""
    demo = commands.add_parser("demo", help="optimize the Williams-Otto reactor, live")
    demo.add_argument("--trials", type=count, default=25, help="default: %(default)s")
    demo.add_argument("--seed", type=seed, default=0, help="default: %(default)s")
    add_shared(demo, *_VIEWS)
    demo.set_defaults(run=_demo)

    solve = commands.add_parser(
        "solve",
        help="solve the problem that a Python file defines",
        description="Solve the problem that a Python file defines. With --study everything is "
        "recorded, and the same command again goes on where it stopped.",
    )
    add_shared(solve, "file")
    solve.add_argument("--study", metavar="NAME", help="record everything under this name")
    solve.add_argument("--storage", **STORAGE)
    add_trials(solve, "as the study says, else 50 or as many as --max-cost pays for")
    add_shared(solve, *_LIMITS, "--seed", "--evaluation", "--allow-changes", *_WAYS)
    solve.set_defaults(run=_solve)

    resume = commands.add_parser("resume", help="go on with a study")
    add_shared(resume, *STUDY_WITH_FILE)
    add_trials(resume, "as when it was solved last")
    add_shared(resume, *_LIMITS, *_WAYS)
    resume.set_defaults(run=_resume)

    worker = commands.add_parser(
        "worker",
        help="take part in a study, as one process of many",
        description="Take part in a study, as one process of many, on this machine or another: "
        "evaluate, and decide when there is nothing to evaluate, until its trials are used up.",
    )
    add_shared(worker, *STUDY_WITH_FILE)
    add_trials(worker, "as the study says")
    add_shared(worker, *_LIMITS)
    worker.set_defaults(run=_worker)


def _demo(options: argparse.Namespace) -> int:
    from grisaille.lab.problems import williams_otto

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


def _solve(options: argparse.Namespace) -> int:
    from grisaille.study.state import DEFAULT_TRIALS

    for flag, given in (("storage", options.storage), ("allow-changes", options.allow_changes)):
        if given and options.study is None:
            raise ModelError(f"--{flag} is about a recorded study: name it with --study")
    _check_picture(options.plot)
    definition = load(options.file)
    with handling_termination() as received:
        if options.study is None:
            result = definition.problem.solve(
                strategy=definition.strategy,
                seed=options.seed or 0,
                evaluation=options.evaluation or "separate",
                **_ways({}, options),
                **_limits({}, options),
            )
            print(f"\n{result}")
            return _finish(result, options.plot, received)
        options.storage = options.storage or default_storage()
        with make_study(definition, options) as study:
            limits = _limits(study.state.settings, options)
            if limits["trials"] is None and limits["max_cost"] is None:
                limits["trials"] = DEFAULT_TRIALS  # stored with the study, so that workers know
            file = str(options.file.resolve())
            study.record_settings(file=file, **_known_workers(study, options), **limits)
            return _run(study, options, limits, received)


def _resume(options: argparse.Namespace) -> int:
    _check_picture(options.plot)
    with handling_termination() as received, open_study(options) as study:
        limits = _known_limits(study, options)
        file = {} if options.file is None else {"file": str(options.file.resolve())}
        study.record_settings(**file, **_known_workers(study, options), **limits)
        return _run(study, options, limits, received)


def _worker(options: argparse.Namespace) -> int:
    from grisaille.study.result import Status

    with handling_termination() as received, open_study(options) as study:
        lines = _Lines(study)
        result = study.run(**_known_limits(study, options), progress=False, callback=lines)
        stopped = result.status is Status.INTERRUPTED
        why = f"{'terminated' if received else 'interrupted'}, and what it held is given back"
        ending = f"this worker completed {lines.count} of the study's {result.nit} trials"
        print(printable(f"{why if stopped else result.message}; {ending}"), flush=True)
        return _finish(result, None, received)


class _Lines:
    """Prints a line for each trial that is completed here."""

    def __init__(self, study: Study) -> None:
        self._problem = study.problem
        self.count = 0

    def __call__(self, trial: Trial) -> None:
        from grisaille.study.trial_tables import outcome_text

        self.count += 1
        print(
            f"trial {trial.number}  {trial.suggestion.kind}  {outcome_text(self._problem, trial)}  "
            f"evaluated in {trial.seconds[1]:.1f} s",
            flush=True,
        )


def _run(
    study: Study, options: argparse.Namespace, limits: dict[str, Any], received: list[int]
) -> int:
    """Run a study, print its result, and tell how to continue if it was stopped."""
    result = study.run(**_ways(study.state.settings, options), **limits)
    print(f"\n{result}")
    code = _finish(result, options.plot, received)
    if code in (INTERRUPTED, TERMINATED):
        known = options.storage == default_storage()
        place = "" if known else f" --storage {masked(options.storage)}"
        print(f"To go on: grisaille resume {shlex.quote(study.name)}{place}")
    return code


def _known_workers(study: Study, options: argparse.Namespace) -> dict[str, Any]:
    """How many evaluations at once, to be stored: as in the call, else as before."""
    return {"workers": options.workers or study.state.settings.get("workers")}


def _ways(stored: Mapping[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """How to run: everything but the limits."""
    return {
        "workers": options.workers or stored.get("workers"),
        "timeout": options.timeout,
        "progress": False if options.quiet else None,
    }


def _limits(stored: Mapping[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """The limits: those of the call, else those stored with the study."""
    given = {name: getattr(options, name) for name in LIMITS}
    return {name: stored.get(name) if given[name] is None else given[name] for name in LIMITS}


def _known_limits(study: Study, options: argparse.Namespace) -> dict[str, Any]:
    """The limits of a study that exists; raises ModelError if neither gives one."""
    limits = _limits(study.state.settings, options)
    if limits["trials"] is None and limits["max_cost"] is None:
        raise ModelError(
            f"study {study.name!r} does not say how many trials it is to have: pass --trials"
        )
    return limits


def _check_picture(picture: Path | None) -> None:
    """Raise ModelError if a picture cannot be saved, before a long run and not after it."""
    if picture is None:
        return
    from matplotlib.figure import Figure

    shown = f"--plot {cut(str(picture))}"
    try:
        if not picture.resolve().parent.is_dir():
            raise ModelError(f"{shown}: there is no folder {cut(str(picture.parent))!r}")
        if picture.is_dir():
            raise ModelError(f"{shown} is a folder: add the name of a file, such as picture.png")
    except OSError as error:
        raise ModelError(f"{shown}: {error.strerror}") from error
    known = Figure().canvas.get_supported_filetypes()
    if picture.suffix and picture.suffix[1:].lower() not in known:
        raise ModelError(f"{shown}: pictures end in .png, .pdf or .svg, not in {picture.suffix!r}")


def _finish(result: Result, picture: Path | None, received: Sequence[int] = ()) -> int:
    from grisaille.study.result import Status

    if picture is not None and result.nit:
        result.plot(str(picture))
        print(f"Picture saved to {picture}.")
    if result.status is Status.INTERRUPTED:
        return TERMINATED if received else INTERRUPTED
    return DONE if result.success else NOTHING

"""`compare`: strategies side by side on a user's own problems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

import grisaille
from grisaille.checks import (
    attribute_of,
    check_count,
    check_flag,
    check_name,
    check_strategy,
    is_count,
    is_finite,
    is_whole,
    takes,
    tuple_of,
)
from grisaille.comparison.compared_problem import ComparedProblem
from grisaille.comparison.comparison import Comparison
from grisaille.comparison.make_runs import make_missing_runs
from grisaille.comparison.plan import Plan, ProblemMaker, StrategyMaker, make_plan
from grisaille.comparison.results import Results
from grisaille.comparison.run_folder import RunFolder
from grisaille.comparison.run_json import RunJson
from grisaille.comparison.same_start import SameStart
from grisaille.errors import ModelError, cut, shortened
from grisaille.language.problem import Problem
from grisaille.problems.known_problem import KnownProblem
from grisaille.records import History, Situation
from grisaille.strategies.initial_design import initial_points
from grisaille.strategies.strategy import Strategy

AnyProblem = Problem | KnownProblem | Callable[[int], KnownProblem]
"""A problem, or a function that draws a known one for a seed."""


def compare(
    problems: Mapping[str, AnyProblem] | Sequence[KnownProblem],
    strategies: Mapping[str, Strategy] | Sequence[Strategy],
    seeds: int | Iterable[int] = 10,
    *,
    trials: int = 40,
    optimum: Mapping[str, float] | None = None,
    folder: str | Path | None = None,
    workers: int | None = None,
    retry: bool = False,
    replace: bool = False,
    progress: bool | None = None,
) -> Comparison:
    """Run every strategy on every problem with every seed, from the same initial points.

    A trial is one evaluation of the whole chain. A strategy that refuses a problem is left out
    with its reason; a run that fails is recorded with its reason.

    Args:
        problems: Problems by name: each a `Problem`, a `KnownProblem`, or a function of the seed
            that returns a `KnownProblem`. Or a list of known problems.
        strategies: Strategies by name, or a list of them. The first one is drawn in colour, and the
            others are compared with it.
        seeds: How many, counted from 0, or which ones.
        trials: Trials of each run, those of the initial design included. Of these there are
            2 (n + 1) for n variables, at most 20 and at most a third.
        optimum: Optimal objectives by the names of problems, as far as they are known. Where one is
            not, regret is against the best value that any run found.
        folder: Where each run is stored as soon as it is done. The same call again makes only those
            that are missing, also after a kill. None to store nothing.
        workers: How many runs at once, in child processes; None for this process.
        retry: Whether runs in the folder that failed are made again.
        replace: Whether runs in the folder that were made in another way are made again: with
            another problem, number of trials, version, or code of an own strategy or black box.
            Without it they are refused.
        progress: False for silence.

    Returns:
        The comparison: `runs`, `table()`, `plot(path)` and `save()`. Ctrl-C ends it with the runs
        that are complete.

    Raises:
        ModelError: An argument is not what it should be, or the folder holds runs that were made in
            another way.
    """
    check_count("compare", "trials", trials, 2)
    check_count("compare", "workers", workers, optional=True)
    for name, flag in (("retry", retry), ("replace", replace)):
        check_flag("compare", name, flag)
    check_flag("compare", "progress", progress, optional=True)
    makers = _makers(problems, _optima(optimum, problems))
    chosen = _strategies(strategies)
    budget = partial(_budget, int(trials))
    made_with = {
        "grisaille": grisaille.__version__,
        "numpy": np.__version__,
        "torch": torch.__version__,
    }
    plan = make_plan(makers, chosen, _seeds(seeds), budget, made_with)
    with _opened(folder) as path:
        stored = RunFolder(path, RunJson("gs.compare"), "folder=")
        stopped = None
        try:
            make_missing_runs(
                stored,
                plan,
                workers=None if workers is None else int(workers),
                retry=bool(retry),
                replace=bool(replace),
                progress=progress is not False,
            )
        except KeyboardInterrupt as stop:
            stopped = stop
        runs = [run for job, run in stored.load().items() if job in plan.settings]
    if stopped is not None and not runs:
        raise stopped
    if not runs:
        raise ModelError(_nothing_fits(plan))
    results = Results.measured(runs, next(iter(chosen)))
    kept = None if folder is None else Path(folder)
    return Comparison(results, tuple(chosen), plan.left_out, len(plan.settings), kept)


def _makers(problems: Any, optima: Mapping[str, float]) -> dict[str, ProblemMaker]:
    found: dict[str, ProblemMaker] = {}
    for name, problem in _named("problems", problems, _name_of_problem):
        if not isinstance(problem, Problem | KnownProblem) and not _is_maker(problem):
            raise ModelError(
                f"compare(problems=...): {shortened(name)} is {shortened(problem)}: pass a "
                "gs.Problem, a gs.problems.KnownProblem, or a function of the seed that returns one"
            )
        found[name] = partial(_compared, name, problem, optima.get(name))
    return found


def _compared(name: str, problem: AnyProblem, optimum: float | None, seed: int) -> ComparedProblem:
    made = problem if isinstance(problem, Problem | KnownProblem) else problem(seed)
    if not isinstance(made, KnownProblem) and made is not problem:
        raise ModelError(
            f"compare(problems=...): the function {shortened(name)} returned {shortened(made)}: "
            "pass a function of the seed that returns a gs.problems.KnownProblem"
        )
    return ComparedProblem.of(made, optimum)


def _is_maker(value: object) -> bool:
    return callable(value) and not isinstance(value, type) and takes(value, 1)


def _strategies(strategies: Any) -> dict[str, StrategyMaker]:
    found: dict[str, StrategyMaker] = {}
    for name, strategy in _named("strategies", strategies, lambda s: type(s).__name__):
        check_strategy(f"compare(strategies=...): {shortened(strategy)}", strategy)
        found[name] = partial(SameStart, strategy)
    return found


def _named(what: str, given: Any, name_of: Callable[[Any], str]) -> list[tuple[str, Any]]:
    """The members of a dictionary or of a list, by names that differ."""
    if isinstance(given, Mapping):
        members = list(given.items())
    else:
        listed = tuple_of(f"compare(): {what}", given)
        members = [(name_of(value), value) for value in listed]
    if not members:
        raise ModelError(f"compare({what}={shortened(given)}): there is nothing to compare")
    names = [name for name, _ in members]
    for name in names:
        check_name(f"compare({what}=...): one of them", name)
        if names.count(name) > 1:
            raise ModelError(
                f"compare({what}=...): two of them are called {shortened(name)}: pass a dictionary "
                "with a name for each"
            )
    return members


def _name_of_problem(problem: Any) -> str:
    name = attribute_of(problem, "name")
    if isinstance(problem, KnownProblem) and isinstance(name, str):
        return name
    raise ModelError(
        f"compare(problems=...): {shortened(problem)} has no name: pass a dictionary such as "
        "{'plant': problem}"
    )


def _optima(optimum: Any, problems: Any) -> Mapping[str, float]:
    if optimum is None:
        return {}
    if not isinstance(optimum, Mapping):
        raise ModelError(
            f"compare(optimum={shortened(optimum)}): pass a dictionary from names of problems to "
            "their optimal objectives"
        )
    known = [name for name, _ in _named("problems", problems, _name_of_problem)]
    for name, value in optimum.items():
        if name not in known:
            raise ModelError(
                f"compare(optimum=...): there is no problem {shortened(name)}: there are "
                f"{', '.join(map(shortened, known))}"
            )
        if not is_finite(value):
            raise ModelError(
                f"compare(optimum=...): that of {shortened(name)} is {shortened(value)}: pass a "
                "finite number"
            )
    return {name: float(value) for name, value in optimum.items()}


def _seeds(seeds: Any) -> list[int]:
    if is_whole(seeds):
        check_count("compare", "seeds", seeds)
        return list(range(int(seeds)))
    chosen = tuple_of("compare(): seeds", seeds)
    fits = chosen and all(is_count(seed, 0) for seed in chosen)
    if not fits or len(set(chosen)) < len(chosen):
        raise ModelError(
            f"compare(seeds={shortened(seeds)}): pass how many seeds, or different whole numbers "
            "of at least 0"
        )
    return [int(seed) for seed in chosen]


def _budget(trials: int, problem: Problem) -> tuple[int, int]:
    """Points of the initial design, as a strategy of its own would choose, and the rest."""
    initial = initial_points(Situation(problem.searched, History(), 0, remaining=trials), None)
    return initial, trials - initial


@contextmanager
def _opened(folder: Any) -> Iterator[Path]:
    """The folder for the runs; one that is removed if there is to be none."""
    if folder is not None:
        if not isinstance(folder, str | Path) or not str(folder).strip():
            raise ModelError(
                f"compare(folder={shortened(folder)}): pass the name of a folder, or None"
            )
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except FileExistsError as error:
            raise ModelError(f"compare(folder={shortened(str(folder))}): it is a file") from error
        except (OSError, ValueError) as error:
            shown = shortened(str(folder))
            raise ModelError(f"compare(folder={shown}): {cut(str(error))}") from error
        yield Path(folder)
        return
    with TemporaryDirectory(prefix="grisaille-compare-") as temporary:
        yield Path(temporary)


def _nothing_fits(plan: Plan) -> str:
    case = plan.left_out[0]
    return (
        "compare(): no strategy applies to any of the problems: "
        f"{case.strategy} on {case.problem}: {case.reason}"
    )

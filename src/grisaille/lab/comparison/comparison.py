"""A comparison of strategies from the same initial designs: runs, outcome, report."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import grisaille
from grisaille.belief.incumbent import Incumbent
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
from grisaille.errors import ModelError, counted, cut, shortened
from grisaille.lab.comparison.figures import draw, draw_regret
from grisaille.lab.comparison.plan import (
    ComparedProblem,
    Job,
    LeftOut,
    Plan,
    ProblemMaker,
    StrategyMaker,
    by_reason,
    make_plan,
)
from grisaille.lab.comparison.run import (
    Results,
    Run,
    RunJson,
    Task,
    failed_run,
    final_value,
    make_run,
    make_sent_run,
    quantile,
    resolution,
    seconds_per_suggestion,
)
from grisaille.lab.comparison.run_folder import RunFolder, differences
from grisaille.lab.comparison.tables import (
    duel_table,
    final_table,
    left_out_table,
    number,
    ratio_text,
    runs_csv,
    saving_table,
    solved_at,
)
from grisaille.lab.problems.known_problem import KnownProblem
from grisaille.language.problem import Problem
from grisaille.records import Bound, History, Situation, Suggestion
from grisaille.strategies.initial_design import initial_points, initial_suggestion
from grisaille.strategies.strategy import Strategy
from grisaille.study.border import suggestion_of
from grisaille.study.evaluation.child_process import ChildPool

if TYPE_CHECKING:
    import pandas


# --- comparison -----------------------------------------------------------------------------------
# --- report ---------------------------------------------------------------------------------------
# The report of a comparison: `runs.csv`, `table.md` and the figures.


def write_report(
    folder: Path, results: Results, order: Sequence[str], left_out: Sequence[LeftOut]
) -> list[Path]:
    """Write the tables and figures of some runs.

    Args:
        folder: Where to write them.
        results: The runs.
        order: Strategies in the order of legends.
        left_out: Strategies and problems that do not fit together.

    Returns:
        The files.
    """
    table = folder / "runs.csv"
    table.write_text(runs_csv(results), encoding="utf-8")
    page = folder / "table.md"
    page.write_text(tables_page(results, order, left_out), encoding="utf-8")
    return [table, page, *draw(results, order, folder)]


def tables_page(results: Results, order: Sequence[str], left_out: Sequence[LeftOut]) -> str:
    """All tables, each under its heading."""
    parts = []
    if results.reference:
        parts += [f"## {results.reference} against each rival\n", duel_table(results, order)]
    if results.baseline:
        parts += [f"## Evaluations saved against {results.baseline}\n", saving_table(results)]
    parts += ["## Final regret\n", how_regret_is_measured(results)]
    for kind, problems in results.structures.items():
        for problem in problems:
            parts += [f"### {problem} ({kind})\n", final_table(results, problem, order)]
    parts += [
        "## Left out\n",
        left_out_table([c for c in left_out if c.problem in results.problems]),
        different_starts(results),
    ]
    failed = [f"- {run.job}: {run.message}" for run in results.runs if run.failed]
    if failed:
        parts += ["## Failed\n", "\n".join(failed) + "\n"]
    return "\n".join(part for part in parts if part)


def how_regret_is_measured(results: Results) -> str:
    """Where regret is not what it seems: optima that are not known, or wrong."""
    said = []
    for problem in results.problems:
        run = results.of(problem)[0]
        if problem in results.best_found:
            said.append(
                f"The optimum of {problem} is not known: regret is against the best value that any "
                f"run found, {run.optimum:.6g}."
            )
        elif (better := better_than_optimum(results, problem)) is not None:
            said.append(
                f"A run on {problem} found {better:.6g}, which is better than the optimum "
                f"{run.optimum:.6g} that was given: correct it. Such regrets count as 0."
            )
    return "\n".join(f"{sentence}\n" for sentence in said)


def better_than_optimum(results: Results, problem: str) -> float | None:
    """A feasible value beyond the optimum that was given, in the problem's own sense."""
    found = [
        (run.sense * (step.objective - run.optimum), step.objective)
        for run in results.of(problem)
        for step in run.steps
        if run.optimum is not None
        and step.violation <= 0
        and run.sense * (step.objective - run.optimum) < -resolution(run)
    ]
    return min(found)[1] if found else None


def different_starts(results: Results) -> str:
    """On which problems strategies started from different points."""
    odd = []
    for problem in results.problems:
        starts: dict[int, dict[str, tuple[tuple[float, ...], ...]]] = {}
        for run in results.of(problem):
            if not run.failed:
                first = tuple(step.x for step in run.steps[: run.initial])
                starts.setdefault(run.job.seed, {})[run.job.strategy] = first
        if any(len(set(by_strategy.values())) > 1 for by_strategy in starts.values()):
            odd.append(problem)
    if not odd:
        return "On every problem and seed all strategies started from the same points.\n"
    return f"Strategies did not all start from the same points on {', '.join(odd)}.\n"


# --- summary --------------------------------------------------------------------------------------
# The short table of a comparison: a line for each strategy on each problem.

_HEADER = (
    "| strategy | runs | value | regret | quartiles | feasible | evaluations | time |\n"
    "|---|---|---|---|---|---|---|---|"
)


def summary_table(results: Results, order: Sequence[str], left_out: Sequence[LeftOut]) -> str:
    """What each strategy came to on each problem, as Markdown.

    Value, regret and evaluations are medians over the seeds. Evaluations are those after the
    initial design until 1 % of its regret is left. Time is that of a suggestion, in multiples of
    what the first strategy takes.
    """
    parts = []
    for problem in results.problems:
        runs = results.of(problem)
        seeds = len({run.job.seed for run in runs})
        budget = f"{counted(runs[0].initial, 'initial point')} and {runs[0].evaluations} more"
        parts.append(f"### {problem} ({runs[0].structure}), {counted(seeds, 'seed')}, {budget}\n")
        parts.append(_lines(results, problem, order))
    parts.append(how_regret_is_measured(results))
    for (strategy, reason), problems in by_reason(left_out).items():
        parts.append(f"{strategy} was left out on {', '.join(problems)}: {reason}\n")
    parts += [f"Failed: {run.job}: {run.message}\n" for run in results.runs if run.failed]
    return "\n".join(part for part in parts if part)


def _lines(results: Results, problem: str, order: Sequence[str]) -> str:
    names = [n for n in order if any(r.job.strategy == n for r in results.of(problem))]
    usual = _seconds(results, problem, results.reference)
    lines = [_line(results, problem, name, usual) for name in names]
    return "\n".join([_HEADER, *lines]) + "\n"


def _line(results: Results, problem: str, name: str, usual: float) -> str:
    mine = [run for run in results.of(problem) if run.job.strategy == name]
    failed = sum(run.failed for run in mine)
    group = results.group(problem, name)
    count = f"{len(group.runs)}, {failed} failed" if failed else str(len(group.runs))
    if not group.runs:
        return f"| {name} | {count} |" + " |" * 6
    low, middle, high = (float(quantile(group.final, q)) for q in (0.25, 0.5, 0.75))
    sense = group.runs[0].sense
    values = sense * np.array([final_value(run) for run in group.runs])
    value = sense * float(quantile(np.where(np.isnan(values), np.inf, values), 0.5))
    starts = results.starts(problem)
    needs = float(quantile(np.array([solved_at(run, starts) for run in group.runs]), 0.5))
    evaluations = f"{needs:g}" if np.isfinite(needs) else "not reached"
    share = np.isfinite(group.final).mean()
    time = _seconds(results, problem, name) / usual if usual else np.nan
    shown = f"**{name}**" if name == results.reference else name
    return (
        f"| {shown} | {count} | {_value(value)} | {number(middle)} | {number(low)} to "
        f"{number(high)} | {share:.0%} | {evaluations} | {ratio_text(time)} |"
    )


def _seconds(results: Results, problem: str, name: str) -> float:
    """Median seconds of a suggestion; nan if nothing was suggested."""
    seconds = [seconds_per_suggestion(run) for run in results.group(problem, name).runs]
    return float(np.median(seconds)) if seconds else np.nan


def _value(value: float) -> str:
    return f"{value:.6g}" if np.isfinite(value) else "none feasible"


# --- comparison -----------------------------------------------------------------------------------
# The outcome of a comparison: every run, tables and figures.


@dataclass(frozen=True, slots=True)
class Comparison:
    """Strategies side by side on the same problems, from the same initial points.

    Attributes:
        results: Every run with all its trials.
        strategies: Names of the strategies, in the order in which they were given.
        left_out: Strategies that refused a problem, and why.
        planned: How many runs there are when it is complete.
        folder: Where the runs are stored; None if nowhere.
    """

    results: Results
    strategies: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    planned: int
    folder: Path | None = None

    @property
    def complete(self) -> bool:
        """Whether every run was made; False after Ctrl-C."""
        return len(self.results.runs) == self.planned

    @property
    def runs(self) -> pandas.DataFrame:
        """One row per run, sorted by problem, strategy and seed.

        `value` is the objective that it came to, in the problem's own sense, `regret_final` its
        distance from the optimum, `evaluations_to_one_percent` how many evaluations after the
        initial design left 1 % of the initial regret, `seconds_per_suggestion` a median.
        """
        import pandas

        frame = pandas.read_csv(io.StringIO(runs_csv(self.results)))
        ordered = sorted(self.results.runs, key=lambda run: run.job)
        frame["message"] = [run.message for run in ordered]
        values = [np.nan if run.failed else final_value(run) for run in ordered]
        frame.insert(frame.columns.get_loc("optimum"), "value", values)
        frame.insert(frame.columns.get_loc("value"), "feasible", np.isfinite(values))
        return frame

    def table(self) -> str:
        """A line for each strategy on each problem, as Markdown.

        Value, regret with its quartiles, and evaluations are over the seeds. Feasible is the share
        of runs that found a feasible point. Evaluations are those after the initial design until
        1 % of its regret is left. Time is that of a suggestion, in multiples of what the first
        strategy takes.
        """
        text = summary_table(self.results, self.strategies, self.left_out)
        if self.complete:
            return text
        return f"{text}\nInterrupted: {len(self.results.runs)} of {self.planned} runs were made.\n"

    def plot(self, path: str | Path) -> Path:
        """Draw regret against evaluations; one problem in detail, several in small panels.

        Args:
            path: The picture's file, such as "regret.png" or "regret.pdf".

        Returns:
            The file.
        """
        if all(run.failed for run in self.results.runs):
            raise ModelError("plot: every run failed, so there is nothing to draw: see table()")
        file = _path("plot", "path", path)
        file = file if file.suffix else file.with_suffix(".png")
        try:
            draw_regret(self.results, self.strategies, file)
        except (OSError, ValueError) as error:
            raise ModelError(f"plot(path={shortened(str(path))}): {cut(str(error))}") from error
        return file

    def save(self, folder: str | Path | None = None) -> list[Path]:
        """Write every table and figure: `runs.csv`, `table.md`, `regret.png`, `profiles.png`, ...

        Args:
            folder: Where to write them; by default the folder of the runs.

        Returns:
            The files.
        """
        if folder is None and self.folder is None:
            raise ModelError("save(): the runs have no folder, so name one: save('comparison')")
        place = _path("save", "folder", self.folder if folder is None else folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
            return write_report(place, self.results, self.strategies, self.left_out)
        except (OSError, ValueError) as error:
            shown = shortened(str(place))
            raise ModelError(f"save(folder={shown}): {cut(str(error))}") from error

    def __str__(self) -> str:
        return self.table()


def _path(who: str, name: str, value: object) -> Path:
    if not isinstance(value, str | Path) or not str(value).strip():
        raise ModelError(f"{who}({name}={shortened(value)}): pass the name of a file or folder")
    return Path(value)


# --- same start -----------------------------------------------------------------------------------
# The same initial design for every strategy of a comparison.


@dataclass(frozen=True, slots=True)
class SameStart:
    """A strategy that first tries the scrambled Sobol points of the seed.

    `Optimistic` needs no initial design where kernels are given, and evaluates part of the chain
    where costs differ. Both would be a head start that says nothing about the choice of points.

    Attributes:
        strategy: Decides after the initial design.
        initial: How many points the initial design has.
    """

    strategy: Strategy
    initial: int

    def check(self, problem: Problem) -> None:
        """Check the problem as the strategy does."""
        self.strategy.check(problem)

    def suggest(self, situation: Situation) -> Suggestion:
        """A point of the initial design first, then what the strategy suggests."""
        if situation.started < self.initial:
            return initial_suggestion(situation)
        return suggestion_of(self.strategy, situation)

    def bound(self, situation: Situation) -> Bound:
        """No bound during the initial design, then that of the strategy."""
        return Bound() if situation.started < self.initial else self.strategy.bound(situation)

    def incumbent(self, situation: Situation) -> Incumbent | None:
        """The incumbent of the strategy."""
        return self.strategy.incumbent(situation)

    def learned(self, problem: Problem) -> list[str]:
        """The black boxes that the strategy learns."""
        return self.strategy.learned(problem)


# --- run progress ---------------------------------------------------------------------------------
# The number of runs that are done, as a user sees it.


@contextmanager
def run_progress(total: int, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """Give a function that shows how many runs are done: a bar in a terminal, else some lines.

    Args:
        total: How many runs there are.
        shown: Whether to show anything.
    """
    if not shown:
        yield lambda _done: None
        return
    if not sys.stdout.isatty():
        last = -20

        def show(done: int) -> None:
            nonlocal last
            if done - last >= min(20, total // 10) or done == total:
                last = done
                with suppress(OSError):  # whoever reads the lines may be gone: the runs go on
                    print(f"{done} of {total} runs", flush=True)

        yield show
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    with Progress(
        "runs", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(elapsed_when_finished=True)
    ) as view:
        task = view.add_task("runs", total=total)
        yield lambda done: view.update(task, completed=done)


# --- make runs ------------------------------------------------------------------------------------
# Make the runs of a comparison that are missing.

Folder = RunFolder[Job, Run]


def make_missing_runs(
    folder: Folder,
    plan: Plan,
    *,
    workers: int | None,
    retry: bool = False,
    replace: bool = False,
    progress: bool = True,
) -> int:
    """Make every run of a plan that the folder does not hold yet.

    Args:
        folder: The folder; the runs that it holds are kept.
        plan: The runs to make.
        workers: How many runs at a time, in child processes; None for this process.
        retry: Whether runs that failed are made again.
        replace: Whether runs with other settings are made again.
        progress: Whether to show how many runs are done.

    Returns:
        How many runs were made.

    Raises:
        ModelError: The folder holds runs with other settings, and `replace` is false.
        EvaluationError: A problem or a strategy cannot be sent to a child process.
    """
    missing = missing_jobs(folder, plan, retry=retry, replace=replace)
    if not missing:
        return 0
    made = _made_here(plan, missing) if workers is None else _made_by(workers, plan, missing)
    done = len(plan.settings) - len(missing)
    with run_progress(len(plan.settings), progress) as show:
        show(done)
        for number, run in enumerate(made, 1):
            folder.add(run.job, run)
            show(done + number)
    return len(missing)


def _made_here(plan: Plan, jobs: Sequence[Job]) -> Iterator[Run]:
    for job in jobs:
        maker, factory = plan.problems[job.problem], plan.strategies[job.strategy]
        yield make_run(plan.settings[job], maker, factory)


def _made_by(workers: int, plan: Plan, jobs: Sequence[Job]) -> Iterator[Run]:
    """Runs as child processes have made them, the first one first; Ctrl-C ends them at once."""
    tasks = {
        job: Task.of(plan.settings[job], plan.problems[job.problem], plan.strategies[job.strategy])
        for job in jobs
    }
    with ChildPool(workers) as pool:
        futures = {pool.submit(make_sent_run, (task,), None): job for job, task in tasks.items()}
        for future in as_completed(futures):
            try:
                yield future.result()
            except Exception as error:  # the process died, or could not read what it was sent
                job = futures[future]
                yield failed_run(plan.settings[job], plan.problems[job.problem], error)


def missing_jobs(folder: Folder, plan: Plan, *, retry: bool, replace: bool) -> list[Job]:
    """The jobs of a plan that the folder holds no run of; see `make_missing_runs`."""
    stored = folder.load()
    changed = {
        job: stored[job].settings
        for job, settings in plan.settings.items()
        if job in stored and stored[job].settings != settings
    }
    if changed and not replace:
        job, before = next(iter(changed.items()))
        again = "--replace" if folder.option.startswith("--") else "replace=True"
        raise ModelError(
            f"{len(changed)} of the runs in {str(folder.path)!r} were made in another way, such "
            f"as {job} ({differences(before, plan.settings[job])}): use another "
            f"{folder.option}, or pass {again} to make them again"
        )
    return [
        job
        for job in plan.settings
        if job not in stored or job in changed or (retry and stored[job].failed)
    ]


def runs_of(runs: Iterable[Run], problems: Iterable[str], strategies: Iterable[str]) -> list[Run]:
    """The runs of some strategies on some problems."""
    return [run for run in runs if run.job.problem in problems and run.job.strategy in strategies]


# --- compare --------------------------------------------------------------------------------------
# `compare`: strategies side by side on a user's own problems.

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
    """Points of the initial design, as another strategy would choose, and the rest."""
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

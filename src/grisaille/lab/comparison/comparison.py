"""The outcome of a comparison: every run, tables, figures and the report."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from grisaille.errors import ModelError, counted, cut, shortened
from grisaille.lab.comparison.figures import draw, draw_regret
from grisaille.lab.comparison.plan import LeftOut, by_reason
from grisaille.lab.comparison.results import (
    Results,
    final_value,
    quantile,
    resolution,
    seconds_per_suggestion,
)
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

if TYPE_CHECKING:
    import pandas


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

"""The short table of a comparison: a line for each strategy on each problem."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grisaille.comparison.plan import LeftOut, by_reason
from grisaille.comparison.regret_curves import final_value, quantile, seconds_per_suggestion
from grisaille.comparison.report import how_regret_is_measured
from grisaille.comparison.results import Results
from grisaille.comparison.tables import number, ratio_text, solved_at
from grisaille.errors import counted

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

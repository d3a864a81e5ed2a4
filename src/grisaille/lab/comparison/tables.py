"""Tables and profiles of a comparison, as CSV and Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from grisaille.lab.comparison.plan import LeftOut, by_reason
from grisaille.lab.comparison.run import (
    Group,
    Results,
    Run,
    first_at_most,
    quantile,
    regret_curve,
    resolution,
    seconds_per_suggestion,
)

# --- profiles -------------------------------------------------------------------------------------
# Data and performance profiles over many problems, and the evaluations that a strategy saves.

Array = NDArray[np.float64]
Times = dict[str, Array]
"""Evaluations that each strategy needs for each case, infinite where it does not get there."""


def solution_times(
    results: Results, problems: Sequence[str], strategies: Sequence[str], tau: float
) -> Times:
    """Evaluations after the initial design until regret <= tau * start, by strategy, (cases,).

    A case is a problem with a seed that all the strategies have run. The convergence test is that
    of Moré and Wild (2009), f(x) <= f_L + tau (f(x_0) - f_L), with the known optimum as f_L and the
    best point of the initial design as x_0.

    Args:
        results: The runs.
        problems: The problems that count.
        strategies: The strategies.
        tau: The part of the first regret that may be left.
    """
    times: dict[str, list[float]] = {name: [] for name in strategies}
    for problem in problems:
        starts = results.starts(problem)
        seeds = [results.group(problem, name).seeds for name in strategies]
        for seed in sorted(set.intersection(*(set(s) for s in seeds))):
            for name, runs in zip(strategies, seeds, strict=True):
                target = max(tau * starts[seed], resolution(runs[seed]))
                times[name].append(first_at_most(regret_curve(runs[seed]), target))
    return {name: np.array(values) for name, values in times.items()}


def data_profile(times: Array, evaluations: Array) -> Array:
    """Share of cases solved within each number of evaluations (Moré and Wild 2009)."""
    return np.asarray((times[None, :] <= evaluations[:, None]).mean(1))


def performance_profile(times: Times, ratios: Array) -> Times:
    """Share of cases solved within each multiple of what the quickest strategy needs.

    rho_s(alpha) = |{p : t_ps <= alpha min_s t_ps}| / |P| (Dolan and Moré 2002). A case
    that the initial design solves counts as one evaluation, so that ratios are finite.

    Args:
        times: Evaluations needed, by strategy, (cases,).
        ratios: The multiples alpha, (A,).

    Returns:
        Shares by strategy, (A,).
    """
    counted = {name: np.maximum(values, 1.0) for name, values in times.items()}
    best = np.min(list(counted.values()), axis=0)
    return {
        name: np.asarray(((values <= ratios[:, None] * best) & np.isfinite(values)).mean(1))
        for name, values in counted.items()
    }


@dataclass(frozen=True, slots=True)
class Saving:
    """How many times as many evaluations a baseline needs to reach its own final regret.

    Attributes:
        problem: The problem.
        target: The baseline's median final regret.
        baseline: Evaluations after the initial design until its median curve is there.
        reference: The same for the reference; infinite if it never is.
        ratio: Their quotient, where the initial design counts as 1; 0 if the reference never gets
            there; nan if the baseline finds no feasible point.
        ratio_in_all: The quotient with the initial design counted too.
    """

    problem: str
    target: float
    baseline: float
    reference: float
    ratio: float
    ratio_in_all: float


def savings(results: Results, reference: str, baseline: str) -> list[Saving]:
    """What the reference saves against a baseline, on each problem that both have run.

    Only seeds that both have run count.
    """
    found = []
    for problem in results.problems:
        ours, theirs = (results.group(problem, name).seeds for name in (reference, baseline))
        seeds = sorted(set(ours) & set(theirs))
        if not seeds:
            continue
        curve, other = (
            quantile(np.array([regret_curve(runs[seed]) for seed in seeds]), 0.5)
            for runs in (ours, theirs)
        )
        # A target below what is known of the optimum would be a matter of luck.
        target = max(float(other[-1]), resolution(ours[seeds[0]]))
        needs, saves = first_at_most(other, target), first_at_most(curve, target)
        initial = ours[seeds[0]].initial
        if np.isinf(target):
            ratio = ratio_in_all = np.nan
        else:
            ratio = max(needs, 1.0) / max(saves, 1.0)
            ratio_in_all = (needs + initial) / (saves + initial)
        found.append(Saving(problem, target, needs, saves, ratio, ratio_in_all))
    return found


# --- tables ---------------------------------------------------------------------------------------
# Tables of a comparison: a CSV file with one line per run, and Markdown tables.


@dataclass(frozen=True, slots=True)
class ComparisonConstants:
    """The constants of tables of a comparison.

    Attributes:
        solved: A case is solved if at most this part of the regret of the initial design is left. A
            choice.
        tie: Medians that are closer are a tie. A choice.
        every: Evaluations between columns. A choice of layout.
    """

    solved: float = 1e-2
    tie: float = 0.01
    every: int = 10


COMPARISON = ComparisonConstants()


def runs_csv(results: Results) -> str:
    """Every run, one line each."""
    most = max((run.evaluations for run in results.runs), default=0)
    marks = range(COMPARISON.every, most + 1, COMPARISON.every)
    header = [
        *("problem", "structure", "strategy", "seed", "ended", "initial", "evaluations"),
        *("optimum", "regret_initial", *(f"regret_{k}" for k in marks), "regret_final"),
        *("constrained_regret_final", "evaluations_to_one_percent", "seconds_per_suggestion"),
        *("seconds", "message"),
    ]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    starts = {problem: results.starts(problem) for problem in results.problems}
    for run in sorted(results.runs, key=lambda run: run.job):
        known = [run.job.problem, run.structure, run.job.strategy, run.job.seed, run.ended]
        known += [run.initial, run.evaluations, f"{run.optimum:.9g}"]
        if run.failed:
            numbers = [""] * (len(marks) + 5)
        else:
            curve = regret_curve(run)
            values = [curve[0], *(curve[k] if k < len(curve) else np.nan for k in marks)]
            values += [
                curve[-1],
                run.steps[-1].constrained_regret,
                solved_at(run, starts[run.job.problem]),
                seconds_per_suggestion(run),
            ]
            numbers = ["" if np.isnan(v) else f"{v:.6g}" for v in values]
        writer.writerow([*known, *numbers, f"{run.seconds:.1f}", run.message])
    return text.getvalue()


def final_table(results: Results, problem: str, order: Sequence[str]) -> str:
    """Final regrets on one problem, best median first."""
    marks = [k for k in (10, 20) if k < results.of(problem)[0].evaluations]
    lines = [
        f"| strategy | seeds | median regret | quartiles | worst |"
        f"{''.join(f' after {k} |' for k in marks)} constrained regret | solved | "
        "s per suggestion |",
        "|---|---|---|---|---|" + "---|" * (len(marks) + 3),
    ]
    failed = {run.job.strategy for run in results.of(problem) if run.failed}
    names = [*results.strategies(order, [problem])]
    groups = {name: results.group(problem, name) for name in names}
    for name in sorted(groups, key=lambda name: float(quantile(groups[name].final, 0.5))):
        lines.append(_final_line(results, problem, name, groups[name], marks))
    for name in sorted(failed.difference(names)):
        count = _failures(results, problem, name)
        lines.append(f"| {name} | 0, {count} failed |" + " |" * (len(marks) + 6))
    return "\n".join(lines) + "\n"


def _final_line(
    results: Results, problem: str, name: str, group: Group, marks: Sequence[int]
) -> str:
    final, curves = group.final, group.curves
    low, middle, high = (float(quantile(final, q)) for q in (0.25, 0.5, 0.75))
    starts = results.starts(problem)
    solved = sum(np.isfinite(solved_at(run, starts)) for run in group.runs)
    seconds = np.median([seconds_per_suggestion(run) for run in group.runs])
    constrained = quantile(np.array([r.steps[-1].constrained_regret for r in group.runs]), 0.5)
    count = _failures(results, problem, name)
    seeds = f"{len(final)}, {count} failed" if count else str(len(final))
    shown = f"**{name}**" if name == results.reference else name
    after = "".join(f" {number(float(quantile(curves[:, k], 0.5)))} |" for k in marks)
    return (
        f"| {shown} | {seeds} | {number(middle)} | {number(low)} to {number(high)} | "
        f"{number(float(final.max()))} |{after} {number(float(constrained))} | "
        f"{solved} of {len(final)} | {number(seconds)} |"
    )


@dataclass(frozen=True, slots=True)
class Duel:
    """The reference against one rival on one problem, on the seeds that both have run.

    Attributes:
        ours: Median final regret of the reference; what is below the resolution is raised to it.
        theirs: The same of the rival.
        wins: Seeds on which the reference ends lower.
        losses: Seeds on which the rival does.
        chance: How likely so uneven a score is between equals (two-sided sign test).
    """

    problem: str
    rival: str
    seeds: int
    ours: float
    theirs: float
    wins: int
    losses: int
    chance: float

    @property
    def ratio(self) -> float:
        """Median of the reference over that of the rival; nan if both came to nothing feasible."""
        if np.isinf(self.ours) and np.isinf(self.theirs):
            return np.nan
        return self.ours / self.theirs

    @property
    def verdict(self) -> str:
        """Better, tied or worse, by the medians."""
        if not abs(self.ratio - 1) > COMPARISON.tie:  # also when neither has found anything
            return "tied"
        return "better" if self.ratio < 1 else "worse"


def duels(results: Results, rival: str) -> list[Duel]:
    """The reference against one rival, on every problem that both have run."""
    found = []
    for problem in results.problems:
        ours, theirs = (results.group(problem, name).seeds for name in (results.reference, rival))
        seeds = sorted(set(ours) & set(theirs))
        if not seeds:
            continue
        finals = [
            [max(regret_curve(runs[s])[-1], resolution(runs[s])) for s in seeds]
            for runs in (ours, theirs)
        ]
        wins = sum(a < b for a, b in zip(*finals, strict=True))
        losses = sum(a > b for a, b in zip(*finals, strict=True))
        chance = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
        first, second = (float(quantile(np.array(values), 0.5)) for values in finals)
        found.append(Duel(problem, rival, len(seeds), first, second, wins, losses, chance))
    return found


def duel_table(results: Results, order: Sequence[str]) -> str:
    """The reference against each rival on each problem, and a line for each rival in sum."""
    reference = results.reference
    rivals = [name for name in results.strategies_of_all(order) if name != reference]
    matches = {rival: found for rival in rivals if (found := duels(results, rival))}
    if not matches:
        return f"There is nothing to compare {reference} with.\n"
    text = [
        "| rival | problems | better | tied | worse | no worse on | largest ratio | seeds won | "
        "lost |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for rival, found in matches.items():
        counts = [sum(d.verdict == v for d in found) for v in ("better", "tied", "worse")]
        ratios = [d.ratio for d in found if not np.isnan(d.ratio)]
        text.append(
            f"| {rival} | {len(found)} | {counts[0]} | {counts[1]} | {counts[2]} | "
            f"{100 * (counts[0] + counts[1]) / len(found):.0f} % | "
            f"{ratio_text(max(ratios, default=np.nan))} | {sum(d.wins for d in found)} | "
            f"{sum(d.losses for d in found)} |"
        )
    text += [
        "",
        f"| problem | rival | seeds | {reference} | rival | ratio | {reference} is | "
        "seeds won, lost | by chance |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for problem in results.problems:
        for found in matches.values():
            text += [_duel_line(duel) for duel in found if duel.problem == problem]
    return "\n".join(text) + "\n"


def _duel_line(duel: Duel) -> str:
    return (
        f"| {duel.problem} | {duel.rival} | {duel.seeds} | {number(duel.ours)} | "
        f"{number(duel.theirs)} | {ratio_text(duel.ratio)} | {duel.verdict} | "
        f"{duel.wins}, {duel.losses} | {duel.chance:.3f} |"
    )


def saving_table(results: Results) -> str:
    """Evaluations that the baseline and the reference need to reach the same regret."""
    reference, baseline = results.reference, results.baseline
    found = savings(results, reference, baseline)
    if not found:
        return f"No problem has runs of both {reference} and {baseline}.\n"
    text = [
        f"| problem | {baseline}'s median final regret | {baseline} needs | {reference} needs | "
        "ratio | ratio with the initial design |",
        "|---|---|---|---|---|---|",
    ]
    for line in found:
        needs = [
            f"{v:.0f}" if np.isfinite(v) else "not reached" for v in (line.baseline, line.reference)
        ]
        text.append(
            f"| {line.problem} | {number(line.target)} | {needs[0]} | {needs[1]} | "
            f"{ratio_text(line.ratio)} | {ratio_text(line.ratio_in_all)} |"
        )
    middle = [
        float(np.median(values)) if (values := [v for v in column if not np.isnan(v)]) else np.nan
        for column in ([s.ratio for s in found], [s.ratio_in_all for s in found])
    ]
    text.append(f"| median | | | | {ratio_text(middle[0])} | {ratio_text(middle[1])} |")
    return "\n".join(text) + "\n"


def left_out_table(left_out: Sequence[LeftOut]) -> str:
    """Which strategies do not apply to which problems, and why."""
    if not left_out:
        return "Every strategy applies to every problem.\n"
    lines = ["| strategy | problems | why not |", "|---|---|---|"]
    for (strategy, reason), problems in by_reason(left_out).items():
        lines.append(f"| {strategy} | {', '.join(problems)} | {reason} |")
    return "\n".join(lines) + "\n"


def number(value: float) -> str:
    """A number as tables show it, with two significant digits."""
    if np.isnan(value):
        return "n/a"
    if np.isinf(value):
        return "none feasible" if value > 0 else "-inf"
    return f"{value:.2g}" if 1e-3 <= abs(value) < 100 or value == 0 else f"{value:.1e}"


def ratio_text(value: float) -> str:
    """A ratio of regrets or of evaluations."""
    return "n/a" if np.isnan(value) else f"{value:.3g}"


def solved_at(run: Run, starts: Mapping[int, float]) -> float:
    """Evaluations after the initial design until 1 % of the first regret is left."""
    target = max(COMPARISON.solved * starts[run.job.seed], resolution(run))
    return first_at_most(regret_curve(run), target)


def _failures(results: Results, problem: str, strategy: str) -> int:
    return sum(r.failed and r.job.strategy == strategy for r in results.of(problem))

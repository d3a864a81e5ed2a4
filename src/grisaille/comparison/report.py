"""The report of a comparison: `runs.csv`, `table.md` and the figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grisaille.comparison.figures import draw
from grisaille.comparison.plan import LeftOut
from grisaille.comparison.regret_curves import resolution
from grisaille.comparison.results import Results
from grisaille.comparison.tables import (
    duel_table,
    final_table,
    left_out_table,
    runs_csv,
    saving_table,
)


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

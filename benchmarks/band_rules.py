"""How far should the audit widen bands? Several rules on the same histories.

Every feasible problem of the development half is solved with bare defaults (noise left out, 25
trials). After 15 trials, and after all of them, the auxiliary problem is solved again with bands
widened by each rule. A bound is wrong if it lies above the optimum by more than 1e-6 of the
objective's scale. The price of a rule is its gap, as a multiple of the gap without widening, on
those histories whose bound needs no widening.

Run by hand: `python -m benchmarks.band_rules [--seeds 1] [--processes 2]`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

import grisaille as gs
from benchmarks.collection import development
from benchmarks.parallel_jobs import run_jobs
from benchmarks.results_folder import Row, write_result, write_rows
from grisaille.array_types import Array
from grisaille.belief.audit import standardized_errors
from grisaille.belief.knowledge import Knowledge
from grisaille.records import History, Situation
from grisaille.search.multistart import MultiStart
from grisaille.strategies.auxiliary_problem import solve_auxiliary

TRIALS, EARLY, BETA = 25, 15, 2.0

Rule = Callable[[Array], float]
"""Gives a factor for bands of half-width beta, from the largest error of each answer, sorted."""

RULES: dict[str, Rule] = {
    "none": lambda _errors: 1.0,
    "beta 3": lambda _errors: 1.5,
    "largest": lambda errors: errors[-1] / BETA,
    "second largest": lambda errors: errors[-2] / BETA if len(errors) > 1 else 1.0,
    "95 % quantile": lambda errors: float(np.quantile(errors, 0.95)) / BETA,
    "root mean square": lambda errors: float(np.sqrt(np.mean(errors**2))),
}

Job = tuple[str, int]


def run_one(job: Job) -> list[Row]:
    """The bounds of every rule, early and late in one run."""
    name, seed = job
    entry = next(e for e in development() if e.name == name)
    problem = entry.make(None).problem
    result = problem.solve(trials=TRIALS, seed=seed, progress=False)
    trials = result.history.trials
    return [row for n in (EARLY, TRIALS) for row in _bounds(entry.optimum, job, trials[:n], result)]


def _bounds(optimum: float, job: Job, trials: tuple[gs.Trial, ...], result: gs.Result) -> list[Row]:
    problem, history = result.problem, History(trials)
    knowledge = Knowledge(Situation(problem, history, job[1]), BETA)
    errors = standardized_errors(problem.program, history, knowledge.answered.beliefs)
    sorted_errors = {box: np.sort(e.max(1)) for box, e in errors.items()}
    objectives = np.array([t.objective for t in trials])
    spread = float(objectives[np.isfinite(objectives)].std())
    feasible = [t.objective for t in trials if t.violation <= 0]
    rows = []
    for rule, factor in RULES.items():
        factors = {b: max(1.0, factor(e)) if len(e) else 1.0 for b, e in sorted_errors.items()}
        wider = knowledge.plausible.scaled(factors)
        solution = solve_auxiliary(wider, knowledge, None, MultiStart())
        bound = solution.value if solution.feasible else np.inf
        minimum = problem.sense * optimum
        rows.append(
            {
                "problem": job[0],
                "seed": job[1],
                "trials": len(trials),
                "rule": rule,
                "factor": max(factors.values()),
                "bound": bound,
                "optimum": minimum,
                "gap": min(feasible, default=np.nan) - bound,
                "wrong": bool(bound > minimum + 1e-6 * max(spread, abs(optimum))),
            }
        )
    return rows


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    names = [entry.name for entry in development() if entry.feasible]
    jobs = [(name, seed) for seed in range(options.seeds) for name in names]
    found = run_jobs(run_one, jobs, processes=options.processes)
    rows = [row for some in found for row in some]
    write_rows("band_rules", rows)
    summary = summarize(rows)
    for rule, numbers in summary.items():
        print(rule, numbers)
    write_result("band_rules", summary)


def summarize(rows: list[Row]) -> dict[str, Row]:
    """Wrong bounds and the price of each rule."""
    key = ("problem", "seed", "trials")
    unwidened = {tuple(r[k] for k in key): r for r in rows if r["rule"] == "none"}
    right = {k for k, r in unwidened.items() if not r["wrong"] and r["gap"] > 0}
    summary: dict[str, Row] = {}
    for rule in RULES:
        some = {tuple(r[k] for k in key): r for r in rows if r["rule"] == rule}
        ratios = [some[k]["gap"] / unwidened[k]["gap"] for k in right]
        summary[rule] = {
            "bounds": len(some),
            "wrong": sum(r["wrong"] for r in some.values()),
            "median price": round(float(np.median(ratios)), 3),
            "90 % price": round(float(np.quantile(ratios, 0.9)), 3),
        }
    return summary


if __name__ == "__main__":
    main()

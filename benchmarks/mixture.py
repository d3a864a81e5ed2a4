"""Does every point that is tried meet the equality of a mixture, and how near is the best one?

The problem is the solvent blend (docs/problems.md): four fractions that sum to one. The methods are
the default and LogEI of this library. LogEI learns its objective, so it is given the price of the
blend as one more black box. For each seed we store the largest |sum - 1| of all points that were
ever asked for, the best feasible value, and its regret in percent of the optimum.

Run by hand: `python -m benchmarks.mixture [--seeds 10] [--trials 30] [--methods default LogEI]
[--processes 1]`.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np
import torch

import grisaille as gs
from benchmarks.parallel_jobs import run_jobs
from benchmarks.results_folder import Row, write_result
from benchmarks.run_cases import print_row
from grisaille.lab.problems import catalogue
from grisaille.lab.problems.plants import PRICES, solubility, viscosity

METHODS = ["default", "LogEI"]
NEAR = 1.0
"""Percent of the optimum: what counts as near it."""
EXACT = 1e-9
"""By how much a point may miss the equality."""

Job = tuple[str, int, int]
"""Method, seed and trials."""


def price(fractions: np.ndarray) -> float:
    """What a kilogram of a blend costs."""
    return float(PRICES @ fractions)


def learned_blend() -> gs.Problem:
    """The solvent blend for a method that learns its objective."""
    fractions = gs.Variable("fractions", 4, lower=0, upper=1)
    costs, thick, dissolves = (
        gs.BlackBox(function, noise=0) for function in (price, viscosity, solubility)
    )
    return gs.Problem(
        minimize=costs(fractions),
        subject_to=[fractions.sum() == 1, thick(fractions) >= 0.6, dissolves(fractions) >= 80],
    )


def run_one(job: Job) -> Row:
    """One method with one seed."""
    torch.set_num_threads(1)
    method, seed, trials = job
    known = catalogue()["solvent_blend"](seed)
    problem, strategy = (
        (known.problem, None) if method == "default" else (learned_blend(), gs.LogEI())
    )
    study = gs.Study(problem, strategy=strategy, seed=seed)
    started = time.process_time()
    result = study.run(trials, progress=False)
    seconds = time.process_time() - started
    asked = [entry.suggestion.x for entry in study.state.trials.values()]
    asked += [answer.inputs for answer in result.history.observations()]
    missed = max(abs(float(point.sum()) - 1) for point in asked)
    value, violation = known.measure(result.x)
    feasible = result.success and violation <= 0
    return {
        "method": method,
        "seed": seed,
        "trials": trials,
        "largest_miss": missed,
        "feasible": feasible,
        "value": value,
        "violation": violation,
        "regret_percent": 100 * known.regret(value) / abs(known.optimum) if feasible else None,
        "seconds_per_suggestion": round(seconds / trials, 3),
        "x": result.x.tolist(),
    }


def summarize(rows: list[Row]) -> list[Row]:
    """For each method: how many are feasible and near, and the largest miss of the equality."""
    lines = []
    for method in METHODS:
        some = [row for row in rows if row["method"] == method]
        if not some:
            continue
        regrets = [
            np.inf if row["regret_percent"] is None else row["regret_percent"] for row in some
        ]
        median = float(np.median(regrets))
        lines.append(
            {
                "method": method,
                "seeds": len(some),
                "exact": sum(row["largest_miss"] <= EXACT for row in some),
                "largest_miss": max(row["largest_miss"] for row in some),
                "feasible": sum(row["feasible"] for row in some),
                "within_1_percent": sum(regret <= NEAR for regret in regrets),
                "median_regret_percent": median if np.isfinite(median) else None,
            }
        )
    return lines


def print_table(lines: list[Row]) -> None:
    """Print the summary as a table."""
    print("method    on the equality  largest miss  feasible  within 1 %  median regret")
    for line in lines:
        seeds, median = line["seeds"], line["median_regret_percent"]
        print(
            f"{line['method']:9} {line['exact']:>9}/{seeds:<6}{line['largest_miss']:>12.1e}"
            f"{line['feasible']:>7}/{seeds:<5}{line['within_1_percent']:>6}/{seeds:<5}"
            f"{'none feasible' if median is None else f'{median:.3g} %':>13}"
        )


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # for the processes that are started
    jobs = [
        (method, seed, options.trials)
        for seed in range(options.seeds)
        for method in options.methods
    ]
    rows = run_jobs(run_one, jobs, print_row, processes=options.processes)
    rows = sorted(rows, key=lambda row: (METHODS.index(row["method"]), row["seed"]))
    lines = summarize(rows)
    print_table(lines)
    write_result("mixture", {"summary": lines, "rows": rows})


if __name__ == "__main__":
    main()

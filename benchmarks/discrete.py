"""How near does each method come to the optimum of problems with whole numbers and labels?

The problems are the pressure vessel, the speed reducer, the choice of a catalyst and the choice of
additives (docs/problems.md). The methods are the default and LogEI of this library, Optuna's GP
sampler and, where it is installed, SMAC, which is not among our dependencies. For each seed we
store the best feasible value, its regret in percent of the optimum, and the processor seconds per
suggestion.

Run by hand: `python -m benchmarks.discrete [--seeds 10] [--trials 40] [--problems pressure_vessel]
[--methods default LogEI] [--processes 1]`. Runs that are not made again keep what is stored.
SMAC runs in an environment of its own that sees the packages of ours, through a .pth file.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import time
from importlib.metadata import version

import numpy as np
import torch

import grisaille as gs
from benchmarks.mixed_rivals import run_optuna, run_smac
from benchmarks.parallel_jobs import run_jobs
from benchmarks.results_folder import RESULTS, Row, write_result
from benchmarks.run_cases import print_row
from grisaille.lab.problems import KnownProblem, catalogue
from grisaille.language.program import Program

PROBLEMS = ["pressure_vessel", "speed_reducer", "catalyst_choice", "additive_choice"]
OPTUNA, SMAC = "Optuna GPSampler", "SMAC"
STRATEGIES = {"default": None, "LogEI": gs.LogEI()}
RIVALS = {OPTUNA: run_optuna, SMAC: run_smac}
METHODS = [*STRATEGIES, *RIVALS]
NEAR = 1.0
"""Percent of the optimum: what counts as near it."""

Job = tuple[str, str, int, int]
"""Problem, method, seed and trials."""


def run_one(job: Job) -> Row:
    """One method on one problem with one seed."""
    torch.set_num_threads(1)
    problem, method, seed, trials = job
    known = catalogue()[problem](seed)
    started = time.process_time()
    if method in RIVALS:
        best = RIVALS[method](known, trials, seed)
    else:
        best = _run_ours(known, method, trials, seed)
    seconds = time.process_time() - started
    value, violation = (None, None) if best is None else known.measure(best)
    feasible = value is not None and violation is not None and violation <= 0
    tool = {OPTUNA: "optuna", SMAC: "smac"}.get(method, "grisaille")
    return {
        "problem": problem,
        "method": method,
        "seed": seed,
        "trials": trials,
        "feasible": feasible,
        "value": value,
        "violation": violation,
        "regret_percent": 100 * known.regret(value) / abs(known.optimum) if feasible else None,
        "seconds_per_suggestion": round(seconds / trials, 3),
        "x": None if best is None else [float(entry) for entry in best],
        "version": f"{tool} {version(tool)}",
    }


def _run_ours(known: KnownProblem, method: str, trials: int, seed: int) -> np.ndarray | None:
    """The recommended point of one of our strategies; None if it says that none is feasible."""
    problem = known.problem
    if method == "LogEI" and not Program([problem.objective]).calls:
        problem = with_learned_objective(problem)
    result = problem.solve(trials, strategy=STRATEGIES[method], seed=seed, progress=False)
    return result.x if result.success else None


def with_learned_objective(problem: gs.Problem) -> gs.Problem:
    """The same problem of numbers with its known objective as a black box: LogEI learns it."""
    program = Program([problem.objective], problem.variables)

    def objective(*values: float | np.ndarray) -> float:
        point = np.concatenate([np.ravel(value).astype(float) for value in values])
        (value,) = program.run(torch.tensor(point).unsqueeze(0), lambda call, states: states)
        return float(value)

    value = gs.BlackBox(objective, noise=0)(*problem.variables)
    return gs.Problem(minimize=value, subject_to=problem.constraints)


def summarize(rows: list[Row]) -> list[Row]:
    """For each problem and method: how many are feasible and near, and the median regret."""
    lines = []
    for problem in PROBLEMS:
        for method in METHODS:
            some = [row for row in rows if (row["problem"], row["method"]) == (problem, method)]
            if not some:
                continue
            # A run without a feasible point is worse than every other one.
            regrets = [
                np.inf if row["regret_percent"] is None else row["regret_percent"] for row in some
            ]
            median = float(np.median(regrets))
            lines.append(
                {
                    "problem": problem,
                    "method": method,
                    "seeds": len(some),
                    "feasible": sum(row["feasible"] for row in some),
                    "within_1_percent": sum(regret <= NEAR for regret in regrets),
                    "median_regret_percent": median if np.isfinite(median) else None,
                    "median_seconds_per_suggestion": float(
                        np.median([row["seconds_per_suggestion"] for row in some])
                    ),
                }
            )
    return lines


def print_table(lines: list[Row]) -> None:
    """Print the summary as a table."""
    print("problem           method            feasible  within 1 %  median regret  s/suggestion")
    for line in lines:
        seeds, median = line["seeds"], line["median_regret_percent"]
        print(
            f"{line['problem']:17} {line['method']:17} {line['feasible']:>4}/{seeds:<4} "
            f"{line['within_1_percent']:>6}/{seeds:<5}"
            f"{'none feasible' if median is None else f'{median:.3g} %':>13} "
            f"{line['median_seconds_per_suggestion']:>12.2f}"
        )


def stored_rows() -> list[Row]:
    """What earlier runs stored."""
    store = RESULTS / "discrete.json"
    return json.loads(store.read_text(encoding="utf-8"))["rows"] if store.exists() else []


def main() -> None:
    """Run, print and store."""
    available = [name for name in METHODS if name != SMAC or importlib.util.find_spec("smac")]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=PROBLEMS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=available)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # for the processes that are started
    jobs = [
        (problem, method, seed, options.trials)
        for seed in range(options.seeds)
        for problem in options.problems
        for method in options.methods
    ]
    made = run_jobs(run_one, jobs, print_row, processes=options.processes)
    again = {(row["problem"], row["method"]) for row in made}
    kept = [row for row in stored_rows() if (row["problem"], row["method"]) not in again]
    rows = sorted(
        [*kept, *made],
        key=lambda row: (
            PROBLEMS.index(row["problem"]),
            METHODS.index(row["method"]),
            row["seed"],
        ),
    )
    lines = summarize(rows)
    print_table(lines)
    write_result("discrete", {"summary": lines, "rows": rows})


if __name__ == "__main__":
    main()

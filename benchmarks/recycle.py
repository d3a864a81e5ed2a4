"""How many calls of each simulator does a problem with a loop need?

The problems are Sellar's and a flowsheet with a recycle (docs/problems.md). The default of this
library knows the loop: what comes back is an unknown with an equation. LogEI sees the converged
loop as a function of the decisions, and each of its trials calls the simulators until the loop has
converged. After each trial we close the loop of the recommended decisions exactly. We store how
many calls of each simulator were made when these decisions are near the optimum for the first time:
1e-3 for Sellar's problem, 1 % for the flowsheet, and constraints broken by 2e-3 at most.

Run by hand: `python -m benchmarks.recycle [--seeds 10] [--trials 40] [--problems sellar]
[--methods default LogEI] [--processes 1]`.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

import grisaille as gs
from benchmarks.converged_loops import converged_recycle_loop, converged_sellar
from benchmarks.parallel_jobs import run_jobs
from benchmarks.results_folder import Row, write_result
from benchmarks.run_cases import print_row
from grisaille.problems import catalogue
from grisaille.problems.coupled_disciplines import coupled
from grisaille.problems.recycle import recycle_of

BROKEN = 2e-3
"""How far the exact constraints may be broken; unknowns are only known up to a tolerance."""
METHODS = ["default", "LogEI"]

Job = tuple[str, str, int, int]
"""Problem, method, seed and trials."""


@dataclass(frozen=True)
class Case:
    """One problem: its converged form, how near is near, and how its loop is closed exactly."""

    converged: Callable[[Counter[str]], gs.Problem]
    near: float
    close: Callable[[dict[str, Any]], dict[str, Any]]


def _close_sellar(values: dict[str, Any]) -> dict[str, Any]:
    y1, y2 = coupled(values["z"], values["x"])
    return {**values, "y1": y1, "y2": y2}


def _close_recycle(values: dict[str, Any]) -> dict[str, Any]:
    decisions = {name: values[name] for name in ("temperature", "purge", "reflux")}
    return {**values, "recycle": recycle_of(**decisions)}


CASES = {
    "sellar": Case(converged_sellar, 1e-3, _close_sellar),
    "recycle_loop": Case(converged_recycle_loop, 7.75, _close_recycle),
}


def run_one(job: Job) -> Row:
    """One method on one problem with one seed, until it is near or its trials are used up."""
    torch.set_num_threads(1)
    name, method, seed, trials = job
    known, case = catalogue()[name](seed), CASES[name]
    calls: Counter[str] = Counter()
    if method == "default":
        problem, strategy = known.problem, None
        for box in problem.boxes:
            box.fn = partial(_counted, calls, box.name, box.fn)
    else:
        problem, strategy = case.converged(calls), gs.LogEI()
    truth = catalogue()[name](seed)  # whose calls do not count
    study = gs.Study(problem, strategy=strategy, seed=seed)
    regret, broken, count = np.inf, np.inf, 0
    for count in range(1, trials + 1):
        result = study.run(count, progress=False)
        if result.x is None:
            continue
        try:
            values = case.close(_by_name(problem, result.x))
        except ValueError:  # nothing closes the loop there
            continue
        flat = [np.ravel(values[variable.name]) for variable in truth.problem.variables]
        value, broken = truth.measure(np.concatenate(flat))
        regret = truth.regret(value)
        if abs(regret) <= case.near and broken <= BROKEN:
            break
    return {
        "problem": name,
        "method": method,
        "seed": seed,
        "near": bool(abs(regret) <= case.near and broken <= BROKEN),
        "trials": count,
        "calls": dict(calls),
        "total_calls": sum(calls.values()),
        "regret": regret if np.isfinite(regret) else None,
        "violation": broken if np.isfinite(broken) else None,
    }


def _counted(calls: Counter[str], name: str, function: Callable[..., Any], *inputs: Any) -> Any:
    calls[name] += 1
    return function(*inputs)


def _by_name(problem: gs.Problem, x: np.ndarray) -> dict[str, Any]:
    """The variables of a flat design point by name."""
    values, start = {}, 0
    for variable in problem.variables:
        part = x[start : start + variable.size]
        values[variable.name] = part.reshape(variable.shape) if variable.shape else float(part[0])
        start += variable.size
    return values


def summarize(rows: list[Row]) -> list[Row]:
    """For each problem and method: how many come near, and their median calls."""
    lines = []
    for name in CASES:
        for method in METHODS:
            some = [row for row in rows if (row["problem"], row["method"]) == (name, method)]
            if some:
                # Who never comes near needs more calls than everybody else.
                totals = [row["total_calls"] if row["near"] else np.inf for row in some]
                median = float(np.median(totals))
                lines.append(
                    {
                        "problem": name,
                        "method": method,
                        "seeds": len(some),
                        "near": sum(row["near"] for row in some),
                        "median_calls": median if np.isfinite(median) else None,
                    }
                )
    return lines


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--problems", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # for the processes that are started
    jobs = [
        (name, method, seed, options.trials)
        for seed in range(options.seeds)
        for name in options.problems
        for method in options.methods
    ]
    rows = run_jobs(run_one, jobs, print_row, processes=options.processes)
    lines = summarize(rows)
    for line in lines:
        print(line)
    write_result("recycle", {"summary": lines, "rows": rows})


if __name__ == "__main__":
    main()

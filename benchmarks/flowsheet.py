"""How near does each method come to the optimum of a flowsheet, in 40 trials of bare defaults?

The flowsheet has six variables, four constraints, of which three are active, and a cliff where the
reactor extinguishes (docs/problems.md). The methods are the default, EI-CF and LogEI of this
library, and Optuna's GP sampler, which sees the objective and the constraints as numbers. For each
seed we store the best feasible profit, how far it is from the optimum of the fully known model, and
the processor seconds.

Run by hand: `python -m benchmarks.flowsheet [--only default] [--seeds 10] [--processes 1]`. Methods
that are not run keep the rows that are stored.
"""

from __future__ import annotations

import argparse
import csv
import time
from importlib.metadata import version

import numpy as np
import torch

import grisaille as gs
from benchmarks.parallel_jobs import run_jobs
from benchmarks.results_folder import RESULTS, Row, write_result, write_rows
from benchmarks.run_cases import Job, print_row
from grisaille.lab.problems import KnownProblem, flowsheet
from grisaille.lab.problems.known_problem import call_boxes
from grisaille.language.program import split_outputs

TRIALS = 40
BAR = 0.007
DEFAULT, OPTUNA = "default", "Optuna GPSampler"
STRATEGIES = {DEFAULT: None, "EICF": gs.EICF(), "LogEI": gs.LogEI()}
METHODS = [*STRATEGIES, OPTUNA]


def run_one(job: Job) -> Row:
    """One method with one seed."""
    torch.set_num_threads(1)
    method, seed = job
    known = flowsheet()
    started = time.process_time()
    run = _run_optuna if method == OPTUNA else _run_ours
    best = run(known, method, seed)
    seconds = time.process_time() - started
    profit, violation = (np.nan, np.nan) if best is None else known.measure(best)
    feasible = best is not None and violation <= 0
    return {
        "method": method,
        "seed": seed,
        "trials": TRIALS,
        "feasible": feasible,
        "profit": profit,
        "violation": violation,
        "relative_regret": known.regret(profit) / abs(known.optimum) if feasible else np.inf,
        "seconds": round(seconds, 1),
    }


def _run_ours(known: KnownProblem, method: str, seed: int) -> np.ndarray | None:
    """The recommended point of one of our strategies; None if it says that none is feasible."""
    result = known.problem.solve(TRIALS, strategy=STRATEGIES[method], seed=seed, progress=False)
    return result.x if result.success else None


def _run_optuna(known: KnownProblem, _method: str, seed: int) -> np.ndarray | None:
    """The best feasible point that Optuna's GP sampler tried, with its own defaults."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    program = known.problem.program
    names = [f"x{i}" for i in range(program.size)]

    def objective(trial: optuna.Trial) -> float:
        bounds = zip(names, program.lower, program.upper, strict=True)
        point = np.array([trial.suggest_float(*bound) for bound in bounds])
        outputs = program.run(torch.tensor(point).unsqueeze(0), call_boxes)
        minimized, constraints = split_outputs(outputs)
        for label, body in zip(known.problem.constraint_names, constraints[0], strict=True):
            trial.set_constraint(label, float(body))
        return float(minimized[0])

    study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=seed))
    study.optimize(objective, n_trials=TRIALS)
    for trial in sorted(study.trials, key=lambda trial: trial.value):
        point = np.array([trial.params[name] for name in names])
        if known.measure(point)[1] <= 0:
            return point
    return None


def summarize(rows: list[Row]) -> Row:
    """The bars: feasible with every seed, and near the optimum in the median."""
    summary: Row = {"optuna": version("optuna"), "bar": BAR}
    for method in METHODS:
        some = [row for row in rows if row["method"] == method]
        if some:
            regrets = [float(row["relative_regret"]) for row in some]
            summary[method] = {
                "seeds": len(some),
                "feasible": sum(str(row["feasible"]) == "True" for row in some),
                "median relative regret": float(np.median(regrets)),
                "worst relative regret": max(regrets),
                "median seconds": float(np.median([float(row["seconds"]) for row in some])),
            }
    ours = summary.get(DEFAULT)
    if ours is not None:
        near = ours["median relative regret"] <= BAR
        summary["met"] = bool(near and ours["feasible"] == ours["seeds"])
    return summary


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=METHODS, action="append", help="run only these")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    methods = options.only or METHODS
    jobs = [(method, seed) for method in methods for seed in range(options.seeds)]
    made = run_jobs(run_one, jobs, print_row, processes=options.processes)
    store = RESULTS / "flowsheet.csv"
    kept: list[Row] = []
    if store.exists():
        with store.open(encoding="utf-8", newline="") as file:
            kept = [row for row in csv.DictReader(file) if row["method"] not in methods]
    rows = sorted([*kept, *made], key=lambda row: METHODS.index(row["method"]))
    write_rows("flowsheet", rows)
    summary = summarize(rows)
    print(summary)
    write_result("flowsheet", summary)


if __name__ == "__main__":
    main()

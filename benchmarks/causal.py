"""What causal strategies reach within 30 interventions: ten seeds each, every number stored.

Run by hand: `python -m benchmarks.causal [--only NAME] [--seeds 10] [--processes 2]`. A trial is an
average over 100 runs of the system. Judged is the true expected objective, and the true violation,
of the point that is recommended after the last trial.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch

import grisaille as gs
from benchmarks.recording import write_result
from grisaille import problems
from grisaille.strategies.strategy import Strategy

RESULTS = Path(__file__).parent / "results"
TRIALS = 30


@dataclass(frozen=True)
class Case:
    """A strategy on a problem, and the largest true objective that meets the bar."""

    make: Callable[[int], problems.KnownProblem]
    strategy: Callable[[], Strategy]
    bar: float


CASES = {
    "toy_graph_cbo": Case(problems.toy_graph, gs.CBO, -2.10),
    "toy_graph_mcbo": Case(problems.toy_graph, gs.MCBO, -2.10),
    "constrained_toy_graph": Case(problems.constrained_toy_graph, gs.ConstrainedCBO, -0.50),
    "complete_graph_cbo": Case(problems.complete_graph, gs.CBO, -3.3),
}


def run_one(job: tuple[str, int]) -> dict[str, object]:
    """One strategy on one problem with one seed."""
    torch.set_num_threads(1)
    name, seed = job
    case = CASES[name]
    known = case.make(seed)
    started = time.perf_counter()
    result = known.problem.solve(TRIALS, strategy=case.strategy(), seed=seed, progress=False)
    seconds = time.perf_counter() - started
    objective, violation = known.measure(result.x)
    return {
        "case": name,
        "seed": seed,
        "trials": result.nit,
        "objective": objective,
        "violation": violation,
        "met": objective <= case.bar and violation == 0,
        "seconds": round(seconds, 1),
    }


def main() -> None:
    """Run all cases, print and store every number."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=CASES, action="append", help="run only these")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    names = options.only or list(CASES)
    jobs = [(name, seed) for name in names for seed in range(options.seeds)]
    rows: list[dict[str, object]] = []
    with get_context("spawn").Pool(options.processes) as pool:
        for row in pool.imap(run_one, jobs):
            rows.append(row)
            print(*row.values(), flush=True)
    for name in names:
        mine = [row for row in rows if row["case"] == name]
        with (RESULTS / f"causal_{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(mine[0]))
            writer.writeheader()
            writer.writerows(mine)
        values = [row["objective"] for row in mine]
        summary = {
            "trials": TRIALS,
            "bar": CASES[name].bar,
            "median": float(np.median(values)),  # type: ignore[arg-type]
            "met": f"{sum(bool(row['met']) for row in mine)} of {len(mine)}",
        }
        print(name, summary)
        write_result(f"causal_{name}", summary, module="causal")


if __name__ == "__main__":
    main()

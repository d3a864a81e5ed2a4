"""What causal strategies reach within 30 interventions: ten seeds each, every number stored.

Run by hand: `python -m benchmarks.causal [--only NAME] [--seeds 10] [--processes 2]`. A trial is an
average over 100 runs of the system. The bar is on the true expected objective and the
true violation of the point that is recommended after the last trial.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

import grisaille as gs
from benchmarks.results_folder import Row
from benchmarks.run_cases import Job, run_cases
from grisaille import problems
from grisaille.strategies.strategy import Strategy

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


def run_one(job: Job) -> Row:
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


def summarize(name: str, rows: list[Row]) -> Row:
    """One line for the table."""
    return {
        "trials": TRIALS,
        "bar": CASES[name].bar,
        "median": float(np.median([row["objective"] for row in rows])),  # type: ignore[arg-type]
        "met": f"{sum(bool(row['met']) for row in rows)} of {len(rows)}",
    }


if __name__ == "__main__":
    run_cases("causal", __doc__, CASES, run_one, summarize)

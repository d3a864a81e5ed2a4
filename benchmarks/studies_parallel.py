"""Does a study with four workers learn as much from 40 trials as one that waits for each answer?

    python -m benchmarks.studies_parallel [SEEDS] [--processes 2]

Four evaluations are pending at any time. The oldest is answered next, so that the run is
repeatable. The regret is infinite until a feasible point is found.
"""

from __future__ import annotations

from collections import deque

import numpy as np

import grisaille as gs
from benchmarks.results_folder import Row, write_result
from benchmarks.studies_setup import run_with_seeds
from grisaille.lab.problems import KnownProblem, drop_wave, williams_otto

TRIALS = 40
WORKERS = 4
PROBLEMS = {"Drop-Wave": drop_wave, "Williams-Otto": williams_otto}


def regret(job: tuple[str, int, int]) -> Row:
    name, seed, workers = job
    known: KnownProblem = PROBLEMS[name]()
    study = gs.Study(known.problem, seed=seed)
    pending: deque[gs.Query] = deque()
    while True:
        while len(pending) < workers and (queries := study.ask(trials=TRIALS)):
            pending.extend(queries)
        if not pending:
            break
        query = pending.popleft()
        study.tell(query, study.box(query.box)(*query.arguments), seconds=0.0)
    result = study.result()
    found = known.regret(result.fun) if result.success else np.inf
    return {
        "problem": name,
        "seed": seed,
        "workers": workers,
        "regret": found,
        "trials": result.nit,
        "evaluations": result.evaluations,
    }


def jobs(seeds: int) -> list[tuple[str, int, int]]:
    return [
        (name, seed, workers)
        for seed in range(seeds)
        for name in PROBLEMS
        for workers in (1, WORKERS)
    ]


def main() -> None:
    rows = run_with_seeds(regret, jobs)
    medians = {
        name: {
            str(workers): float(
                np.median(
                    [r["regret"] for r in rows if (r["problem"], r["workers"]) == (name, workers)]
                )
            )
            for workers in (1, WORKERS)
        }
        for name in PROBLEMS
    }
    print(medians)
    write_result("studies_parallel", {"trials": TRIALS, "median regret": medians, "runs": rows})


if __name__ == "__main__":
    main()

"""Does a study with four workers learn as much from 40 trials as one that waits for each answer?

    python -m benchmarks.studies_parallel [SEEDS]

Four evaluations are under way at any time, the oldest of which is answered next, so that the run is
repeatable. A regret counts as infinite while no feasible point was found.
"""

from __future__ import annotations

import sys
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import grisaille as gs
from benchmarks.recording import write_result
from grisaille.problems import KnownProblem, drop_wave, williams_otto

TRIALS = 40
WORKERS = 4
PROBLEMS = {"Drop-Wave": drop_wave, "Williams-Otto": williams_otto}


def regret(name: str, seed: int, workers: int) -> dict[str, Any]:
    known: KnownProblem = PROBLEMS[name]()
    study = gs.Study(known.problem, seed=seed)
    under_way: deque[gs.Query] = deque()
    while True:
        while len(under_way) < workers and (queries := study.ask(trials=TRIALS)):
            under_way.extend(queries)
        if not under_way:
            break
        query = under_way.popleft()
        box = study.box(query.box)
        assert box.fn is not None
        study.tell(query, box.fn(*query.arguments), seconds=0.0)
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


def main(seeds: int) -> None:
    jobs = [
        (name, seed, workers)
        for seed in range(seeds)
        for name in PROBLEMS
        for workers in (1, WORKERS)
    ]
    with ProcessPoolExecutor(2) as pool:
        rows = []
        for row in pool.map(regret, *zip(*jobs, strict=True)):
            rows.append(row)
            print(row, flush=True)
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
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)

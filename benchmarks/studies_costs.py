"""What does it cost to reach a regret of 0.5 on AckS when one box costs 1 and the other 49?

    python -m benchmarks.studies_costs [SEEDS]

Compared with making every evaluation of every trial (the same strategy, to which costs are not
told). The regret is that of the best whole chain that was evaluated.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import grisaille as gs
from benchmarks.recording import write_result
from grisaille.problems import ackley_sine

COSTS = {"ackley": 1.0, "sine": 49.0}
TARGET = 0.5
MOST = 12_000.0


def cost_to_reach(told: bool, seed: int) -> dict[str, Any]:
    known = ackley_sine((1.0, 49.0) if told else (1.0, 1.0))
    study = gs.Study(known.problem, seed=seed)

    def spent() -> float:
        return sum(COSTS[q.box] for q in study.state.queries.values() if q.outputs is not None)

    def enough(trial: gs.Trial) -> bool:
        return known.regret(-trial.objective) <= TARGET or spent() >= MOST

    result = study.run(3000, callback=enough, progress=False)
    return {
        "costs told": told,
        "seed": seed,
        "cost": spent(),
        "regret": known.regret(result.fun),
        "reached": known.regret(result.fun) <= TARGET,
        "evaluations": result.evaluations,
    }


def main(seeds: int) -> None:
    jobs = [(told, seed) for seed in range(seeds) for told in (True, False)]
    with ProcessPoolExecutor(2) as pool:
        rows = []
        for row in pool.map(cost_to_reach, *zip(*jobs, strict=True)):
            rows.append(row)
            print(row, flush=True)
    median = {
        str(told): float(
            np.median(
                [r["cost"] if r["reached"] else np.inf for r in rows if r["costs told"] == told]
            )
        )
        for told in (True, False)
    }
    print(median)
    summary = {"target": TARGET, "median cost": median, "ratio": median["True"] / median["False"]}
    write_result("studies_costs", {**summary, "runs": rows})


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)

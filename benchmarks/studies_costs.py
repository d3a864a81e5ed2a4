"""What does it cost to reach a regret of 0.5 on AckS when one box costs 1 and the other 49?

    python -m benchmarks.studies_costs [SEEDS] [--processes 2]

The rival makes every evaluation of every trial: the same strategy, which does not know the costs.
The regret is that of the best whole chain that was evaluated.
"""

from __future__ import annotations

import numpy as np

import grisaille as gs
from benchmarks.results_folder import Row, write_result
from benchmarks.studies_setup import run_with_seeds
from grisaille.lab.problems import ackley_sine

COSTS = {"ackley": 1.0, "sine": 49.0}
TARGET = 0.5
MOST = 12_000.0


def cost_to_reach(job: tuple[bool, int]) -> Row:
    told, seed = job
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


def main() -> None:
    rows = run_with_seeds(
        cost_to_reach, lambda seeds: [(told, s) for s in range(seeds) for told in (True, False)]
    )
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
    main()

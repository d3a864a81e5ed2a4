"""What `log=` and `step=` of a variable are worth.

Over six decades, a response of log k is minimized with and without `log=True`: how far the best of
20 trials is from the optimum. With steps, the best of 20 trials is compared with every point of the
grid, by the true function.

Run by hand: `python -m benchmarks.steps_and_decades [--seeds 5] [--processes 2]`.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
import torch

import grisaille as gs
from benchmarks.parallel_jobs import run_jobs
from benchmarks.results_folder import Row, write_rows

TRIALS = 20
# The common logarithm of the best k: most of the range is above it, and most of the decades.
BEST = {"decades, best at 10": 1.0, "decades, best at 0.03": -1.5}
STEPPED = "steps"


def main() -> None:
    """Run everything, store it, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    kinds = [(name, log) for name in BEST for log in (True, False)] + [(STEPPED, False)]
    jobs = [(*kind, seed) for kind in kinds for seed in range(options.seeds)]
    rows = run_jobs(run_one, jobs, processes=options.processes)
    write_rows("steps_and_decades", rows)
    for name, log in kinds:
        regrets = [float(r["regret"]) for r in rows if (r["problem"], r["log"]) == (name, log)]
        shown = ", ".join(f"{regret:.2g}" for regret in sorted(regrets))
        print(f"{name:24} log={log!s:6} median {np.median(regrets):.2g}  ({shown})")


def run_one(job: tuple[str, bool, int]) -> Row:
    """The regret of one run."""
    torch.set_num_threads(1)
    name, log, seed = job
    problem, optimum = stepped() if name == STEPPED else decades(BEST[name], log)
    result = problem.solve(TRIALS, seed=seed, progress=False)
    regret = result.fun - optimum if result.success else np.inf
    holds = result.lower_bound <= optimum + 1e-9
    return {"problem": name, "log": log, "seed": seed, "regret": regret, "bound holds": holds}


def decades(best: float, log: bool) -> tuple[gs.Problem, float]:
    """A response of log k with a ripple, between 0.001 and 1000."""
    k = gs.Variable("k", lower=1e-3, upper=1e3, log=log)

    def true(k: float) -> float:
        place = np.log10(k) - best
        return float(place**2 + 0.3 * (1 - np.cos(4 * place)))

    return gs.Problem(minimize=gs.BlackBox(true, name="response", noise=0)(k)), 0.0


def stepped() -> tuple[gs.Problem, float]:
    """Two variables in steps of 0.05 and a black box in the constraint."""
    x = gs.Variable("x", 2, lower=0, upper=1, step=0.05)

    def true(x: np.ndarray) -> float:
        return float(np.sin(5 * x[0]) + (x[1] - 0.42) ** 2 + 0.5 * x[0] * x[1])

    def met(x: np.ndarray) -> float:
        return float(x[0] + x[1] ** 2)

    f = gs.BlackBox(true, name="f", noise=0)
    g = gs.BlackBox(met, name="g", noise=0)
    problem = gs.Problem(minimize=f(x), subject_to=[g(x) >= 0.93])
    grid = np.array(list(product(np.round(np.arange(21) * 0.05, 2), repeat=2)))
    return problem, min(true(p) for p in grid if met(p) >= 0.93)


if __name__ == "__main__":
    main()

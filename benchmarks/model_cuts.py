"""Does it matter how a model is cut into black boxes? One reactor, cut in two ways.

The black box answers with the amounts of what is left and what is made, whose ratio is limited, or
with the ratio itself. The plant is the same.

    python -m benchmarks.model_cuts [--seeds 10] [--trials 25]
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import torch

import grisaille as gs
from benchmarks.parallel_jobs import run_jobs
from benchmarks.results_folder import Row, write_result, write_rows

PURITY = 0.955
CUTS = ("amounts", "ratio")


def reactor(celsius: np.ndarray | float, hours: np.ndarray | float) -> tuple[np.ndarray, ...]:
    """Return the fractions of A that are left and made into B: A -> B -> C, and A -> D."""
    step = np.asarray(celsius) - 60
    rates = 0.9 * np.exp(0.06 * step), 0.05 * np.exp(0.09 * step), 0.02 * np.exp(0.11 * step)
    used = rates[0] + rates[2]
    left = np.exp(-used * hours)
    return left, rates[0] / (rates[1] - used) * (left - np.exp(-rates[1] * hours))


def profit(made: object, celsius: object, hours: object) -> object:
    """Return what the product earns, less the costs of time and heat."""
    return 100 * made - 6 * hours - 0.1 * (celsius - 40)  # type: ignore[operator]


def problem(cut: str) -> gs.Problem:
    """Return the problem, cut in one way."""
    celsius = gs.Variable("celsius", lower=40, upper=90)
    hours = gs.Variable("hours", lower=0.2, upper=4)

    def answer(celsius: float, hours: float) -> tuple[float, float]:
        left, made = map(float, reactor(celsius, hours))
        return left, made if cut == "amounts" else made / (1 - left)

    outputs = ["left", "made" if cut == "amounts" else "selectivity"]
    y = gs.BlackBox(answer, name="reactor", outputs=outputs, noise=0)(celsius, hours)
    used = 1 - y["left"]
    made = y["made"] if cut == "amounts" else y["selectivity"] * used
    selectivity = y["made"] / used if cut == "amounts" else y["selectivity"]
    return gs.Problem(maximize=profit(made, celsius, hours), subject_to=[selectivity >= PURITY])


def optimum() -> float:
    """Return the best profit of a fine grid."""
    grid = np.meshgrid(np.linspace(40, 90, 2001), np.linspace(0.2, 4, 2001))
    left, made = reactor(*grid)
    earned = np.asarray(profit(made, *grid))
    return float(earned[made / (1 - left) >= PURITY].max())


def run_one(job: tuple[str, int, int]) -> Row:
    """Solve with bare defaults."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    cut, seed, trials = job
    result = problem(cut).solve(trials, seed=seed, progress=False)
    met = [trial.violation == 0 for trial in result.history]
    return {"cut": cut, "seed": seed, "profit": result.fun, "feasible": sum(met), "of": len(met)}


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.model_cuts", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--trials", type=int, default=25)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    jobs = [(cut, seed, options.trials) for seed in range(options.seeds) for cut in CUTS]
    rows = run_jobs(run_one, jobs, processes=options.processes)
    summary: dict[str, object] = {"optimum on a grid": optimum()}
    for cut in CUTS:
        some = [row for row in rows if row["cut"] == cut]
        found = [row["profit"] for row in some]
        summary[cut] = {
            "profit: median, worst": [round(float(np.median(found)), 3), round(min(found), 3)],
            "feasible trials, median": float(np.median([row["feasible"] for row in some])),
        }
    for name, value in summary.items():
        print(f"{name}: {value}")
    write_rows("model_cuts", rows)
    write_result("model_cuts", summary)


if __name__ == "__main__":
    main()

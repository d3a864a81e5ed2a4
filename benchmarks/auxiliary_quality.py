"""How often multi-start search finds the optimum of an auxiliary problem.

`python -m benchmarks.auxiliary_quality [--instances 100] [--processes 2]` takes auxiliary problems
of the LP with an embedded Gaussian process and compares default multi-start search, without hints,
with brute force (`benchmarks.references.embedded_lp`). Instance i is the LP of seed i with 5 to 50
observations: those of uniformly random design points for even i, and for odd i all trials of a
real run with default settings. Each is solved with the default beta, 2, which is judged, and
with 3.

A miss is a value more than 1e-3 above the reference, or no feasible point where the reference has
one. Where multi-start search is the better one by more than 1e-4, the reference is at fault.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

from benchmarks.histories import random_history
from benchmarks.parallel_jobs import run_jobs
from benchmarks.references.embedded_lp import solve_by_brute_force
from benchmarks.results_folder import Row, write_result, write_rows
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.belief.rules import plausible_set
from grisaille.lab.problems import lp_with_embedded_gp
from grisaille.search.multistart import MultiStart

INSTANCES = 100
OBSERVATIONS = range(5, 51)
BETAS = (2.0, 3.0)
TOLERANCE = 1e-3
REFERENCE_TOLERANCE = 1e-4
BAR = 0.99


def main() -> None:
    """Compare on every instance, print and write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.auxiliary_quality")
    parser.add_argument("--instances", type=int, default=INSTANCES)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    instances = range(arguments.instances)
    parts = run_jobs(compare, instances, print_misses, processes=arguments.processes)
    rows = [row for part in parts for row in part]
    write_rows("auxiliary_quality", rows)
    columns = {f"beta {beta:g}": summarize(rows, beta) for beta in BETAS}
    for name, summary in columns.items():
        print(name, *(f"  {key}: {value}" for key, value in summary.items()), sep="\n")
    write_result(
        "auxiliary_quality",
        {
            "solver": repr(MultiStart()),
            "tolerance": TOLERANCE,
            "bar": BAR,
            "met": columns["beta 2"]["share found"] >= BAR,
            **columns,
        },
    )


def print_misses(_instance: int, rows: list[Row]) -> None:
    """Print the rows in which the two searches differ."""
    for row in rows:
        if row["verdict"] != "found":
            print(row, flush=True)


def compare(instance: int) -> list[Row]:
    """Solve the auxiliary problem of one instance both ways, with every beta."""
    torch.set_num_threads(1)
    problem = lp_with_embedded_gp(instance).problem
    observations = OBSERVATIONS[instance // 2 % len(OBSERVATIONS)]
    kind = ("random", "run")[instance % 2]
    if kind == "random":
        history = random_history(problem, observations, instance)
    else:
        history = problem.solve(observations, seed=instance, progress=False).history
    rows = []
    for beta in BETAS:
        plausible = plausible_set(problem.program, history, beta)
        rows.append(
            {
                "seed": instance,
                "observations": observations,
                "history": kind,
                "beta": beta,
                **solve_both_ways(plausible, instance),
            }
        )
    return rows


def solve_both_ways(plausible: PlausibleSet, seed: int) -> Row:
    """Default multi-start search without hints, and brute force."""
    nothing = plausible.lower.new_zeros(0, len(plausible.lower))
    started = time.perf_counter()
    solution = MultiStart().solve(plausible.search_problem(), nothing, seed)
    searched = time.perf_counter()
    reference = solve_by_brute_force(plausible)
    finished = time.perf_counter()
    possible = bool(np.isfinite(reference.value))
    # Brute force minimizes exactly where multi-start search may use its feasibility tolerance.
    difference = solution.value - reference.value if solution.feasible and possible else np.nan
    if possible and (not solution.feasible or difference > TOLERANCE):
        verdict = "missed" if solution.feasible else "false infeasible"
    elif solution.feasible and (not possible or difference < -REFERENCE_TOLERANCE):
        verdict = "reference missed"
    else:
        verdict = "found"
    return {
        "verdict": verdict,
        "reference": reference.value,
        "multistart": solution.value,
        "difference": difference,
        "reference_doubt": reference.value - reference.floor if possible else np.nan,
        "reference_feasible": possible,
        "multistart_feasible": solution.feasible,
        "reference_x1": reference.x[0],
        "reference_x2": reference.x[1],
        "multistart_x1": solution.point[0].item(),
        "multistart_x2": solution.point[1].item(),
        "reference_seconds": round(finished - searched, 3),
        "multistart_seconds": round(searched - started, 3),
    }


def summarize(rows: list[Row], beta: float) -> dict[str, float]:
    """What is judged, for one beta."""
    mine = [row for row in rows if row["beta"] == beta]
    verdicts = [row["verdict"] for row in mine]

    def column(name: str) -> np.ndarray:
        return np.array([row[name] for row in mine], dtype=float)

    return {
        "instances": len(mine),
        "share found": 1 - sum(v in ("missed", "false infeasible") for v in verdicts) / len(mine),
        **{v: verdicts.count(v) for v in ("missed", "false infeasible", "reference missed")},
        "infeasible for both": int(
            ((1 - column("reference_feasible")) * (1 - column("multistart_feasible"))).sum()
        ),
        "largest difference": float(np.nanmax(column("difference"))),
        "least difference": float(np.nanmin(column("difference"))),
        "largest doubt about the reference": float(np.nanmax(column("reference_doubt"))),
        "median seconds of multi-start search": float(np.median(column("multistart_seconds"))),
        "median seconds of the reference": float(np.median(column("reference_seconds"))),
    }


if __name__ == "__main__":
    main()

"""Whether multi-start search ends in an optimum that another solver does not beat.

`python -m benchmarks.auxiliary_convergence [--instances 300] [--starts 50] [--processes 2]` takes
auxiliary problems of the development collection and of the library's known problems, and compares
default multi-start search, without hints, with the best of 50 runs of SciPy's SLSQP from Sobol
points. Instance i is problem i (counted round and round) with 10, 15 or 20 Sobol points and 5 more
around the best of these, and beta 2, 1 or 4.

A miss is a value above that of SLSQP by more than 1e-5 of the objective's scale, or no feasible
point where SLSQP has one. The scale is the smaller of two: the standard deviation of the objectives
observed, and what the objective varies within 2 % of the search space around the reference.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from benchmarks.collection import development
from benchmarks.histories import clustered_history
from benchmarks.parallel_jobs import run_jobs
from benchmarks.results_folder import Row, write_result, write_rows
from grisaille.belief.rules import plausible_set
from grisaille.lab.problems import catalogue
from grisaille.language.problem import Problem
from grisaille.search.local_search import linearize
from grisaille.search.multistart import MultiStart
from grisaille.search.polish import local_scale
from grisaille.search.search_problem import (
    Scale,
    SearchProblem,
    Solution,
    best_of,
    evaluate_in_chunks,
)

INSTANCES = 300
STARTS = 50
ITERATIONS = 200
TRIALS = (10, 15, 20)
NEAR = 5
BETAS = (2.0, 1.0, 4.0)
TOLERANCE = 1e-5
BAR = 0.99


def main() -> None:
    """Compare on every instance, print and write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.auxiliary_convergence")
    parser.add_argument("--instances", type=int, default=INSTANCES)
    parser.add_argument("--starts", type=int, default=STARTS)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    jobs = [(instance, arguments.starts) for instance in range(arguments.instances)]
    rows = run_jobs(compare, jobs, print_row, processes=arguments.processes)
    write_rows("auxiliary_convergence", rows)
    summary = summarize(rows)
    print(*(f"{key}: {value}" for key, value in summary.items()), sep="\n")
    settings = {"solver": repr(MultiStart()), "tolerance": TOLERANCE, "bar": BAR}
    met = summary["share found"] >= BAR
    write_result("auxiliary_convergence", {**settings, "met": met, **summary})


def print_row(_job: tuple[int, int], row: Row) -> None:
    """Print what was found."""
    print(row, flush=True)


def named_problems() -> list[tuple[str, Callable[[], Problem]]]:
    """The problems of the development collection, and those of the library."""
    entries = [(entry.name, lambda entry=entry: entry.make().problem) for entry in development()]
    known = [
        (name, lambda make=make: make(0).problem)
        for name, make in catalogue().items()
        if not name.endswith("_graph")  # interventions are not design points
    ]
    return entries + known


def compare(job: tuple[int, int]) -> Row:
    """Solve one auxiliary problem both ways."""
    torch.set_num_threads(1)
    instance, starts = job
    names = named_problems()
    name, make = names[instance % len(names)]
    turn = instance // len(names)
    trials, beta = TRIALS[turn // len(BETAS) % len(TRIALS)], BETAS[turn % len(BETAS)]
    problem = make()
    history = clustered_history(problem, trials, NEAR, instance)
    auxiliary = plausible_set(problem.program, history, beta).search_problem()
    nothing = auxiliary.lower.new_zeros(0, len(auxiliary.lower))
    started = time.perf_counter()
    solution = MultiStart().solve(auxiliary, nothing, instance)
    searched = time.perf_counter()
    reference = best_of_slsqp(auxiliary, starts, instance)
    finished = time.perf_counter()
    spread = float(np.std([trial.objective for trial in history]))
    around = local_scale(auxiliary, reference.point, _global_scale(auxiliary, 0))
    unit = min(spread, float(around.objective))
    behind = (solution.value - reference.value) / unit
    if reference.feasible and not solution.feasible:
        verdict = "false infeasible"
    elif not reference.feasible:
        verdict = "only multi-start" if solution.feasible else "both infeasible"
    else:
        verdict = "missed" if behind > TOLERANCE else "found"
    return {
        "instance": instance,
        "problem": name,
        "dimensions": len(auxiliary.lower),
        "constraints": len(problem.constraints),
        "trials": trials + NEAR,
        "beta": beta,
        "verdict": verdict,
        "multistart": solution.value,
        "reference": reference.value,
        "behind": behind if verdict in ("missed", "found") else np.nan,
        "spread": spread,
        "spread_around": float(around.objective),
        "stationarity": np.nan if solution.stationarity is None else solution.stationarity,
        "multistart_seconds": round(searched - started, 3),
        "reference_seconds": round(finished - searched, 3),
    }


def best_of_slsqp(problem: SearchProblem, starts: int, seed: int) -> Solution:
    """The best end of SLSQP from many Sobol points, each in two runs.

    The objective's unit is its typical spread in the first run, and its spread around the end of
    the first in the second.
    """
    scale = _global_scale(problem, seed)
    engine = torch.quasirandom.SobolEngine(len(problem.lower), scramble=True, seed=seed)
    ends = []
    for unit in engine.draw(starts, dtype=torch.float64):
        end = _slsqp(problem, scale, unit)
        point = problem.lower + (problem.upper - problem.lower) * end
        ends.append(_slsqp(problem, local_scale(problem, point, scale), end))
    points = problem.lower + (problem.upper - problem.lower) * torch.stack(ends)
    return best_of(points, *evaluate_in_chunks(problem, points), scale, len(points))


def _slsqp(problem: SearchProblem, scale: Scale, start: Tensor) -> Tensor:
    """The end of one run, in coordinates from 0 to 1; the start if there is none."""

    @lru_cache(maxsize=1)
    def at(unit: bytes) -> list[np.ndarray]:
        inside = np.frombuffer(unit).clip(0, 1)[None]
        # SLSQP has no rule for what is not a number.
        return [np.nan_to_num(part[0], nan=1e8) for part in linearize(problem, scale, inside)]

    def columns(unit: np.ndarray, value: int, sign: float) -> np.ndarray:
        return sign * at(unit.tobytes())[value]

    rows = {
        "type": "ineq",
        "fun": lambda unit: columns(unit, 1, -1.0),
        "jac": lambda unit: columns(unit, 3, -1.0),
    }
    answer = minimize(
        lambda unit: float(columns(unit, 0, 1.0)),
        start.numpy(),
        jac=lambda unit: columns(unit, 2, 1.0),
        bounds=[(0.0, 1.0)] * len(start),
        constraints=[rows] if len(scale.constraints) else [],
        method="SLSQP",
        options={"maxiter": ITERATIONS, "ftol": 1e-12},
    )
    return torch.tensor(answer.x).clamp(0, 1) if np.isfinite(answer.x).all() else start


def _global_scale(problem: SearchProblem, seed: int) -> Scale:
    engine = torch.quasirandom.SobolEngine(len(problem.lower), scramble=True, seed=seed)
    points = engine.draw(2048, dtype=torch.float64) * (problem.upper - problem.lower)
    return Scale.of(*evaluate_in_chunks(problem, problem.lower + points))


def summarize(rows: list[Row]) -> dict[str, float]:
    """What is judged: the share of problems with a feasible point where SLSQP is not better."""
    verdicts = [row["verdict"] for row in rows]
    wrong = verdicts.count("missed") + verdicts.count("false infeasible")
    stationarity = np.array([row["stationarity"] for row in rows])
    stationarity = stationarity[np.isfinite(stationarity)]
    return {
        "instances": len(rows),
        "share found": 1 - wrong / len(rows),
        **{verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))},
        "largest behind": float(np.nanmax([row["behind"] for row in rows])),
        "share converged to 1e-6": float((stationarity <= 1e-6).mean()),
        "median seconds of multi-start search": float(
            np.median([row["multistart_seconds"] for row in rows])
        ),
        "median seconds of the reference": float(
            np.median([row["reference_seconds"] for row in rows])
        ),
    }


if __name__ == "__main__":
    main()

"""How well the default settings solve known problems: ten seeds each, every number stored.

Run by hand: `python -m benchmarks.convergence [--only NAME] [--seeds 10] [--processes 2]`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch

import grisaille as gs
from benchmarks.results_folder import Row
from benchmarks.run_cases import Job, run_cases
from grisaille import problems

# The search alone: what is measured here is how good the points are, not what is proved.
SEARCH = gs.MultiStart()


@dataclass(frozen=True)
class Case:
    """One line of the table: a problem, a budget and a bar.

    Attributes:
        make: The problem for a seed.
        trials: Trials in all.
        passes: Whether one seed's row meets the bar; or
        measure: the column whose median the bar is on, and
        bar: its largest allowed median.
        options: Further arguments of `solve`.
    """

    make: Callable[[int], problems.KnownProblem]
    trials: int
    passes: Callable[[dict[str, float]], bool] | None = None
    measure: str = "regret"
    bar: float = 0.0
    options: dict[str, object] = field(default_factory=dict)


def _fixed(make: Callable[[], problems.KnownProblem]) -> Callable[[int], problems.KnownProblem]:
    return lambda _seed: make()


CASES = {
    "williams_otto": Case(
        _fixed(problems.williams_otto),
        25,
        lambda row: row["maxcv"] == 0 and row["fun"] <= -75.3 and row["bound"] <= -75.81,
    ),
    "rosen_suzuki": Case(
        _fixed(problems.rosen_suzuki), 30, lambda row: row["maxcv"] == 0 and row["fun"] <= -43.5
    ),
    "bazaraa": Case(
        _fixed(problems.bazaraa), 20, lambda row: row["maxcv"] == 0 and row["fun"] <= -6.60
    ),
    "lp_with_embedded_gp": Case(
        problems.lp_with_embedded_gp, 20, measure="constrained_regret", bar=0.02
    ),
    "additive": Case(problems.additive, 30, bar=0.02),
    "sum_of_squares": Case(problems.sum_of_squares, 30, bar=0.02),
    "chain": Case(problems.chain, 30, bar=0.02),
    "shifted_square": Case(problems.shifted_square, 30, bar=0.02),
    "drop_wave": Case(
        _fixed(problems.drop_wave),
        46,
        bar=0.08,
        options={"evaluation": "chained", "strategy": gs.Optimistic(initial=6, solver=SEARCH)},
    ),
    "rosenbrock": Case(
        _fixed(problems.rosenbrock),
        52,
        bar=1.5,
        options={"evaluation": "chained", "strategy": gs.Optimistic(initial=12, solver=SEARCH)},
    ),
}


def run_one(job: Job) -> Row:
    """Solve one problem with one seed."""
    torch.set_num_threads(1)
    name, seed = job
    case = CASES[name]
    known = case.make(seed)
    started = time.perf_counter()
    options = {"strategy": gs.Optimistic(solver=SEARCH), **case.options}
    result = known.problem.solve(case.trials, seed=seed, progress=False, **options)  # type: ignore[arg-type]
    seconds = time.perf_counter() - started
    sense = known.problem.sense
    return {
        "problem": name,
        "seed": seed,
        "trials": result.nit,
        "evaluations": result.nfev,
        "optimum": known.optimum,
        "fun": result.fun,
        "maxcv": result.maxcv,
        "regret": known.regret(result.fun) if result.success else np.inf,
        "constrained_regret": result.metrics(known.optimum).constrained_regret[-1],
        "bound": result.lower_bound if sense == 1 else result.upper_bound,
        "gap": result.gap,
        "seconds": round(seconds, 2),
    }


def summarize(name: str, rows: list[Row]) -> Row:
    """One line for the table."""
    case = CASES[name]
    if case.passes is not None:
        passed = sum(case.passes(row) for row in rows)  # type: ignore[arg-type]
        return {"seeds": len(rows), "passed": passed, "met": passed >= 0.9 * len(rows)}
    values = [float(row[case.measure]) for row in rows]  # type: ignore[arg-type]
    median = float(np.median(values))
    return {"measure": case.measure, "median": median, "bar": case.bar, "met": median <= case.bar}


if __name__ == "__main__":
    run_cases("convergence", __doc__, CASES, run_one, summarize)

"""How many calls of each simulator does a problem with a loop need?

The problems are Sellar's and a flowsheet with a recycle (docs/problems.md). The default of this
library knows the loop: what comes back is an unknown with an equation. LogEI sees the converged
loop as a function of the decisions, and each of its trials calls the simulators until the loop has
converged. After each trial we close the loop of the recommended decisions exactly. They are near if
their objective is within 1e-3 (Sellar) or 1 % (flowsheet) of the optimum, and no constraint is
broken by more than 2e-3. Each run makes all its trials, 40 or 30. We store the calls of each
simulator at three moments: when the recommended decisions are near for the first time; from when on
they stay near until the end; and when the study itself says that a near point is feasible, which
for the default means that the loop is closed within its tolerance, too.

The bars are about the second moment. Sellar: every seed, with 40 calls of each discipline. The
flowsheet: every seed in 30 trials, and the default's median of all calls is at most a third of
LogEI's.

Run by hand: `python -m benchmarks.recycle [--seeds 10] [--problems sellar]
[--methods default LogEI] [--processes 1]`.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

import grisaille as gs
from benchmarks.converged_loops import converged_recycle_loop, converged_sellar
from benchmarks.parallel_jobs import run_jobs
from benchmarks.results_folder import Row, write_result
from benchmarks.run_cases import print_row
from grisaille.lab.problems import catalogue
from grisaille.lab.problems.composite import coupled
from grisaille.lab.problems.known_problem import KnownProblem
from grisaille.lab.problems.plants import recycle_of
from grisaille.records import Trial

BROKEN = 2e-3
"""How far the exact constraints may be broken; unknowns are only known up to a tolerance."""
METHODS = ["default", "LogEI"]

MOMENTS = ("first", "lasting", "claimed")

Job = tuple[str, str, int]
"""Problem, method and seed."""


@dataclass(frozen=True)
class Case:
    """One problem: its converged form, how near is near, and how its loop is closed exactly."""

    converged: Callable[[Counter[str]], gs.Problem]
    near: float
    trials: int
    close: Callable[[dict[str, Any]], dict[str, Any]]


def _close_sellar(values: dict[str, Any]) -> dict[str, Any]:
    y1, y2 = coupled(values["z"], values["x"])
    return {**values, "y1": y1, "y2": y2}


def _close_recycle(values: dict[str, Any]) -> dict[str, Any]:
    decisions = {name: values[name] for name in ("temperature", "purge", "reflux")}
    return {**values, "recycle": recycle_of(**decisions)}


CASES = {
    "sellar": Case(converged_sellar, 1e-3, 40, _close_sellar),
    "recycle_loop": Case(converged_recycle_loop, 7.75, 30, _close_recycle),
}


def run_one(job: Job) -> Row:
    """One method on one problem with one seed."""
    torch.set_num_threads(1)
    name, method, seed = job
    known, case = catalogue()[name](seed), CASES[name]
    calls: Counter[str] = Counter()
    if method == "default":
        problem, strategy = known.problem, None
        for box in problem.boxes:
            box.fn = partial(_counted, calls, box.name, box.fn)
    else:
        problem, strategy = case.converged(calls), gs.LogEI()
    truth = catalogue()[name](seed)  # whose calls do not count
    # One run of all trials: a method may plan with what is left.
    study = gs.Study(problem, strategy=strategy, seed=seed)
    steps: list[Row] = []

    def look(_trial: Trial) -> None:
        result = study.result()
        regret, broken = measured(truth, case, problem, result.x)
        near = abs(regret) <= case.near and broken <= BROKEN
        steps.append(
            {
                "near": bool(near),
                "claimed": bool(near and result.success),
                "calls": dict(calls),
                "regret": regret,
                "violation": broken,
            }
        )

    study.run(case.trials, callback=look, progress=False)
    last = steps[-1]
    return {
        "problem": name,
        "method": method,
        "seed": seed,
        "trials": len(steps),
        "total_calls": sum(calls.values()),
        "regret": last["regret"] if np.isfinite(last["regret"]) else None,
        "violation": last["violation"] if np.isfinite(last["violation"]) else None,
        **{moment: _moment(steps, place) for moment, place in moments(steps).items()},
    }


def measured(
    truth: KnownProblem, case: Case, problem: gs.Problem, x: np.ndarray | None
) -> tuple[float, float]:
    """Regret and violation of decisions with their loop closed exactly; infinite if it has none."""
    if x is None:
        return np.inf, np.inf
    try:
        values = case.close(_by_name(problem, x))
    except ValueError:  # nothing closes the loop there
        return np.inf, np.inf
    flat = [np.ravel(values[variable.name]) for variable in truth.problem.variables]
    value, broken = truth.measure(np.concatenate(flat))
    return truth.regret(value), broken


def moments(steps: list[Row]) -> dict[str, int | None]:
    """The position of the trial at which each moment is there; None if it never is."""
    near = [step["near"] for step in steps]
    claimed = [step["claimed"] for step in steps]
    since = len(near)
    while since and near[since - 1]:
        since -= 1
    places = {
        "first": near.index(True) if any(near) else None,
        "lasting": since if since < len(near) else None,
        "claimed": claimed.index(True) if any(claimed) else None,
    }
    return {moment: places[moment] for moment in MOMENTS}


def _moment(steps: list[Row], place: int | None) -> Row | None:
    if place is None:
        return None
    calls = steps[place]["calls"]
    return {"trial": place + 1, "calls": calls, "total_calls": sum(calls.values())}


def _counted(calls: Counter[str], name: str, function: Callable[..., Any], *inputs: Any) -> Any:
    calls[name] += 1
    return function(*inputs)


def _by_name(problem: gs.Problem, x: np.ndarray) -> dict[str, Any]:
    """The variables of a flat design point by name."""
    values, start = {}, 0
    for variable in problem.variables:
        part = x[start : start + variable.size]
        values[variable.name] = part.reshape(variable.shape) if variable.shape else float(part[0])
        start += variable.size
    return values


def summarize(rows: list[Row]) -> list[Row]:
    """For each problem and method: how many come near, with how many calls; and the bars."""
    lines: list[Row] = []
    medians: dict[tuple[str, str, str], float] = {}
    for name in CASES:
        for method in METHODS:
            some = [row for row in rows if (row["problem"], row["method"]) == (name, method)]
            if not some:
                continue
            line: Row = {"problem": name, "method": method, "seeds": len(some)}
            for moment in MOMENTS:
                there = [row[moment] for row in some if row[moment] is not None]
                # Who never gets there needs more calls than everybody else.
                totals = [m["total_calls"] for m in there] + [np.inf] * (len(some) - len(there))
                median = float(np.median(totals))
                line[moment] = {
                    "seeds": len(there),
                    "median_calls": median if np.isfinite(median) else None,
                    "most_calls_of_one_simulator": max(
                        (max(m["calls"].values()) for m in there), default=None
                    ),
                }
                medians[name, method, moment] = median
            lines.append(line)
    return [*lines, *_bars(lines, medians)]


def _bars(lines: list[Row], medians: dict[tuple[str, str, str], float]) -> list[Row]:
    by_name = {(line["problem"], line["method"]): line for line in lines}
    bars: list[Row] = []
    sellar = by_name.get(("sellar", "default"))
    if sellar is not None:
        most = sellar["lasting"]["most_calls_of_one_simulator"]
        every = sellar["lasting"]["seeds"] == sellar["seeds"]
        bars.append(
            {
                "bar": "Sellar within 1e-3 in 40 calls of each discipline, every seed",
                "met": bool(every and most <= 40),
            }
        )
    flowsheet = by_name.get(("recycle_loop", "default"))
    if flowsheet is not None:
        every = flowsheet["lasting"]["seeds"] == flowsheet["seeds"]
        bars.append({"bar": "flowsheet within 1 % in 30 trials, every seed", "met": bool(every)})
    ratios = {
        moment: medians[("recycle_loop", "default", moment)]
        / medians[("recycle_loop", "LogEI", moment)]
        for moment in MOMENTS
        if np.isfinite(medians.get(("recycle_loop", "LogEI", moment), np.inf))
        and np.isfinite(medians.get(("recycle_loop", "default", moment), np.inf))
    }
    if "lasting" in ratios:
        bars.append(
            {
                "bar": "flowsheet with at most a third of the calls of LogEI, median",
                "ratios": ratios,
                "met": bool(ratios["lasting"] <= 1 / 3),
            }
        )
    return bars


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--problems", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # for the processes that are started
    jobs = [
        (name, method, seed)
        for seed in range(options.seeds)
        for name in options.problems
        for method in options.methods
    ]
    rows = run_jobs(run_one, jobs, print_row, processes=options.processes)
    lines = summarize(rows)
    for line in lines:
        print(line)
    write_result("recycle", {"summary": lines, "rows": rows})


if __name__ == "__main__":
    main()

"""How near does each method come to the optimum of 60 variables, read by ten black boxes?

Each black box is Hartmann's function of six inputs, moved so that its minimum is where the seed of
the problem says. Five inputs are variables of its own, and one mixes such a variable with one of
the black box before it, so that the problem does not fall into ten. The objective is a known
weighted sum, minimized. In the constrained variant, the first three outputs must not fall below -8
in sum, which the optimum would. Both optima are known in closed form.

The methods are the default, LogEI of this library (BoTorch's own), and TuRBO-1 in the form of
BoTorch's tutorial, which knows no constraints. All begin with 20 Sobol points. For each seed we
store the best feasible value, its regret, the processor seconds of a suggestion (the mean of the
last ten, and the longest), and the peak memory of the process.

Run by hand: `python -m benchmarks.many_variables [--methods default LogEI] [--seeds 3]
[--trials 150] [--processes 3] [--constrained]`. Results are stored at the end; methods that are not
run keep the rows that are stored. With other numbers of trials than 150, nothing is stored.
"""

from __future__ import annotations

import argparse
import csv
import time
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import brentq

import grisaille as gs
from benchmarks.memory import peak_gigabytes
from benchmarks.parallel_jobs import run_jobs
from benchmarks.references.turbo import TurboRun
from benchmarks.results_folder import RESULTS, Row, write_result, write_rows
from benchmarks.run_cases import print_row
from grisaille.lab.problems.known_problem import KnownProblem, Structure
from grisaille.records import History, Situation
from grisaille.strategies.strategy import Strategy
from grisaille.study.writer import evaluated

Array = np.ndarray

BOXES, INPUTS, TRIALS, INITIAL = 10, 6, 150, 20
SECONDS_BAR, REGRET_BAR = 5.0, 0.5
_LATEST = 10
# The part of the shared input that comes from the black box before.
_SHARED = 0.3
_LEAST_SUM = -8.0

_HEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_STEEPNESS = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
_CENTERS = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)
_MINIMIZER = np.array([0.20168951, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730053])

DEFAULT, LOG_EI, TURBO = "default", "LogEI", "TuRBO-1"
STRATEGIES: dict[str, Strategy] = {DEFAULT: gs.Optimistic(), LOG_EI: gs.LogEI()}
METHODS = (*STRATEGIES, TURBO)

Job = tuple[str, int, int, bool]
"""A method, a seed, the number of trials, and whether there are constraints."""


def hartmann(point: Array) -> float:
    """Hartmann's function of six numbers; its least value is -3.32237 at `_MINIMIZER`.

    Nothing outside the unit cube is lower: moving a point into the rectangle that the four centers
    span brings it nearer to each of them.
    """
    return -float(_HEIGHTS @ np.exp(-(_STEEPNESS * (point - _CENTERS) ** 2).sum(1)))


@dataclass(frozen=True, slots=True)
class MovedHartmann:
    """Hartmann's function with its inputs in another order and its minimum elsewhere.

    Attributes:
        best: (6,), where the minimum is.
        order: (6,), which input stands for each of Hartmann's.
    """

    best: Array
    order: Array

    def __call__(self, first: float, others: Array) -> float:
        """The value for one number and five."""
        offset = np.concatenate([[first], others]) - self.best
        return hartmann(_MINIMIZER + offset[self.order])


def sixty_variables(constrained: bool = False, seed: int = 0) -> KnownProblem:
    """The problem; the seed draws where the black boxes have their minima, and the weights."""
    generator = np.random.default_rng(seed)
    best = generator.uniform(0.3, 0.7, (BOXES, INPUTS))
    weights = np.sort(generator.uniform(0.5, 2.0, BOXES))[::-1]
    functions = [MovedHartmann(row, generator.permutation(INPUTS)) for row in best]
    x = gs.Variable("x", BOXES * INPUTS, lower=0, upper=1)
    outputs = []
    for number, function in enumerate(functions):
        own, before = INPUTS * number, INPUTS * ((number - 1) % BOXES)
        shared = (1 - _SHARED) * x[own] + _SHARED * x[before + INPUTS - 1]
        unit = gs.BlackBox(function, name=f"unit{number}", noise=0)
        outputs.append(unit(shared, x[own + 1 : own + INPUTS]))
    point = best.copy()
    point[:, 0] = (best[:, 0] - _SHARED * np.roll(best[:, -1], 1)) / (1 - _SHARED)
    least = hartmann(_MINIMIZER)
    optimum, subject_to = float(weights.sum() * least), []
    if constrained:
        # What is given up is given up where it costs least: by the last of the three.
        wanted = _LEAST_SUM - 2 * least
        optimum += float(weights[2] * (wanted - least))
        subject_to = [outputs[0] + outputs[1] + outputs[2] >= _LEAST_SUM]
        point[2, 1:-1] *= _shrinking(functions[2], wanted)
    total = sum(weight * y for weight, y in zip(weights, outputs, strict=True))
    return KnownProblem(
        "sixty variables, limited" if constrained else "sixty variables",
        gs.Problem(minimize=total, subject_to=subject_to),
        optimum,
        point.ravel(),
        "ten of Hartmann's functions",
        Structure.CONSTRAINED if constrained else Structure.ONE_LAYER,
    )


def _shrinking(function: MovedHartmann, wanted: float) -> float:
    """By which factor four inputs must shrink from the minimum to give the wanted value."""

    def excess(factor: float) -> float:
        others = function.best[1:].copy()
        others[:-1] *= factor
        return function(float(function.best[0]), others) - wanted

    return float(brentq(excess, 0.0, 1.0, xtol=1e-14))


def run_one(job: Job) -> Row:
    """One method with one seed."""
    torch.set_num_threads(1)
    method, seed, trials, constrained = job
    known = sixty_variables(constrained)
    run = _run_turbo if method == TURBO else _run_ours
    best, seconds = run(known, method, seed, trials)
    return {
        "method": method,
        "seed": seed,
        "trials": trials,
        "constrained": constrained,
        "best": best,
        "regret": known.regret(best),
        "seconds_at_the_end": float(np.mean(seconds[-_LATEST:])),
        "longest_seconds": max(seconds),
        "peak_gigabytes": round(peak_gigabytes(), 3),
    }


def _run_ours(
    known: KnownProblem, method: str, seed: int, trials: int
) -> tuple[float, list[float]]:
    """The best feasible value of one of our strategies, and the seconds of each suggestion."""
    history, seconds = History(), []
    for number in range(1, trials + 1):
        remaining = trials - number + 1
        situation = Situation(known.problem, history, seed=seed, remaining=remaining)
        started = time.process_time()
        suggestion = STRATEGIES[method].suggest(situation)
        seconds.append(time.process_time() - started)
        trial = evaluated(known.problem, suggestion, number)
        history = History((*history.trials, trial))
    values = [trial.objective for trial in history if trial.violation <= 0]
    return min(values, default=np.inf), seconds


def _run_turbo(
    known: KnownProblem, _method: str, seed: int, trials: int
) -> tuple[float, list[float]]:
    """The same for TuRBO, which sees the objective alone; all variables go from 0 to 1."""
    run, seconds, best = TurboRun(BOXES * INPUTS, INITIAL, seed), [], np.inf
    for _ in range(trials):
        started = time.process_time()
        point = run.suggest()
        seconds.append(time.process_time() - started)
        objective, _ = known.measure(point)
        run, best = run.told(point, objective), min(best, objective)
    return best, seconds


def summarize(rows: list[Row]) -> Row:
    """Medians of each method, and the bars."""
    summary: Row = {"bar of seconds": SECONDS_BAR, "bar of the ratio of regrets": REGRET_BAR}
    for method in METHODS:
        some = [row for row in rows if row["method"] == method]
        if some:
            regrets = [float(row["regret"]) for row in some]
            summary[method] = {
                "seeds": len(some),
                "median regret": float(np.median(regrets)),
                "worst regret": max(regrets),
                "worst seconds at the end": max(float(row["seconds_at_the_end"]) for row in some),
                "worst peak gigabytes": max(float(row["peak_gigabytes"]) for row in some),
            }
    rivals = [summary[name]["median regret"] for name in (LOG_EI, TURBO) if name in summary]
    if DEFAULT in summary and rivals:
        ours = summary[DEFAULT]
        near = ours["median regret"] <= REGRET_BAR * min(rivals)
        summary["met"] = bool(near and ours["worst seconds at the end"] <= SECONDS_BAR)
    return summary


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", choices=METHODS, nargs="+")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--constrained", action="store_true")
    options = parser.parse_args()
    able = [name for name in METHODS if not (options.constrained and name == TURBO)]
    methods = [name for name in able if name in (options.methods or able)]
    jobs: list[Job] = [
        (method, seed, options.trials, options.constrained)
        for method in methods
        for seed in range(options.seeds)
    ]
    made = run_jobs(run_one, jobs, print_row, processes=options.processes)
    if options.trials != TRIALS:
        print(summarize(made))
        return
    name = "many_variables_limited" if options.constrained else "many_variables"
    store = RESULTS / f"{name}.csv"
    kept: list[Row] = []
    if store.exists():
        with store.open(encoding="utf-8", newline="") as file:
            kept = [row for row in csv.DictReader(file) if row["method"] not in methods]
    rows = sorted([*kept, *made], key=lambda row: METHODS.index(row["method"]))
    write_rows(name, rows)
    summary = summarize(rows)
    print(summary)
    write_result(name, summary, module="many_variables")


if __name__ == "__main__":
    main()

"""Do a thousand outputs cost little more than twelve, and is a simulator of 50 outputs calibrated?

`field`: the environmental model on a grid of 50 x 20 with a shared kernel, against its usual twelve
outputs with a kernel each, 30 trials. Bars: at most twice the time per suggestion, and a regret
below 1e-4 with every seed. `calibration`: ten parameters of a network of reactions, fitted to 50
measured fractions in 60 trials. Bars: at most 5 s per suggestion, and in the median at most a tenth
of LogEI's misfit. Times are processor seconds of one thread, per trial after the initial design,
and both runs of a ratio are made in one process, one after the other.

Run by hand: `python -m benchmarks.curves [--only field] [--seeds 10] [--processes 2]`.
"""

from __future__ import annotations

import time

import numpy as np
import torch

import grisaille as gs
from benchmarks.results_folder import Row
from benchmarks.run_cases import Job, run_cases
from grisaille.lab.problems import (
    KnownProblem,
    environmental,
    environmental_field,
    kinetic_calibration,
)
from grisaille.records import TrialKind

FIELD, CALIBRATION = "field", "calibration"
TRIALS = {FIELD: 30, CALIBRATION: 60}
MOST_TIMES, MOST_REGRET = 2.0, 1e-4
MOST_SECONDS, MOST_MISFIT = 5.0, 0.1


def run_one(job: Job) -> Row:
    """One case with one seed: our run, and the one that it is compared with."""
    torch.set_num_threads(1)
    case, seed = job
    if case == FIELD:
        made = {"few": (environmental(), None), "many": (environmental_field(), None)}
    else:
        made = {
            "log_ei": (kinetic_calibration(), gs.LogEI()),
            "default": (kinetic_calibration(), None),
        }
    row: Row = {"seed": seed, "trials": TRIALS[case]}
    # The first run of a process also loads libraries.
    next(iter(made.values()))[0].problem.solve(3, seed=seed, progress=False)
    for name, (known, strategy) in made.items():
        regret, seconds = _run(known, strategy, TRIALS[case], seed)
        row |= {f"{name}_regret": regret, f"{name}_seconds": round(seconds, 3)}
    return row


def _run(
    known: KnownProblem, strategy: gs.Strategy | None, trials: int, seed: int
) -> tuple[float, float]:
    """The regret, and the processor seconds per suggestion."""
    study = gs.Study(known.problem, strategy=strategy, seed=seed)
    started = time.process_time()
    result = study.run(trials=trials, progress=False)
    seconds = time.process_time() - started
    kinds = [trial.suggestion.kind for trial in study.history]
    chosen = sum(kind is not TrialKind.INITIAL for kind in kinds)
    return known.regret(result.fun), seconds / max(chosen, 1)


def summarize(case: str, rows: list[Row]) -> Row:
    """The bars of a case."""
    column = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    if case == FIELD:
        ratios = column["many_seconds"] / column["few_seconds"]
        worst = float(column["many_regret"].max())
        return {
            "seeds": len(rows),
            "median ratio of seconds per suggestion": float(np.median(ratios)),
            "worst ratio": float(ratios.max()),
            "median seconds": float(np.median(column["many_seconds"])),
            "worst regret": worst,
            "worst regret of twelve outputs": float(column["few_regret"].max()),
            "met": bool(np.median(ratios) <= MOST_TIMES and worst < MOST_REGRET),
        }
    ours, others = np.median(column["default_regret"]), np.median(column["log_ei_regret"])
    slowest = float(column["default_seconds"].max())
    return {
        "seeds": len(rows),
        "median misfit": float(ours),
        "worst misfit": float(column["default_regret"].max()),
        "median misfit of LogEI": float(others),
        "best misfit of LogEI": float(column["log_ei_regret"].min()),
        "most seconds per suggestion": slowest,
        "met": bool(ours <= MOST_MISFIT * others and slowest <= MOST_SECONDS),
    }


if __name__ == "__main__":
    run_cases("curves", __doc__, [FIELD, CALIBRATION], run_one, summarize)

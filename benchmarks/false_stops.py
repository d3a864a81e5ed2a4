"""When does `gap_tol` stop a study, and is the gap really closed then?

Functions that look flat almost everywhere (a plateau with a hat, a constant with a low corner, a
plane with a sharp ridge) invite a false stop: learned bands that no answer has tested close at
once. Functions that are easy (linear, parabola, sine, bowl) should stop as early as before. The
tolerance is 1 % of the range of the function. A stop is false if the regret exceeds the tolerance.

Run by hand: `python -m benchmarks.false_stops [--seeds 6] [--name false_stops]`. Compare with the
stored rows: the column `trials` says when a study stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import grisaille as gs
from benchmarks.results_folder import Row, write_result, write_rows

PART, TRIALS = 0.01, 30


@dataclass(frozen=True, slots=True)
class Function:
    """A function on [0, 1]^d.

    Attributes:
        inputs: d.
        call: The function of one point, whose features lie at `place`, drawn by the seed.
        is_flat: Whether it invites a false stop.
    """

    inputs: int
    call: Callable[[np.ndarray, np.ndarray], float]
    is_flat: bool


def _hat(x: np.ndarray, place: np.ndarray) -> float:
    return float(-np.exp(-(((x - place) / 0.05) ** 2).sum()))


def _corner(x: np.ndarray, place: np.ndarray) -> float:
    corner = np.round(place)
    return float(-max(0.0, 1.0 - np.abs(x - corner).sum() / 0.2))


def _ridge(x: np.ndarray, place: np.ndarray) -> float:
    return float(-np.exp(-(((x[0] - place[0]) / 0.01) ** 2)))


FUNCTIONS = {
    "hat": Function(2, _hat, True),
    "corner": Function(2, _corner, True),
    "ridge": Function(2, _ridge, True),
    "linear": Function(2, lambda x, place: float(place[0] * x[0] - place[1] * x[1]), False),
    "parabola": Function(1, lambda x, place: float((x[0] - place[0]) ** 2), False),
    "sine": Function(1, lambda x, place: float(np.sin(6 * x[0] + 6 * place[0])), False),
    "bowl": Function(2, lambda x, place: float(((x - place) ** 2).sum()), False),
}


def run_one(name: str, seed: int) -> Row:
    """One study that stops at 1 % of the function's range."""
    function = FUNCTIONS[name]
    place = np.random.default_rng([seed, list(FUNCTIONS).index(name)]).uniform(
        0.15, 0.85, function.inputs if name != "linear" else 2
    )
    axis = np.linspace(0, 1, 2001 if function.inputs == 1 else 201)
    grid = np.stack(np.meshgrid(*[axis] * function.inputs), -1).reshape(-1, function.inputs)
    values = np.array([function.call(point, place) for point in [*grid, place]])
    optimum, tolerance = float(values.min()), PART * float(np.ptp(values))
    x = gs.Variable("x", shape=function.inputs, lower=0, upper=1)
    box = gs.BlackBox(lambda x: function.call(np.atleast_1d(x), place), name=name, noise=0)
    result = gs.Problem(minimize=box(x)).solve(TRIALS, seed=seed, gap_tol=tolerance, progress=False)
    stopped = result.status in (gs.Status.OPTIMAL, gs.Status.GAP_TOL)
    regret = result.fun - optimum
    return {
        "function": name,
        "flat": function.is_flat,
        "seed": seed,
        "status": str(result.status),
        "trials": result.nit,
        "predicted": sum(row.answers for row in result.calibration),
        "tolerance": tolerance,
        "regret": regret,
        "false_stop": stopped and regret > tolerance,
    }


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--name", default="false_stops")
    options = parser.parse_args()
    rows = [run_one(name, seed) for name in FUNCTIONS for seed in range(options.seeds)]
    write_rows(options.name, rows)
    flat = [row for row in rows if row["flat"]]
    summary: dict[str, object] = {
        "studies of functions that look flat": len(flat),
        "false stops": sum(row["false_stop"] for row in flat),
        "trials until an easy function stops": {
            name: [row["trials"] for row in rows if row["function"] == name]
            for name, function in FUNCTIONS.items()
            if not function.is_flat
        },
    }
    for name, value in summary.items():
        print(f"{name}: {value}")
    write_result(options.name, summary, "false_stops")


if __name__ == "__main__":
    main()

"""Do theory bands hold as often as they promise? 1,000 random functions of known norm.

Each function is sum_j a_j k(c_j, .) on [-1, 1]^2, scaled to a norm of exactly B, the one declared,
and observed with Gaussian noise. At each of 20 steps the bands of gs.Theory(delta=0.1, horizon=20)
are compared with the function on a grid of 41 x 41 points; a function counts as covered if it is
inside everywhere and at all steps. Points are chosen where the band is lowest, where it is widest,
or at random, in turn: the lemma allows any choice.

Run by hand: `python -m benchmarks.coverage [--functions 1000]`.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

import grisaille as gs
from benchmarks.parallel_jobs import run_jobs
from benchmarks.results_folder import Row, write_result, write_rows
from grisaille.belief.rules import plausible_set
from grisaille.records import History, Observation, Suggestion, Trial, TrialKind

DELTA, STEPS, NORM, NOISE, CENTERS = 0.1, 20, 2.0, 0.3, 30
KERNELS = {
    "squared exponential": gs.SquaredExponential(0.5, 1.0),
    "Matérn 5/2": gs.Matern(2.5, 0.5, 1.0),
    "Matérn 3/2": gs.Matern(1.5, 0.5, 1.0),
    "linear": gs.Linear(np.sqrt(2), 1.0),
}
AXIS = torch.linspace(-1, 1, 41, dtype=torch.float64)
GRID = torch.cartesian_prod(AXIS, AXIS)


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--functions", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    rows = run_jobs(run_one, range(options.functions), processes=options.processes)
    ratios = np.array([row["largest_ratio"] for row in rows])
    shares = {
        name: float(np.mean([row["covered"] for row in rows if row["kernel"] == name]))
        for name in KERNELS
    }
    summary = {
        "functions": len(rows),
        "steps": STEPS,
        "delta": DELTA,
        "covered": float(np.mean([row["covered"] for row in rows])),
        "bar": 1 - DELTA,
        "covered by kernel": shares,
        "largest error in half-widths": float(ratios.max()),
        "median of the largest error in half-widths": float(np.median(ratios)),
        "covered with half of beta": float(np.mean(ratios <= 0.5)),
        "covered with a quarter of beta": float(np.mean(ratios <= 0.25)),
    }
    for name, value in summary.items():
        print(f"{name}: {value}")
    write_result("coverage", summary)
    write_rows("coverage", rows)


def run_one(seed: int) -> Row:
    """Follow one function for all steps."""
    torch.set_num_threads(1)
    name = list(KERNELS)[seed % len(KERNELS)]
    kernel = KERNELS[name]
    generator = np.random.default_rng(seed)
    scale = float(kernel.lengthscale[0])
    centers = torch.tensor(generator.uniform(-1, 1, (CENTERS, 2)))
    weights = torch.tensor(generator.standard_normal(CENTERS))
    gram = kernel.variance * kernel.correlation(centers / scale, centers / scale)
    weights = weights * NORM / torch.sqrt(weights @ gram @ weights)
    truth = kernel.variance * kernel.correlation(GRID / scale, centers / scale) @ weights

    x = gs.Variable("x", 2, lower=-1, upper=1)
    phi = gs.BlackBox(None, name="phi", noise=NOISE, kernel=kernel, norm_bound=NORM)
    program = gs.Problem(minimize=phi(x)).program
    theory = gs.Theory(delta=DELTA, horizon=STEPS)
    history = History()
    largest = 0.0
    for step in range(STEPS):
        plausible = plausible_set(program, history, theory)
        mean, deviation = plausible.beliefs["phi"].predict(GRID)
        reach = plausible.beta["phi"] * deviation
        ratio = (mean[:, 0] - truth).abs() / reach[:, 0]
        largest = max(largest, float(ratio.max()))
        lowest, widest = int((mean - reach).argmin()), int(reach.argmax())
        chosen = (lowest, widest, int(generator.integers(len(GRID))))[step % 3]
        answer = np.array([float(truth[chosen]) + NOISE * generator.standard_normal()])
        point = GRID[chosen].numpy().copy()
        trial = Trial(
            step + 1,
            Suggestion(TrialKind.OPTIMISTIC, point),
            float(answer[0]),
            np.zeros(0),
            answer,
            (Observation("phi", point, answer),),
        )
        history = History((*history.trials, trial))
    return {"seed": seed, "kernel": name, "covered": largest <= 1, "largest_ratio": largest}


if __name__ == "__main__":
    main()

"""Are verdicts true? Functions drawn from Gaussian processes, rough and smooth.

Each run minimizes a function that was drawn on [-1, 1]^d, and stops when best value and bound are
within a tolerance of 5 % of the function's standard deviation. The kernel is learned, or the true
one is given; answers are exact, or have noise of 5 % of the standard deviation, which is left out
or, with a given kernel, declared. A verdict "optimal" or "gap_tol" is wrong if the regret exceeds
the tolerance; a bound is wrong if it lies above the optimum; the interval of a result holds if the
optimum lies in it.

Run by hand: `python -m benchmarks.verdicts [--seeds 10] [--first 0] [--processes 2]`.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from scipy.optimize import minimize

import grisaille as gs
from benchmarks.parallel_jobs import run_jobs
from benchmarks.results_folder import Row, write_result, write_rows

TOLERANCE, NOISE, TRIALS = 0.05, 0.05, 40


@dataclass(frozen=True, slots=True)
class Drawn:
    """A family of functions: inputs, length-scale of the draw, and whether two are nested."""

    inputs: int
    lengthscale: float
    nested: bool = False


FAMILIES = {
    "rough, 1 input": Drawn(1, 0.15),
    "rough, 2 inputs": Drawn(2, 0.3),
    "smooth, 1 input": Drawn(1, 0.5),
    "smooth, 2 inputs": Drawn(2, 0.8),
    "smooth nest": Drawn(2, 0.8, nested=True),
}


@dataclass(frozen=True, slots=True)
class Job:
    """One run."""

    family: str
    learned: bool
    noise: float
    seed: int


class Draw:
    """A function drawn from a Gaussian process with a Matérn 5/2 kernel of variance 1.

    It is sampled on a grid of a quarter of a length-scale, and interpolated by its kernel.
    """

    def __init__(
        self, generator: np.random.Generator, inputs: int, lengthscale: float, reach: float
    ) -> None:
        self.kernel = gs.Matern(2.5, lengthscale, 1.0)
        self._lengthscale = lengthscale
        axis = torch.linspace(-reach, reach, int(8 * reach / lengthscale) + 2, dtype=torch.float64)
        self._knots = torch.cartesian_prod(*[axis] * inputs).reshape(-1, inputs)
        system = self._covariance(self._knots)
        factor = torch.linalg.cholesky(system + 1e-8 * torch.eye(len(system), dtype=torch.float64))
        white = torch.tensor(generator.standard_normal(len(self._knots)))
        self._weights = torch.linalg.solve_triangular(factor.T, white.unsqueeze(1), upper=True)

    def _covariance(self, states: torch.Tensor) -> torch.Tensor:
        knots = self._knots / self._lengthscale
        return self.kernel.correlation(states / self._lengthscale, knots)

    def __call__(self, states: np.ndarray) -> np.ndarray:
        """Values at states (batch, inputs), (batch,)."""
        return (self._covariance(torch.tensor(states)) @ self._weights).squeeze(1).numpy()


class Case:
    """A problem that was drawn, its true function, its optimum and the spread of its values."""

    def __init__(self, job: Job) -> None:
        family = FAMILIES[job.family]
        generator = np.random.default_rng([job.seed, list(FAMILIES).index(job.family)])
        inner = Draw(generator, family.inputs, family.lengthscale, 1.0)
        outer = Draw(generator, 1, 1.0, 5.0) if family.nested else None
        noise = np.random.default_rng([job.seed, 1])

        def truth(points: np.ndarray) -> np.ndarray:
            values = inner(points)
            return values if outer is None else outer(values[:, None])

        grid = np.linspace(-1, 1, 2001 if family.inputs == 1 else 201)
        points = np.stack(np.meshgrid(*[grid] * family.inputs), -1).reshape(-1, family.inputs)
        values = truth(points)
        self.spread = float(values.std())
        self.truth = truth
        ends = [
            minimize(lambda p: float(truth(p[None])[0]), start, bounds=[(-1, 1)] * family.inputs)
            for start in points[values.argsort()[:3]]
        ]
        self.optimum = min(float(values.min()), *(float(end.fun) for end in ends))

        def box(draw: Draw, name: str) -> gs.BlackBox:
            def answer(x: np.ndarray | float) -> float:
                value = float(draw(np.reshape(x, (1, -1)).astype(float))[0])
                return value + job.noise * noise.standard_normal()

            declared = None if job.learned else job.noise
            kernel = None if job.learned else draw.kernel
            return gs.BlackBox(answer, name=name, noise=declared, kernel=kernel)

        x = gs.Variable("x", shape=family.inputs, lower=-1, upper=1)
        y = box(inner, "inner")(x)
        self.problem = gs.Problem(minimize=y if outer is None else box(outer, "outer")(y))


def run_one(job: Job) -> Row:
    """One run, measured."""
    case = Case(job)
    tolerance = TOLERANCE * case.spread
    result = case.problem.solve(trials=TRIALS, seed=job.seed, gap_tol=tolerance, progress=False)
    regret = float(case.truth(result.x[None])[0]) - case.optimum
    rounding = 1e-6 * case.spread
    return {
        "family": job.family,
        "kernel": "learned" if job.learned else "given",
        "noise": job.noise,
        "seed": job.seed,
        "status": str(result.status),
        "assurance": str(result.assurance),
        "trials": result.nit,
        "optimum": case.optimum,
        "spread": case.spread,
        "lower": result.lower_bound,
        "upper": result.upper_bound,
        "regret": regret,
        "verdict": result.status in (gs.Status.OPTIMAL, gs.Status.GAP_TOL),
        "wrong_verdict": result.status in (gs.Status.OPTIMAL, gs.Status.GAP_TOL)
        and regret > tolerance,
        "wrong_bound": result.lower_bound > case.optimum + rounding,
        "wrong_upper": result.upper_bound < case.optimum - rounding,
        "factor": max((row.factor for row in result.calibration), default=1.0),
    }


def jobs(seeds: range) -> list[Job]:
    """Every family, kernel learned and given, with and without noise."""
    cases = product(FAMILIES, (True, False), (0.0, NOISE), seeds)
    return [Job(*case) for case in cases]


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--name", default="verdicts")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    rows = run_jobs(run_one, jobs(seeds), processes=options.processes)
    write_rows(options.name, rows)
    summary = summarize(rows)
    for name, value in summary.items():
        print(f"{name}: {value}")
    write_result(options.name, summary, "verdicts")


def summarize(rows: list[Row]) -> dict[str, object]:
    """What the bars are about."""
    noisy = [row for row in rows if row["noise"] > 0]
    summary: dict[str, object] = {
        "runs": len(rows),
        "verdicts": sum(row["verdict"] for row in rows),
        "wrong verdicts": sum(row["wrong_verdict"] for row in rows),
        "wrong bounds": sum(row["wrong_bound"] for row in rows),
        "intervals with noise": len(noisy),
        "that hold": sum(not (row["wrong_bound"] or row["wrong_upper"]) for row in noisy),
    }
    for kernel, noise in product(("learned", "given"), (0.0, NOISE)):
        some = [r for r in rows if r["kernel"] == kernel and r["noise"] == noise]
        summary[f"{kernel}, noise {noise:g}"] = {
            "runs": len(some),
            "verdicts": sum(r["verdict"] for r in some),
            "wrong verdicts": sum(r["wrong_verdict"] for r in some),
            "wrong bounds": sum(r["wrong_bound"] for r in some),
        }
    return summary


if __name__ == "__main__":
    main()

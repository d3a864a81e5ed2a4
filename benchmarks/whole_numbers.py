"""Are proofs with whole numbers true? Small auxiliary problems against enumeration.

Each problem has integers and choices with a few hundred combinations at most, some a continuous
variable, some constraints, and some no feasible point; the objective is affine in a black box or
its squared distance from a value. `Certified` must prove the optimum that enumeration finds: every
combination, a fine grid of the continuous variable that is refined around its best points, and the
best plausible values of the black boxes in closed form. A verdict "infeasible" is wrong if
enumeration finds a feasible point.

Run by hand: `python -m benchmarks.whole_numbers [--problems 100] [--first 0]`.
"""

from __future__ import annotations

import argparse
import math
import time
from itertools import product

import numpy as np
import torch

import grisaille as gs
from benchmarks.results_folder import Row, write_result, write_rows
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.belief.rules import plausible_set
from grisaille.language.program import BoxCall
from grisaille.proof.relaxation import relaxed
from grisaille.records import History, Observation
from grisaille.search.search_problem import ProofStatus

GAP = 1e-3
# Points of the continuous variable, and how often the grid is refined around the best of them.
GRID = 1001
REFINEMENTS = 4
KEPT = 20
TARGET = 0.4
# How much a constraint may be violated by rounding, and a proved value may differ by it.
ROUNDING = 1e-6


class Case:
    """A random problem with a plausible set.

    Args:
        seed: Which one.
    """

    def __init__(self, seed: int) -> None:
        self.generator = generator = np.random.default_rng([seed, 20])
        kinds = int(generator.integers(1, 5))
        # So few entries with so few values have a few hundred combinations at most.
        self.variables: list[gs.Variable] = []
        for number in range(kinds):
            values = int(generator.integers(2, (7, 7, 6, 5)[kinds - 1]))
            if generator.random() < 0.5:
                low = int(generator.integers(-3, 3))
                whole = gs.Integer(f"n{number}", lower=low, upper=low + values - 1)
                self.variables.append(whole)
            else:
                self.variables.append(gs.Choice(f"c{number}", list("ABCDEF")[:values]))
        self.continuous = bool(generator.random() < 0.4)
        if self.continuous:
            self.variables.append(gs.Variable("x", lower=-1, upper=1))
        inputs = sum(len(v.labels) or 1 for v in self.variables)
        kernel = gs.Matern(2.5, lengthscale=generator.uniform(0.8, 3.0, inputs), variance=1.0)
        weights = generator.normal(size=(2, inputs))

        def box(index: int) -> gs.BlackBox:
            return gs.BlackBox(
                lambda *s: float(np.sin(weights[index] @ _numbers(self.variables, s))),
                name=f"f{index}",
                noise=0.01,
                kernel=kernel,
            )

        f, g = box(0)(*self.variables), box(1)(*self.variables)
        self.slopes = generator.normal(size=len(self.variables)) / 3
        known = sum(
            float(slope) * (v == v.labels[0] if isinstance(v, gs.Choice) else v)
            for v, slope in zip(self.variables, self.slopes, strict=True)
        )
        self.squared = bool(generator.random() < 0.3)
        self.rows = int(generator.integers(0, 3))
        # From easily met to hopeless.
        self.limits = generator.uniform([-2.5, -1.5], [0.5, 1.5])
        constraints = [g + 0.3 * known <= self.limits[0], g - f - known <= self.limits[1]]
        self.problem = gs.Problem(
            minimize=((f - TARGET) ** 2 if self.squared else f) + known,
            subject_to=constraints[: self.rows],
        )

    def plausible(self) -> PlausibleSet:
        """The plausible set after a few answers at random design points."""
        program = self.problem.program
        space = program.space
        seen: list[Observation] = []

        def resolve(call: BoxCall, states: torch.Tensor) -> torch.Tensor:
            inputs = states[0].numpy().copy()
            answer = call.box.evaluate(inputs)
            seen.append(Observation(call.box.name, inputs, answer))
            return torch.tensor(answer)[None]

        for _ in range(int(self.generator.integers(2, 9))):
            drawn = self.generator.uniform(space.search_lower, space.search_upper)
            program.run(torch.tensor(space.spread(drawn))[None], resolve)
        return plausible_set(program, History((), loose=tuple(seen)), 2.0)

    def enumerated(self, plausible: PlausibleSet) -> float:
        """The least objective, infinite if no point is feasible."""
        space = self.problem.program.space
        ends = zip(space.lower, space.upper, space.whole, strict=True)
        axes = [
            np.arange(low, high + 1) if whole else np.linspace(low, high, GRID)
            for low, high, whole in ends
        ]
        points = np.array(list(product(*axes)))
        values = self.least(plausible, points)
        best, step = float(values.min()), 2 / (GRID - 1)
        for _ in range(REFINEMENTS if self.continuous else 0):
            centers = points[values.argsort()[:KEPT]]
            offsets = np.zeros((101, points.shape[1]))
            offsets[:, -1] = np.linspace(-step, step, 101)
            points = (centers[:, None] + offsets).reshape(-1, points.shape[1])
            points[:, -1] = points[:, -1].clip(-1, 1)
            values, step = self.least(plausible, points), step / 50
            best = min(best, float(values.min()))
        return best

    def least(self, plausible: PlausibleSet, points: np.ndarray) -> np.ndarray:
        """The least objective at design points (batch, n) within the bands, in closed form.

        Constraints rise with g, which the objective does not read: g is as low as it can be. They
        fall with f, which is then as near to its best value as constraint and band allow.
        """
        bands: dict[str, tuple[np.ndarray, np.ndarray]] = {}

        def look(call: BoxCall, states: torch.Tensor) -> None:
            low, high = plausible.band(call, states)
            bands[call.box.name] = low[:, 0].numpy(), high[:, 0].numpy()

        with torch.no_grad():
            plausible.visit(torch.tensor(points), look)
        pairs = zip(self.variables, points.T, strict=True)
        known = sum(
            slope * ((column == 0) if isinstance(v, gs.Choice) else column)
            for slope, (v, column) in zip(self.slopes, pairs, strict=True)
        )
        low, high = bands["f0"]
        feasible = np.ones(len(points), dtype=bool)
        if self.rows > 0:
            feasible = bands["f1"][0] + 0.3 * known <= self.limits[0]
        if self.rows > 1:
            low = np.maximum(low, bands["f1"][0] - known - self.limits[1])
            feasible &= low <= high
        f = np.clip(TARGET, low, np.maximum(low, high)) if self.squared else low
        value = ((f - TARGET) ** 2 if self.squared else f) + known
        return np.where(feasible, value, np.inf)


def _numbers(variables: list[gs.Variable], values: tuple[object, ...]) -> np.ndarray:
    """What a black box receives as numbers: one for each label of a choice."""
    parts = [
        np.array([float(value == label) for label in variable.labels] or [value], dtype=float)
        for variable, value in zip(variables, values, strict=True)
    ]
    return np.concatenate(parts)


def run_one(seed: int) -> Row:
    """One problem, solved and enumerated."""
    case = Case(seed)
    plausible = case.plausible()
    started = time.perf_counter()
    hints = torch.zeros(0, len(plausible.lower), dtype=torch.float64)
    solution = gs.Certified(absolute_gap=GAP, relative_gap=0.0).solve(relaxed(plausible), hints, 0)
    seconds = time.perf_counter() - started
    optimum = case.enumerated(plausible)
    proof = solution.proof
    assert proof is not None
    whole = torch.tensor(case.problem.program.space.whole)
    point = solution.point[: len(whole)][whole]
    difference = solution.value - optimum if solution.feasible else math.nan
    return {
        "seed": seed,
        "combinations": math.prod(
            len(v.labels) or int(v.upper - v.lower) + 1 for v in case.variables if v.is_whole
        ),
        "continuous": case.continuous,
        "squared": case.squared,
        "constraints": case.rows,
        "status": str(proof.status),
        "value": solution.value if solution.feasible else math.inf,
        "optimum": optimum,
        "regions": proof.regions,
        "seconds": round(seconds, 4),
        "whole": bool((point == point.round()).all()),
        "agrees": proof.status is ProofStatus.OPTIMAL and abs(difference) <= GAP + ROUNDING,
        "wrong_bound": proof.lower > optimum + ROUNDING,
        "wrongly_infeasible": proof.status is ProofStatus.INFEASIBLE and optimum < math.inf,
        "missed_infeasible": proof.status is not ProofStatus.INFEASIBLE and optimum == math.inf,
    }


def summarize(rows: list[Row]) -> dict[str, object]:
    """What the bars are about."""
    feasible = [row for row in rows if row["optimum"] < math.inf]
    return {
        "problems": len(rows),
        "with a feasible point": len(feasible),
        "proved, and equal to enumeration": sum(row["agrees"] for row in feasible),
        "largest difference": max(abs(r["value"] - r["optimum"]) for r in feasible),
        "without a feasible point": len(rows) - len(feasible),
        "proved infeasible": sum(r["status"] == ProofStatus.INFEASIBLE for r in rows),
        "wrongly infeasible": sum(row["wrongly_infeasible"] for row in rows),
        "missed infeasible": sum(row["missed_infeasible"] for row in rows),
        "wrong bounds": sum(row["wrong_bound"] for row in rows),
        "points that are not whole": sum(not row["whole"] for row in rows),
        "most combinations": max(row["combinations"] for row in rows),
        "with a continuous variable": sum(row["continuous"] for row in rows),
        "with a squared output": sum(row["squared"] for row in rows),
        "median regions": float(np.median([row["regions"] for row in rows])),
        "median seconds": float(np.median([row["seconds"] for row in rows])),
        "most seconds": max(row["seconds"] for row in rows),
    }


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    rows = []
    for seed in range(options.first, options.first + options.problems):
        rows.append(run_one(seed))
        print(rows[-1], flush=True)
    write_rows("whole_numbers", rows)
    summary = summarize(rows)
    for name, value in summary.items():
        print(f"{name}: {value}")
    write_result("whole_numbers", summary)


if __name__ == "__main__":
    main()

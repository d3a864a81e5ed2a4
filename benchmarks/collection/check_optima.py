"""Check the stated optima against multi-start local search on the true functions.

    python -m benchmarks.collection.check_optima [names]

One line per problem: the stated optimum, the one found here, and whether they agree.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import differential_evolution, minimize

from benchmarks.collection import development, held_out
from benchmarks.collection.entry import Entry
from grisaille.array_types import Array
from grisaille.language.problem import Problem
from grisaille.language.program import BoxCall, split_outputs
from grisaille.metrics import violations

TOLERANCE = 1e-6
"""How far optima may be apart, relative to max(0.001, |optimum|), and how infeasible x may be."""
_STEP = 6e-6
_STARTS = 60
_FEASIBLE = 1e-7
_EVOLVED = 3  # variables, up to which differential evolution also searches


def main(names: list[str]) -> int:
    """Check the named problems, or all; 1 if one of them does not agree."""
    entries = (*development(), *_held_out())
    chosen = [e for e in entries if not names or e.name in names]
    missing = set(names) - {e.name for e in chosen}
    if missing:
        print(f"no problem is named {', '.join(sorted(missing))}")
    disagree = [e.name for e in chosen if not _agrees(e)]
    print(f"{len(chosen) - len(disagree)} of {len(chosen)} agree")
    return int(bool(disagree or missing))


@dataclass(frozen=True)
class TrueProblem:
    """A problem with its real functions, minimized, over the unit cube.

    For an infeasible problem the objective is the largest violation t, an extra variable.
    """

    problem: Problem
    feasible: bool

    def at(self, cube: Array) -> tuple[Array, Array]:
        """Objective (batch,) and constraint bodies (batch, K) at points of the unit cube."""
        program = self.problem.program
        points = program.lower + cube[:, : program.size] * (program.upper - program.lower)
        outputs = program.run(torch.tensor(points), _call)
        objective, bodies = (part.numpy() for part in split_outputs(outputs))
        if self.feasible:
            return objective, bodies
        return cube[:, -1], bodies - cube[:, -1:]

    def slopes(self, point: Array) -> tuple[Array, Array]:
        """Central differences at one point: (d,) and (K, d)."""
        size = self.problem.program.size
        steps = _STEP * np.eye(len(point))
        above, below = point + steps, point - steps
        above[:, :size], below[:, :size] = above[:, :size].clip(0, 1), below[:, :size].clip(0, 1)
        widths = (above - below).sum(1)
        values, bodies = self.at(np.concatenate([above, below]))
        half = len(point)
        return (values[:half] - values[half:]) / widths, (
            (bodies[:half] - bodies[half:]) / widths[:, None]
        ).T


def search(entry: Entry, starts: int = _STARTS, seed: int = 0) -> tuple[float, Array]:
    """The best value and point of multi-start SLSQP, from random points.

    For an infeasible problem, the least violation and where it is.
    """
    problem = entry.formulate(0)
    size = problem.program.size
    true = TrueProblem(problem, entry.feasible)
    generator = np.random.default_rng(seed)
    cubes = generator.random((40 * starts, size))
    _, bodies = TrueProblem(problem, True).at(cubes)
    scales = np.ptp(bodies, axis=0)
    if not entry.feasible:
        cubes = np.column_stack([cubes, bodies.max(1)])
    values, bodies = true.at(cubes)
    scale = np.ptp(values) or 1.0
    # Half of the starts are those nearest to feasible, which matters where little is feasible.
    nearest = np.argsort((bodies / scales).clip(0).max(1, initial=0.0), kind="stable")
    chosen = [*cubes[: starts // 2], *cubes[nearest[: starts // 2]]]
    units = (scale, scales)
    found = sorted(
        (_local(true, start, *units, 1e-9) for start in chosen), key=lambda pair: pair[0]
    )
    if not problem.constraints and size <= _EVOLVED:
        evolved = differential_evolution(
            lambda u: true.at(u.T)[0], [(0, 1)] * size, rng=seed, vectorized=True,
            updating="deferred", polish=False,
        )  # fmt: skip
        found.insert(0, (float(evolved.fun), evolved.x))
    # A local search at a finer scale of the objective makes the last digits right.
    found += [_local(true, point, scale * 1e-4, scales, 1e-13) for _, point in found[:4]]
    best, where = min(found, key=lambda pair: pair[0])
    program = problem.program
    x = program.lower + where[:size] * (program.upper - program.lower)
    return (problem.sense if entry.feasible else 1) * best, x


def _local(
    true: TrueProblem, start: Array, scale: float, scales: Array, precision: float
) -> tuple[float, Array]:
    """SLSQP from one start: value and point; the value is inf if the point is infeasible."""
    size = true.problem.program.size
    found = minimize(
        lambda u: float(true.at(u[None])[0][0]) / scale,
        start,
        jac=lambda u: true.slopes(u)[0] / scale,
        bounds=[(0.0, 1.0)] * size + [(-np.inf, np.inf)] * (len(start) - size),
        constraints={
            "type": "ineq",
            "fun": lambda u: -true.at(u[None])[1][0] / scales,
            "jac": lambda u: -true.slopes(u)[1] / scales[:, None],
        }
        if len(scales)
        else (),
        method="SLSQP",
        options={"maxiter": 200, "ftol": precision},
    )
    point = found.x if np.isfinite(found.x).all() else start
    point[:size] = point[:size].clip(0, 1)
    value, bodies = true.at(point[None])
    feasible = violations(bodies[0]).max(initial=0.0) <= _FEASIBLE
    return (float(value[0]) if feasible else np.inf), point


def _agrees(entry: Entry) -> bool:
    known = entry.make()
    value, violation = known.measure(entry.x)
    found, x = search(entry)
    stated = entry.optimum if entry.feasible else violation
    tolerance = TOLERANCE * max(1e-3, abs(stated))
    agrees = abs(found - stated) <= tolerance
    if entry.feasible:
        agrees &= abs(value - stated) <= tolerance and violation <= TOLERANCE
    print(
        f"{'agrees   ' if agrees else 'DISAGREES'} {entry.name}: stated {stated:.12g}, "
        f"x gives {value:.12g} with violation {violation:.2g}, found {found:.12g} at",
        ", ".join(f"{v:.12g}" for v in x),
        flush=True,
    )
    return agrees


def _held_out() -> tuple[Entry, ...]:
    try:
        return held_out()
    except ModuleNotFoundError:
        return ()


def _call(call: BoxCall, states: torch.Tensor) -> torch.Tensor:
    """The real function, without the texts that `evaluate` prepares for its errors."""
    answers = [call.box(*call.box.split(state)) for state in states.numpy()]
    return torch.tensor(np.array(answers, dtype=float).reshape(len(states), -1))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

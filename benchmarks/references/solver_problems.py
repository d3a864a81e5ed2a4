"""The two band problems, written so that any solver's expressions can take their place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.references.band_problems import BandData, LinearProgram, Posterior

Array = NDArray[np.float64]
Band = tuple[Any, Any]
"""Mean and standard deviation as expressions of a solver."""
Number = Callable[[float], Any]
"""Turns a number into a constant of a solver."""

# What both solvers call feasible.
_TOLERANCE = 1e-6
_ROUNDING = 1e-10


@dataclass(frozen=True, slots=True)
class SolverReport:
    """What a solver reports about itself.

    Attributes:
        done: Whether it finished its work.
        empty: Whether it found the problem infeasible.
        lower: Its lower bound.
        x: Its best point; None without one.
    """

    done: bool
    empty: bool
    lower: float
    x: Array | None


class LcbProblem:
    """The problem of `minimize_lcb`, and how to write it in a solver's expressions."""

    constrained = False

    def __init__(self, data: BandData, beta: float, lower: Array, upper: Array) -> None:
        self.lower, self.upper, self.beta = lower, upper, beta
        self.posteriors = [Posterior(data)]
        self.z_ranges: list[tuple[float, float]] = []

    def objective(self, bands: list[Band], x: list[Any], z: list[Any], number: Number) -> Any:
        """The expression that is minimized."""
        ((mean, deviation),) = bands
        return mean - number(self.beta) * deviation

    def constraints(
        self, bands: list[Band], x: list[Any], z: list[Any], number: Number
    ) -> list[Any]:
        """Expressions that must be <= 0: none."""
        return []

    def exact(self, x: Array) -> tuple[float, Array | None]:
        """The least objective at x, from the data, and the best z."""
        mean, deviation = self.posteriors[0](x[None])
        return float(mean[0] - self.beta * deviation[0]), None


class LpProblem:
    """The problem of `solve_lp`, and how to write it in a solver's expressions."""

    constrained = True

    def __init__(self, program: LinearProgram, beta: float, lower: Array, upper: Array) -> None:
        self.lower, self.upper, self.beta = lower, upper, beta
        self.program = program
        self.posteriors = [Posterior(data) for data in program.bands]
        self.z_ranges = []
        for posterior in self.posteriors:
            width = posterior.reach + beta * math.sqrt(posterior.data.variance)
            mean = posterior.data.mean
            self.z_ranges.append((mean - width, mean + width))

    def objective(self, bands: list[Band], x: list[Any], z: list[Any], number: Number) -> Any:
        """The expression that is minimized."""
        return dot([*self.program.c1, *self.program.c2], [*x, *z], number)

    def constraints(
        self, bands: list[Band], x: list[Any], z: list[Any], number: Number
    ) -> list[Any]:
        """Expressions that must be <= 0."""
        program = self.program
        rows = [
            dot([*of_x, *of_z], [*x, *z], number) + number(constant)
            for of_x, of_z, constant in zip(program.a1, program.a2, program.b, strict=True)
        ]
        for (mean, deviation), value in zip(bands, z, strict=True):
            half_width = number(self.beta) * deviation
            rows += [mean - half_width - value, value - mean - half_width]
        return rows

    def exact(self, x: Array) -> tuple[float, Array | None]:
        """The least objective at x, from the data, and the best z."""
        bands = np.array([posterior(x[None]) for posterior in self.posteriors])[..., 0]
        mean, deviation = bands.T
        return best_response(
            self.program, mean - self.beta * deviation, mean + self.beta * deviation, x
        )


def best_response(
    program: LinearProgram, lower: Array, upper: Array, x: Array
) -> tuple[float, Array | None]:
    """The least objective at x with z in [lower, upper], and that z; infinite if there is none.

    A linear program in the plane has its optimum at a vertex, and all of them are tried. Rows and
    bands may be missed by 1e-6, as in the solvers: they end where the feasible x end.

    Args:
        program: Whose costs and rows are used.
        lower: (2,), lower end of the bands at x.
        upper: (2,), upper end.
        x: (d,).
    """
    rows = np.vstack([program.a2, np.eye(2), -np.eye(2)])
    limits = np.concatenate([-(program.a1 @ x + program.b), upper, -lower]) + _TOLERANCE
    best, best_z = math.inf, None
    for pair in combinations(range(len(rows)), 2):
        matrix = rows[list(pair)]
        if abs(np.linalg.det(matrix)) < 1e-12:
            continue
        z = np.linalg.solve(matrix, limits[list(pair)])
        value = float(program.c1 @ x + program.c2 @ z)
        if value < best and (rows @ z <= limits + _ROUNDING).all():
            best, best_z = value, z
    return best, best_z


def dot(coefficients: Sequence[float] | Array, values: Sequence[Any], number: Number) -> Any:
    """Their inner product as an expression."""
    return reduce(add, (number(c) * v for c, v in zip(coefficients, values, strict=True)))


def scaled_difference(x: list[Any], row: Array, lengthscale: Array, number: Number) -> list[Any]:
    terms = zip(x, row, lengthscale, strict=True)
    return [(variable - number(at)) * number(1 / scale) for variable, at, scale in terms]

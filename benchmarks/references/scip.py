"""SCIP on the band problems (`pyscipopt`, imported when it is called)."""

from __future__ import annotations

import math
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.references.band_problems import BandData, Posterior, correlation
from benchmarks.references.solver_problems import (
    Band,
    LcbProblem,
    LpProblem,
    SolverReport,
    dot,
    scaled_difference,
)

Array = NDArray[np.float64]

# Near data sigma^2 is as small as the noise; at SCIP's tolerance sigma would be too large by a
# visible share of it, so the equation of sigma^2 is written this many times over.
_SHARPENING = 100.0


def run_scip(problem: LcbProblem | LpProblem, gap: float, seconds: float) -> SolverReport:
    from pyscipopt import Model

    model = Model()
    model.hideOutput()
    settings = {
        "limits/absgap": gap,
        "limits/gap": 0.0,
        "limits/time": seconds,
        "timing/clocktype": 2,  # wall time
        # Measured: cuts beyond those of the constraints, and tightening bounds by optimization,
        # cost more than they save on these problems.
        "separating/maxrounds": 0,
        "separating/maxroundsroot": 0,
        "propagating/obbt/freq": -1,
    }
    model.setParams(settings)
    ends = zip(problem.lower, problem.upper, strict=True)
    x = [model.addVar(lb=float(low), ub=float(high)) for low, high in ends]
    z = [model.addVar(lb=low, ub=high) for low, high in problem.z_ranges]
    writer = _ScipBands(model, x, problem.lower, problem.upper)
    bands = [writer.band(posterior) for posterior in problem.posteriors]
    for expression in problem.constraints(bands, x, z, float):
        model.addCons(expression <= 0)
    model.setObjective(problem.objective(bands, x, z, float))
    model.optimize()
    status = model.getStatus()
    point = None
    if model.getNSols():
        best = model.getBestSol()
        point = np.array([model.getSolVal(best, variable) for variable in x])
    return SolverReport(
        status in ("optimal", "gaplimit"), status == "infeasible", model.getDualbound(), point
    )


class _ScipBands:
    """Writes bands into a model of SCIP; what outputs have in common is written once."""

    def __init__(self, model: Any, x: list[Any], lower: Array, upper: Array) -> None:
        self._model, self._x, self._lower, self._upper = model, x, lower, upper
        self._correlations: dict[bytes, Any] = {}
        self._deviations: dict[bytes, Any] = {}

    def band(self, posterior: Posterior) -> Band:
        """Mean, an expression, and standard deviation, a variable that may be smaller."""
        data = posterior.data
        values = [self._correlation(data, row) for row in data.inputs]
        key = _shape_key(data)
        if key not in self._deviations:
            self._deviations[key] = self._deviation(posterior, values)
        return dot(posterior.weights, values, float) + data.mean, self._deviations[key]

    def _deviation(self, posterior: Posterior, values: list[Any]) -> Any:
        model, variance = self._model, posterior.data.variance
        root = math.sqrt(variance)
        white = [model.addVar(lb=-root, ub=root) for _ in values]
        for i, variable in enumerate(white):
            row = posterior.whitening[i, : i + 1]
            model.addCons(variable == dot(row, values[: i + 1], float))
        deviation = model.addVar(lb=0.0, ub=root)
        squares = reduce(add, (variable * variable for variable in white))
        squares = squares + deviation * deviation
        model.addCons(_SHARPENING * squares <= _SHARPENING * variance)
        return deviation

    def _correlation(self, data: BandData, row: Array) -> Any:
        key = b"".join([data.kernel.encode(), data.lengthscale.tobytes(), row.tobytes()])
        if key not in self._correlations:
            nearest = np.clip(row, self._lower, self._upper)
            farthest = np.where(row - self._lower > self._upper - row, self._lower, self._upper)
            ends = np.stack([farthest, nearest])
            low, high = correlation(ends, row[None], data.lengthscale, data.kernel)[:, 0]
            value = self._model.addVar(lb=float(low), ub=float(high))
            self._model.addCons(value == self._formula(data, row))
            self._correlations[key] = value
        return self._correlations[key]

    def _formula(self, data: BandData, row: Array) -> Any:
        from pyscipopt import exp, log

        scaled = scaled_difference(self._x, row, data.lengthscale, float)
        squared = reduce(add, (difference * difference for difference in scaled))
        if data.kernel == "se":
            return exp(-0.5 * squared)
        # Measured: with a variable for the distance, and the polynomial inside exp, a third of the
        # time of the formula as it stands.
        reach = np.maximum(np.abs(row - self._lower), np.abs(row - self._upper)) / data.lengthscale
        a = self._model.addVar(lb=0.0, ub=math.sqrt(5) * float(np.linalg.norm(reach)))
        self._model.addCons(a * a == 5 * squared)
        return exp(log(1 + a + a * a / 3) - a)


def _shape_key(data: BandData) -> bytes:
    """Equal for outputs with the same standard deviation."""
    numbers = np.concatenate([[data.variance, data.noise], data.lengthscale, np.ravel(data.inputs)])
    return data.kernel.encode() + numbers.tobytes()

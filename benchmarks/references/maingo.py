"""MAiNGO on the band problems (`maingopy`, imported when it is called)."""

from __future__ import annotations

import math
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from benchmarks.references.band_problems import Posterior
from benchmarks.references.solver_problems import (
    Band,
    LcbProblem,
    LpProblem,
    SolverReport,
    dot,
    scaled_difference,
)


def run_maingo(problem: LcbProblem | LpProblem, gap: float, seconds: float) -> SolverReport:
    import maingopy

    class Model(maingopy.MAiNGOmodel):
        def get_variables(self) -> list[Any]:
            ends = zip(problem.lower, problem.upper, strict=True)
            ranges = [(float(low), float(high), 1) for low, high in ends]
            # With x known the problem is linear in z: there is no need to branch on it.
            ranges += [(low, high, 0) for low, high in problem.z_ranges]
            return [
                maingopy.OptimizationVariable(
                    maingopy.Bounds(low, high), maingopy.VT_CONTINUOUS, priority, f"variable{i}"
                )
                for i, (low, high, priority) in enumerate(ranges)
            ]

        def evaluate(self, variables: list[Any]) -> Any:
            d = len(problem.lower)
            x, z = variables[:d], variables[d:]
            bands = [_band(posterior, x) for posterior in problem.posteriors]
            result = maingopy.EvaluationContainer()
            result.objective = problem.objective(bands, x, z, _number)
            result.ineq = problem.constraints(bands, x, z, _number)
            return result

    # The solver does not keep the model alive.
    model = Model()
    solver = maingopy.MAiNGO(model)
    whole_seconds = max(1, round(seconds))
    settings = {
        "loggingDestination": maingopy.LOGGING_NONE,
        "writeResultFile": False,
        "epsilonA": gap,
        "epsilonR": 0.0,
        "maxTime": whole_seconds,
        "maxwTime": whole_seconds,
        # Measured: it costs more than it saves on these problems.
        "BAB_constraintPropagation": False,
    }
    if not problem.constrained:
        # So do these without constraints; with them, the bounds of z need tightening. Linearized
        # in one point, the minimum over the box needs no linear program.
        settings["BAB_alwaysSolveObbt"] = False
        settings["UBP_solverBab"] = maingopy.UBP_SOLVER_EVAL
        settings["LBP_solver"] = maingopy.LBP_SOLVER_MAiNGO
    for name, value in settings.items():
        if not solver.set_option(name, value):
            raise ValueError(f"MAiNGO does not know the option {name} = {value}")
    status = solver.solve()
    if status == maingopy.INFEASIBLE:
        return SolverReport(True, True, math.inf, None)
    point = None
    if status in (maingopy.GLOBALLY_OPTIMAL, maingopy.FEASIBLE_POINT):
        point = np.array(solver.get_solution_point()[: len(problem.lower)])
    return SolverReport(status == maingopy.GLOBALLY_OPTIMAL, False, solver.get_final_LBD(), point)


def _band(posterior: Posterior, x: list[Any]) -> Band:
    """Mean and standard deviation; MAiNGO itself finds what two outputs have in common."""
    import maingopy

    data = posterior.data
    kernel = maingopy.covar_sqrexp if data.kernel == "se" else maingopy.covar_matern_5
    values = []
    for row in data.inputs:
        scaled = scaled_difference(x, row, data.lengthscale, _number)
        values.append(kernel(reduce(add, map(maingopy.sqr, scaled))))
    white = [
        dot(row[: i + 1], values[: i + 1], _number) for i, row in enumerate(posterior.whitening)
    ]
    squared = _number(data.variance) - reduce(add, map(maingopy.sqr, white))
    # Relaxations do not know that a variance is positive; without noise, sqrt still must.
    floor = max(posterior.least_variance, 1e-12 * data.variance)
    mean = dot(posterior.weights, values, _number) + _number(data.mean)
    return mean, maingopy.sqrt(maingopy.max(squared, floor))


def _number(value: float) -> Any:
    """A constant of MAiNGO: a plain float loses half its digits in arithmetic with variables.

    maingopy 0.10.3 takes it in single precision there, which is seen in the sixth digit of the
    bands; the constructor keeps it whole.
    """
    import maingopy

    return maingopy.FFVar(float(value))

"""SCIP and MAiNGO on the auxiliary problems of Gaussian-process bands, as independent oracles.

Two problems, over x in a box and with the band mu(x) ± beta sigma(x) of a posterior:

- `minimize_lcb`: minimize mu(x) - beta sigma(x);
- `solve_lp`: minimize c1'x + c2'z subject to a1 x + a2 z + b <= 0, each z_j in the band of its own
  posterior at x.

Nothing of the library is used and all data are NumPy's. The solvers are the optional dependency
group "oracles", imported when they are called: `pyscipopt` (SCIP) and `maingopy` (MAiNGO).
Both run on one thread; set OMP_NUM_THREADS=1 for the linear algebra below them.

How each is given the problem, with r_i(x) the correlation of x with input i, k = variance r, L the
Cholesky factor of K + noise I and v = L^-1 k, so that sigma^2 = variance - |v|^2:

- SCIP has a variable for each r_i, v_i and sigma. Wide bands are what the minimum wants, and
  sigma may always be smaller, so |v|^2 + sigma^2 <= variance is enough: a convex constraint. What
  is not convex are the equations of the correlations alone.
- MAiNGO branches on x alone (reduced space) and relaxes the formulas themselves, with its own
  envelopes of the kernels.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import add
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Solver = Literal["scip", "maingo"]
Status = Literal["optimal", "infeasible", "inaccurate", "limit"]
# Mean and standard deviation as expressions of a solver, and how it wants a constant.
_Band = tuple[Any, Any]
_Number = Callable[[float], Any]

# The solvers are asked for a little less than the gap: the rest pays for their tolerances, since
# upper bounds are computed again, exactly.
_SHARE_OF_GAP = 0.99
# What both solvers call feasible.
_TOLERANCE = 1e-6
_ROUNDING = 1e-10
# Near data sigma^2 is as small as the noise; at SCIP's tolerance sigma would be too large by a
# visible share of it, so the equation of sigma^2 is written this many times over.
_SHARPENING = 100.0


@dataclass(frozen=True, slots=True)
class BandData:
    """One output of a Gaussian process with a constant prior mean.

    Attributes:
        inputs: (n, d).
        outputs: (n,).
        lengthscale: (d,).
        variance: Of the prior, k(x, x).
        noise: Variance of the noise of the outputs.
        mean: Of the prior.
        kernel: "se", variance exp(-r^2 / 2), or "matern52", variance (1 + a + a^2 / 3) exp(-a)
            with a = sqrt(5) r; r is the distance of inputs divided by the length-scales.
    """

    inputs: Array
    outputs: Array
    lengthscale: Array
    variance: float
    noise: float
    mean: float = 0.0
    kernel: Literal["se", "matern52"] = "se"


@dataclass(frozen=True, slots=True)
class LinearProgram:
    """A problem for `solve_lp`: the data of its two outputs, and its coefficients.

    Attributes:
        bands: One for each of the two z.
        c1: (d,), cost of x.
        c2: (2,), cost of z.
        a1: (m, d), rows of x.
        a2: (m, 2), rows of z.
        b: (m,), constants of the rows.
    """

    bands: tuple[BandData, BandData]
    c1: Array
    c2: Array
    a1: Array
    a2: Array
    b: Array


@dataclass(frozen=True, slots=True)
class Answer:
    """What a solver found.

    Attributes:
        status: "optimal": `upper` - `lower` is within the gap; "infeasible": proved so;
            "limit": time ran out; "inaccurate": the solver says it is done, but at its point the
            exact objective is farther from `lower`, or the exact constraints are not met.
        lower: The solver's lower bound of the minimum; infinite if infeasible.
        upper: The objective at `x`, computed from the data again (for `solve_lp` with the best z
            for that x, feasible to 1e-6); infinite without a point.
        x: (d,), the best point; None without one.
        seconds: Wall time, the building of the solver's model included.
        z: (2,), the best z for x; None without one, and for `minimize_lcb`.
    """

    status: Status
    lower: float
    upper: float
    x: Array | None
    seconds: float
    z: Array | None = None


def random_lcb(d: int, n: int, seed: int) -> BandData:
    """An instance for `minimize_lcb` over [-2, 2]^d: n values of a draw from the prior, with noise.

    To build it elsewhere: generator = numpy.random.default_rng([seed, d, n]); first inputs =
    generator.uniform(-2, 2, (n, d)), then outputs = L @ generator.standard_normal(n), L the lower
    Cholesky factor of K + noise I, with K_ij = exp(-|x_i - x_j|^2) / 2 (length-scale sqrt(1/2),
    variance 1/2), noise = 1e-4 * variance and prior mean 0.

    Args:
        d: Inputs of the function.
        n: Data.
        seed: Which instance.
    """
    return _draws(np.random.default_rng([seed, d, n]), d, n, 1)[0]


def random_lp(n: int, seed: int) -> LinearProgram:
    """An instance for `solve_lp` over [-2, 2]^2, after the linear program of the paper.

    To build it elsewhere: generator = numpy.random.default_rng([seed, 2, n, 2]); inputs and the
    outputs of the first draw as in `random_lcb`, then L @ generator.standard_normal(n) for the
    second; then seven angles generator.uniform(0, 2 pi, 7), whose (cos, sin) are c1, c2, b, the
    rows of a1 and the rows of a2. It need not be feasible.

    Args:
        n: Data.
        seed: Which instance.
    """
    generator = np.random.default_rng([seed, 2, n, 2])
    first, second = _draws(generator, 2, n, 2)
    angles = generator.uniform(0, 2 * np.pi, 7)
    c1, c2, b, *rows = np.stack([np.cos(angles), np.sin(angles)], 1)
    return LinearProgram((first, second), c1, c2, np.array(rows[:2]), np.array(rows[2:]), b)


def _draws(generator: np.random.Generator, d: int, n: int, outputs: int) -> list[BandData]:
    variance = 0.5
    inputs = generator.uniform(-2, 2, (n, d))
    lengthscale = np.full(d, np.sqrt(0.5))
    covariance = variance * correlation(inputs, inputs, lengthscale, "se")
    noise = 1e-4 * variance
    factor = np.linalg.cholesky(covariance + noise * np.eye(n))
    return [
        BandData(inputs, factor @ generator.standard_normal(n), lengthscale, variance, noise)
        for _ in range(outputs)
    ]


def correlation(first: Array, second: Array, lengthscale: Array, kernel: str) -> Array:
    """The kernel divided by its variance, (m, d) and (n, d) to (m, n)."""
    difference = (first[:, None, :] - second[None, :, :]) / lengthscale
    squared = (difference**2).sum(-1)
    if kernel == "se":
        return np.exp(-0.5 * squared)
    if kernel == "matern52":
        a = np.sqrt(5 * squared)
        return (1 + a + a**2 / 3) * np.exp(-a)
    raise ValueError(f"kernel must be 'se' or 'matern52', not {kernel!r}")


class Posterior:
    """Mean and standard deviation given the data, and the numbers that models are written with.

    Attributes:
        data: What it was made of.
        weights: (n,), alpha / variance: mu(x) = mean + weights' r(x).
        whitening: (n, n), lower triangular, variance L^-1: v(x) = whitening r(x).
        least_variance: sigma^2(x) is never below this.
        reach: |mu(x) - mean| is never above this.
    """

    def __init__(self, data: BandData) -> None:
        self.data = data
        n = len(data.inputs)
        covariance = data.variance * correlation(
            data.inputs, data.inputs, data.lengthscale, data.kernel
        )
        factor = np.linalg.cholesky(covariance + data.noise * np.eye(n))
        inverse = np.tril(np.linalg.inv(factor))
        alpha = inverse.T @ (inverse @ (data.outputs - data.mean))
        self.weights: Array = data.variance * alpha
        self.whitening: Array = data.variance * inverse
        # K is at least k k' / variance (a Schur complement), hence sigma^2 at least
        # variance^2 noise / (variance noise + |k|^2), and |k|^2 is at most n variance^2.
        self.least_variance = data.variance * data.noise / (data.noise + n * data.variance)
        self.reach = math.sqrt(max(data.variance * float(alpha @ covariance @ alpha), 0.0))

    def __call__(self, x: Array) -> tuple[Array, Array]:
        """Mean and standard deviation, (m, d) to (m,) each."""
        data = self.data
        values = correlation(x, data.inputs, data.lengthscale, data.kernel)
        squared = data.variance - ((values @ self.whitening.T) ** 2).sum(1)
        deviation = np.sqrt(np.maximum(squared, self.least_variance))
        return data.mean + values @ self.weights, deviation


def minimize_lcb(
    solver: Solver,
    data: BandData,
    beta: float,
    lower: ArrayLike,
    upper: ArrayLike,
    gap: float,
    seconds: float,
) -> Answer:
    """Minimize mu(x) - beta sigma(x) over a box.

    Args:
        solver: "scip" or "maingo".
        data: Of the posterior.
        beta: At least 0.
        lower: (d,), lower bounds of x.
        upper: (d,), upper bounds of x.
        gap: How far the upper bound may be from the lower, absolutely.
        seconds: When to give up; MAiNGO knows whole seconds only.
    """
    return _solve(solver, _Lcb(data, beta, *_box(lower, upper)), gap, seconds)


def solve_lp(
    solver: Solver,
    bands: Sequence[BandData],
    beta: float,
    c1: ArrayLike,
    c2: ArrayLike,
    a1: ArrayLike,
    a2: ArrayLike,
    b: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    gap: float,
    seconds: float,
) -> Answer:
    """Minimize c1'x + c2'z, a1 x + a2 z + b <= 0, |z_j - mu_j(x)| <= beta sigma_j(x), x in a box.

    Args:
        solver: "scip" or "maingo".
        bands: The data of the posteriors of the two z.
        beta: At least 0.
        c1: (d,), cost of x.
        c2: (2,), cost of z.
        a1: (m, d), rows of x.
        a2: (m, 2), rows of z.
        b: (m,), constants of the rows.
        lower: (d,), lower bounds of x.
        upper: (d,), upper bounds of x.
        gap: How far the upper bound may be from the lower, absolutely.
        seconds: When to give up; MAiNGO knows whole seconds only.
    """
    first, second = bands
    program = LinearProgram((first, second), *map(np.asarray, (c1, c2, a1, a2, b)))
    return _solve(solver, _Lp(program, beta, *_box(lower, upper)), gap, seconds)


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


@dataclass(frozen=True, slots=True)
class _Raw:
    """What a solver itself says: `done` if it calls its work finished, `empty` if infeasible."""

    done: bool
    empty: bool
    lower: float
    x: Array | None


class _Lcb:
    """The problem of `minimize_lcb`, and how to write it in a solver's expressions."""

    constrained = False

    def __init__(self, data: BandData, beta: float, lower: Array, upper: Array) -> None:
        self.lower, self.upper, self.beta = lower, upper, beta
        self.posteriors = [Posterior(data)]
        self.z_ranges: list[tuple[float, float]] = []

    def objective(self, bands: list[_Band], x: list[Any], z: list[Any], number: _Number) -> Any:
        ((mean, deviation),) = bands
        return mean - number(self.beta) * deviation

    def constraints(
        self, bands: list[_Band], x: list[Any], z: list[Any], number: _Number
    ) -> list[Any]:
        return []

    def exact(self, x: Array) -> tuple[float, Array | None]:
        mean, deviation = self.posteriors[0](x[None])
        return float(mean[0] - self.beta * deviation[0]), None


class _Lp:
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

    def objective(self, bands: list[_Band], x: list[Any], z: list[Any], number: _Number) -> Any:
        return _dot([*self.program.c1, *self.program.c2], [*x, *z], number)

    def constraints(
        self, bands: list[_Band], x: list[Any], z: list[Any], number: _Number
    ) -> list[Any]:
        """Expressions that must be <= 0."""
        program = self.program
        rows = [
            _dot([*of_x, *of_z], [*x, *z], number) + number(constant)
            for of_x, of_z, constant in zip(program.a1, program.a2, program.b, strict=True)
        ]
        for (mean, deviation), value in zip(bands, z, strict=True):
            half_width = number(self.beta) * deviation
            rows += [mean - half_width - value, value - mean - half_width]
        return rows

    def exact(self, x: Array) -> tuple[float, Array | None]:
        bands = np.array([posterior(x[None]) for posterior in self.posteriors])[..., 0]
        mean, deviation = bands.T
        return best_response(
            self.program, mean - self.beta * deviation, mean + self.beta * deviation, x
        )


def _solve(solver: Solver, problem: _Lcb | _Lp, gap: float, seconds: float) -> Answer:
    """Run one solver, and compute its upper bound again."""
    start = time.perf_counter()
    backends = {"scip": _scip, "maingo": _maingo}
    if solver not in backends:
        raise ValueError(f"solver must be 'scip' or 'maingo', not {solver!r}")
    raw = backends[solver](problem, _SHARE_OF_GAP * gap, seconds)
    took = time.perf_counter() - start
    if raw.empty:
        return Answer("infeasible", math.inf, math.inf, None, took)
    x, upper, z = None, math.inf, None
    if raw.x is not None:
        x = np.clip(raw.x, problem.lower, problem.upper)
        upper, z = problem.exact(x)
    status: Status = "limit"
    if raw.done:
        status = "optimal" if upper - raw.lower <= gap else "inaccurate"
    return Answer(status, raw.lower, upper, x, took, z)


def _scip(problem: _Lcb | _Lp, gap: float, seconds: float) -> _Raw:
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
    return _Raw(
        status in ("optimal", "gaplimit"), status == "infeasible", model.getDualbound(), point
    )


class _ScipBands:
    """Writes bands into a model of SCIP; what outputs have in common is written once."""

    def __init__(self, model: Any, x: list[Any], lower: Array, upper: Array) -> None:
        self._model, self._x, self._lower, self._upper = model, x, lower, upper
        self._correlations: dict[bytes, Any] = {}
        self._deviations: dict[bytes, Any] = {}

    def band(self, posterior: Posterior) -> _Band:
        """Mean, an expression, and standard deviation, a variable that may be smaller."""
        data = posterior.data
        values = [self._correlation(data, row) for row in data.inputs]
        key = _shape_key(data)
        if key not in self._deviations:
            self._deviations[key] = self._deviation(posterior, values)
        return _dot(posterior.weights, values, float) + data.mean, self._deviations[key]

    def _deviation(self, posterior: Posterior, values: list[Any]) -> Any:
        model, variance = self._model, posterior.data.variance
        root = math.sqrt(variance)
        white = [model.addVar(lb=-root, ub=root) for _ in values]
        for i, variable in enumerate(white):
            row = posterior.whitening[i, : i + 1]
            model.addCons(variable == _dot(row, values[: i + 1], float))
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

        scaled = _scaled_difference(self._x, row, data.lengthscale, float)
        squared = reduce(add, (difference * difference for difference in scaled))
        if data.kernel == "se":
            return exp(-0.5 * squared)
        # Measured: with a variable for the distance, and the polynomial inside exp, a third of the
        # time of the formula as it stands.
        reach = np.maximum(np.abs(row - self._lower), np.abs(row - self._upper)) / data.lengthscale
        a = self._model.addVar(lb=0.0, ub=math.sqrt(5) * float(np.linalg.norm(reach)))
        self._model.addCons(a * a == 5 * squared)
        return exp(log(1 + a + a * a / 3) - a)


def _maingo(problem: _Lcb | _Lp, gap: float, seconds: float) -> _Raw:
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
            bands = [_maingo_band(posterior, x) for posterior in problem.posteriors]
            result = maingopy.EvaluationContainer()
            result.objective = problem.objective(bands, x, z, _maingo_number)
            result.ineq = problem.constraints(bands, x, z, _maingo_number)
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
        return _Raw(True, True, math.inf, None)
    point = None
    if status in (maingopy.GLOBALLY_OPTIMAL, maingopy.FEASIBLE_POINT):
        point = np.array(solver.get_solution_point()[: len(problem.lower)])
    return _Raw(status == maingopy.GLOBALLY_OPTIMAL, False, solver.get_final_LBD(), point)


def _maingo_band(posterior: Posterior, x: list[Any]) -> _Band:
    """Mean and standard deviation; MAiNGO itself finds what two outputs have in common."""
    import maingopy

    data = posterior.data
    kernel = maingopy.covar_sqrexp if data.kernel == "se" else maingopy.covar_matern_5
    values = []
    for row in data.inputs:
        scaled = _scaled_difference(x, row, data.lengthscale, _maingo_number)
        values.append(kernel(reduce(add, map(maingopy.sqr, scaled))))
    white = [
        _dot(row[: i + 1], values[: i + 1], _maingo_number)
        for i, row in enumerate(posterior.whitening)
    ]
    squared = _maingo_number(data.variance) - reduce(add, map(maingopy.sqr, white))
    # Relaxations do not know that a variance is positive; without noise, sqrt still must.
    floor = max(posterior.least_variance, 1e-12 * data.variance)
    mean = _dot(posterior.weights, values, _maingo_number) + _maingo_number(data.mean)
    return mean, maingopy.sqrt(maingopy.max(squared, floor))


def _maingo_number(value: float) -> Any:
    """A constant of MAiNGO: a plain float loses half its digits in arithmetic with variables.

    maingopy 0.10.3 takes it in single precision there, which is seen in the sixth digit of the
    bands; the constructor keeps it whole.
    """
    import maingopy

    return maingopy.FFVar(float(value))


def _dot(coefficients: Sequence[float] | Array, values: Sequence[Any], number: _Number) -> Any:
    """Their inner product as an expression."""
    return reduce(add, (number(c) * v for c, v in zip(coefficients, values, strict=True)))


def _scaled_difference(x: list[Any], row: Array, lengthscale: Array, number: _Number) -> list[Any]:
    terms = zip(x, row, lengthscale, strict=True)
    return [(variable - number(at)) * number(1 / scale) for variable, at, scale in terms]


def _shape_key(data: BandData) -> bytes:
    """Equal for outputs with the same standard deviation."""
    numbers = np.concatenate([[data.variance, data.noise], data.lengthscale, np.ravel(data.inputs)])
    return data.kernel.encode() + numbers.tobytes()


def _box(lower: ArrayLike, upper: ArrayLike) -> tuple[Array, Array]:
    return np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)

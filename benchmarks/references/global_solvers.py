"""SCIP and MAiNGO on the auxiliary problems of Gaussian-process bands, as independent references.

Two problems, over x in a box and with the band mu(x) ± beta sigma(x) of a posterior:

- `minimize_lcb`: minimize mu(x) - beta sigma(x);
- `solve_lp`: minimize c1'x + c2'z subject to a1 x + a2 z + b <= 0, each z_j in the band of its own
  posterior at x.

Nothing of the library is used. The solvers are the optional dependency
group "oracles", imported when they are called: `pyscipopt` (SCIP) and `maingopy` (MAiNGO).
Both run on one thread; set OMP_NUM_THREADS=1 for the linear algebra below them.

How each is given the problem, with r_i(x) the correlation of x with input i, k = variance r, L the
Cholesky factor of K + noise I and v = L^-1 k, so that sigma^2 = variance - |v|^2:

- SCIP has a variable for each r_i, v_i and sigma. Wide bands are what the minimum wants, and
  sigma may always be smaller, so |v|^2 + sigma^2 <= variance is enough: a convex constraint. Only
  the equations of the correlations are not convex.
- MAiNGO branches on x alone (reduced space) and relaxes the formulas themselves, with its own
  envelopes of the kernels.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.references.band_problems import BandData, LinearProgram
from benchmarks.references.maingo import run_maingo
from benchmarks.references.scip import run_scip
from benchmarks.references.solver_problems import LcbProblem, LpProblem

Array = NDArray[np.float64]
Solver = Literal["scip", "maingo"]
Status = Literal["optimal", "infeasible", "inaccurate", "limit"]

# The solvers are asked for a little less than the gap: the rest pays for their tolerances, since
# upper bounds are computed again, exactly.
_SHARE_OF_GAP = 0.99


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
    return _solve(solver, LcbProblem(data, beta, *_corners(lower, upper)), gap, seconds)


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
    return _solve(solver, LpProblem(program, beta, *_corners(lower, upper)), gap, seconds)


def _solve(solver: Solver, problem: LcbProblem | LpProblem, gap: float, seconds: float) -> Answer:
    """Run one solver, and compute its upper bound again."""
    start = time.perf_counter()
    backends = {"scip": run_scip, "maingo": run_maingo}
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


def _corners(lower: ArrayLike, upper: ArrayLike) -> tuple[Array, Array]:
    return np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)

"""One search, timed, and the row that tells what it proved."""

from __future__ import annotations

import time

import numpy as np
import torch

from benchmarks.results_folder import Row
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.proof.relaxation import relaxed
from grisaille.search.search_problem import Solution, Solver


def timed(solver: Solver, plausible: PlausibleSet, seed: int) -> tuple[Solution, float]:
    """Search without hints; returns the solution and the seconds it took."""
    torch.set_num_threads(1)
    nothing = plausible.lower.new_zeros(0, len(plausible.lower))
    started = time.perf_counter()
    solution = solver.solve(relaxed(plausible), nothing, seed)
    return solution, time.perf_counter() - started


def proof_of(solution: Solution, seconds: float) -> Row:
    """The columns that tell what was proved."""
    proof = solution.proof
    assert proof is not None
    return {
        "status": str(proof.status),
        "lower": proof.lower,
        "upper": proof.upper,
        "gap": proof.upper - proof.lower if np.isfinite(proof.upper) else np.nan,
        "regions": proof.regions,
        "seconds": round(seconds, 4),
        "slack": proof.slack,
    }


def column(rows: list[Row], name: str) -> np.ndarray:
    """One column as an array."""
    return np.array([row[name] for row in rows], dtype=float)

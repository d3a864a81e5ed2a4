"""Independent global solvers agree with ours: `pip install .[oracles]`, else these are skipped."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from benchmarks.certified.one_layer import one_layer_problem
from benchmarks.references.band_problems import random_lcb, random_lp
from benchmarks.references.global_solvers import minimize_lcb, solve_lp

import grisaille as gs
from grisaille.belief.rules import plausible_set
from grisaille.proof.relaxation import relaxed
from grisaille.records import History, Observation
from grisaille.search.certified import Certified
from grisaille.search.search_problem import Proof, ProofStatus

MODULES = {"scip": "pyscipopt", "maingo": "maingopy"}
GAP = 1e-3
# Their own tolerances.
TOLERANCE = 2e-5


def proved(plausible) -> Proof:
    nothing = torch.zeros(0, len(plausible.lower), dtype=torch.float64)
    proof = Certified(GAP, 0.0).solve(relaxed(plausible), nothing, 0).proof
    assert proof is not None
    return proof


@pytest.mark.parametrize("solver", list(MODULES))
@pytest.mark.parametrize(("dimensions", "seed"), [(1, 0), (2, 1)])
def test_the_least_lower_end_of_a_band_is_what_others_find(solver, dimensions, seed):
    pytest.importorskip(MODULES[solver])
    data = random_lcb(dimensions, 8, seed)
    corner = np.full(dimensions, 2.0)
    other = minimize_lcb(solver, data, 2.0, -corner, corner, gap=GAP, seconds=60)
    ours = proved(one_layer_problem(data, 2.0))
    assert ours.status is ProofStatus.OPTIMAL
    assert ours.lower <= other.upper + TOLERANCE
    assert other.lower <= ours.upper + TOLERANCE


@pytest.mark.parametrize("solver", list(MODULES))
def test_a_linear_program_with_two_bands_has_the_value_others_find(solver):
    pytest.importorskip(MODULES[solver])
    program = random_lp(8, 0)
    c1, c2, a1, a2, b = program.c1, program.c2, program.a1, program.a2, program.b
    corner = np.full(2, 2.0)
    other = solve_lp(
        solver, program.bands, 2.0, c1, c2, a1, a2, b, -corner, corner, gap=GAP, seconds=60
    )
    first = program.bands[0]
    x = gs.Variable("x", 2, lower=-2, upper=2)
    kernel = gs.SquaredExponential(first.lengthscale, first.variance)
    h = gs.BlackBox(None, name="h", outputs=2, kernel=kernel, noise=first.noise**0.5)
    y = h(x)
    problem = gs.Problem(minimize=c1 @ x + c2 @ y, subject_to=[a1 @ x + a2 @ y + b <= 0])
    outputs = np.stack([band.outputs for band in program.bands], 1)
    seen = zip(first.inputs, outputs, strict=True)
    history = History(loose=tuple(Observation("h", s, z) for s, z in seen))
    ours = proved(plausible_set(problem.program, history, 2.0))
    assert ours.status is ProofStatus.OPTIMAL
    assert ours.lower <= other.upper + TOLERANCE
    assert other.lower <= ours.upper + TOLERANCE

"""Proofs of problems with loops hold for the true solutions of the loops, found by brute force."""

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.rules import plausible_set
from grisaille.proof.relaxation import relaxed
from grisaille.records import History, Observation
from grisaille.search.search_problem import ProofStatus
from tests.theory.theory_helpers import KnownNorm

NORM = 1.0
LENGTH = 0.7
TOLERANCE = 1e-3


def loop(seed, limit=None):
    """Minimize (t - 0.2)^2 + 0.3 x where t = phi(x, t); and phi, whose norm is known.

    It is as steep as NORM / LENGTH in t, so that there may be several solutions, or none.
    """
    kernel = gs.SquaredExponential(LENGTH, 1.0)
    phi = KnownNorm(kernel, NORM, np.random.default_rng(seed), 2, centers=8)
    x = gs.Variable("x", lower=-1, upper=1)
    t = gs.Unknown("t", lower=-1, upper=1)
    box = gs.BlackBox(phi, name="phi", noise=0, kernel=kernel, norm_bound=NORM)
    problem = gs.Problem(
        minimize=(t - 0.2) ** 2 + 0.3 * x,
        subject_to=[] if limit is None else [t >= limit],
        equations=[t == box(x, t)],
        feasibility_tol=TOLERANCE,
    )
    return problem, phi


def solutions(phi):
    """(x, t) with t = phi(x, t): sign changes of the residual on a fine grid."""
    xs, ts = np.linspace(-1, 1, 201), np.linspace(-1, 1, 801)
    grid = np.stack(np.meshgrid(xs, ts, indexing="ij"), -1)
    missed = grid[..., 1] - phi.values(grid.reshape(-1, 2)).reshape(len(xs), len(ts))
    rows, columns = np.nonzero(missed[:, :-1] * missed[:, 1:] <= 0)
    before, after = missed[rows, columns], missed[rows, columns + 1]
    part = before / np.where(before == after, 1.0, before - after)
    return np.stack([xs[rows], ts[columns] + part * (ts[1] - ts[0])], 1)


def proved(problem, phi, seed, answers=14):
    generator = np.random.default_rng(100 + seed)
    inputs = generator.uniform(-1, 1, (answers, 2))
    seen = [Observation("phi", i, phi.values(i[None])) for i in inputs]
    plausible = plausible_set(problem.program, History(loose=tuple(seen)), NORM)
    nowhere = torch.zeros(0, len(plausible.lower), dtype=torch.float64)
    solver = gs.Certified(absolute_gap=1e-3, relative_gap=0.0, regions=6000)
    return solver.solve(relaxed(plausible), nowhere, 0)


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_below_every_solution_of_the_loop(seed):
    problem, phi = loop(seed)
    there = solutions(phi)
    assert len(there)  # t = phi(x, t) has a solution: |phi| <= 1
    optimum = ((there[:, 1] - 0.2) ** 2 + 0.3 * there[:, 0]).min()
    solution = proved(problem, phi, seed)
    assert solution.proof.lower <= optimum + 1e-6
    assert solution.proof.status is ProofStatus.OPTIMAL
    assert solution.value - solution.proof.lower <= 1e-3 + 1e-9


def test_a_bound_comes_close_where_enough_is_known():
    problem, phi = loop(1)
    there = solutions(phi)
    optimum = ((there[:, 1] - 0.2) ** 2 + 0.3 * there[:, 0]).min()
    assert proved(problem, phi, 1, answers=60).proof.lower == pytest.approx(optimum, abs=0.01)


@pytest.mark.slow
def test_verdicts_about_loops_are_right():
    verdicts = []
    for seed in range(3):
        _, phi = loop(seed)
        highest = solutions(phi)[:, 1].max()
        for limit in (highest - 0.05, min(highest + 0.3, 0.99)):
            problem, _ = loop(seed, limit)
            status = proved(problem, phi, seed, answers=30).proof.status
            infeasible = limit > highest + TOLERANCE
            assert infeasible or status is not ProofStatus.INFEASIBLE
            verdicts.append((infeasible, status is ProofStatus.INFEASIBLE))
    assert verdicts.count((True, True)) == 3  # these answers are enough to find out


def test_a_proof_is_exact_about_an_unknown_that_a_known_equation_fixes():
    # Regions in which u is not what x says are refuted by the known equation.
    kernel = gs.SquaredExponential(LENGTH, 1.0)
    phi = KnownNorm(kernel, NORM, np.random.default_rng(3), 1, centers=6)
    x = gs.Variable("x", lower=0, upper=1)
    u = gs.Unknown("u", lower=-5, upper=5)
    box = gs.BlackBox(phi, name="phi", noise=0, kernel=kernel, norm_bound=NORM)
    problem = gs.Problem(minimize=box(u) + x, equations=[u + 0.5 * u**3 == 2 * x - 1])
    inputs = np.linspace(-1, 1, 9)[:, None]
    seen = [Observation("phi", i, phi.values(i[None])) for i in inputs]
    plausible = plausible_set(problem.program, History(loose=tuple(seen)), NORM)
    nowhere = torch.zeros(0, len(plausible.lower), dtype=torch.float64)
    solver = gs.Certified(absolute_gap=1e-3, relative_gap=0.0, regions=6000)
    solution = solver.solve(relaxed(plausible), nowhere, 0)
    us = np.linspace(-1, 1, 4001)
    xs = (us + 0.5 * us**3 + 1) / 2
    inside = (xs >= 0) & (xs <= 1)
    optimum = (phi.values(us[inside][:, None]) + xs[inside]).min()
    assert solution.proof.status is ProofStatus.OPTIMAL
    assert optimum - 0.01 <= solution.proof.lower <= optimum + 1e-6

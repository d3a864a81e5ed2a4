"""Proofs over search coordinates bound what the user's own units allow."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.language.expression import Call
from grisaille.language.program import Program
from grisaille.proof.relaxation import PlausibleRelaxation, in_search_coordinates, relaxed
from grisaille.search.certified import Certified
from grisaille.search.search_problem import ProofStatus
from tests.belief.belief_helpers import history_at, plausible_set
from tests.proof.proof_helpers import (
    decades,
    monotone_over_decades,
    over_decades,
    prepared,
    steps_of_all_kinds,
)


def test_without_a_logarithm_a_program_stays_as_it_is():
    x = gs.Variable("x", lower=0, upper=1, step=0.3)
    program = gs.Problem(minimize=x**2).program
    expressions, variables = in_search_coordinates(program)
    assert expressions == [program.nodes[p].expression for p in program.outputs]
    assert variables == program.variables


def test_a_rewritten_program_computes_the_same_from_logarithms():
    program = over_decades().program
    expressions, variables = in_search_coordinates(program)
    rewritten = Program(expressions, variables)
    assert [c.box.name for c in rewritten.calls] == [c.box.name for c in program.calls]
    seen: dict[str, torch.Tensor] = {}

    def answer(call, states):
        seen[call.box.name] = states
        return states.sum(1, keepdim=True).expand(-1, call.box.outputs)

    x = torch.tensor([[20.0, 0.5, 0.3]], dtype=torch.float64)
    u = program.space.to_search(x)
    rewritten.run(u, answer)
    assert seen["f"].tolist() == [u[0, :2].tolist()]  # learned in the logarithm
    assert seen["g"].tolist() == [[u[0, 1].item(), 0.3]]  # of its first input
    # h is given in the user's units, and g(f(k)) reads no variable
    calls = [n.expression for n in rewritten.nodes if isinstance(n.expression, Call)]
    assert len(calls) == len(program.calls)


@pytest.mark.parametrize("make", [over_decades, monotone_over_decades, steps_of_all_kinds])
def test_a_certified_bound_is_below_every_plausible_point_of_a_fine_grid(make):
    plausible, _ = prepared(make, observations=9)
    problem = relaxed(plausible)
    search = gs.MultiStart(starts=2, samples=64, iterations=5)
    solver = Certified(1e-2, 1e-2, 300, search=search)
    solution = solver.solve(problem, problem.lower.new_zeros(0, len(problem.lower)), 0)
    assert solution.proof is not None
    engine = torch.quasirandom.SobolEngine(len(problem.lower), scramble=True, seed=3)
    unit = engine.draw(40_000, dtype=torch.float64)
    points = problem.lower + (problem.upper - problem.lower) * unit
    points[::2, plausible.program.size :] = points[::2, plausible.program.size :].sign()
    with torch.no_grad():
        objective, constraints = plausible.evaluate(points)
    feasible = (constraints <= 0).all(1)
    assert feasible.any()
    assert solution.proof.lower <= objective[feasible].min() + 1e-9
    assert solution.proof.lower > -np.inf


def test_a_known_problem_over_decades_is_solved_to_the_truth():
    """min 1000/k + k over [1e-3, 1e3]: 2 sqrt(1000) at k = sqrt(1000)."""
    k = decades()
    problem = gs.Problem(minimize=1000 / k + k, subject_to=[k <= 200])
    found = relaxed(PlausibleSet(problem.program, {}, {}))
    solution = Certified(1e-6, 1e-6).solve(found, found.lower.new_zeros(0, 1), 0)
    assert solution.proof is not None
    assert solution.proof.status is ProofStatus.OPTIMAL
    assert solution.value == pytest.approx(2 * 1000**0.5, rel=1e-6)
    assert solution.proof.lower <= 2 * 1000**0.5 + 1e-9
    assert problem.program.space.design(solution.point)[0] == pytest.approx(1000**0.5, rel=1e-3)


def test_a_certificate_over_decades_verifies_itself():
    k = decades()
    f = gs.BlackBox(lambda k: np.log10(k), name="f", noise=0)
    problem = gs.Problem(minimize=k, subject_to=[f(k) >= 2, f(k) ** 2 <= 1])
    plausible = plausible_set(problem, history_at(problem, np.logspace(-3, 3, 9)[:, None]))
    found = relaxed(plausible)
    proof = Certified(regions=4000).solve(found, found.lower.new_zeros(0, len(found.lower)), 0)
    assert proof.proof is not None
    assert proof.proof.status is ProofStatus.INFEASIBLE
    history = history_at(problem, np.logspace(-3, 3, 9)[:, None])
    certificate = gs.Certificate(problem, history, 2.0, proof.proof.refuted_regions)
    assert certificate.verify()


def test_the_last_step_is_the_end_of_what_is_searched():
    x = gs.Variable("x", lower=0, upper=1, step=0.3)
    f = gs.BlackBox(np.sin, name="f", noise=0)
    problem = gs.Problem(minimize=f(x))
    plausible = plausible_set(problem, history_at(problem, [[0.0], [0.6]]))
    assert plausible.upper[0] == 0.9
    assert PlausibleRelaxation(plausible).upper[0] == 0.9

"""Known problems: their stated optimum is attained where they say it is, and nowhere beaten."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from grisaille import problems
from grisaille.modeling.program import BoxCall
from grisaille.problems import KnownProblem
from grisaille.problems.embedded import GaussianDraw

CLOSED_FORM = [
    problems.williams_otto,
    problems.rosen_suzuki,
    problems.bazaraa,
    problems.drop_wave,
    problems.ackley,
    problems.rosenbrock,
]
DRAWN = [
    problems.lp_with_embedded_gp,
    problems.additive,
    problems.sum_of_squares,
    problems.chain,
    problems.shifted_square,
]


def real(call: BoxCall, states: torch.Tensor) -> torch.Tensor:
    if isinstance(call.box.fn, GaussianDraw):
        return call.box.fn.batch(states)
    return torch.tensor(np.array([call.box.evaluate(s) for s in states.numpy()]))


def evaluate(known: KnownProblem, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    objective, *bodies = known.problem.program.run(torch.tensor(points), real)
    flat = [b.reshape(len(points), -1) for b in bodies]
    constraints = torch.cat(flat, 1) if flat else objective.new_zeros(len(points), 0)
    return known.problem.sense * objective.numpy(), constraints.numpy()


@pytest.mark.parametrize("make", CLOSED_FORM)
def test_the_optimum_is_attained_where_stated(make):
    known = make()
    value, constraints = evaluate(known, known.x[None])
    assert value[0] == pytest.approx(known.optimum, abs=2e-3)
    assert constraints.max(initial=0) <= 1e-4


@pytest.mark.parametrize("make", CLOSED_FORM)
def test_random_points_and_points_near_the_optimum_do_not_beat_it(make):
    known = make()
    program = known.problem.program
    generator = np.random.default_rng(0)
    width = program.upper - program.lower
    anywhere = program.lower + width * generator.random((1500, program.size))
    near = known.x + 0.01 * width * generator.standard_normal((500, program.size))
    points = np.clip(np.concatenate([anywhere, near]), program.lower, program.upper)
    values, constraints = evaluate(known, points)
    feasible = constraints.max(1, initial=-1.0) <= 0
    assert feasible.any()
    regrets = known.problem.sense * (values - known.optimum)
    assert regrets[feasible].min() >= -1e-5


@pytest.mark.parametrize("make", DRAWN)
def test_a_fine_grid_confirms_the_optimum_of_a_drawn_problem(make):
    known = make(3)
    program = known.problem.program
    count = 161 if program.size == 2 else 41
    axes = np.linspace(program.lower, program.upper, count).T
    points = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, program.size)
    values, constraints = evaluate(known, points)
    best = values[constraints.max(1, initial=-1.0) <= 0].min()
    assert known.optimum <= best + 1e-9
    assert best - known.optimum < 0.05


def test_a_draw_has_the_norm_it_states_and_the_variance_of_its_kernel():
    generator = np.random.default_rng(1)
    draw = GaussianDraw(generator, 200, [(-2.0, 2.0)])
    states = torch.linspace(-2, 2, 5, dtype=torch.float64).unsqueeze(1)
    values = draw.batch(states)
    assert values.var() == pytest.approx(0.5, rel=0.15)
    gram = draw._covariance(draw._knots)
    direct = torch.einsum("ik,ij,jk->k", draw._weights, gram, draw._weights).sqrt()
    assert np.allclose(draw.norms, direct)


def test_regret_is_positive_in_either_sense():
    assert problems.drop_wave().regret(0.9) == pytest.approx(0.1)
    assert problems.rosen_suzuki().regret(-43) == pytest.approx(1)

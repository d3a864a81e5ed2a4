"""The special case of one layer: the extreme of F(x, z) over the box of confidence intervals."""

import itertools

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.rules import plausible_set
from grisaille.records import History, Situation
from tests.theory.theory_helpers import KERNELS, KnownNorm, box

pytestmark = pytest.mark.slow


KERNEL = KERNELS["squared exponential"]


def problem_of(seed):
    generator = np.random.default_rng(seed)
    x = gs.Variable("x", 1, lower=-1, upper=1)
    phi = [box(KnownNorm(KERNEL, 1.0, generator), f"phi{i}", 1.0) for i in range(2)]
    y, z = phi[0](x), phi[1](x)
    return gs.Problem(minimize=y * z + 0.5 * x[0], subject_to=[y - z <= 0.3])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_auxiliary_problem_is_the_extreme_over_the_confidence_box(seed):
    problem = problem_of(seed)
    theory = gs.Theory(horizon=6)
    strategy = gs.Optimistic(beta=theory)
    history = problem.solve(4, strategy=strategy, seed=seed, progress=False).history
    suggestion = strategy.suggest(Situation(problem, history, seed, remaining=2))
    # By hand: the posterior of each box, its clipped band, and y z on a fine grid of the box.
    xs = np.linspace(-1, 1, 401)
    plausible = plausible_set(problem.program, history, theory)
    bands = []
    for call in problem.program.calls:
        lower, upper = plausible.band(call, torch.tensor(xs[:, None]))
        bands.append((lower[:, 0].numpy(), upper[:, 0].numpy()))
    best = np.inf
    shares = np.linspace(0, 1, 41)
    for a, b in itertools.product(shares, shares):
        y = bands[0][0] + a * (bands[0][1] - bands[0][0])
        z = bands[1][0] + b * (bands[1][1] - bands[1][0])
        value = np.where(y - z <= 0.3, y * z + 0.5 * xs, np.inf)
        best = min(best, value.min())
    assert suggestion.bound.estimated <= best + 1e-6
    assert suggestion.bound.estimated == pytest.approx(best, abs=0.05)


def test_the_box_is_at_least_as_optimistic_as_a_quantile_of_the_posterior():
    # CUQB takes a quantile of F(x, phi(x)) under the posterior, here of y - z / 2: 1.96 deviations
    # below its mean. The box adds deviations up where the posterior adds their squares.
    generator = np.random.default_rng(0)
    x = gs.Variable("x", 1, lower=-1, upper=1)
    boxes = [
        gs.BlackBox(KnownNorm(KERNEL, 1.0, generator), name=f"phi{i}", noise=0, kernel=KERNEL)
        for i in range(2)
    ]
    problem = gs.Problem(minimize=boxes[0](x) - boxes[1](x) / 2)
    strategy = gs.Optimistic(beta=1.96, exploit=False)
    history = problem.solve(3, strategy=strategy, progress=False).history
    plausible = plausible_set(problem.program, history, 1.96)
    points = torch.linspace(-1, 1, 30, dtype=torch.float64)[:, None]
    (y, dy), (z, dz) = (plausible.beliefs[b.name].predict(points) for b in boxes)
    quantile = (y - z / 2 - 1.96 * (dy**2 + dz**2 / 4).sqrt())[:, 0]
    best_case = torch.tensor([[-1.0, 1.0]], dtype=torch.float64).expand(30, -1)
    extreme, _ = plausible.evaluate(torch.cat([points, best_case], 1))
    assert (extreme <= quantile + 1e-12).all()
    assert (extreme < quantile - 0.1).any()


def test_one_layer_asks_nothing_beside_the_chain():
    problem = problem_of(0)
    strategy = gs.Optimistic(beta=gs.Theory(horizon=6))
    assert strategy.suggest(Situation(problem, History(), 0)).probes == ()

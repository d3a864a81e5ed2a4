"""Draws of functions that answers allow: their moments, their joint moments, their slopes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

import grisaille as gs
from grisaille.belief.declared_intervals import DeclaredInterval
from grisaille.belief.processes.belief import Belief
from grisaille.belief.processes.kernels import Hyperparameters, Kernel, compiled
from grisaille.belief.processes.likelihood import given
from grisaille.belief.processes.posterior import CondensedPosterior, ConstantProcess, Posterior
from grisaille.belief.processes.shared import SharedPosterior

SIZES = {"lengthscale": [0.7, 1.1], "variance": 1.6}
KERNELS = {
    "squared exponential": gs.SquaredExponential(**SIZES),
    "Matern 1/2": gs.Matern(0.5, **SIZES),
    "Matern 3/2": gs.Matern(1.5, **SIZES),
    "Matern 5/2": gs.Matern(2.5, **SIZES),
    "linear": gs.Linear(**SIZES),
    "sum": gs.Matern(2.5, **SIZES) + gs.Linear(**SIZES),
    "product": gs.SquaredExponential(0.9, 1.2).on(0) * gs.Matern(1.5, 1.1, 0.8).on(1),
}
POINTS = torch.tensor([[0.2, 0.3], [0.25, 0.3], [0.9, 0.1], [-0.4, 0.8]], dtype=torch.float64)
DRAWS = 4000


def data(outputs: int = 2) -> tuple[Tensor, Tensor]:
    x = torch.rand(6, 2, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    y = torch.stack([torch.sin(3 * x[:, 0] + j) + x[:, 1] for j in range(outputs)], 1)
    return x, y


def sizes(kernel: Kernel, noise: float, outputs: int = 2) -> Hyperparameters:
    return given(kernel, np.full(outputs, noise), 2, outputs)


def beliefs() -> dict[str, Callable[[], Belief]]:
    found: dict[str, Callable[[], Belief]] = {}
    for name, family in KERNELS.items():
        kernel = compiled(family, 2)
        found[name] = lambda kernel=kernel: Posterior(kernel, sizes(kernel, 0.1), *data())
    matern, parts = KERNELS["Matern 5/2"], compiled(KERNELS["sum"], 2)
    found["condensed"] = lambda: CondensedPosterior(matern, sizes(matern, 0.3), *data(), 4)
    found["condensed sum"] = lambda: CondensedPosterior(parts, sizes(parts, 0.3), *data())
    found["shared"] = lambda: SharedPosterior(matern, sizes(matern, 0.1, 3), *data(3))
    found["shared sum"] = lambda: SharedPosterior(parts, sizes(parts, 0.1, 3), *data(3))
    found["no answers"] = lambda: Posterior(matern, sizes(matern, 0.1), *(v[:0] for v in data()))
    return found


BELIEFS = beliefs()


@pytest.mark.parametrize("name", BELIEFS)
def test_draws_have_the_mean_and_the_covariances_of_the_predictions(name):
    belief = BELIEFS[name]()
    drawn = belief.draw(DRAWS, seed=3)(POINTS)
    mean, covariance = (v[0] for v in belief.predict_jointly(POINTS.unsqueeze(0)))
    scale = covariance.diagonal(dim1=1, dim2=2).sqrt()  # (k, q)
    assert drawn.shape == (DRAWS, len(POINTS), mean.shape[1])
    assert ((drawn.mean(0) - mean).T.abs() <= 5 * scale / DRAWS**0.5).all()
    apart = (drawn - mean).permute(2, 1, 0)
    found = apart @ apart.transpose(1, 2) / DRAWS
    # A covariance of normal numbers varies by at most sqrt(2 / n) of their variances.
    most = scale.unsqueeze(1) * scale.unsqueeze(2) * (2 / DRAWS) ** 0.5
    assert ((found - covariance).abs() <= 5 * most).all()


@pytest.mark.parametrize("name", BELIEFS)
def test_the_slope_of_a_draw_is_that_of_its_differences(name):
    draws, step = BELIEFS[name]().draw(3, seed=0), 1e-6
    points = POINTS.clone().requires_grad_()
    (slopes,) = torch.autograd.grad(draws(points).sum(), points)
    for axis in range(2):
        move = step * torch.eye(2, dtype=torch.float64)[axis]
        change = (draws(POINTS + move) - draws(POINTS - move)).sum((0, 2)) / (2 * step)
        assert torch.allclose(slopes[:, axis], change, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", BELIEFS)
def test_a_draw_is_one_function_wherever_it_is_asked(name):
    draws = BELIEFS[name]().draw(4, seed=1)
    together = draws(POINTS)
    apart = torch.cat([draws(point.unsqueeze(0)) for point in POINTS], 1)
    own = draws(POINTS.expand(4, -1, -1))  # states of each draw
    assert torch.allclose(together, apart, rtol=1e-12, atol=1e-12)
    assert torch.allclose(together, own, rtol=1e-12, atol=1e-12)
    assert torch.equal(together, BELIEFS[name]().draw(4, seed=1)(POINTS))
    assert not torch.allclose(together, BELIEFS[name]().draw(4, seed=2)(POINTS))


@pytest.mark.parametrize("kind", [Posterior, SharedPosterior])
def test_draws_go_through_exact_answers(kind):
    kernel = KERNELS["Matern 5/2"]
    inputs, outputs = data(3)
    drawn = kind(kernel, sizes(kernel, 0.0, 3), inputs, outputs).draw(20, seed=0)
    assert torch.allclose(drawn(inputs), outputs.expand(20, -1, -1), atol=1e-3)
    assert drawn(POINTS).std(0).max() > 0.01


def test_draws_of_a_shared_kernel_move_outputs_together():
    inputs = data()[0]
    outputs = torch.stack([inputs[:, 0], 2 * inputs[:, 0], -inputs[:, 0]], 1)
    kernel = KERNELS["Matern 5/2"]
    drawn = SharedPosterior(kernel, sizes(kernel, 0.0, 3), inputs, outputs).draw(500, seed=0)
    errors = drawn(POINTS[2:3])[:, 0]
    related = np.corrcoef(errors.T.numpy())
    assert related[0, 1] > 0.99
    assert related[0, 2] < -0.99


def test_draws_of_a_constant_are_constants():
    belief = ConstantProcess.of(data()[1], None)
    drawn = belief.draw(DRAWS, seed=0)(torch.zeros(3, 0, dtype=torch.float64))
    assert torch.equal(drawn[:, 0], drawn[:, 2])
    mean, deviation = (v[0] for v in belief.predict(torch.zeros(1, 0, dtype=torch.float64)))
    assert torch.allclose(drawn[:, 0].mean(0), mean, atol=5 * float(deviation.max()) / DRAWS**0.5)
    assert torch.allclose(drawn[:, 0].std(0), deviation, rtol=0.1)


def test_draws_with_a_kernel_of_your_own_are_exact_at_each_state():
    class Own(Kernel):
        lengthscale, variance = (1.0, 1.0), 1.0

        def correlation(self, first: Tensor, second: Tensor) -> Tensor:
            return 1 / (1 + torch.cdist(first, second).square())

    kernel = compiled(Own(), 2)
    belief = Posterior(kernel, sizes(kernel, 0.1), *data())
    drawn = belief.draw(DRAWS, seed=0)(POINTS)
    mean, deviation = belief.predict(POINTS)
    assert torch.allclose(drawn.mean(0), mean, atol=5 * float(deviation.max()) / DRAWS**0.5)
    assert torch.allclose(drawn.std(0), deviation, rtol=0.1)


def test_draws_of_a_declared_interval_stay_inside():
    box = gs.BlackBox(lambda x: x, name="f", noise=0, lipschitz=1.0, lower=-1, upper=1)
    box(gs.Variable("x", lower=0, upper=1))
    states = torch.linspace(0, 1, 5, dtype=torch.float64).unsqueeze(1)
    belief = DeclaredInterval(box, states[:1], states[:1] / 2)
    drawn = belief.draw(DRAWS, seed=0)(states)
    lower, upper = belief.ends(states)
    assert (drawn >= lower - 1e-12).all()
    assert (drawn <= upper + 1e-12).all()
    mean, deviation = belief.predict(states)
    assert torch.allclose(drawn.mean(0), mean, atol=0.05)
    assert torch.allclose(drawn.std(0), deviation, atol=0.05)

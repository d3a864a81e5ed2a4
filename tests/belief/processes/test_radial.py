"""Means, deviations and slopes in closed form, against automatic differentiation."""

import numpy as np
import pytest
import torch

from grisaille.belief.processes.kernels import Hyperparameters, Matern, SquaredExponential
from grisaille.belief.processes.posterior import Posterior
from grisaille.belief.processes.radial import _copies
from tests.belief.processes.process_helpers import STATIONARY, label

every_kernel = pytest.mark.parametrize("kernel", STATIONARY, ids=label)


def posterior(kernel, alike=False, n=20, k=2, d=3, logarithmic=None):
    generator = torch.Generator().manual_seed(0)

    def draw(*shape):
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    lengthscale, variance = 0.5 + draw(k, d), 0.5 + draw(k)
    if alike:
        lengthscale, variance = lengthscale[:1].expand(k, d), variance[:1].expand(k)
    noise = torch.full((k,), 1e-4, dtype=torch.float64)
    sizes = Hyperparameters(lengthscale, variance, noise, draw(k), draw(d), logarithmic=logarithmic)
    return Posterior(kernel, sizes, 0.1 + draw(n, d), draw(n, k))


def by_autograd(belief, states):
    """Mean and deviation by the formulas, step by step."""
    scaled = belief.scale(states)
    cross = belief.covariance(belief.scaled, scaled)
    mean = belief.hyperparameters.mean[:, None] + (belief.weights * cross).sum(1)
    solved = torch.linalg.solve_triangular(belief.factor, cross, upper=False)
    variance = belief.covariance_diagonal(scaled) - (solved * solved).sum(1)
    return mean.T, variance.sqrt().T


@every_kernel
@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("copies", [1, 4])
def test_values_and_slopes_are_those_of_the_formulas(kernel, alike, copies):
    belief = posterior(kernel, alike)
    generator = torch.Generator().manual_seed(1)
    states = torch.rand(6, 3, generator=generator, dtype=torch.float64)
    states = states.repeat_interleave(copies, 0).requires_grad_()
    weights = torch.rand(2, len(states), 2, generator=generator, dtype=torch.float64)
    results = []
    for predict in (belief.predict, lambda s: by_autograd(belief, s)):
        mean, deviation = predict(states)
        total = (weights[0] * mean).sum() + (weights[1] * deviation).sum()
        results.append((mean.detach(), deviation.detach(), torch.autograd.grad(total, states)[0]))
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)


@every_kernel
def test_slopes_at_an_observed_input_are_finite(kernel):
    belief = posterior(kernel)
    _, _, by_mean, by_deviation = belief.with_slopes(belief.inputs[:3].numpy())
    assert np.isfinite(by_mean).all()
    assert np.isfinite(by_deviation).all()


def test_slopes_by_an_input_that_counts_by_its_logarithm():
    belief = posterior(Matern(2.5), logarithmic=torch.tensor([True, False, True]))
    states = torch.tensor([[0.3, 0.4, 2.0]], dtype=torch.float64, requires_grad=True)
    mean, _ = by_autograd(belief, states)
    _, _, by_mean, _ = belief.with_slopes(states.detach().numpy())
    for output in range(2):
        (expected,) = torch.autograd.grad(mean[0, output], states, retain_graph=True)
        np.testing.assert_allclose(by_mean[0, output], expected[0], rtol=1e-9)


def test_outputs_that_are_alike_have_the_posterior_of_each_by_itself():
    both = posterior(Matern(1.5), alike=True)
    sizes = both.hyperparameters
    assert sizes.are_alike
    states = torch.rand(5, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    for i in range(2):
        part = slice(i, i + 1)
        own = Hyperparameters(
            sizes.lengthscale[part],
            sizes.variance[part],
            sizes.noise[part],
            sizes.mean[part],
            sizes.center,
        )
        alone = Posterior(Matern(1.5), own, both.inputs, both.outputs[:, part])
        for found, expected in zip(both.predict(states), alone.predict(states), strict=True):
            np.testing.assert_allclose(found[:, part], expected, rtol=1e-12)


def test_many_states_are_predicted_in_parts_with_the_same_result():
    belief = posterior(SquaredExponential(), n=200)
    states = torch.rand(3000, 3, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    mean, deviation = belief.predict(states)
    for start in (0, 1500, 2999):
        few, spread = belief.predict(states[start : start + 1])
        np.testing.assert_allclose(mean[start], few[0], rtol=1e-9)
        np.testing.assert_allclose(deviation[start], spread[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[1.0]], 1),
        ([[1.0], [2.0]], 1),
        ([[1.0], [1.0], [2.0], [2.0]], 2),
        ([[1.0], [1.0], [2.0], [3.0]], 1),
        ([[1.0], [1.0], [2.0]], 1),
        ([[1.0], [1.0], [1.0]], 3),
        ([[np.nan], [np.nan]], 1),
    ],
)
def test_copies_are_counted(rows, expected):
    assert _copies(np.array(rows)) == expected

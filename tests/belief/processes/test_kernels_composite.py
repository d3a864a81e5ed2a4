"""Kernels of several parts: covariances by plain formulas, and posteriors by the textbook."""

import gpytorch
import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.processes.kernels import Composite, compiled, grows, own_kernels
from grisaille.belief.processes.likelihood import (
    Data,
    given,
    learn,
    prior_covariance,
    prior_variance,
)
from grisaille.belief.processes.posterior import CondensedPosterior, Posterior
from tests.belief.processes.process_helpers import numpy_covariance

SE = gs.SquaredExponential(lengthscale=[0.5, 2.0], variance=1.5)
ROUGH = gs.Matern(1.5, lengthscale=0.7, variance=0.4)
LINE = gs.Linear(lengthscale=[1.0, 3.0, 2.0], variance=0.3)
RNG = np.random.default_rng(0)
FIRST, SECOND = RNG.normal(size=(9, 3)), RNG.normal(size=(6, 3))


def by_formulas(kernel, columns, first, second):
    return numpy_covariance(
        kernel, first[:, columns], second[:, columns], kernel.lengthscale, kernel.variance
    )


def cases():
    """A kernel, and the same from formulas for single kernels."""

    def se(a, b):
        return by_formulas(SE, [2, 0], a, b)

    def rough(a, b):
        return by_formulas(ROUGH, [1], a, b)

    def line(a, b):
        return by_formulas(LINE, [0, 1, 2], a, b)

    return {
        "sum": (SE.on(2, 0) + ROUGH.on(1) + LINE, lambda a, b: se(a, b) + rough(a, b) + line(a, b)),
        "product": (SE.on(2, 0) * LINE, lambda a, b: se(a, b) * line(a, b)),
        "both": (
            (SE.on(2, 0) + ROUGH.on(1)) * LINE + ROUGH.on(1),
            lambda a, b: (se(a, b) + rough(a, b)) * line(a, b) + rough(a, b),
        ),
        "one": (ROUGH.on(1), rough),
        "restricted sum": (
            (SE.on(1, 0) + ROUGH.on(2)).on(0, 2, 1),
            lambda a, b: se(a, b) + rough(a, b),
        ),
    }


every_case = pytest.mark.parametrize("name", cases())


@every_case
def test_covariances_are_those_of_plain_formulas(name):
    kernel, formula = cases()[name]
    a, b = torch.tensor(FIRST), torch.tensor(SECOND)
    expected = formula(FIRST, SECOND)
    np.testing.assert_allclose(prior_covariance(kernel, a, b), expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(prior_variance(kernel, a), np.diag(formula(FIRST, FIRST)))


@every_case
def test_covariance_matrices_are_positive_semidefinite(name):
    kernel, _ = cases()[name]
    many = torch.tensor(np.concatenate([FIRST, FIRST + 1e-9, SECOND]))
    matrix = prior_covariance(kernel, many, many).numpy()
    assert np.linalg.eigvalsh(matrix).min() > -1e-12 * np.abs(matrix).max()


@every_case
@pytest.mark.parametrize("kind", [Posterior, CondensedPosterior])
def test_posteriors_are_those_of_the_textbook(name, kind):
    kernel, formula = cases()[name]
    composite = compiled(kernel, 3)
    noise = np.array([0.1, 0.2])
    outputs = RNG.normal(size=(9, 2))
    found = kind(
        composite, given(composite, noise, 3, 2), torch.tensor(FIRST), torch.tensor(outputs)
    )
    mean, deviation = found.predict(torch.tensor(SECOND))
    joint, covariance = found.predict_jointly(torch.tensor(SECOND).reshape(3, 2, 3))
    for k in range(2):
        system = formula(FIRST, FIRST) + noise[k] ** 2 * np.eye(9)
        cross = formula(FIRST, SECOND)
        expected = cross.T @ np.linalg.solve(system, outputs[:, k])
        left = formula(SECOND, SECOND) - cross.T @ np.linalg.solve(system, cross)
        np.testing.assert_allclose(mean[:, k], expected, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(deviation[:, k], np.sqrt(np.diag(left)), rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(joint[1, :, k], expected[2:4], rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(covariance[1, k], left[2:4, 2:4], rtol=1e-4, atol=1e-6)


def test_covariances_are_those_of_gpytorch():
    smooth = gpytorch.kernels.RBFKernel(active_dims=(2, 0), ard_num_dims=2)
    smooth.lengthscale = torch.tensor([0.5, 2.0])
    rough = gpytorch.kernels.MaternKernel(nu=1.5, active_dims=(1,))
    rough.lengthscale = 0.7
    scaled = [gpytorch.kernels.ScaleKernel(k) for k in (smooth, rough)]
    for kernel, variance in zip(scaled, (1.5, 0.4), strict=True):
        kernel.outputscale = variance
    ours = {"sum": SE.on(2, 0) + ROUGH.on(1), "product": SE.on(2, 0) * ROUGH.on(1)}
    theirs = {"sum": scaled[0] + scaled[1], "product": scaled[0] * scaled[1]}
    a, b = torch.tensor(FIRST), torch.tensor(SECOND)
    for name, kernel in ours.items():
        with torch.no_grad():
            expected = theirs[name].double()(a, b).to_dense().numpy()
        np.testing.assert_allclose(prior_covariance(kernel, a, b), expected, rtol=1e-5, atol=1e-7)


def test_gradients_by_the_state_are_right():
    composite = compiled((SE.on(2, 0) + ROUGH.on(1)) * LINE, 3)
    found = Posterior(
        composite,
        given(composite, np.array([0.1]), 3, 1),
        torch.tensor(FIRST),
        torch.tensor(RNG.normal(size=(9, 1))),
    )
    at = torch.tensor(SECOND, requires_grad=True)
    assert torch.autograd.gradcheck(found.predict, (at,))


def test_shares_and_variance_make_the_variances_of_the_parts():
    composite = compiled((gs.Matern() + gs.Matern()) * gs.Matern(), 2)
    whole, shares = composite.sizes(torch.tensor([[2.0, 3.0, 5.0]]).double())
    assert (whole.tolist(), composite.branch.combine(list(shares.T)).tolist()) == ([25.0], [1.0])


@pytest.mark.parametrize(
    ("kernel", "learns"),
    [
        (gs.Matern() + gs.Matern(), [True, True]),
        (gs.Matern() + gs.Linear(), [True, False]),
        (gs.Matern() * gs.Matern(), [True, False]),
        (gs.Matern() * gs.Linear(), [False, False]),
        ((gs.Matern() + gs.Matern()) * gs.Matern(), [True, True, False]),
        (gs.Matern() * gs.Matern() + gs.Matern(), [True, False, True]),
        (gs.Linear().on(0) * (gs.Matern() + gs.Matern()), [False, False, True]),
    ],
)
def test_no_two_variances_say_the_same(kernel, learns):
    assert [part.has_variance for part in compiled(kernel, 2).parts] == learns


def test_a_given_kernel_is_its_own_composite_and_others_are_known_by_their_parts():
    assert compiled(gs.Matern(), 3) == gs.Matern()
    composite = compiled((gs.Matern().on(1) + gs.Linear()).on(2, 0), 3)
    assert isinstance(composite, Composite)
    assert composite.columns == [0, 2, 0]
    assert composite.is_sum
    assert not compiled(gs.Matern() * gs.Matern(), 3).is_sum
    assert grows(gs.Matern() + gs.Linear().on(0))
    assert not grows(gs.Matern() * gs.Matern())
    assert own_kernels(gs.Matern() + gs.Linear()) == []


# --- what is learned -----------------------------------------------------------------------------
def additive(x):
    return np.sin(5 * x[:, 0]) + 2 * (x[:, 1] - 0.4) ** 2 + np.exp(x[:, 2]) + np.cos(6 * x[:, 3])


def leave_out_error(kernel):
    """Root mean square error at points left out, for a function of six inputs and 40 answers."""
    rng = np.random.default_rng(3)
    inputs, fresh = rng.uniform(size=(40, 6)), rng.uniform(size=(500, 6))
    composite = compiled(kernel, 6)
    outputs = additive(inputs)[:, None]
    found = learn(Data(composite, np.zeros(1), inputs, outputs, np.zeros(6), np.ones(6)))
    posterior = Posterior(composite, found, torch.tensor(inputs), torch.tensor(outputs))
    predicted = posterior.predict(torch.tensor(fresh))[0][:, 0].numpy()
    return float(np.sqrt(np.mean((predicted - additive(fresh)) ** 2)))


def test_a_sum_of_functions_is_learned_far_better_by_a_sum_of_kernels():
    together = leave_out_error(gs.Matern())
    apart = leave_out_error(sum(gs.Matern().on(i) for i in range(6)))
    assert apart < together / 20


def test_learning_does_not_depend_on_units():
    rng = np.random.default_rng(1)
    inputs = rng.uniform(size=(15, 3))
    outputs = (np.sin(5 * inputs[:, 0]) + inputs[:, 1] * inputs[:, 2])[:, None]
    composite = compiled(gs.Matern().on(0) + gs.Matern().on(1, 2), 3)
    scale = np.array([10.0, 0.1, 3.0])
    plain = learn(Data(composite, np.zeros(1), inputs, outputs, np.zeros(3), np.ones(3)))
    other = learn(Data(composite, np.zeros(1), inputs * scale, 100 * outputs, np.zeros(3), scale))
    np.testing.assert_allclose(other.lengthscale, plain.lengthscale.numpy() * scale, rtol=1e-3)
    np.testing.assert_allclose(other.variance, 1e4 * plain.variance.numpy(), rtol=1e-3)
    np.testing.assert_allclose(other.shares, plain.shares, rtol=1e-3)


def test_the_variance_of_a_linear_kernel_has_all_digits():
    state = torch.tensor([[1.0]], dtype=torch.float64)
    assert float(prior_variance(gs.Linear([0.3], 1.0), state)) == pytest.approx(1 / 0.09, rel=1e-15)

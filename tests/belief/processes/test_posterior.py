"""The posterior of a Gaussian process, against the textbook, BoTorch and 50 digits."""

import math

import gpytorch
import mpmath
import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP

import grisaille as gs
from grisaille.belief.processes import likelihood
from grisaille.belief.processes.posterior import LEAST_NOISE, Posterior
from tests.belief.processes.process_helpers import (
    FAMILIES,
    STATIONARY,
    hyperparameters,
    label,
    numpy_covariance,
    textbook,
)

every_family = pytest.mark.parametrize("kernel", FAMILIES, ids=label)
every_stationary = pytest.mark.parametrize("kernel", STATIONARY, ids=label)


def tensor(values):
    return torch.tensor(np.asarray(values, dtype=float))


def nothing(inputs, outputs=1):
    """No observations at all."""
    return torch.zeros(0, inputs).double(), torch.zeros(0, outputs).double()


def random_case(seed=0, n=15, d=3, k=1):
    rng = np.random.default_rng(seed)
    return rng.uniform(-2, 2, (n, d)), rng.normal(size=(n, k)), rng.uniform(-3, 3, (40, d))


# --- the formulas --------------------------------------------------------------------------------
def test_one_observation_gives_what_is_worked_out_by_hand():
    # k(0, 0) = 2, k(0, 1) = 2 exp(-1/2), noise variance 1/2, observed 3 at 0
    posterior = Posterior(
        gs.SquaredExponential(),
        hyperparameters(lengthscale=[1.0], variance=2.0, noise=0.5),
        tensor([[0.0]]),
        tensor([[3.0]]),
    )
    mean, deviation = posterior.predict(tensor([[0.0], [1.0], [50.0]]))
    cross = 2 * math.exp(-0.5)
    np.testing.assert_allclose(mean[:, 0], [2 / 2.5 * 3, cross / 2.5 * 3, 0], atol=1e-15)
    np.testing.assert_allclose(
        deviation[:, 0] ** 2, [2 - 4 / 2.5, 2 - cross**2 / 2.5, 2], rtol=1e-14
    )


def test_a_straight_line_through_one_observation_is_worked_out_by_hand():
    # slopes of variance 1, observed 6 at s = 3 with noise variance 1: slope 18/10 +- sqrt(1/10)
    posterior = Posterior(
        gs.Linear(), hyperparameters(lengthscale=[1.0], noise=1.0), tensor([[3.0]]), tensor([[6.0]])
    )
    mean, deviation = posterior.predict(tensor([[1.0], [2.0], [-10.0]]))
    np.testing.assert_allclose(mean[:, 0], [1.8, 3.6, -18.0], rtol=1e-14)
    np.testing.assert_allclose(deviation[:, 0], np.sqrt(0.1) * np.array([1, 2, 10]), rtol=1e-13)


@every_family
def test_mean_and_deviation_are_those_of_the_textbook(kernel):
    inputs, outputs, at = random_case()
    options = {"lengthscale": [0.7, 1.5, 3.0], "variance": 2.5, "noise": 0.04}
    posterior = Posterior(kernel, hyperparameters(**options), tensor(inputs), tensor(outputs))
    mean, deviation = posterior.predict(tensor(at))
    expected = textbook(kernel, inputs, outputs[:, 0], at, **options)
    np.testing.assert_allclose(mean[:, 0], expected[0], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(deviation[:, 0], expected[1], rtol=1e-9)


@every_family
def test_outputs_are_independent_processes_with_their_own_hyperparameters(kernel):
    inputs, outputs, at = random_case(k=2)
    scales, variances, noises = [[0.7, 1.5, 3.0], [2.0, 1.0, 0.5]], [2.5, 0.3], [0.04, 0.5]
    posterior = Posterior(
        kernel,
        hyperparameters(lengthscale=scales, variance=variances, noise=noises),
        tensor(inputs),
        tensor(outputs),
    )
    mean, deviation = posterior.predict(tensor(at))
    assert mean.shape == deviation.shape == (len(at), 2)
    for j in range(2):
        expected = textbook(
            kernel,
            inputs,
            outputs[:, j],
            at,
            lengthscale=scales[j],
            variance=variances[j],
            noise=noises[j],
        )
        np.testing.assert_allclose(mean[:, j], expected[0], rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(deviation[:, j], expected[1], rtol=1e-9)


@every_family
def test_a_prior_mean_is_added_and_a_center_is_the_origin_of_inputs(kernel):
    inputs, outputs, at = random_case()
    options = {"lengthscale": [0.7, 1.5, 3.0], "variance": 2.5, "noise": 0.04}
    center, prior = np.array([1.0, -2.0, 0.5]), 7.0
    posterior = Posterior(
        kernel,
        hyperparameters(**options, mean=prior, center=center),
        tensor(inputs),
        tensor(outputs),
    )
    mean, deviation = posterior.predict(tensor(at))
    expected = textbook(kernel, inputs - center, outputs[:, 0] - prior, at - center, **options)
    np.testing.assert_allclose(mean[:, 0], prior + expected[0], rtol=1e-9)
    np.testing.assert_allclose(deviation[:, 0], expected[1], rtol=1e-9)


@every_family
def test_without_observations_the_posterior_is_the_prior(kernel):
    posterior = Posterior(
        kernel,
        hyperparameters(lengthscale=[[2.0, 4.0]] * 2, variance=[9.0, 4.0], mean=[1.0, -5.0]),
        *nothing(2, 2),
    )
    at = np.array([[2.0, 4.0], [0.5, 1.0], [-6.0, 1.0]])
    mean, deviation = posterior.predict(tensor(at))
    np.testing.assert_array_equal(mean, [[1.0, -5.0]] * 3)
    prior = np.diag(numpy_covariance(kernel, at, at, [2.0, 4.0], 1.0))
    np.testing.assert_allclose(deviation, np.sqrt(prior[:, None] * [9.0, 4.0]), rtol=1e-14)


@every_family
def test_gradients_of_mean_and_deviation_are_right(kernel):
    inputs, outputs, at = random_case(n=6, d=2, k=2)
    posterior = Posterior(
        kernel,
        hyperparameters(lengthscale=[[0.7, 1.5], [1.0, 1.0]], noise=[0.1, 0.3]),
        tensor(inputs),
        tensor(outputs),
    )
    assert torch.autograd.gradcheck(posterior.predict, (tensor(at[:4]).requires_grad_(),))


def test_no_states_give_no_predictions():
    inputs, outputs, _ = random_case(k=2)
    posterior = Posterior(
        gs.Matern(), hyperparameters(lengthscale=np.ones((2, 3))), tensor(inputs), tensor(outputs)
    )
    mean, deviation = posterior.predict(torch.zeros(0, 3).double())
    assert mean.shape == deviation.shape == (0, 2)


@every_stationary
def test_a_noise_free_observation_leaves_a_hundred_thousandth_of_the_prior_deviation(kernel):
    inputs, outputs, _ = random_case(n=5)
    posterior = Posterior(
        kernel,
        hyperparameters(lengthscale=[0.5] * 3, variance=400.0),
        tensor(inputs),
        tensor(outputs),
    )
    mean, deviation = posterior.predict(tensor(inputs))
    np.testing.assert_allclose(mean, outputs, atol=1e-6)
    assert (deviation <= 20.0 * 1.0001e-5).all()
    assert (deviation >= 0).all()


def test_noise_below_what_rounding_needs_is_raised_to_it_and_no_further():
    inputs, outputs, at = random_case(n=4)
    for noise, used in [(0.0, 2.5e-10), (1e-12, 2.5e-10), (1e-7, 1e-7)]:
        posterior = Posterior(
            gs.Matern(),
            hyperparameters(lengthscale=[1.0] * 3, variance=2.5, noise=noise),
            tensor(inputs),
            tensor(outputs),
        )
        _, deviation = posterior.predict(tensor(np.concatenate([inputs, at])))
        _, expected = textbook(
            gs.Matern(),
            inputs,
            outputs[:, 0],
            np.concatenate([inputs, at]),
            lengthscale=1.0,
            variance=2.5,
            noise=used,
        )
        # A variance of 1e-10 is a difference of ones, of which rounding leaves five digits.
        np.testing.assert_allclose(deviation[:, 0], expected, rtol=1e-5)


# --- one more observation ------------------------------------------------------------------------
@every_family
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_one_observation_at_a_time_gives_what_all_at_once_give(kernel, noise):
    inputs, outputs, at = random_case(n=20, d=2, k=2)
    if noise == 0:  # what every family can give; else weights are as large as rounding is small
        outputs = inputs @ np.array([[1.0, -2.0], [0.5, 3.0]]) + np.array([0.0, 1.0])
    values = hyperparameters(
        lengthscale=[[0.7, 1.5], [1.0, 1.0]], variance=[1.0, 4.0], noise=noise, mean=[0.0, 1.0]
    )
    step_by_step = Posterior(kernel, values, *nothing(2, 2))
    for x, y in zip(tensor(inputs), tensor(outputs), strict=True):
        step_by_step = step_by_step.extended(x, y)
    at_once = Posterior(kernel, values, tensor(inputs), tensor(outputs))
    torch.testing.assert_close(step_by_step.inputs, at_once.inputs)
    torch.testing.assert_close(step_by_step.outputs, at_once.outputs)
    tolerance = {"rtol": 1e-6, "atol": 1e-6} if noise == 0 else {"rtol": 1e-10, "atol": 1e-10}
    for ours, theirs in zip(
        step_by_step.predict(tensor(at)), at_once.predict(tensor(at)), strict=True
    ):
        torch.testing.assert_close(ours, theirs, **tolerance)


def test_extending_leaves_the_shorter_posterior_as_it_was():
    inputs, outputs, at = random_case()
    values = hyperparameters(lengthscale=[1.0] * 3)
    posterior = Posterior(gs.Matern(), values, tensor(inputs), tensor(outputs))
    before = posterior.predict(tensor(at))
    longer = posterior.extended(tensor([0.1, 0.2, 0.3]), tensor([5.0]))
    after = posterior.predict(tensor(at))
    assert len(posterior.inputs) == 15
    assert len(longer.inputs) == 16
    for one, other in zip(before, after, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


@every_family
def test_an_observation_never_makes_a_deviation_larger(kernel):
    inputs, outputs, at = random_case(n=20, d=2)
    posterior = Posterior(kernel, hyperparameters(lengthscale=[1.0, 2.0], noise=0.01), *nothing(2))
    prior = deviation = posterior.predict(tensor(at))[1]
    for x, y in zip(tensor(inputs), tensor(outputs), strict=True):
        posterior = posterior.extended(x, y)
        narrower = posterior.predict(tensor(at))[1]
        assert (narrower <= deviation + 1e-12).all()
        deviation = narrower
    assert deviation.mean() < 0.9 * prior.mean()


# --- duplicates ----------------------------------------------------------------------------------
@every_family
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("apart", [0.0, 1e-12, 1e-9, 1e-7])
@pytest.mark.parametrize("origin", [0.3, 1e3])
def test_two_hundred_copies_of_an_input_give_its_value_and_finite_gradients(
    kernel, d, apart, origin
):
    rng = np.random.default_rng(0)
    copies = origin + apart * rng.normal(size=(200, d))
    posterior = Posterior(
        kernel, hyperparameters(lengthscale=[0.1] * d), tensor(copies), tensor(np.full((200, 1), 5))
    )
    at = tensor(copies[:7]).requires_grad_()
    mean, deviation = posterior.predict(at)
    np.testing.assert_allclose(mean.detach(), 5.0, rtol=1e-4)
    prior = posterior.kernel.diagonal(at.detach() / 0.1).max().sqrt()
    assert (deviation <= 2e-4 * max(prior, 1)).all()
    (mean.sum() + deviation.sum()).backward()
    assert torch.isfinite(at.grad).all()


@every_family
@pytest.mark.parametrize("apart", [0.0, 1e-12])
def test_copies_added_one_at_a_time_never_fail(kernel, apart):
    rng = np.random.default_rng(0)
    copies = tensor(0.3 + apart * rng.normal(size=(200, 2)))
    posterior = Posterior(kernel, hyperparameters(lengthscale=[0.1] * 2), *nothing(2))
    for copy in copies:
        posterior = posterior.extended(copy, tensor([5.0]))
    at = copies[:3].clone().requires_grad_()
    mean, deviation = posterior.predict(at)
    np.testing.assert_allclose(mean.detach(), 5.0, rtol=1e-4)
    assert (deviation <= 2e-3).all()
    (mean.sum() + deviation.sum()).backward()
    assert torch.isfinite(at.grad).all()


@every_stationary
def test_contradictory_copies_are_averaged(kernel):
    copies, answers = tensor(np.full((4, 1), 0.3)), tensor([[0.0], [1.0], [2.0], [9.0]])
    posterior = Posterior(kernel, hyperparameters(lengthscale=[0.1]), copies, answers)
    mean, _ = posterior.predict(copies[:1])
    assert mean.item() == pytest.approx(3.0, abs=1e-6)


def test_a_linear_kernel_survives_an_observation_at_the_origin_and_one_far_away():
    inputs = tensor([[0.0, 0.0], [0.0, 0.0], [1e7, 1e7], [1e7, 1e7 + 1], [3.0, 4.0], [3.0, 4.0]])
    outputs = inputs @ tensor([[1.0], [2.0]])
    posterior = Posterior(gs.Linear(), hyperparameters(lengthscale=[1.0, 1.0]), inputs, outputs)
    mean, deviation = posterior.predict(tensor([[2.0, 1.0], [-1e7, 1e7]]))
    np.testing.assert_allclose(mean[:, 0], [4.0, 1e7], rtol=1e-3)
    assert torch.isfinite(deviation).all()


# --- precision -----------------------------------------------------------------------------------
def exactly(kernel, inputs, outputs, at, lengthscale, noise):
    """Mean and deviation with 50 digits, one output, variance 1."""

    def covariance(a, b):
        r = abs(mpmath.mpf(float(a)) - mpmath.mpf(float(b))) / mpmath.mpf(lengthscale)
        if isinstance(kernel, gs.SquaredExponential):
            return mpmath.exp(-(r**2) / 2)
        scaled = mpmath.sqrt(mpmath.mpf(2 * kernel.smoothness)) * r
        polynomial = {0.5: 1, 1.5: 1 + scaled, 2.5: 1 + scaled + scaled**2 / 3}
        return polynomial[kernel.smoothness] * mpmath.exp(-scaled)

    with mpmath.workdps(50):
        n = len(inputs)
        system = mpmath.matrix(n, n)
        for i in range(n):
            for j in range(n):
                system[i, j] = covariance(inputs[i], inputs[j]) + (mpmath.mpf(noise) * (i == j))
        values = mpmath.matrix([float(y) for y in outputs])
        means, deviations = [], []
        for state in at:
            cross = mpmath.matrix([covariance(x, state) for x in inputs])
            solved = mpmath.lu_solve(system, cross)
            means.append(float((solved.T * values)[0]))
            deviations.append(float(mpmath.sqrt(1 - (cross.T * solved)[0])))
    return np.array(means), np.array(deviations)


@every_stationary
def test_an_ill_conditioned_posterior_agrees_with_fifty_digits(kernel):
    # 16 inputs within a length-scale, the last two 1e-9 apart
    inputs = np.append(np.linspace(0.0, 1.0, 15), 1.0 + 1e-9)
    outputs, at = np.sin(3 * inputs), np.array([0.01, 0.4871, 1.0, 1.2])
    posterior = Posterior(
        kernel,
        hyperparameters(lengthscale=[1.0]),
        tensor(inputs[:, None]),
        tensor(outputs[:, None]),
    )
    mean, deviation = posterior.predict(tensor(at[:, None]))
    expected = exactly(kernel, inputs, outputs, at, 1.0, LEAST_NOISE)
    np.testing.assert_allclose(mean[:, 0], expected[0], atol=1e-7)
    np.testing.assert_allclose(deviation[:, 0], expected[1], rtol=1e-5)
    assert expected[1].min() < 2e-4  # and it is ill-conditioned indeed


# --- against BoTorch -----------------------------------------------------------------------------
def botorch_model(kernel, values, j, inputs, outputs, spread):
    """BoTorch's model of output j in units of its spread; inputs are in length-scales."""
    variance, noise = values.variance[j] / spread**2, values.noise[j] / spread**2
    if isinstance(kernel, gs.Linear):
        covariance = gpytorch.kernels.LinearKernel()
        covariance.variance = variance
    else:
        smoothness = getattr(kernel, "smoothness", None)
        shape = (
            gpytorch.kernels.MaternKernel(smoothness)
            if smoothness
            else gpytorch.kernels.RBFKernel()
        )
        shape.lengthscale = 1.0
        covariance = gpytorch.kernels.ScaleKernel(shape)
        covariance.outputscale = variance
    noises = noise.expand(len(inputs), 1)
    answers = outputs[:, j : j + 1] / spread
    model = SingleTaskGP(
        inputs, answers, noises, covar_module=covariance, outcome_transform=None
    ).double()
    model.mean_module.initialize(constant=values.mean[j] / spread)
    return model.eval()


@pytest.mark.filterwarnings("ignore::botorch.exceptions.InputDataWarning")
@pytest.mark.parametrize("kernel", FAMILIES, ids=label)
@pytest.mark.parametrize("outputs", [1, 2])
def test_a_fitted_model_predicts_what_botorch_predicts(kernel, outputs):
    rng = np.random.default_rng(3)
    lower, upper = np.array([-5.0, 100.0]), np.array([5.0, 300.0])
    unit = rng.uniform(size=(18, 2))
    inputs = lower + (upper - lower) * unit
    clean = np.stack([1e3 + 50 * np.sin(4 * unit[:, 0]) * unit[:, 1], 1e-2 * unit.sum(1) ** 2], 1)
    answers = (clean * (1 + 1e-3 * rng.normal(size=clean.shape)))[:, :outputs]
    at = lower + (upper - lower) * rng.uniform(size=(30, 2))

    values = likelihood.learn(
        likelihood.Data(kernel, None, inputs, answers, lower, upper, surely_noisy=True)
    )
    posterior = Posterior(kernel, values, tensor(inputs), tensor(answers))
    mean, deviation = posterior.predict(tensor(at))
    for j in range(outputs):
        scale = values.lengthscale[j]
        seen, states = (tensor(points - lower) / scale for points in (inputs, at))
        spread = answers[:, j].std(ddof=1)
        model = botorch_model(kernel, values, j, seen, tensor(answers), spread)
        with torch.no_grad():
            theirs = model.posterior(states)
        expected = theirs.mean[:, 0], theirs.variance[:, 0].sqrt()
        np.testing.assert_allclose(mean[:, j] / spread, expected[0], rtol=0, atol=2e-6)
        np.testing.assert_allclose(deviation[:, j] / spread, expected[1], rtol=1e-5)

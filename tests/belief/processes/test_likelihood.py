"""The density of hyper-parameters: that of GPyTorch, with the slopes that differences give."""

import math

import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import LogNormalPrior
from scipy.optimize import approx_fprime

import grisaille as gs
from grisaille.belief.processes.likelihood import Likelihood, LogNormal
from tests.belief.processes.process_helpers import FAMILIES, label

SCALES, VARIANCE, NOISE = LogNormal(1.2, 1.7), LogNormal(0.0, 1.0), LogNormal(-4.0, 1.0)


def some_data(n=14):
    rng = np.random.default_rng(0)
    inputs = rng.uniform(size=(n, 2))
    return inputs, np.sin(5 * inputs[:, 0]) + inputs[:, 1] ** 2


def likelihood_of(kernel, noise):
    prior = NOISE if noise is None else None
    return Likelihood(kernel, *some_data(), noise, SCALES, VARIANCE, prior)


@pytest.mark.parametrize("kernel", FAMILIES, ids=label)
@pytest.mark.parametrize("noise", [None, 0.01])
def test_the_gradient_is_that_of_differences(kernel, noise):
    likelihood = likelihood_of(kernel, noise)
    size = 2 + likelihood.has_variance + (noise is None)
    at = np.random.default_rng(1).normal(scale=0.5, size=size)
    expected = approx_fprime(at, lambda p: likelihood(p)[0], 1e-6)
    np.testing.assert_allclose(likelihood(at)[1], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("kernel", "theirs"),
    [
        (gs.Matern(2.5), MaternKernel(nu=2.5, ard_num_dims=2)),
        (gs.Matern(0.5), MaternKernel(nu=0.5, ard_num_dims=2)),
        (gs.SquaredExponential(), RBFKernel(ard_num_dims=2)),
    ],
    ids=["Matern 5/2", "Matern 1/2", "squared exponential"],
)
def test_the_density_is_that_of_gpytorch(kernel, theirs):
    inputs, outputs = some_data()
    noise = 0.01
    theirs.register_prior("scales", LogNormalPrior(SCALES.mean, SCALES.deviation), "lengthscale")
    scaled = ScaleKernel(theirs, outputscale_prior=LogNormalPrior(0.0, 1.0))
    x, y = torch.tensor(inputs), torch.tensor(outputs).unsqueeze(1)
    model = SingleTaskGP(
        x, y, train_Yvar=torch.full_like(y, noise), covar_module=scaled, outcome_transform=None
    ).double()
    loss = ExactMarginalLogLikelihood(model.likelihood, model)
    loss.train()
    likelihood = likelihood_of(kernel, noise)

    def difference(logarithms):
        lengthscale, variance, _ = likelihood.values(logarithms)
        model.covar_module.base_kernel.lengthscale = torch.tensor(lengthscale)
        model.covar_module.outputscale = torch.tensor(variance)
        model.mean_module.constant.data = torch.tensor(likelihood.mean(logarithms))
        expected = -loss(model(x), model.train_targets).item() * len(x)
        return likelihood(logarithms)[0] - expected

    # Up to the constants of the densities.
    at, other = np.array([-0.3, 0.4, 0.2]), np.array([0.5, -0.7, -0.6])
    assert difference(at) == pytest.approx(difference(other), abs=1e-4)


def test_the_mean_is_the_one_of_largest_likelihood():
    likelihood = likelihood_of(gs.Matern(), 0.01)
    at = np.array([-1.0, -0.5, 0.1])
    best, (lengthscale, variance, noise) = likelihood.mean(at), likelihood.values(at)
    scaled = torch.tensor(likelihood.inputs / lengthscale)
    system = variance * gs.Matern().correlation(scaled, scaled).numpy() + noise * np.eye(14)

    def misfit(mean):
        residual = likelihood.outputs - mean
        return residual @ np.linalg.solve(system, residual)

    assert misfit(best) < min(misfit(best - 1e-3), misfit(best + 1e-3))


def test_a_covariance_without_a_factor_has_infinite_loss(monkeypatch):
    likelihood = likelihood_of(gs.Matern(), 0.01)
    minus = -np.eye(14)
    monkeypatch.setattr(likelihood, "_covariance", lambda _scaled, _variance: (minus, minus))
    loss, gradient = likelihood(np.zeros(3))
    assert math.isinf(loss)
    assert not gradient.any()

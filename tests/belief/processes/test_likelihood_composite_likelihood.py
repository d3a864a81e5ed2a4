"""The density of the hyper-parameters of composite kernels: that of GPyTorch, with its slopes."""

import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from gpytorch.mlls import ExactMarginalLogLikelihood
from scipy.optimize import approx_fprime

import grisaille as gs
from grisaille.belief.processes.kernels import compiled
from grisaille.belief.processes.likelihood import CompositeLikelihood, Likelihood, LogNormal

SCALES, VARIANCE, NOISE = LogNormal(1.2, 1.7), LogNormal(0.0, 1.0), LogNormal(-4.0, 1.0)
FLAT = LogNormal(0.0, 1e9)


def some_data(n=14):
    inputs = np.random.default_rng(0).uniform(size=(n, 3))
    return inputs, np.sin(5 * inputs[:, 0]) + inputs[:, 1] * inputs[:, 2]


def likelihood_of(kernel, noise, scales=SCALES, variance=VARIANCE):
    composite = compiled(kernel, 3)
    priors = [scales] * len(composite.parts)
    prior = NOISE if noise is None else None
    return CompositeLikelihood(composite, *some_data(), noise, priors, variance, prior)


@pytest.mark.parametrize(
    "kernel",
    [
        gs.Matern().on(0) + gs.Matern(1.5).on(1, 2) + gs.Linear(),
        gs.SquaredExponential() * gs.Linear().on(0),
        (gs.Matern(0.5).on(0) + gs.SquaredExponential()) * gs.Matern().on(2),
    ],
    ids=["sum", "product", "both"],
)
@pytest.mark.parametrize("noise", [None, 0.01])
def test_the_gradient_is_that_of_differences(kernel, noise):
    likelihood = likelihood_of(kernel, noise)
    size = len(likelihood.dimensions) + likelihood.variances + (noise is None)
    at = np.random.default_rng(1).normal(scale=0.5, size=size)
    expected = approx_fprime(at, lambda p: likelihood(p)[0], 1e-6)
    np.testing.assert_allclose(likelihood(at)[1], expected, rtol=1e-4, atol=1e-4)


def test_a_single_part_has_the_density_of_the_closed_form():
    composite = likelihood_of(gs.Matern().on(0, 1, 2), None)
    closed = Likelihood(gs.Matern(), *some_data(), None, SCALES, VARIANCE, NOISE)
    at = np.array([-0.3, 0.4, 0.2, 0.1, -3.0])
    assert composite(at)[0] == pytest.approx(closed(at)[0], rel=1e-9)
    np.testing.assert_allclose(composite(at)[1], closed(at)[1], rtol=1e-6)
    assert composite.mean(at) == pytest.approx(closed.mean(at), rel=1e-6)


@pytest.mark.parametrize("name", ["sum", "product"])
def test_the_density_is_that_of_gpytorch(name):
    inputs, outputs = some_data()
    smooth, rough = (
        RBFKernel(active_dims=(0, 2), ard_num_dims=2),
        MaternKernel(1.5, active_dims=[1]),
    )
    first, second = ScaleKernel(smooth), ScaleKernel(rough)
    a, b = gs.SquaredExponential().on(0, 2), gs.Matern(1.5).on(1)
    kernel, theirs = (a + b, first + second) if name == "sum" else (a * b, first * rough)
    x, y = torch.tensor(inputs), torch.tensor(outputs).unsqueeze(1)
    model = SingleTaskGP(
        x, y, train_Yvar=torch.full_like(y, 0.01), covar_module=theirs, outcome_transform=None
    ).double()
    loss = ExactMarginalLogLikelihood(model.likelihood, model)
    loss.train()
    likelihood = likelihood_of(kernel, 0.01, None, FLAT)

    def difference(logarithms):
        values = torch.tensor(np.exp(logarithms))
        smooth.lengthscale, rough.lengthscale = values[:2], values[2:3]
        first.outputscale = values[3]
        if name == "sum":
            second.outputscale = values[4]
        model.mean_module.constant.data = torch.tensor(likelihood.mean(logarithms))
        expected = -loss(model(x), model.train_targets).item() * len(x)
        # A flat prior of a variance adds its logarithm.
        return likelihood(logarithms)[0] - logarithms[3:].sum() - expected

    at, other = np.array([-0.3, 0.4, 0.2, 0.3, -0.5]), np.array([0.5, -0.7, -0.6, -0.2, 0.4])
    many = 3 + likelihood.variances
    assert difference(at[:many]) == pytest.approx(difference(other[:many]), abs=1e-4)


def test_a_covariance_without_a_factor_has_infinite_loss():
    class Indefinite(gs.Kernel):
        def correlation(self, first, second):
            return -gs.Matern().correlation(first, second)

    loss, gradient = likelihood_of(Indefinite(), 1e-6)(np.zeros(4))
    assert (loss, gradient.any()) == (np.inf, False)

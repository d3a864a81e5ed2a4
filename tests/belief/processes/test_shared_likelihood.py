"""The likelihood of many outputs together, against a calculation output by output."""

from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs
from grisaille.belief.processes.kernels import as_composite
from grisaille.belief.processes.likelihood import CompositeLikelihood, LogNormal
from grisaille.belief.processes.shared import SharedLikelihood, effective_outputs

SCALES, VARIANCE, NOISE = LogNormal(0.5, 1.2), LogNormal(0.0, 1.0), LogNormal(-4.0, 1.0)


def data(outputs: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    inputs = generator.random((9, 2))
    return inputs, np.sin(3 * inputs @ generator.normal(size=(2, outputs)) + 1)


def likelihood(outputs: int, noise: float | None = 1e-4) -> SharedLikelihood:
    kernel = as_composite(gs.Matern(2.5), 2)
    prior = None if noise is not None else NOISE
    return SharedLikelihood(kernel, *data(outputs), noise, [SCALES], VARIANCE, prior)


def alone(inputs: np.ndarray, y: np.ndarray, logarithms: np.ndarray, noise: float) -> float:
    """Minus the log-likelihood of one output with its best constant mean, without priors."""
    scales, variance = np.exp(logarithms[:2]), np.exp(logarithms[2])
    r = np.sqrt(5 * (((inputs[:, None] - inputs[None]) / scales) ** 2).sum(-1))
    covariance = variance * (1 + r + r**2 / 3) * np.exp(-r)
    covariance += (noise + 1e-10 * variance) * np.eye(len(y))
    inverse = np.linalg.inv(covariance)
    mean = inverse.sum(0) @ y / inverse.sum()
    return 0.5 * (y - mean) @ inverse @ (y - mean) + 0.5 * np.linalg.slogdet(covariance)[1]


def test_the_loss_is_the_average_over_outputs_times_how_many_they_are_worth():
    inputs, outputs = data(15)
    point = np.array([-0.3, 0.4, 0.2])
    average = np.mean([alone(inputs, y, point, 1e-4) for y in outputs.T])
    priors = SCALES.loss(point[:2])[0] + VARIANCE.loss(point[2:])[0]
    expected = effective_outputs(outputs) * average + priors
    assert likelihood(15)(point)[0] == pytest.approx(expected, rel=1e-9)


def test_one_output_is_what_it_is_without_sharing():
    inputs, outputs = data(1)
    kernel = as_composite(gs.Matern(2.5), 2)
    single = CompositeLikelihood(kernel, inputs, outputs[:, 0], 1e-4, [SCALES], VARIANCE, None)
    point = np.array([-0.3, 0.4, 0.2])
    for ours, theirs in zip(likelihood(1)(point), single(point), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("noise", [1e-3, None])
def test_the_gradient_is_the_slope_of_the_loss(noise):
    function = likelihood(15, noise)
    point = np.array([-0.3, 0.4, 0.2, -3.0])[: 3 + (noise is None)]
    steps = 1e-5 * np.eye(len(point))
    slopes = [(function(point + s)[0] - function(point - s)[0]) / 2e-5 for s in steps]
    assert function(point)[1] == pytest.approx(slopes, rel=1e-5, abs=1e-6)


def test_outputs_are_worth_what_is_independent_among_them():
    generator = np.random.default_rng(1)
    curve = generator.normal(size=(400, 1))
    assert effective_outputs(curve * np.ones(50)) == pytest.approx(1)
    assert effective_outputs(generator.normal(size=(4000, 6))) == pytest.approx(6, rel=0.02)
    assert effective_outputs(np.zeros((5, 3))) == 1
    assert effective_outputs(np.zeros((0, 3))) == 1


def test_parts_of_the_answers_are_independent_with_the_stated_variances():
    function, (inputs, outputs) = likelihood(15), data(15)
    point = np.array([-0.3, 0.4, 0.2])
    means, parts, values = function.independent_parts(point, outputs)
    r = np.sqrt(5 * (((inputs[:, None] - inputs[None]) / np.exp(point[:2])) ** 2).sum(-1))
    correlation = (1 + r + r**2 / 3) * np.exp(-r)
    variances = np.exp(point[2]) * values + 1e-4
    inverse = np.linalg.inv(np.exp(point[2]) * correlation + 1e-4 * np.eye(9))
    for y, mean, part in zip(outputs.T, means, parts.T, strict=True):
        assert mean == pytest.approx(inverse.sum(0) @ y / inverse.sum(), rel=1e-4)
        assert (part**2 / variances).sum() == pytest.approx(
            (y - mean) @ inverse @ (y - mean), rel=1e-4
        )

"""Hyper-parameters of many outputs together are those that the data were drawn with."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.processes.likelihood import Data
from grisaille.belief.processes.shared import learn_together

LOWER, UPPER = np.array([0.0, 0.0]), np.array([1.0, 10.0])


def drawn(n: int = 40, k: int = 30, noise: object = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Answers of k outputs: length-scales 0.3 and 6, three patterns, sizes from 1 to 30."""
    generator = np.random.default_rng(0)
    inputs = LOWER + (UPPER - LOWER) * generator.random((n, 2))
    scaled = torch.tensor(inputs / np.array([0.3, 6.0]))
    correlation = gs.Matern(2.5).correlation(scaled, scaled).numpy()
    smooth = np.linalg.cholesky(correlation + 1e-10 * np.eye(n)) @ generator.normal(size=(n, 3))
    mixing = generator.normal(size=(3, k))
    mixing /= np.linalg.norm(mixing, axis=0)
    outputs = 5 + (smooth @ mixing) * np.linspace(1, 30, k)
    return inputs, outputs + np.asarray(noise) * generator.normal(size=(n, k))


def learn(inputs, outputs, noise=0.0):
    levels = None if noise is None else np.broadcast_to(noise, outputs.shape[1]).astype(float)
    return learn_together(Data(gs.Matern(2.5), levels, inputs, outputs, LOWER, UPPER))


def test_length_scales_and_variances_are_found():
    found = learn(*drawn())
    assert found.lengthscale.shape == (30, 2)
    assert (found.lengthscale == found.lengthscale[0]).all()
    assert found.lengthscale[0].numpy() == pytest.approx([0.3, 6.0], rel=0.4)
    ratio = found.variance.sqrt().numpy() / np.linspace(1, 30, 30)
    assert 0.5 < ratio.min() <= ratio.max() < 2
    assert not found.noise.any()


def test_units_of_outputs_do_not_matter():
    inputs, outputs = drawn()
    factors = np.geomspace(1e-6, 1e6, 30)
    found, other = learn(inputs, outputs), learn(inputs, outputs * factors)
    assert other.lengthscale.numpy() == pytest.approx(found.lengthscale.numpy(), rel=1e-4)
    assert other.variance.numpy() == pytest.approx(found.variance.numpy() * factors**2, rel=1e-4)


def test_noise_that_was_left_out_is_learned_for_each_output():
    levels = np.linspace(0.1, 6, 30)
    found = learn(*drawn(60, noise=levels), noise=None)
    assert found.remarks[0].startswith("noisy: noise explains its answers much better")
    ratio = found.noise.sqrt().numpy() / levels
    assert 0.6 < np.median(ratio) < 1.6
    assert ratio[5:].min() > 0.4
    assert ratio[5:].max() < 2.5


def test_exact_answers_are_taken_for_exact():
    found = learn(*drawn(), noise=None)
    assert found.remarks[0].startswith("without noise")
    assert not found.noise.any()


@pytest.mark.parametrize("declared", [0.5, None])
def test_flat_outputs_that_are_all_noise_do_not_make_the_others_look_rough(declared):
    inputs, outputs = drawn(noise=0.5)
    outputs[:, :5] = 3 + 0.5 * np.random.default_rng(1).normal(size=(40, 5))
    found = learn(inputs, outputs, declared)
    if declared is not None:
        assert found.noise.numpy() == pytest.approx(0.25)
    assert found.variance[:5].sqrt().max() < 0.5
    assert found.lengthscale[0].numpy() == pytest.approx([0.3, 6.0], rel=0.5)


def test_constant_outputs_and_few_answers_are_no_obstacle():
    inputs, outputs = drawn()
    outputs[:, 0] = 7.0
    found = learn(inputs, outputs)
    assert found.mean[0] == pytest.approx(7.0)
    assert found.variance[0] < 1e-2
    for count in (0, 1, 2):
        few = learn(inputs[:count], outputs[:count], None)
        for part in (few.lengthscale, few.variance, few.mean):
            assert part.isfinite().all()
    assert learn(inputs, np.full((40, 4), 2.0)).variance.isfinite().all()


def test_a_sum_of_kernels_can_be_shared():
    from grisaille.belief.processes.kernels import compiled

    inputs, outputs = drawn()
    kernel = compiled(gs.Matern(2.5) + gs.Linear(), 2)
    found = learn_together(Data(kernel, np.zeros(30), inputs, outputs, LOWER, UPPER))
    assert found.shares is not None
    assert found.shares.shape == (30, 2)
    assert found.lengthscale.shape == (30, 4)

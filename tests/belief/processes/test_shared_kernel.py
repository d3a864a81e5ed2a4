"""One kernel for many outputs: the same numbers as a posterior for each output alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.processes.kernels import compiled
from grisaille.belief.processes.likelihood import given
from grisaille.belief.processes.posterior import Hyperparameters, Posterior
from grisaille.belief.processes.shared import SharedPosterior

K, N, D = 7, 12, 2
PLAIN = gs.Matern(2.5, lengthscale=[0.6, 0.9], variance=1.0)
KERNELS = {
    "Matern": PLAIN,
    "linear": gs.Linear(lengthscale=[0.6, 0.9], variance=1.0),
    "sum": gs.Matern(1.5, lengthscale=0.7, variance=0.5) + gs.Linear(lengthscale=2.0, variance=1.0),
}


def data(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = np.random.default_rng(seed)
    inputs = generator.random((N, D))
    times = np.linspace(0, 1, K)
    outputs = np.sin(3 * inputs[:, :1] + 2 * times) + inputs[:, 1:] * times**2 + 0.3
    return torch.tensor(inputs), torch.tensor(outputs)


def hyperparameters(kernel: gs.Kernel, noise: np.ndarray) -> Hyperparameters:
    found = given(kernel, noise, D, K)
    generator = torch.Generator().manual_seed(1)
    scale = 0.2 + torch.rand(K, generator=generator, dtype=torch.float64)
    return Hyperparameters(
        found.lengthscale,
        found.variance * scale,
        found.noise,
        0.1 * scale,
        found.center,
        shares=found.shares,
    )


def both(name: str = "Matern", noise: object = 0.0) -> tuple[SharedPosterior, Posterior]:
    kernel = compiled(KERNELS[name], D)
    levels = np.broadcast_to(noise, K).astype(float)
    arguments = kernel, hyperparameters(kernel, levels), *data()
    return SharedPosterior(*arguments), Posterior(*arguments)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(
    "noise", [1e-4, 0.05, np.linspace(0.01, 0.2, K)], ids=["little", "one", "each"]
)
def test_predictions_are_those_of_each_output_alone(name, noise):
    shared, alone = both(name, noise)
    states = torch.rand(20, D, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    for ours, theirs in zip(shared.predict(states), alone.predict(states), strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-5, atol=2e-5)


def test_a_prediction_is_that_of_the_formula():
    shared, _ = both(noise=0.1)
    inputs, outputs = (part.numpy() for part in data())
    found, scales = shared.hyperparameters, np.array([0.6, 0.9])

    def correlation(a, b):
        r = np.sqrt(5 * (((a[:, None] - b[None]) / scales) ** 2).sum(-1))
        return (1 + r + r**2 / 3) * np.exp(-r)

    state = np.array([[0.3, 0.8]])
    mean, deviation = shared.predict(torch.tensor(state))
    for j in range(K):
        v, m = float(found.variance[j]), float(found.mean[j])
        inverse = np.linalg.inv(v * correlation(inputs, inputs) + 0.01 * np.eye(N))
        cross = v * correlation(state, inputs)[0]
        assert float(mean[0, j]) == pytest.approx(m + cross @ inverse @ (outputs[:, j] - m))
        assert float(deviation[0, j]) ** 2 == pytest.approx(v - cross @ inverse @ cross)


@pytest.mark.parametrize("noise", [0.05, np.linspace(0.01, 0.2, K)], ids=["one", "each"])
def test_joint_predictions_are_those_of_each_output_alone(noise):
    shared, alone = both(noise=noise)
    states = torch.rand(4, 3, D, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    for ours, theirs in zip(
        shared.predict_jointly(states), alone.predict_jointly(states), strict=True
    ):
        assert torch.allclose(ours, theirs, atol=1e-9)


@pytest.mark.parametrize("noise", [0.0, np.linspace(0.01, 0.2, K)], ids=["0", "each"])
def test_proofs_and_tables_find_the_factor_and_the_weights_of_each_output(noise):
    shared, alone = both(noise=noise)
    covariance = alone.covariance(alone.scaled, alone.scaled)
    level = torch.diag_embed(shared.regularization(shared.scaled))
    assert torch.allclose(shared.factor @ shared.factor.transpose(1, 2), covariance + level)
    assert torch.allclose(shared.scaled, alone.scaled)
    residual = (shared.outputs - shared.hyperparameters.mean).T.unsqueeze(-1)
    assert torch.allclose((covariance + level) @ shared.weights, residual, atol=1e-6)
    assert torch.allclose(shared.misses(), alone.misses(), atol=1e-6)


def test_an_answer_as_predicted_leaves_mean_and_patterns_and_narrows_the_band():
    shared, _ = both()
    state = torch.tensor([0.5, 0.5], dtype=torch.float64)
    after = shared.with_predicted(state)
    near = torch.tensor([[0.5, 0.5], [0.4, 0.6]], dtype=torch.float64)
    assert torch.allclose(after.predict(near)[0], shared.predict(near)[0], atol=1e-6)
    assert (after.predict(near)[1] < shared.predict(near)[1]).all()
    assert after.patterns is shared.patterns
    assert len(after.inputs) == N + 1


def test_inputs_may_count_by_their_logarithm():
    kernel = gs.Matern(2.5, lengthscale=1.0, variance=1.0)
    found = hyperparameters(kernel, np.zeros(K))
    flags = torch.tensor([True, False])
    logarithmic = Hyperparameters(
        found.lengthscale, found.variance, found.noise, found.mean, found.center, logarithmic=flags
    )
    inputs, outputs = data()
    inputs = inputs + 0.1
    logged = torch.stack([inputs[:, 0].log(), inputs[:, 1]], 1)
    shared = SharedPosterior(kernel, logarithmic, inputs, outputs)
    plain = SharedPosterior(kernel, found, logged, outputs)
    assert torch.allclose(
        shared.predict(inputs[:3] + 0.05)[1],
        plain.predict(torch.stack([(inputs[:3, 0] + 0.05).log(), inputs[:3, 1] + 0.05], 1))[1],
    )
    again = shared.of_logarithms(flags.numpy())
    assert torch.allclose(again.predict(logged[:3] + 0.01)[0], plain.predict(logged[:3] + 0.01)[0])
    assert plain.of_logarithms(flags.numpy()) is plain


def test_outputs_that_are_multiples_of_one_curve_move_in_one_pattern():
    inputs, _ = data()
    curve = torch.linspace(-1, 2, K, dtype=torch.float64)
    outputs = torch.sin(3 * inputs[:, :1]) * curve
    found = given(PLAIN, np.zeros(K), D, K)
    variance = curve.square().clamp_min(1e-3)
    found = Hyperparameters(found.lengthscale, variance, found.noise, found.mean, found.center)
    patterns = SharedPosterior(PLAIN, found, inputs, outputs).patterns
    assert patterns.shape == (K, 1)
    varying = curve.abs() > 0.1
    assert torch.equal(patterns[varying, 0].sign().abs(), torch.ones(int(varying.sum())))
    signs = patterns[varying, 0].sign() * curve[varying].sign()
    assert (signs == signs[0]).all()


def test_patterns_hold_the_correlations_of_the_outputs_and_every_output_reaches_its_band():
    generator = np.random.default_rng(4)
    inputs = generator.random((60, D))
    scaled = torch.tensor(inputs / np.array([0.6, 0.9]))
    root = np.linalg.cholesky(PLAIN.correlation(scaled, scaled).numpy() + 1e-9 * np.eye(60))
    mixing = generator.normal(size=(3, 40))
    outputs = torch.tensor(root @ generator.normal(size=(60, 3)) @ mixing)
    found = given(PLAIN, np.zeros(40), D, 40)
    variance = torch.tensor((mixing**2).sum(0))
    found = Hyperparameters(found.lengthscale, variance, found.noise, found.mean, found.center)
    patterns = SharedPosterior(PLAIN, found, torch.tensor(inputs), outputs).patterns
    assert patterns.shape == (40, 3)
    sizes = np.sqrt((mixing**2).sum(0))
    true = (mixing.T @ mixing) / np.outer(sizes, sizes)
    assert np.abs((patterns @ patterns.T).numpy() - true).max() < 0.35
    assert (patterns.abs().sum(1) >= 1 - 1e-12).all()


def test_patterns_are_few_and_there_is_one_before_any_answer():
    generator = np.random.default_rng(5)
    inputs, outputs = torch.tensor(generator.random((30, D))), generator.normal(size=(30, 25))
    found = given(PLAIN, np.zeros(25), D, 25)
    patterns = SharedPosterior(PLAIN, found, inputs, torch.tensor(outputs)).patterns
    assert patterns.shape == (25, 8)
    assert (patterns.abs().sum(1) >= 1 - 1e-12).all()
    nothing = SharedPosterior(PLAIN, found, inputs[:0], torch.tensor(outputs[:0]))
    assert torch.equal(nothing.patterns, torch.ones(25, 1, dtype=torch.float64))
    mean, deviation = nothing.predict(inputs[:2])
    assert torch.equal(mean, torch.zeros(2, 25, dtype=torch.float64))
    assert torch.allclose(deviation, torch.ones(2, 25, dtype=torch.float64))


def test_everything_moves_to_a_device():
    shared, _ = both()
    moved = shared.on(torch.device("meta"))
    kept = [value for value in vars(moved).values() if isinstance(value, torch.Tensor)]
    assert len(kept) > 8
    assert {value.device.type for value in kept} == {"meta"}
    assert shared.on(torch.device("cpu")) is shared

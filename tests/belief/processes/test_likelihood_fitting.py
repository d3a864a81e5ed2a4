"""Hyper-parameters: given ones are used as they are, others are learned in any units."""

import numpy as np
import pytest
import torch
from scipy.stats import lognorm

import grisaille as gs
from grisaille.belief.processes import likelihood
from grisaille.belief.processes.likelihood import Data, given
from grisaille.belief.processes.posterior import Posterior
from tests.belief.processes.process_helpers import FAMILIES, STATIONARY, label, numpy_covariance

every_family = pytest.mark.parametrize("kernel", FAMILIES, ids=label)
every_stationary = pytest.mark.parametrize("kernel", STATIONARY, ids=label)
VALUES = ("lengthscale", "variance", "noise", "mean", "center")


def some_data(n=14, seed=0):
    """Inputs in the unit square, and answers that are neither flat nor linear."""
    rng = np.random.default_rng(seed)
    inputs = rng.uniform(size=(n, 2))
    answers = np.sin(5 * inputs[:, :1]) + inputs[:, 1:] ** 2 + 0.01 * rng.normal(size=(n, 1))
    return inputs, answers


def learn(kernel, noise, inputs, outputs, lower=(0, 0), upper=(1, 1), surely_noisy=False):
    noise = None if noise is None else np.asarray(noise, float)
    ends = np.array(lower, float), np.array(upper, float)
    return likelihood.learn(Data(kernel, noise, inputs, outputs, *ends, surely_noisy))


def assert_all_finite(values):
    for name in VALUES:
        assert torch.isfinite(getattr(values, name)).all(), name


# --- given ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [gs.SquaredExponential, gs.Matern, gs.Linear])
def test_given_hyperparameters_are_used_as_they_are(kind):
    kernel = kind(lengthscale=[3.0, 0.5], variance=7.0)
    values = given(kernel, np.array([0.1, 2.0, 0.0]), inputs=2, outputs=3)
    assert values.lengthscale.tolist() == [[3.0, 0.5]] * 3
    assert values.variance.tolist() == [7.0] * 3
    np.testing.assert_allclose(values.noise, [0.01, 4.0, 0.0])  # variances, not deviations
    assert values.mean.tolist() == [0.0] * 3
    assert values.center.tolist() == [0.0, 0.0]


def test_one_given_length_scale_serves_every_input():
    values = given(gs.Matern(lengthscale=3.0, variance=1.0), None, inputs=4, outputs=2)
    assert values.lengthscale.tolist() == [[3.0] * 4] * 2
    assert values.noise.tolist() == [0.0, 0.0]


@every_stationary
def test_learned_values_are_where_the_posterior_density_is_largest(kernel):
    inputs, outputs = some_data()
    standard = (outputs - outputs.mean()) / outputs.std(ddof=1)
    n, d = inputs.shape

    def log_density(scale, variance, noise, mean):
        # BoTorch's priors of length-scale and noise, and ours of the variance
        prior = lognorm(s=np.sqrt(3), scale=np.exp(np.sqrt(2)) * np.sqrt(d)).logpdf(scale).sum()
        prior += lognorm(s=1.0, scale=np.exp(-4.0)).logpdf(noise) + lognorm(s=1.0).logpdf(variance)
        system = numpy_covariance(kernel, inputs, inputs, scale, variance) + noise * np.eye(n)
        residual = standard[:, 0] - mean
        fit = residual @ np.linalg.solve(system, residual) + np.linalg.slogdet(system)[1]
        return prior - fit / 2

    values = learn(kernel, None, inputs, outputs, surely_noisy=True)
    spread, center = outputs.std(ddof=1), outputs.mean()
    best = [
        values.lengthscale[0].numpy(),
        values.variance.item() / spread**2,
        values.noise.item() / spread**2,
        (values.mean.item() - center) / spread,
    ]
    top = log_density(*best)
    for i in range(3):
        for factor in (0.9, 1.1):
            moved = list(best)
            moved[i] = moved[i] * factor
            assert log_density(*moved) < top - 1e-6
    for step in (-0.1, 0.1):
        assert log_density(*best[:3], best[3] + step) < top - 1e-6


def test_a_length_scale_that_made_the_data_is_found_again():
    rng = np.random.default_rng(1)
    inputs = rng.uniform(size=(60, 1))
    truth = numpy_covariance(gs.Matern(2.5), inputs, inputs, 0.2, 1.0)
    answers = np.linalg.cholesky(truth + 1e-10 * np.eye(60)) @ rng.normal(size=(60, 1))
    values = learn(gs.Matern(2.5), [0.0], inputs, answers, [0], [1])
    assert 0.12 < values.lengthscale.item() < 0.4


# --- units ---------------------------------------------------------------------------------------
@every_family
@pytest.mark.parametrize("noise", [None, 0.05])
def test_what_is_learned_does_not_depend_on_units(kernel, noise):
    inputs, outputs = some_data()
    plain = learn(kernel, None if noise is None else [noise], inputs, outputs)
    stretch, shift, factor, level = np.array([1e3, 1e-4]), np.array([300.0, -7.0]), 1e6, -4e5
    other = learn(
        kernel,
        None if noise is None else [noise * factor],
        shift + stretch * inputs,
        level + factor * outputs,
        shift,
        shift + stretch,
    )
    tolerance = {"rtol": 5e-3}  # where the search for the optimum ends
    np.testing.assert_allclose(other.lengthscale.numpy() / stretch, plain.lengthscale, **tolerance)
    np.testing.assert_allclose(other.variance / factor**2, plain.variance, **tolerance)
    np.testing.assert_allclose(other.noise / factor**2, plain.noise, **tolerance)
    np.testing.assert_allclose((other.mean - level) / factor, plain.mean, rtol=5e-3, atol=5e-3)
    np.testing.assert_allclose(other.center, shift)


@pytest.mark.parametrize("factor", [2.0**-60, 2.0**60])
def test_tiny_and_huge_outputs_are_learned_like_any_other(factor):
    inputs, outputs = some_data()
    plain = learn(gs.Matern(), None, inputs, outputs)
    other = learn(gs.Matern(), None, inputs, factor * outputs)
    # Powers of two change no digit, so all numbers agree to the last one.
    assert torch.equal(other.lengthscale, plain.lengthscale)
    assert torch.equal(other.variance, plain.variance * factor**2)
    assert torch.equal(other.noise, plain.noise * factor**2)
    assert torch.equal(other.mean, plain.mean * factor)


# --- noise ---------------------------------------------------------------------------------------
@every_family
def test_declared_noise_is_kept_and_undeclared_noise_is_learned(kernel):
    inputs, outputs = some_data()
    assert learn(kernel, [0.0], inputs, outputs).noise.item() == 0.0
    assert learn(kernel, [0.2], inputs, outputs).noise.item() == pytest.approx(0.04, rel=1e-12)
    assert learn(kernel, None, inputs, outputs, surely_noisy=True).noise.item() > 0


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_noise_left_out_is_concluded_from_the_answers(scale):
    rng = np.random.default_rng(0)
    inputs = np.linspace(0, 1, 25)[:, None]
    smooth = scale * np.sin(6 * inputs)
    exact = learn(gs.Matern(), None, inputs, smooth, [0], [1])
    assert exact.noise.item() == 0
    assert exact.remarks[0].startswith("without noise: ")
    disturbed = smooth + 0.05 * smooth.std() * rng.normal(size=smooth.shape)
    noisy = learn(gs.Matern(), None, inputs, disturbed, [0], [1])
    assert 0.02 < noisy.noise.sqrt().item() / smooth.std() < 0.1
    assert noisy.remarks[0].startswith("noisy: ")


# --- learning never fails ------------------------------------------------------------------------
def hard_data(kind, n, outputs):
    rng = np.random.default_rng(n)
    inputs = rng.uniform(size=(n, 2))
    answers = {
        "constant": np.full((n, outputs), 3.0),
        "linear": inputs @ rng.normal(size=(2, outputs)),
        "steep": np.exp(40 * inputs[:, :1]) * np.ones(outputs),
        "step": np.sign(inputs[:, :1] - 0.5) * np.ones(outputs),
        "noise": rng.normal(size=(n, outputs)),
        "one outlier": np.eye(n)[:, :1] * np.ones(outputs),
    }
    if kind == "repeated":
        return np.repeat(inputs[:1], n, 0), rng.normal(size=(n, outputs))
    return inputs, answers[kind]


@every_family
@pytest.mark.parametrize("noise", ["left out", "zero"])
@pytest.mark.parametrize(
    "kind", ["constant", "linear", "steep", "step", "noise", "one outlier", "repeated"]
)
def test_learning_ends_in_numbers_whatever_the_answers_are(kernel, noise, kind):
    for n, outputs, scale in [(2, 1, 1e-12), (3, 3, 1e12), (25, 2, 1.0)]:
        inputs, answers = hard_data(kind, n, outputs)
        declared = None if noise == "left out" else np.zeros(outputs)
        values = learn(kernel, declared, inputs, scale * answers)
        assert_all_finite(values)
        mean, deviation = Posterior(
            kernel, values, torch.tensor(inputs), torch.tensor(scale * answers)
        ).predict(torch.tensor([[0.3, 0.9]]))
        assert torch.isfinite(mean).all()
        assert (deviation > 0).all()


@pytest.mark.slow
def test_many_observations_are_learned_from():
    inputs, answers = hard_data("linear", 500, 1)
    assert_all_finite(learn(gs.Matern(), None, inputs, np.sin(9 * answers)))


@pytest.mark.parametrize("failure", ["infinite", "not a number"])
def test_a_search_that_ends_nowhere_is_replaced_by_typical_values(monkeypatch, failure):
    value = {"infinite": np.inf, "not a number": np.nan}[failure]
    spoilt = lambda _self, logarithms: (value, np.zeros_like(logarithms))  # noqa: E731
    monkeypatch.setattr(likelihood.Likelihood, "__call__", spoilt)
    likelihood.learn.cache_clear()
    inputs, outputs = some_data(n=7)
    values = learn(gs.Matern(), [0.0], inputs, outputs)
    likelihood.learn.cache_clear()  # what was learned so must not be remembered
    assert_all_finite(values)
    assert "could not be learned" in values.remarks[0]


def test_learned_noise_follows_the_noise_of_the_data():
    rng = np.random.default_rng(0)
    inputs = np.linspace(0, 1, 60)[:, None]
    smooth = np.sin(6 * inputs)
    quiet = learn(gs.Matern(), None, inputs, smooth + 0.01 * rng.normal(size=(60, 1)), [0], [1])
    loud = learn(gs.Matern(), None, inputs, smooth + 0.3 * rng.normal(size=(60, 1)), [0], [1])
    assert quiet.noise.sqrt().item() < 0.05
    assert 0.2 < loud.noise.sqrt().item() < 0.4


# --- several outputs -----------------------------------------------------------------------------
def test_outputs_learned_side_by_side_are_what_each_learns_alone():
    inputs, first = some_data()
    second = 100 * np.cos(3 * inputs[:, 1:]) + 7
    both = learn(gs.Matern(), [0.1, 1.0], inputs, np.hstack([first, second]))
    alone = [
        learn(gs.Matern(), [0.1], inputs, first),
        learn(gs.Matern(), [1.0], inputs, second),
    ]
    assert both.lengthscale.shape == (2, 2)
    for j in range(2):
        np.testing.assert_allclose(both.lengthscale[j], alone[j].lengthscale[0], rtol=2e-2)
        np.testing.assert_allclose(both.variance[j], alone[j].variance[0], rtol=2e-2)
        np.testing.assert_allclose(both.noise[j], alone[j].noise[0], rtol=1e-12)


# --- few and strange data ------------------------------------------------------------------------
@every_family
@pytest.mark.parametrize("noise", [None, [0.0]])
@pytest.mark.parametrize(
    "outputs",
    [[[3.0]], [[3.0], [3.0], [3.0]], [[0.0], [0.0]], [[3.0], [3.0 + 1e-15]], [[-1e9], [1e9]]],
    ids=["one", "constant", "zero", "nearly constant", "huge"],
)
def test_few_or_constant_observations_are_learned_from_without_failing(kernel, noise, outputs):
    outputs = np.array(outputs)
    inputs = np.linspace(0.2, 0.8, 2 * len(outputs)).reshape(-1, 2)
    values = learn(kernel, noise, inputs, outputs)
    assert_all_finite(values)
    mean, deviation = Posterior(
        kernel, values, torch.tensor(inputs), torch.tensor(outputs)
    ).predict(torch.tensor(inputs))
    spread = max(np.ptp(outputs), 1.0)
    np.testing.assert_allclose(mean, outputs, atol=0.5 * spread)
    assert torch.isfinite(deviation).all()


@every_family
@pytest.mark.parametrize("noise", [None, [0.0]])
@pytest.mark.parametrize("seed", [0, 1])
def test_near_duplicates_are_learned_from_without_failing(kernel, noise, seed):
    rng = np.random.default_rng(seed)
    inputs = 0.3 + 1e-9 * rng.normal(size=(30, 2))
    assert_all_finite(learn(kernel, noise, inputs, np.sign(rng.normal(size=(30, 1)))))
    assert_all_finite(learn(kernel, noise, inputs, np.sin(inputs[:, :1])))


def test_a_plane_is_learned_to_be_a_plane():
    inputs, _ = some_data()
    plane = 5 + inputs @ [[2.0], [-3.0]]
    values = learn(gs.Linear(), [0.0], inputs, plane)
    posterior = Posterior(gs.Linear(), values, torch.tensor(inputs), torch.tensor(plane))
    at = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, -3.0]])
    mean, _ = posterior.predict(torch.tensor(at))
    np.testing.assert_allclose(mean, 5 + at @ [[2.0], [-3.0]], atol=1e-3)


# --- randomness, memory --------------------------------------------------------------------------
@every_family
def test_learning_neither_reads_nor_disturbs_the_global_generators(kernel):
    inputs, outputs = some_data(n=9)
    answers = []
    for seed in (0, 1):
        likelihood.learn.cache_clear()
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        before, numpy_before = torch.get_rng_state(), np.random.get_state()[1]  # noqa: NPY002
        answers.append(learn(kernel, None, inputs, outputs))
        assert torch.equal(torch.get_rng_state(), before)
        np.testing.assert_array_equal(np.random.get_state()[1], numpy_before)  # noqa: NPY002
    for name in VALUES:
        assert torch.equal(getattr(answers[0], name), getattr(answers[1], name))


def test_what_was_learned_is_remembered_for_the_same_data_only(monkeypatch):
    fits, fit = [], likelihood._fit
    monkeypatch.setattr(likelihood, "_fit", lambda *a: fits.append(a) or fit(*a))
    likelihood.learn.cache_clear()
    inputs, outputs = some_data(n=6)
    first = learn(gs.Matern(), None, inputs, outputs)
    assert learn(gs.Matern(2.5), None, inputs.copy(), outputs.copy()) is first
    assert len(fits) == 1
    learn(gs.Matern(1.5), None, inputs, outputs)
    learn(gs.Matern(), [0.0], inputs, outputs)
    learn(gs.Matern(), None, inputs[::-1], outputs)
    learn(gs.Matern(), None, inputs, outputs + 1)
    learn(gs.Matern(), None, inputs, outputs, upper=[1, 2])
    assert len(fits) == 6


@every_family
def test_learned_values_are_constants_to_differentiation(kernel):
    values = learn(kernel, None, *some_data(n=6))
    assert not any(getattr(values, name).requires_grad for name in VALUES)

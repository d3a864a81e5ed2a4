"""Condensed posteriors of many observations."""

import numpy as np
import pytest
import torch

from grisaille.belief.processes.kernels import Hyperparameters, Matern, SquaredExponential
from grisaille.belief.processes.posterior import CondensedPosterior, Posterior


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


def many(inputs, seed=0, rows=400):
    generator = np.random.default_rng(seed)
    x = generator.uniform(-2, 2, (rows, inputs))
    y = np.stack([np.sin(2 * x[:, 0]), x[:, -1] ** 2], 1) + 0.3 * generator.standard_normal(
        (rows, 2)
    )
    return torch.tensor(x), torch.tensor(y)


def both(kernel, inputs=1):
    hyperparameters = Hyperparameters(
        lengthscale=torch.full((2, inputs), 1.5, dtype=torch.float64),
        variance=tensor(1.0, 3.0),
        noise=tensor(0.09, 0.09),
        mean=tensor(0.2, 1.0),
        center=torch.full((inputs,), -2.0, dtype=torch.float64),
    )
    data = many(inputs)
    return [kind(kernel, hyperparameters, *data) for kind in (Posterior, CondensedPosterior)]


@pytest.mark.parametrize("kernel", [Matern(2.5), SquaredExponential()])
@pytest.mark.parametrize("inputs", [1, 2])
def test_a_condensed_posterior_says_what_the_whole_one_says(kernel, inputs):
    whole, condensed = both(kernel, inputs)
    states = torch.rand(50, inputs, generator=torch.Generator().manual_seed(0)).double() * 4 - 2
    for exact, short in zip(whole.predict(states), condensed.predict(states), strict=True):
        assert short.numpy() == pytest.approx(exact.numpy(), abs=3e-3)
    grouped = states.reshape(10, 5, inputs)
    pairs = zip(whole.predict_jointly(grouped), condensed.predict_jointly(grouped), strict=True)
    for exact, short in pairs:
        assert short.shape == exact.shape
        assert short.numpy() == pytest.approx(exact.numpy(), abs=3e-3)


def test_rows_that_repeat_one_input_need_no_more_chosen_inputs():
    x = torch.linspace(-1, 1, 5).double().repeat(200).unsqueeze(1)
    y = (
        torch.cos(x)
        + 0.1 * torch.randn(1000, 1, generator=torch.Generator().manual_seed(0)).double()
    )
    hyperparameters = Hyperparameters(
        tensor([1.0]), tensor(1.0), tensor(0.01), tensor(0.0), tensor(0.0)
    )
    condensed = CondensedPosterior(Matern(2.5), hyperparameters, x, y)
    assert condensed._chosen.shape[1] == 5
    mean, deviation = condensed.predict(tensor([0.5]))
    assert mean.item() == pytest.approx(np.cos(0.5), abs=0.02)
    assert deviation.item() == pytest.approx(0.1 / np.sqrt(200), rel=0.05)
    assert condensed.noise.tolist() == [pytest.approx(0.1)]


def test_a_hallucinated_answer_narrows_the_band_and_leaves_the_mean():
    whole, condensed = both(Matern(2.5))
    state, near = tensor(1.0), tensor([0.9], [3.5])
    before, after = condensed.predict(near), condensed.with_predicted(state).predict(near)
    assert after[0].numpy() == pytest.approx(before[0].numpy(), abs=1e-9)
    assert (after[1] < before[1]).all()
    exact = whole.with_predicted(state).predict(near)[1]
    assert after[1].numpy() == pytest.approx(exact.numpy(), abs=3e-3)

"""Belief about black boxes without inputs."""

import numpy as np
import pytest
import torch

from grisaille.belief.processes.posterior import ConstantProcess


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_a_constant_is_known_to_the_error_of_its_average():
    answers = tensor([1.0], [2.0], [6.0])
    process = ConstantProcess.of(answers, None)
    mean, deviation = process.predict(torch.zeros(4, 0).double())
    assert mean.tolist() == [[3.0]] * 4
    spread = np.std([1, 2, 6], ddof=1)
    assert deviation[0].item() == pytest.approx(spread / np.sqrt(3))
    assert process.noise.item() == pytest.approx(spread)
    assert ConstantProcess.of(answers, tensor(0.5)).noise.item() == 0.5
    _, after = process.with_predicted(torch.zeros(0)).predict(torch.zeros(1, 0).double())
    assert after.item() == pytest.approx(spread / 2)
    means, covariances = process.predict_jointly(torch.zeros(2, 3, 0).double())
    assert (means.shape, covariances.shape) == ((2, 3, 1), (2, 1, 3, 3))
    assert covariances.numpy() == pytest.approx(spread**2 / 3)


def test_a_constant_without_answers_has_a_finite_deviation():
    nothing = ConstantProcess.of(torch.zeros(0, 1).double(), None)
    assert [v.item() for v in nothing.predict(torch.zeros(1, 0).double())] == [0.0, 1.0]
    once = ConstantProcess.of(tensor([-5.0]), None)
    assert [v.item() for v in once.predict(torch.zeros(1, 0).double())] == [-5.0, 5.0]

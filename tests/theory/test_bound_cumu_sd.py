"""Lemma bound_cumu_sd: the posterior deviations met add up to at most sqrt(4 (T + 2) gamma_T)."""

import numpy as np
import pytest

import grisaille as gs
from tests.theory.theory_helpers import KERNELS, deviation

pytestmark = pytest.mark.slow


STEPS = 30


def deviations_met(kernel, points, regularization):
    return np.array(
        [
            deviation(kernel, points[:t], points[t : t + 1], regularization)[0]
            for t in range(len(points))
        ]
    )


@pytest.mark.parametrize("choice", ["random", "widest", "one place"])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_the_sum_of_deviations_is_below_the_bound_at_every_horizon(kernel, choice):
    generator = np.random.default_rng(0)
    candidates = np.linspace(-1, 1, 101)[:, None]
    for horizon in (1, 2, 5, STEPS):
        scale = 1 + 2 / horizon
        points = candidates[generator.integers(len(candidates), size=horizon)]
        if choice == "one place":
            points = np.repeat(candidates[-1:], horizon, 0)
        if choice == "widest":
            chosen = np.zeros((0, 1))
            for _ in range(horizon):
                widest = deviation(kernel, chosen, candidates, scale).argmax()
                chosen = np.vstack([chosen, candidates[widest]])
            points = chosen
        total = deviations_met(kernel, points, scale).sum()
        # The proof needs only the gain of the points themselves, which is a sharper statement.
        gain = gs.information_gain(kernel, points, scale)
        gamma = gs.maximum_information_gain(kernel, [-1], [1], horizon, scale)
        assert gain <= gamma + 1e-9
        assert total <= np.sqrt(4 * (horizon + 2) * gain)
        assert total <= np.sqrt(4 * (horizon + 2) * gamma)


def test_half_the_bound_would_be_exceeded():
    kernel = gs.SquaredExponential(0.01, 1.0)
    points = np.linspace(-1, 1, STEPS)[:, None]
    scale = 1 + 2 / STEPS
    total = deviations_met(kernel, points, scale).sum()
    gain = gs.information_gain(kernel, points, scale)
    assert total > np.sqrt(4 * (STEPS + 2) * gain) / 2
    assert total > 0.8 * np.sqrt(4 * (STEPS + 2) * gain)


def test_the_gain_is_the_sum_of_what_each_point_adds():
    kernel = KERNELS["Matérn 5/2"]
    points = np.random.default_rng(3).uniform(-1, 1, (12, 1))
    met = deviations_met(kernel, points, 1.2)
    assert gs.information_gain(kernel, points, 1.2) == pytest.approx(
        np.log1p(met**2 / 1.2).sum() / 2
    )

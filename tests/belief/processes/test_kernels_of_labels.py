"""With one number per label, a kernel is one of labels as well."""

from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs

LABELS = ["A", "B", "C", "D"]
SCALES = np.array([0.7, 0.5, 2.0, 0.9, 0.3])  # of the four labels, then of x
VARIANCE = 1.7


def squared(labels: list[int], x: np.ndarray, others: list[int], y: np.ndarray) -> np.ndarray:
    """Squared scaled distances, by the formula for labels: nothing, or 1/l_a^2 + 1/l_b^2."""
    weight = 1 / SCALES[:4] ** 2
    found = np.array([[0.0 if a == b else weight[a] + weight[b] for b in others] for a in labels])
    return found + ((x[:, None] - y[None]) / SCALES[4]) ** 2


def squared_exponential(distance: np.ndarray) -> np.ndarray:
    return VARIANCE * np.exp(-distance / 2)


def matern(distance: np.ndarray) -> np.ndarray:
    r = np.sqrt(5 * distance)
    return VARIANCE * (1 + r + r**2 / 3) * np.exp(-r)


@pytest.mark.parametrize(
    ("family", "kernel"), [(gs.SquaredExponential, squared_exponential), (gs.Matern, matern)]
)
def test_mean_and_deviation_are_those_of_an_independent_computation(family, kernel):
    choice, x = gs.Choice("c", LABELS), gs.Variable("x", lower=0, upper=1)
    given = family(lengthscale=SCALES.tolist(), variance=VARIANCE)
    box = gs.BlackBox(None, name="h", noise=0.1, kernel=given)
    study = gs.Study(gs.Problem(minimize=box(choice, x)))
    rng = np.random.default_rng(0)
    seen, at = [0, 1, 2, 0, 3, 1], rng.random(6)
    answers = rng.normal(size=6)
    study.observe("h", [[LABELS[a], b] for a, b in zip(seen, at, strict=True)], answers)
    asked, where = [0, 1, 2, 3, 3], rng.random(5)

    gram = kernel(squared(seen, at, seen, at)) + 0.01 * np.eye(6)
    cross = kernel(squared(asked, where, seen, at))
    mean = cross @ np.linalg.solve(gram, answers)
    variance = VARIANCE - np.einsum("ij,ji->i", cross, np.linalg.solve(gram, cross.T))

    points = {"c": [LABELS[a] for a in asked], "x": where}
    found = study.model("h").predict(points)
    np.testing.assert_allclose(found["h mean"], mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found["h deviation"], np.sqrt(variance), rtol=1e-6)


@pytest.mark.parametrize("kernel", [squared_exponential, matern])
def test_the_matrix_of_labels_is_positive_definite(kernel):
    labels, zeros = [0, 1, 2, 3], np.zeros(4)
    gram = kernel(squared(labels, zeros, labels, zeros))
    assert np.linalg.eigvalsh(gram).min() > 1e-3


def test_the_squared_exponential_is_the_product_of_a_kernel_of_labels_and_one_of_numbers():
    x, y = np.array([0.2]), np.array([0.9])
    both = squared_exponential(squared([0], x, [2], y))
    labels = np.exp(-(1 / SCALES[0] ** 2 + 1 / SCALES[2] ** 2) / 2)
    np.testing.assert_allclose(both, labels * squared_exponential(squared([0], x, [0], y)))

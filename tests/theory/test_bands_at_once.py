"""Lemma (one weighted sum) of docs/theory.md: the number of outputs does not count."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm


@pytest.mark.parametrize("weights", [[1, 0, 0], [1, 1, 1], [0.2, -3, 0.5]])
@pytest.mark.parametrize("correlation", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("beta", [0.5, 2.0, 3.0])
def test_a_weighted_sum_leaves_the_sum_of_half_widths_no_more_often_than_one_error(
    weights, correlation, beta
):
    covariance = np.full((3, 3), correlation) + (1 - correlation) * np.eye(3)
    w = np.array(weights, dtype=float)
    deviation = np.sqrt(w @ covariance @ w)
    assert norm.cdf(-beta * np.abs(w).sum() / deviation) <= norm.cdf(-beta) * (1 + 1e-12)


def test_the_lemma_is_attained_where_errors_go_together():
    w = np.array([1.0, 2.0])
    covariance = np.ones((2, 2))
    chance = norm.cdf(-2 * w.sum() / np.sqrt(w @ covariance @ w))
    assert chance == pytest.approx(norm.cdf(-2))

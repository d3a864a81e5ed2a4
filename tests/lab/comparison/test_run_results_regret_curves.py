"""Regret curves, and what is read off them."""

from __future__ import annotations

import numpy as np
import pytest

from grisaille.lab.comparison.run import (
    first_at_most,
    quantile,
    regret_curve,
    seconds_per_suggestion,
)
from tests.lab.comparison.comparison_helpers import made_up

INF = np.inf


def test_a_curve_begins_after_the_initial_design_and_goes_on_after_an_early_end():
    run = made_up("wave", "LogEI", 0, [9.0, 8.0, 7.0, 6.0, 5.0])
    assert regret_curve(run).tolist() == [8, 7, 6, 5]
    early = made_up("wave", "LogEI", 0, [9.0, 8.0, 7.0])
    longer = {**early.settings, "evaluations": 3}
    stopped = type(early)(longer, "nested", 0.0, early.steps, "infeasible")
    assert regret_curve(stopped).tolist() == [8, 7, 7, 7]
    assert seconds_per_suggestion(run) == 0.5 * 4  # of the third, fourth and fifth


@pytest.mark.parametrize("size", [1, 2, 5, 10])
def test_quantiles_are_those_of_numpy_where_it_has_any(size):
    values = np.random.default_rng(size).random((size, 3))
    for share in (0.25, 0.5, 0.75):
        assert quantile(values, share) == pytest.approx(np.quantile(values, share, axis=0))


def test_a_quantile_is_infinite_where_a_neighbour_is():
    assert quantile(np.array([1.0, 2.0, INF]), 0.5) == 2
    assert quantile(np.array([1.0, INF]), 0.5) == INF
    assert quantile(np.array([INF, INF]), 0.5) == INF


def test_the_first_position_at_or_below_a_target():
    assert first_at_most(np.array([3.0, 2.0, 1.0]), 2.0) == 1
    assert first_at_most(np.array([3.0]), 2.0) == INF
    assert first_at_most(np.array([INF]), INF) == INF

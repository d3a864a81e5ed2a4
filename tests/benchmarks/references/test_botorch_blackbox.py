"""A plain BoTorch suggestion does what it says."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.references.botorch_blackbox import suggest_blackbox
from benchmarks.references.botorch_search import SearchEffort

pytestmark = pytest.mark.slow


LIGHT = SearchEffort(restarts=1, raw_samples=8)


@pytest.mark.parametrize(
    "limits", [[], [0.5, 0.8], [-9.0]], ids=["no constraint", "two", "nothing feasible yet"]
)
def test_blackbox_suggestion_lies_in_bounds(limits: list[float]) -> None:
    lower, upper = np.array([4.0, 70.0]), np.array([7.0, 100.0])
    design = np.random.default_rng(0).uniform(lower, upper, (10, 2))
    unit = (design - lower) / (upper - lower)
    objectives = ((unit - 0.4) ** 2).sum(1)
    constraints = np.array([unit[:, k] - limit for k, limit in enumerate(limits)]).reshape(-1, 10)
    x = suggest_blackbox(design, objectives, constraints.T, lower, upper, effort=LIGHT)
    assert x.shape == (2,)
    assert ((x >= lower) & (x <= upper)).all()


def test_blackbox_suggestion_comes_near_a_simple_optimum_and_repeats() -> None:
    lower, upper = np.zeros(2), np.ones(2)
    design = np.random.default_rng(0).uniform(size=(15, 2))
    objectives = ((design - 0.8) ** 2).sum(1)
    constraints = design[:, :1] - 0.5  # the first coordinate may not exceed 0.5
    first, second = (
        suggest_blackbox(design, objectives, constraints, lower, upper, seed=1, effort=LIGHT)
        for _ in range(2)
    )
    np.testing.assert_allclose(first, [0.5, 0.8], atol=0.1)
    np.testing.assert_array_equal(first, second)

"""TuRBO-1: the rules of its trust region, and a run in three variables."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from benchmarks.references.turbo import TrustRegion, TurboRun, _candidates

pytestmark = pytest.mark.slow


def after(region, objectives, dimensions=5):
    for objective in objectives:
        region = region.after(objective, dimensions)
    return region


def test_the_region_doubles_after_ten_successes_and_halves_after_as_many_failures_as_variables():
    start = TrustRegion(best=0.0)
    assert after(start, range(-1, -10, -1)).length == 0.8
    grown = after(start, range(-1, -11, -1))
    assert (grown.length, grown.successes, grown.best) == (1.6, 0, -10)
    assert after(grown, range(-11, -21, -1)).length == 1.6  # it has a largest size
    assert after(start, [1, 2, 3, 4]).length == 0.8
    assert after(start, [1, 2, 3, 4, 5]).length == 0.4
    assert after(start, [1, 2, 3, 4], dimensions=2).length == 0.4  # four at least
    assert after(start, [1, 2, -1, 1, 2, 3, 4]).length == 0.8  # a success in between


def test_a_success_must_be_a_thousandth_better():
    region = TrustRegion(best=-100.0)
    assert region.after(-100.05, 5).failures == 1
    assert region.after(-100.2, 5).successes == 1


def test_a_region_is_spent_after_seven_halvings_below_one():
    region = TrustRegion(best=0.0)
    halvings = 0
    while not region.is_spent:
        region, halvings = after(region, [1] * 5), halvings + 1
    assert halvings == math.floor(math.log2(0.8 / 0.5**7)) + 1


def test_candidates_share_most_coordinates_with_the_center_and_keep_the_length_scales_shape():
    dimensions, length = 60, 0.4
    scales = torch.linspace(0.5, 2.0, dimensions, dtype=torch.float64)
    center = torch.full((dimensions,), 0.5, dtype=torch.float64)
    torch.manual_seed(0)
    found = _candidates(center, scales, length, 0).numpy()
    assert found.shape == (5000, 60)
    moved = (found != 0.5).sum(1)
    assert moved.min() >= 1
    assert moved.mean() == pytest.approx(20, abs=0.5)
    half = length / 2 * scales.numpy() / np.exp(np.log(scales.numpy()).mean())
    reach = np.abs(found - 0.5).max(0)
    assert (reach <= np.minimum(half, 0.5) + 1e-12).all()
    assert (reach >= 0.9 * np.minimum(half, 0.5)).all()


def test_a_run_comes_nearer_to_a_minimum_than_its_design_and_is_repeatable():
    state, values = TurboRun(3, 6, seed=1), []
    for _ in range(10):
        point = state.suggest()
        values.append(float(((point - 0.3) ** 2).sum()))
        before, state = state, state.told(point, values[-1])
    assert min(values[6:]) < 0.5 * min(values[:6])
    assert np.array_equal(before.suggest(), point)


def test_a_spent_region_starts_again_from_another_design():
    first = TurboRun(2, 3, seed=0)
    design = [first.suggest()]
    spent = TurboRun(2, 3, 0, (design[0],) * 4, (0.0,) * 4, TrustRegion(0.5**7, 0, 3, 0.0), 4)
    again = spent.told(design[0], 1.0)
    assert (again.unit, again.trials, again.region) == ((), 5, TrustRegion())
    assert not np.array_equal(again.suggest(), design[0])

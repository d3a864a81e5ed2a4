from __future__ import annotations

import math

import pytest

from grisaille.views.page.chart import Axis

pytestmark = pytest.mark.slow


def test_numbers_lie_in_proportion_and_never_beyond_the_ends():
    axis = Axis(0, 10, 100, 200)
    assert [axis.at(v) for v in (0, 5, 10)] == [100, 150, 200]
    assert [axis.at(v) for v in (-3, 12, math.inf, -math.inf)] == [100, 200, 200, 100]


def test_a_logarithmic_axis_gives_equal_factors_equal_lengths():
    axis = Axis(1, 100, 0, 2, is_logarithmic=True)
    assert axis.at(10) == pytest.approx(1)
    assert axis.at(-1) == 0


@pytest.mark.parametrize(
    ("values", "is_logarithmic"),
    [([1, 2, 3], False), ([5], False), ([0], False), ([], False), ([1e-9, 1e3], True), ([3], True)],
)
def test_an_axis_shows_all_numbers_and_some_ticks(values: list[float], is_logarithmic: bool):
    axis = Axis.around(values, 0, 100, is_logarithmic=is_logarithmic)
    assert all(axis.low < v < axis.high for v in values)
    ticks = [number for number, _ in axis.ticks()]
    assert 2 <= len(ticks) <= 8
    assert all(axis.low <= tick <= axis.high for tick in ticks)


def test_numbers_that_are_not_finite_do_not_stretch_an_axis():
    assert Axis.around([1, math.nan, math.inf, 2], 0, 1) == Axis.around([1, 2], 0, 1)


def test_ticks_are_round_numbers():
    assert [text for _, text in Axis(0.13, 0.61, 0, 1).ticks()] == [
        "0.2",
        "0.3",
        "0.4",
        "0.5",
        "0.6",
    ]


def test_labels_stand_at_their_positions():
    axis = Axis.around([], 0, 90, labels=("a", "b", "c"))
    assert axis.ticks() == [(0, "a"), (1, "b"), (2, "c")]
    assert axis.at(1) == 45

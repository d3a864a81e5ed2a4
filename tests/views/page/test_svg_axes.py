"""The axes of charts as SVG."""

from __future__ import annotations

import pytest

from grisaille.views.charts import Axis, padded
from grisaille.views.page.svg import Ruler

pytestmark = pytest.mark.slow


def test_a_logarithmic_axis_gives_equal_factors_equal_lengths():
    ruler = Ruler(Axis(low=1, high=100, is_logarithmic=True), 0, 2)
    assert ruler.at(10) == pytest.approx(1)
    assert ruler.at(-1) == 0


@pytest.mark.parametrize(
    "axis",
    [
        Axis(low=padded(values)[0], high=padded(values)[1])
        for values in ([1, 2, 3], [5], [0], [], [1e-12, 3e-12])
    ]
    + [
        Axis(low=1e-9, high=1e3, is_logarithmic=True),
        Axis(low=1.5, high=6, is_logarithmic=True),
        Axis(low=0.8, high=3.2, is_whole=True),
    ],
)
def test_an_axis_has_some_ticks(axis: Axis):
    ticks = [number for number, _ in Ruler(axis, 0, 100).ticks()]
    assert 2 <= len(ticks) <= 8
    assert all(axis.low <= tick <= axis.high for tick in ticks)


def test_ticks_are_round_numbers():
    texts = [text for _, text in Ruler(Axis(low=0.13, high=0.61), 0, 1).ticks()]
    assert texts == ["0.2", "0.3", "0.4", "0.5", "0.6"]


def test_an_axis_of_trials_has_whole_numbers():
    texts = [text for _, text in Ruler(Axis(low=0.9, high=3.1, is_whole=True), 0, 1).ticks()]
    assert texts == ["1", "2", "3"]


def test_names_are_at_their_positions():
    ruler = Ruler(Axis(low=-0.5, high=2.5, names=("a", "b", "c")), 0, 90)
    assert ruler.ticks() == [(0, "a"), (1, "b"), (2, "c")]
    assert ruler.at(1) == 45

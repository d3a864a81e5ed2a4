"""Names of the columns of a sheet, and numbers that people can set."""

from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs
from grisaille.study.answers import round_within, settable, sheet_columns

pytestmark = pytest.mark.slow


def test_inputs_are_called_after_the_variables_and_outputs_that_they_are():
    recipe = gs.Variable("recipe", 2, lower=0, upper=1)
    speed = gs.Variable("speed", lower=0, upper=1)
    mixer = gs.BlackBox(None, name="mixer", outputs=["heat", "foam"])
    filtered = gs.BlackBox(None, name="filter")
    mixed = mixer(recipe[1], speed)
    problem = gs.Problem(minimize=filtered(mixed["foam"], 2 * speed, speed))
    columns = sheet_columns(problem)
    assert columns["mixer"].inputs == ["recipe[1]", "speed"]
    assert columns["mixer"].outputs == ["heat", "foam"]
    # `foam` would be both what comes out of the mixer and what goes into the filter.
    assert columns["filter"].inputs == ["filter.foam", "input[1]", "speed"]
    assert columns["filter"].outputs == ["filter"]


def test_a_name_that_would_mean_two_things_carries_its_black_box():
    x = gs.Variable("x", lower=0, upper=1)
    box = gs.Variable("box", lower=0, upper=1)
    first = gs.BlackBox(None, name="first", outputs=["x", "size"])
    second = gs.BlackBox(None, name="second", outputs=["size", "failed"])
    problem = gs.Problem(minimize=first(x)[0] + second(box)[0])
    columns = sheet_columns(problem)
    assert columns["first"].inputs == ["x"]
    assert columns["first"].outputs == ["first.x", "first.size"]
    assert columns["second"].inputs == ["second.box"]
    assert columns["second"].outputs == ["second.size", "second.failed"]


@pytest.mark.parametrize(
    ("value", "low", "high", "expected"),
    [
        (490.0428771972656, 400.0, 600.0, 490.04),
        (0.123456789, 0.0, 1.0, 0.1235),
        (1234567.89, 0.0, 1e7, 1235000.0),
        (3.3e-7, 1e-9, 1e-3, 3.3e-7),  # over decades: digits of its own size
        (np.pi, 0.0, np.pi, 3.1415),  # 3.1416 would be beyond the bound
        (-np.pi, -np.pi, 0.0, -3.1415),
        (0.5, 0.5, 0.5, 0.5),
    ],
)
def test_a_number_is_rounded_as_far_as_its_range_allows(value, low, high, expected):
    assert round_within(value, low, high) == pytest.approx(expected, rel=1e-15)


def test_rounded_numbers_are_inside_their_bounds_and_near_what_was_asked():
    random = np.random.default_rng(0)
    for _ in range(500):
        low = random.normal() * 10.0 ** random.integers(-6, 6)
        high = low + abs(random.normal()) * 10.0 ** random.integers(-6, 6)
        value = low + random.random() * (high - low)
        rounded = round_within(value, low, high)
        assert low <= rounded <= high
        assert abs(rounded - value) <= 1e-4 * (high - low)
        assert round_within(rounded, low, high) == pytest.approx(rounded, rel=1e-12)


def test_inputs_without_a_range_have_six_digits_and_shared_boxes_the_narrower_bounds():
    x = gs.Variable("x", lower=0, upper=1)
    y = gs.Variable("y", lower=0, upper=100)
    inner = gs.BlackBox(None, name="inner")
    outer = gs.BlackBox(None, name="outer")
    problem = gs.Problem(minimize=outer(inner(x)) + inner(y))
    assert settable(problem, outer, np.array([87.123456789])) == [87.1235]
    assert settable(problem, inner, np.array([0.123456789])) == [0.1235]

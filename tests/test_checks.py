"""What counts as a number."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import pytest
import torch

from grisaille.checks import first_strange, is_number, is_whole, real_numbers


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3.0),
        (np.float32(0.5), 0.5),
        ([1, [2.0]][1], [2.0]),
        (np.ma.array([1.0, 2.0]), [1.0, 2.0]),  # nothing is masked
        ([Decimal("0.5"), Fraction(1, 4)], [0.5, 0.25]),
        (pandas.Series([1, 2], dtype="Int64"), [1.0, 2.0]),
        ([torch.tensor(1.0), torch.tensor(2.0)], [1.0, 2.0]),
        ([1.0, None], [1.0, np.nan]),
    ],
)
def test_real_numbers_of_many_kinds_become_floats(value, expected):
    np.testing.assert_array_equal(real_numbers(value), expected)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "3",
        b"3",
        ["1", 2.0],
        np.array(["3", 1.0], object),
        1j,
        np.array([np.complex64(1), 1.0], object),
        np.ma.masked,
        [1.0, np.ma.masked],
        [np.ma.array([1.0, 1e37], mask=[0, 1])],
        np.ma.array([1.0, 1e37], mask=[0, 1]),
        np.datetime64("2026-01-01"),
        np.array(["2026-01-01"], "M8[ns]"),
        np.array([np.timedelta64(3, "s"), 1.0], object),
        pandas.Series(pandas.to_datetime(["2026-01-01"])),
        True,
        [1.0, True],
        [np.array([True]), np.array([2.0])],
        pandas.DataFrame({"a": [1.0], "b": [True]}),
    ],
)
def test_what_is_no_real_number_is_refused(value):
    with pytest.raises(TypeError):
        real_numbers(value)


def test_truth_values_count_where_they_are_wanted():
    assert real_numbers([True, np.bool_(False), 2.0], truth_values=True).tolist() == [1, 0, 2]


def test_a_whole_number_that_no_float_holds_is_refused():
    with pytest.raises(ValueError, match="too large for a float"):
        real_numbers([10**400])


def test_time_differences_and_truth_values_are_no_numbers():
    for value in (np.timedelta64(3, "s"), True, np.bool_(True)):
        assert not is_number(value)
        assert not is_whole(value)


def test_a_message_names_the_text_that_is_no_number_not_the_numbers_beside_it():
    assert first_strange(["50", "hot", "60"]) == "hot"
    assert first_strange(["50", "60"]) == "50"

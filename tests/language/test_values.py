"""Values as people read and write them."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

import grisaille as gs
from grisaille.language.values import (
    ValueKind,
    check_indicators,
    condensed,
    design_kinds,
    expanded,
    kinds_from_plain,
    kinds_to_plain,
    readable,
    readable_inputs,
)

LABELS = ValueKind(("A", "B", "C"))
WHOLE = ValueKind((), is_whole=True)
NUMBER = ValueKind()


@pytest.mark.parametrize(
    ("kind", "number", "value"), [(LABELS, 2.0, "C"), (WHOLE, 7.0, 7), (NUMBER, 0.5, 0.5)]
)
def test_a_value_is_shown_and_read_back(kind: ValueKind, number: float, value: object):
    assert kind.shown(number) == value
    assert type(kind.shown(number)) is type(value)
    assert kind.number(value, "x") == number


def test_a_position_that_no_label_has_is_shown_as_the_number_it_is():
    assert LABELS.shown(5.0) == 5.0
    assert np.isnan(LABELS.shown(np.nan))


def test_numbers_that_a_table_made_of_labels_are_found_again():
    sizes = ValueKind(("10", "2.5"))
    assert sizes.number(10, "size") == 0
    assert sizes.number(10.0, "size") == 0
    assert sizes.number(np.float64(2.5), "size") == 1


def test_an_unknown_label_is_answered_with_the_known_ones():
    with pytest.raises(
        gs.ModelError, match=r"'catalyst' has no label 'D': its labels are 'A', 'B'"
    ):
        LABELS.number("D", "catalyst")
    with pytest.raises(gs.ModelError, match="has no label 1"):
        LABELS.number(1, "catalyst")
    with pytest.raises(gs.ModelError, match="has no label None"):
        LABELS.number(None, "catalyst")


def test_a_number_that_is_not_whole_is_refused_where_one_is_wanted():
    with pytest.raises(gs.ModelError, match=r"stages is 7.5: it is a whole number"):
        WHOLE.number(7.5, "stages")
    with pytest.raises(gs.ModelError, match="finite"):
        WHOLE.number(np.nan, "stages")


def test_inputs_condense_to_one_number_per_value_and_back():
    kinds = [NUMBER, LABELS, WHOLE]
    inputs = np.array([[0.5, 0, 1, 0, 7], [0.1, 0, 0, 1, 3]])
    values = condensed(kinds, inputs)
    np.testing.assert_array_equal(values, [[0.5, 1, 7], [0.1, 2, 3]])
    np.testing.assert_array_equal(expanded(kinds, values), inputs)
    assert readable_inputs(kinds, inputs[0]) == [0.5, "B", 7]


def test_inputs_of_another_black_box_are_shown_as_they_are():
    assert readable_inputs([LABELS], np.array([1.0, 2.0])) == [1.0, 2.0]


def test_indicators_with_two_chosen_labels_are_refused():
    check_indicators([LABELS], np.array([0.0, 1.0, 0.0]), "observe")
    with pytest.raises(gs.ModelError, match="one number per label"):
        check_indicators([LABELS], np.array([1.0, 1.0, 0.0]), "observe")


def test_kinds_survive_storage_and_plain_numbers_need_none():
    kinds = [NUMBER, LABELS, WHOLE]
    assert kinds_from_plain(kinds_to_plain(kinds), 3) == kinds
    assert kinds_to_plain([NUMBER, NUMBER]) is None
    assert kinds_from_plain(None, 2) == [NUMBER, NUMBER]


def test_a_design_point_is_read_by_its_variables():
    variables = [
        gs.Choice("c", ["A", "B"]),
        gs.Integer("n", 2, lower=0, upper=4),
        gs.Variable("x", lower=0, upper=1),
    ]
    assert readable(design_kinds(variables), np.array([1, 3, 4, 0.5])) == ["B", 3, 4, 0.5]


def test_sets_are_written_with_their_members():
    assert LABELS.members(0, 2) == "{A, B, C}"
    assert WHOLE.members(3, 12) == "{3, ..., 12}"
    assert WHOLE.members(0, 1) == "{0, 1}"
    assert NUMBER.members(0, 1) == ""


@pytest.mark.parametrize(
    "labels", [{"A", "B"}, frozenset("AB"), pandas.DataFrame({"A": [1], "B": [2]}), "AB", ["A"]]
)
def test_labels_without_an_order_or_of_a_table_are_refused(labels):
    with pytest.raises(gs.ModelError, match="pass a list of at least two different texts"):
        gs.Choice("c", labels)

"""The inputs of a black box, value by value."""

from __future__ import annotations

import numpy as np

import grisaille as gs
from grisaille.language.black_box import input_kinds, input_number_names, shown_inputs, value_names
from grisaille.language.values import ValueKind

LABELS = ("A", "B", "C")


def called() -> tuple[gs.BlackBox, gs.Choice, gs.Problem]:
    choice = gs.Choice("catalyst", LABELS)
    stages = gs.Integer("stages", lower=3, upper=12)
    x = gs.Variable("x", 2, lower=0, upper=1)
    box = gs.BlackBox(None, name="h", noise=0)
    return box, choice, gs.Problem(minimize=box(stages, choice, x))


def test_each_value_of_a_black_box_has_a_kind():
    box, _, _ = called()
    whole = ValueKind((), is_whole=True)
    assert input_kinds(box) == [whole, ValueKind(LABELS), ValueKind(), ValueKind()]


def test_a_choice_has_one_name_as_a_value_and_one_per_label_as_numbers():
    box, _, _ = called()
    names = value_names(box, ["n", "c", "x"])
    assert names == ["n", "c", "x[0]", "x[1]"]
    assert input_number_names(box, names) == ["n", "c=A", "c=B", "c=C", "x[0]", "x[1]"]


def test_inputs_are_shown_with_label_and_whole_number():
    box, _, _ = called()
    assert shown_inputs(box, np.array([7, 0, 1, 0, 0.5, 0.25])) == [7, "B", 0.5, 0.25]


def test_the_choice_is_found_behind_its_indicators():
    _, choice, problem = called()
    (call,) = problem.program.calls
    assert call.sources[1] is choice

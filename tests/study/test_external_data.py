"""Answers made elsewhere: what is taken, by which name, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

import grisaille as gs
from tests.study.study_helpers import QUICK, parabola


def rig(function=None, outputs=1) -> gs.Study:
    """A black box of two numbers, each a variable of its own."""
    flow, heat = gs.Variable("flow", lower=0, upper=1), gs.Variable("heat", lower=0, upper=9)
    box = gs.BlackBox(function, name="rig", outputs=outputs, noise=0)
    return gs.Study(gs.Problem(minimize=np.sum(box(flow, heat))), strategy=QUICK)


def seen(study: gs.Study) -> list[list[float]]:
    return [[*o.inputs.tolist(), *o.outputs.tolist()] for o in study.history.observations()]


@pytest.mark.parametrize(
    "names", [("heat", "flow"), ("temperature", "rate")], ids=["variables", "arguments"]
)
@pytest.mark.parametrize("structured", [False, True])
def test_inputs_are_found_by_the_names_of_variables_or_arguments(names, structured):
    study = rig(lambda rate, temperature: rate * temperature)
    hot, flowing = names
    table = pandas.DataFrame({hot: [5.0], flowing: [0.5], "result": [2.5]})
    if structured:
        table = table.to_records(index=False)
    assert study.observe("rig", table) == 1
    assert seen(study) == [[0.5, 5.0, 2.5]]


def test_entries_of_a_vector_and_outputs_have_names_too():
    point = gs.Variable("point", 2, lower=0, upper=1)
    box = gs.BlackBox(None, name="rig", outputs=["acid", "product"], noise=0)
    study = gs.Study(gs.Problem(minimize=np.sum(box(point))), strategy=QUICK)
    inputs = pandas.DataFrame({"point[1]": [0.25], "point[0]": [0.75]})
    outputs = pandas.DataFrame({"product": [3.0], "acid": [2.0]})
    study.observe("rig", inputs, outputs)
    study.observe("rig", outputs.join(inputs) / 2)
    assert seen(study) == [[0.75, 0.25, 2.0, 3.0], [0.375, 0.125, 1.0, 1.5]]


def test_names_that_nobody_declared_count_in_order():
    study = rig()
    study.observe("rig", pandas.DataFrame({"a": [0.5], "b": [5.0], "c": [2.5]}))
    study.observe("rig", pandas.DataFrame([[0.25, 5.0]]), pandas.Series([1.25]))
    assert seen(study) == [[0.5, 5.0, 2.5], [0.25, 5.0, 1.25]]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"flow": [0.5], "warmth": [5.0], "acid": [1.0], "product": [2.0]},
            "no column 'heat' among 'flow', 'warmth': the inputs of black box 'rig' are 'flow', "
            "'heat'",
        ),
        (
            {"flow": [0.5], "heat": [5.0], "acidity": [1.0], "product": [2.0]},
            "no column 'acid' among .*: the outputs of black box 'rig' are 'acid', 'product'",
        ),
        (
            {"flow": [0.5], "heat": [5.0], "c": [1.0], "d": [2.0]},
            "no column 'acid' among",
        ),
        (
            {"flow": [0.5], "heat": [5.0], "day": [1.0], "acid": [1.0], "product": [2.0]},
            r"besides .* the table has 1 column \('day'\), but 0 are needed",
        ),
        (
            {"flow": ["0.5"], "heat": [5.0], "acid": [1.0], "product": [2.0]},
            "column 'flow' is not all numbers, there is '0.5'",
        ),
        (
            {"flow": [True], "heat": [5.0], "acid": [1.0], "product": [2.0]},
            "column 'flow' is not all numbers, there is True",
        ),
        (
            {"flow": pandas.to_datetime(["2026-01-01"]), "heat": 5.0, "acid": 1.0, "product": 2.0},
            "column 'flow' is not all numbers, there is Timestamp",
        ),
        (
            {"flow": [0.5], "heat": [5 + 1j], "acid": [1.0], "product": [2.0]},
            r"column 'heat' is not all numbers, there is \(5\+1j\)",
        ),
    ],
)
def test_a_table_with_wrong_names_or_values_is_refused_with_them(table, message):
    study = rig(outputs=["acid", "product"])
    with pytest.raises(gs.ModelError, match=message):
        study.observe("rig", pandas.DataFrame(table))
    assert not study.history.loose


def test_outputs_without_names_must_stand_last():
    study = rig()
    with pytest.raises(gs.ModelError, match="are not the first columns"):
        study.observe("rig", pandas.DataFrame({"y": [1.0], "flow": [0.5], "heat": [5.0]}))


def test_two_columns_of_one_name_are_refused():
    frame = pandas.DataFrame([[0.5, 5.0, 1.0]], columns=["flow", "flow", "y"])
    with pytest.raises(gs.ModelError, match="two columns are called 'flow'"):
        rig().observe("rig", frame)


def test_inputs_with_a_column_too_many_are_refused_with_its_name():
    frame = pandas.DataFrame({"flow": [0.5], "day": [1.0], "heat": [5.0]})
    with pytest.raises(gs.ModelError, match=r"has 2 inputs \('flow', 'heat'\): leave 'day' out"):
        rig().observe("rig", frame, [1.0])


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ([0.5], [1 + 2j], r"outputs are not all numbers, there is \(1\+2j\)"),
        (["0.5"], [1.0], "inputs are not all numbers, there is '0.5'"),
        ([0.5], [True], "outputs are not all numbers, there is True"),
        (np.array(["2026-01-01"], "M8[D]"), [1.0], "inputs are not all numbers"),
        ([0.5, 0.6], np.ma.array([1.0, 1e37], mask=[0, 1]), "outputs are not all numbers"),
        ([0.5], [np.ma.masked], "outputs are not all numbers, there is masked"),
        ([0.5], [None], "row 0 of the outputs"),
    ],
)
def test_what_is_no_real_number_is_refused(inputs, outputs, message):
    study = gs.Study(parabola(), strategy=QUICK)
    with pytest.raises(gs.ModelError, match=message):
        study.observe("f", inputs, outputs)
    assert not study.history.loose


@pytest.mark.parametrize("value", [np.ma.masked, True, 1j, "0.5", np.timedelta64(1, "s")])
def test_an_answer_that_is_no_real_number_is_not_told(value):
    study = gs.Study(parabola(), strategy=QUICK)
    (query,) = study.ask()
    with pytest.raises(gs.EvaluationError, match="it must return 1 number"):
        study.tell(query, value)
    assert study.pending == [query]

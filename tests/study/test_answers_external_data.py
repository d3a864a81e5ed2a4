"""Answers made elsewhere: what is taken, by which name, and what is refused."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pandas
import pytest

import grisaille as gs
from tests.study.study_helpers import QUICK, parabola

pytestmark = pytest.mark.slow


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
    table = pandas.DataFrame({hot: [5.0], "rig": [2.5], flowing: [0.5]})
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


def plant() -> gs.Study:
    """Black boxes that read elements, an expression, and another one's output."""
    x = gs.Variable("x", 2, lower=0, upper=1)
    mixer = gs.BlackBox(None, name="mixer", noise=0)
    oven = gs.BlackBox(None, name="oven", outputs=2, noise=0)
    baked = oven(mixer(x[0], x[1]), 2 * x[0], x[1])
    return gs.Study(gs.Problem(minimize=np.sum(baked)), strategy=QUICK)


MIXED = {"x[1]": [0.25], "mixer": [4.0], "x[0]": [0.75]}
BAKED = {"oven[1]": [7.0], "x[1]": [0.25], "input[1]": [1.5], "oven[0]": [6.0], "mixer": [4.0]}


@pytest.mark.parametrize("form", [pandas.DataFrame, dict])
def test_elements_expressions_and_outputs_are_found_by_the_names_that_exports_use(form):
    study = plant()
    study.observe("mixer", form(MIXED))
    study.observe("oven", form(BAKED))
    assert seen(study) == [[0.75, 0.25, 4.0, 4.0, 1.5, 0.25, 6.0, 7.0]] or seen(study) == [
        [0.75, 0.25, 4.0],
        [4.0, 1.5, 0.25, 6.0, 7.0],
    ]
    assert not study.history.loose
    # One's own export comes back as it was, in any order of its columns.
    answers = study.answers()
    again = plant()
    for box in ("mixer", "oven"):
        rows = answers[answers["box"] == box].dropna(axis=1).drop(columns=["id", "box", "source"])
        again.observe(box, rows.drop(columns="trial")[sorted(set(rows) - {"trial"}, reverse=True)])
    assert again.answers().equals(answers)


def test_rows_and_tables_without_names_count_in_order_with_the_outputs_last():
    study = plant()
    study.observe("mixer", pandas.DataFrame([[0.75, 0.25, 4.0]]))
    study.observe("mixer", pandas.DataFrame([[0.5, 0.25]]), pandas.Series([3.0], name="mine"))
    study.observe("mixer", [[0.5, 0.5]], [2.0])
    study.observe("mixer", pandas.Series({"x[1]": 0.1, "x[0]": 0.2}), 1.0)
    study.observe("mixer", {"x[1]": 0.3, "x[0]": 0.4, "mixer": 0.5})
    expected = [[0.75, 0.25, 4], [0.5, 0.25, 3], [0.5, 0.5, 2], [0.2, 0.1, 1], [0.4, 0.3, 0.5]]
    assert seen(study) == expected


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            ["x[0]", "foo", "mixer"],
            "'x[0]', 'mixer' are names that black box 'mixer' knows, 'foo' is not: the columns of "
            "black box 'mixer' are 'x[0]', 'x[1]', 'mixer'; rename it or leave it out",
        ),
        (["x[1]", "x[0]", "result"], "knows, 'result' is not"),
        (["a", "b", "c"], "knows none of the names 'a', 'b', 'c'"),
        (["X[1]", "X[0]", "Mixer"], "(did you mean 'x[1]' by 'X[1]'?)"),
        (["x[0]", " x[0]", "mixer"], "two columns are called 'x[0]'"),
        (["x[0]", "input[0]", "mixer"], "'x[0]' and 'input[0]' are both 'x[0]' of black box"),
        (["x[0]", "mixer"], "there is no column 'x[1]' among 'x[0]', 'mixer'"),
        (["x[0]", 1, "mixer"], "1 is not"),
        ([2, 1, 0], "the columns are numbered 2, 1, 0, which is not the order they had"),
        ([0, 1], "has 2 columns without names, but the columns of black box 'mixer' are"),
        ([], "there are no columns: the columns of black box 'mixer' are"),
    ],
)
def test_columns_that_cannot_be_told_apart_are_refused(columns, message):
    study = plant()
    frame = pandas.DataFrame([[0.1, 0.2, 0.3][: len(columns)]], columns=columns)
    with pytest.raises(gs.ModelError, match=re.escape(message)):
        study.observe("mixer", frame)
    assert not len(study.answers())


def test_a_name_that_means_two_inputs_is_refused():
    a, b = gs.Variable("a", lower=0, upper=1), gs.Variable("b", lower=0, upper=1)
    crossed = gs.BlackBox(lambda b, a: a - b, name="crossed")
    both = gs.BlackBox(None, name="both")
    study = gs.Study(gs.Problem(minimize=crossed(a, b) + both(a, b) + both(b, a)), strategy=QUICK)
    for box in ("crossed", "both"):
        table = pandas.DataFrame({"a": [0.1], "b": [0.2], box: [0.3]})
        with pytest.raises(gs.ModelError, match="column 'a' could mean 2 columns of black box"):
            study.observe(box, table)
        study.observe(box, table.set_axis(["input[0]", "input[1]", "output[0]"], axis=1))
    assert [row[:2] for row in seen(study)] == [[0.1, 0.2], [0.1, 0.2]]
    assert study.answers().query("box == 'both'")["input[1]"].tolist() == [0.2]


def test_a_name_of_an_input_and_an_output_is_spelled_as_on_sheets():
    x = gs.Variable("f", lower=0, upper=1)
    first = gs.BlackBox(None, name="f", outputs=["acid"], noise=0)
    second = gs.BlackBox(None, name="g", outputs=["acid"], noise=0)
    study = gs.Study(gs.Problem(minimize=second(first(x)[0])[0]), strategy=QUICK)
    study.observe("f", pandas.DataFrame({"acid": [2.0], "f": [0.5]}))
    with pytest.raises(gs.ModelError, match="column 'acid' could mean 2 columns of black box 'g'"):
        study.observe("g", pandas.DataFrame({"acid": [2.0], "g.acid": [3.0]}))
    study.observe("g", pandas.DataFrame({"g.acid": [3.0], "g.input[0]": [2.0]}))
    assert study.result().fun == 3.0
    row = study.answers().query("box == 'g'")
    assert row[["g.input[0]", "g.acid"]].to_numpy().tolist() == [[2.0, 3.0]]
    sheet = study.ask_sheet(1)
    assert sheet["f"].tolist() != ["-"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"flow": [0.5], "warmth": [5.0], "acid": [1.0], "product": [2.0]},
            "'flow', 'acid', 'product' are names that black box 'rig' knows, 'warmth' is not",
        ),
        (
            {"flow": [0.5], "heat": [5.0], "acidity": [1.0], "product": [2.0]},
            r"'acidity' is not \(did you mean 'acid' by 'acidity'\?\)",
        ),
        (
            {"flow": [0.5], "heat": [5.0], "c": [1.0], "d": [2.0]},
            "'c', 'd' are not: the columns of black box 'rig' are 'flow', 'heat', 'acid', 'prod",
        ),
        (
            {"flow": [0.5], "heat": [5.0], "day": [1.0], "acid": [1.0], "product": [2.0]},
            "'day' is not: .* rename it or leave it out",
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


def test_two_columns_of_one_name_are_refused():
    frame = pandas.DataFrame([[0.5, 5.0, 1.0]], columns=["flow", "flow", "y"])
    with pytest.raises(gs.ModelError, match="two columns are called 'flow'"):
        rig().observe("rig", frame)


def test_inputs_with_a_column_too_many_are_refused_with_its_name():
    frame = pandas.DataFrame({"flow": [0.5], "day": [1.0], "heat": [5.0]})
    with pytest.raises(gs.ModelError, match="'day' is not: the inputs of black box 'rig' are"):
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


class Row(NamedTuple):
    """A row as a table's own iterator gives it."""

    heat: float
    flow: float


@pytest.mark.parametrize(
    "given",
    [
        pandas.Series({"heat": 0.25, "flow": 0.75}),
        pandas.DataFrame({"heat": [0.25], "flow": [0.75]}),
        np.array([(0.25, 0.75)], dtype=[("heat", float), ("flow", float)]),
        Row(heat=0.25, flow=0.75),
    ],
    ids=["Series", "DataFrame", "structured", "named tuple"],
)
def test_one_row_with_names_is_matched_by_name_wherever_it_is_passed(given):
    study = rig()
    (query,) = study.ask()
    study.tell(query, 1.0, inputs=given)
    study.observe("rig", given, 2.0)
    assert seen(study) == [[0.75, 0.25, 1.0], [0.75, 0.25, 2.0]]
    (number,) = study.enqueue(given)
    assert study.state.trials[number].suggestion.x.tolist() == [0.75, 0.25]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (pandas.Series({"heat": 0.25, "foo": 0.75}), "'heat' is a name that black box 'rig' knows"),
        (pandas.Series([0.25, 0.75], index=[1, 0]), "the columns are numbered 1, 0, which is not"),
        (pandas.Series([0.25, 0.75], index=["heat"] * 2), "two columns are called 'heat'"),
        (pandas.DataFrame({"a": [0.25], "b": [0.75]}), "knows none of the names 'a', 'b'"),
    ],
)
def test_one_row_whose_names_are_not_clear_is_refused_wherever_it_is_passed(given, message):
    study = rig()
    (query,) = study.ask()
    for call in (
        lambda: study.tell(query, 1.0, inputs=given),
        lambda: study.observe("rig", given, 2.0),
    ):
        with pytest.raises(gs.ModelError, match=re.escape(message)):
            call()
    with pytest.raises(gs.ModelError, match=r"enqueue: (there is no entry|the columns|two)"):
        study.enqueue(given)
    assert not len(study.answers())


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            pandas.Series({"heat": 1.0}),
            "values for 'heat', but none for 'rig': its output is 'rig'",
        ),
        (pandas.DataFrame({"heat": [1.0]}), "none for 'rig'"),
        (pandas.Series([1.0, 2.0], index=["rig", "rig"]), "two columns are called 'rig'"),
    ],
)
def test_an_answer_under_another_name_is_refused(answer, message):
    study = rig()
    (query,) = study.ask()
    with pytest.raises(gs.EvaluationError, match=message):
        study.tell(query, answer)
    study.tell(query, pandas.Series({"rig": 1.0}))
    assert study.answers()["rig"].tolist() == [1.0]

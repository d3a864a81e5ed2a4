"""Quantities of pint are converted to the declared unit, or refused: at every door."""

from __future__ import annotations

import warnings

import numpy as np
import pandas
import pint
import pytest

import grisaille as gs
from grisaille.language.units import has_quantity, plain_numbers

UREG: pint.UnitRegistry = pint.UnitRegistry()
MM, CM, M, S, K = UREG.mm, UREG.cm, UREG.m, UREG.s, UREG.K


def celsius(value):
    return UREG.Quantity(value, "degC")


@pytest.fixture(autouse=True)
def _no_unit_is_stripped():
    with warnings.catch_warnings():
        warnings.simplefilter("error", pint.UnitStrippedWarning)
        yield


def study(unit="m", outputs=1, function=None) -> gs.Study:
    """A black box of two lengths in mm."""
    x = gs.Variable("x", 2, lower=0, upper=100, unit="mm")
    box = gs.BlackBox(function, name="f", outputs=outputs, unit=unit, noise=0)
    return gs.Study(
        gs.Problem(minimize=(box(x[0], x[1]) if outputs == 1 else box(x[0], x[1])[0])),
        strategy=gs.RandomSearch(),
    )


def last(study: gs.Study) -> list[float]:
    (*_, seen) = study.history.observations()
    return [*seen.inputs.tolist(), *seen.outputs.tolist()]


def test_an_answer_and_its_inputs_are_converted():
    lab = study()
    (query,) = lab.ask()
    lab.tell(query, 1500 * MM, inputs=[5 * CM, 3])
    assert last(lab) == [50, 3, 1.5]
    lab.correct(query, np.array([2500]) * MM, inputs={"x[1]": 1 * CM})
    assert last(lab) == [50, 10, 2.5]


@pytest.mark.parametrize(
    ("value", "unit", "message"),
    [
        (1500 * MM, None, "f is 1500 millimeter, but no unit is declared for it"),
        (3 * UREG.percent, None, "f is 3 percent, but no unit is declared"),
        (3 * S, "m", "f is 3 second, but its unit is m: pass it in m"),
        (3 * M, "", "f is 3 meter, but it is a plain number"),
        (UREG.Quantity(5, "delta_degC"), "degC", "but its unit is degC: pass a plain number"),
        ([1 * MM, 2 * MM], "m", "returned 2 numbers"),
    ],
)
def test_a_quantity_that_does_not_fit_is_refused_and_nothing_is_recorded(value, unit, message):
    lab = study(unit)
    (query,) = lab.ask()
    with pytest.raises(gs.EvaluationError, match=message):
        lab.tell(query, value)
    assert [one.id for one in lab.pending] == [query.id]


def test_each_output_has_its_own_unit_and_offsets_and_money_are_known():
    lab = study(["mm", "degC", "k$"], ["a", "b", "c"])
    money = pint.UnitRegistry()
    money.define("USD = [money]")
    (query,) = lab.ask()
    lab.tell(query, {"c": 3000 * money.USD, "b": 300 * K, "a": 2 * M}, inputs=[1, 1])
    assert last(lab) == pytest.approx([1, 1, 2000, 26.85, 3])
    lab.observe("f", [1, 2], [1 * CM, celsius(20), 7])
    assert last(lab) == [1, 2, 10, 20, 7]


@pytest.mark.parametrize(
    "table",
    [
        {"x[1]": [1 * CM, 2], "x[0]": np.array([1, 2]) * MM, "f": [1, 2] * CM},
        pandas.DataFrame({"f": [1 * CM, 20 * MM], "x[0]": [1, 2], "x[1]": [1 * CM, 2]}),
        pandas.DataFrame({0: [1 * MM, 2], 1: [1 * CM, 2], 2: [1 * CM, 0.02]}, dtype=object),
    ],
)
def test_columns_and_rows_of_a_table_are_converted(table):
    lab = study()
    lab.observe("f", table)
    assert [seen.inputs.tolist() for seen in lab.history.observations()] == [[1, 10], [2, 2]]
    assert last(lab) == [2, 2, 0.02]
    with pytest.raises(gs.ModelError, match=r"x\[0\] is 1 second, but its unit is mm"):
        lab.observe("f", [[1 * S, 2]], [1])


def test_points_are_converted():
    lab = study()
    for point in (
        {"x": np.array([1, 2]) * CM},
        {"x[0]": 1 * CM, "x[1]": 20},
        [1 * CM, 20],
        np.array([[1, 2]]) * CM,
        pandas.DataFrame({"x[1]": [2 * CM], "x[0]": [10]}),
        [{"x": [10, 2 * CM]}],
    ):
        (number,) = lab.enqueue(point)
        assert lab.state.trials[number].suggestion.x.tolist() == [10, 20]
    with pytest.raises(gs.ModelError, match=r"enqueue: x\[1\] is 2 second, but its unit is mm"):
        lab.enqueue(x=[1, 2 * S])


def test_what_a_function_returns_is_converted_or_ends_the_run():
    x = gs.Variable("x", lower=0, upper=1, unit="m")
    box = gs.BlackBox(lambda x: 1000 * x * MM, name="f", unit="m", noise=0)
    found = gs.Problem(minimize=box(x)).solve(trials=1, x0=[50 * CM], progress=False)
    assert found.fun == 0.5
    with pytest.raises(gs.EvaluationError, match=r"f is 500.* but no unit is declared for it"):
        gs.BlackBox(lambda x: 1000 * x * MM, name="f").check(500 * MM, "here")


def test_bounds_steps_and_declared_ranges_are_converted():
    x = gs.Variable("x", lower=1 * M, upper=2 * UREG.km, unit="mm", step=1 * CM)
    assert (x.lower, x.upper, x.step) == (1000, 2e6, 10)
    y = gs.Variable("y", 2, lower=[1 * M, celsius(10)], upper=[3 * M, 300 * K], unit=["mm", "K"])
    assert y.lower.tolist() == [1000, 283.15]
    box = gs.BlackBox(None, name="f", lower=1 * M, upper=3 * M, noise=1 * CM, unit="mm")
    assert (*box.lower, *box.upper, *box.noise) == (1000, 3000, 10)
    for wrong, message in (
        (lambda: gs.Variable("x", lower=1 * M, upper=2), "the lower bound is 1 meter, but no unit"),
        (lambda: gs.Variable("x", lower=0, upper=2 * S, unit="m"), "bound is 2 second, but its"),
        (lambda: gs.BlackBox(None, name="f", noise=1 * M), "a quantity as noise: noise is 1 m"),
        (lambda: gs.BlackBox(None, name="f", input_lower=1 * M), "input_lower=<Quantity"),
    ):
        with pytest.raises(gs.ModelError, match=message):
            wrong()


def test_expressions_hold_no_quantities():
    x = gs.Variable("x", lower=0, upper=1, unit="m")
    for wrong in (lambda: x <= 1500 * MM, lambda: x + 3 * M, lambda: np.minimum(x, 3 * M)):
        with pytest.raises(gs.ModelError, match="has a unit, and expressions hold plain numbers"):
            wrong()
    with pytest.raises(gs.ModelError, match="has a unit"):
        gs.Problem(minimize=3 * M * x)


def test_plain_values_are_left_as_they_are():
    for value in (1.5, "3", None, [1, "a"], np.ones(3), {"units": 1}, pandas.DataFrame({"a": [1]})):
        assert not has_quantity(value)
        assert plain_numbers(value, ["m"], ["x"], ValueError) is value


class Other(np.ndarray):
    """An array of another package of units."""

    unit = "m"


@pytest.mark.slow
def test_units_in_strange_places_are_refused_in_a_sentence():
    deep: list = [1 * MM]
    for _ in range(2000):
        deep = [deep]
    loop: list = [1 * MM]
    loop.append(loop)
    lengths = np.array([3.0, 1.0]).view(Other)
    for value in (deep, loop, lengths, lengths[:1].reshape(()), [1 * MM, [1, [2]]], {"a": 1 * MM}):
        lab = study()
        (query,) = lab.ask()
        with pytest.raises(gs.ModelError):
            lab.observe("f", value, [1])
        with pytest.raises(gs.EvaluationError):
            lab.tell(query, value)
        with pytest.raises(gs.ModelError):
            lab.tell(query, 1, inputs=value)


def test_lists_without_end_have_no_quantity():
    deep: list = [1.0]
    for _ in range(5000):
        deep = [deep]
    loop: list = []
    loop += [loop, loop]
    assert not has_quantity(deep)
    assert not has_quantity(loop)
    assert not has_quantity(np.array(None, dtype=object))
    with pytest.raises(gs.ModelError, match="lower"):
        gs.Variable("x", lower=loop, upper=1)

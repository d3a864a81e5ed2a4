"""Problems and expressions as HTML."""

from __future__ import annotations

import html
import re

import numpy as np

import grisaille as gs

EVIL = "<script>alert(1)</script>"


def texts(shown: str) -> list[str]:
    """The texts between the tags."""
    return [html.unescape(part) for part in re.split(r"<[^>]*>", shown) if part]


def mixed() -> gs.Problem:
    kind = gs.Choice("kind", ["A", "B"])
    stages = gs.Integer("stages", lower=1, upper=6)
    dose = gs.Variable("dose", lower=0.01, upper=10, log=True)
    x = gs.Variable("x", 2, lower=[0, 20], upper=[1, 80], unit=["kg/s", "degC"], step=[0.5, 5])
    box = gs.BlackBox(
        lambda kind, stages, dose, x: [0.0, 0.0], name="plant", outputs=["a", "b"], noise=[0, 0.5]
    )
    y = box(kind, stages, dose, x)
    constraints = {"purity": y["a"] >= 0.3, "set point": x[1] == 60}
    return gs.Problem(maximize=gs.named("profit", y["b"]), subject_to=constraints)


def test_a_problem_shows_its_formulas_variables_and_black_boxes():
    shown = texts(mixed()._repr_html_())
    for text in (
        "maximize",
        "profit = plant(kind, stages, dose, x)['b']",
        "purity",
        "plant(kind, stages, dose, x)['a'] >= 0.3",
        "x[1] == 60",
        "(tolerance 0.0001)",
        "{A, B}",
        "{1, ..., 6}",
        "0.01 to 10",
        "logarithmic",
        "[0, 20] to [1, 80]",
        "[kg/s, degC]",
        "steps",
        "kind, stages, dose, x[0], x[1]",
        "a, b",
        "0 to 0.5",
    ):
        assert text in shown, text


def test_an_equality_is_shown_once():
    assert mixed()._repr_html_().count("x[1] == 60") == 1


def test_names_are_escaped_everywhere():
    x = gs.Variable(EVIL, lower=0, upper=1)
    y = gs.BlackBox(lambda x: x, name=EVIL, noise=0)(x)
    problem = gs.Problem(minimize=y, subject_to={EVIL: y <= 1})
    for thing in (problem, problem.objective, x, problem.constraints[0]):
        shown = thing._repr_html_()
        assert "<script" not in shown
        assert "&lt;script&gt;" in shown


def test_an_expression_shows_its_formula_and_shape():
    x = gs.Variable("x", 3, lower=0, upper=1, unit="K")
    assert texts((2 * x)._repr_html_()) == ["2 * x", " ", "shape (3,)"]
    assert texts(np.sum(x)._repr_html_()) == ["sum(x)"]
    assert texts(x._repr_html_()) == ["x", ": 0 to 1 K ", "shape 3"]


def test_of_many_variables_the_first_are_shown_and_the_others_counted():
    many = [gs.Variable(f"x{k}", lower=0, upper=1) for k in range(30)]
    shown = texts(gs.Problem(minimize=sum(many[1:], many[0]))._repr_html_())
    assert "x23" in shown
    assert "x24" not in shown
    assert "and 6 more" in shown

"""Formulas read back as the mathematics they stand for, and are never long."""

import time

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import grisaille as gs
from grisaille.language.text import formula
from tests.language.language_helpers import free, value_at

A, B = free("a"), free("b")
NUMPYS = {name: getattr(np, name) for name in ("sin", "exp", "minimum", "maximum", "where")}


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (A + B - 2, "a + b - 2"),
        (A - (B - 2), "a - (b - 2)"),
        (A - (-B), "a - (-b)"),
        (A * (B + 1), "a * (b + 1)"),
        (A / (B * 2), "a / (b * 2)"),
        (-(A**2), "-a**2"),
        ((-A) ** 2, "(-a)**2"),
        ((A**B) ** 2, "(a**b)**2"),
        (A ** (B**2), "a**(b**2)"),
        (A**-1, "a**(-1)"),
        (2 ** (-A), "2**(-a)"),
        (-3 * A, "(-3) * a"),
        (0.1 * A, "0.1 * a"),
        (abs(A), "abs(a)"),
        (np.where(A <= 0, 1, B), "where(a <= 0, 1, b)"),
        (np.where(A <= 1, 1, B), "where(a - 1 <= 0, 1, b)"),
        (np.stack([A, B, 1 + A]), "[a, b, 1 + a]"),
        (np.array([1.0, 2.5]) * A, "[1. , 2.5] * a"),
        (np.ones((2, 3)) * A, "const[2x3] * a"),
        (A <= B, "a <= b"),
        (A >= B + 1, "a >= b + 1"),
    ],
    ids=str,
)
def test_formulas_are_written_as_a_person_would(expression, text):
    assert repr(expression) == text


def test_entries_are_written_with_their_index():
    x = free("x", 3)
    assert repr(x[2] + np.sum(x)) == "x[2] + sum(x)"
    assert repr((x + 1)[-1]) == "(x + 1)[2]"
    assert repr(x[::-1]) == "x[...]"


def test_names_stand_for_the_expressions_they_are_given_for():
    inner = gs.BlackBox(lambda y: y, name="h")(A)
    assert formula(np.exp(inner) + B, {inner: "z"}) == "exp(z) + b"


def operations(parts):
    return st.one_of(
        st.builds(lambda a: -a, parts),
        st.builds(abs, parts),
        st.builds(np.sin, parts),
        st.builds(lambda a: a**2, parts),
        st.builds(lambda a, b: a + b, parts, parts),
        st.builds(lambda a, b: a - b, parts, parts),
        st.builds(lambda a, b: a * b, parts, parts),
        st.builds(lambda a, b: a / (b**2 + 1), parts, parts),
        st.builds(np.minimum, parts, parts),
        st.builds(lambda a, b, c: np.where(a <= b, b, c), parts, parts, parts),
    )


LEAVES = st.one_of(st.just(A), st.just(B), st.integers(-3, 3).map(lambda n: A * 0 + n))


@given(expression=st.recursive(LEAVES, operations, max_leaves=5))
def test_python_reads_a_formula_as_the_expression_it_came_from(expression):
    text = repr(expression)
    assume("..." not in text)
    at = {"a": 0.7, "b": -1.3}
    expected = value_at(expression, {A: at["a"], B: at["b"]})
    assert eval(text, {**NUMPYS, **at}) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_long_formulas_are_cut():
    text = repr(sum(i * A for i in range(50)))
    assert len(text) == 72
    assert text.endswith("...")


def test_writing_an_expression_with_many_shared_parts_is_quick():
    layer = np.stack([A] * 30)
    for _ in range(6):  # thirty to the sixth paths
        layer = np.stack([np.tanh(np.sum(layer)) for _ in range(30)])
    start = time.process_time()
    assert repr(layer).startswith("[tanh(sum([tanh(sum([")
    assert time.process_time() - start < 0.5

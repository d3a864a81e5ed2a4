"""Which formulas are linear in the variables, and their coefficients."""

from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs
from grisaille.language.linear_system import linear_restrictions, linear_rows

x = gs.Variable("x", 3, lower=0, upper=1)
y = gs.Variable("y", lower=-1, upper=2)
weights = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 4.0]])


@pytest.mark.parametrize(
    ("formula", "matrix", "constants"),
    [
        (np.sum(x) - 1, [[1, 1, 1, 0]], [-1]),
        (weights @ x + y, [[1, -2, 0.5, 1], [0, 3, 4, 1]], [0, 0]),
        (2 * (x[0] - y) / 4 - (-x[2]), [[0.5, 0, 1, -0.5]], [0]),
        (
            np.mean(x) + np.stack([y, x[1]]) * 3,
            [[1 / 3] * 3 + [3], [1 / 3, 10 / 3, 1 / 3, 0]],
            [0] * 2,
        ),
        (np.exp(2.0) * y + np.sqrt(4.0), [[0, 0, 0, np.exp(2.0)]], [2]),
    ],
)
def test_coefficients_are_those_of_the_formula(formula, matrix, constants):
    rows = linear_rows(formula, [x, y])
    assert rows is not None
    np.testing.assert_allclose(rows.matrix, matrix, atol=1e-15)
    np.testing.assert_allclose(rows.constants, constants, atol=1e-15)


@pytest.mark.parametrize(
    "formula",
    [x[0] * y, y**2, abs(y), np.maximum(x[0], y), 1 / (2 + y), x @ x, np.where(y <= 0, y, 0)],
)
def test_what_is_not_linear_has_no_coefficients(formula):
    assert linear_rows(formula, [x, y]) is None


def test_what_reads_a_black_box_has_no_coefficients():
    box = gs.BlackBox(float, name="box")
    assert linear_rows(box(y) + y, [x, y]) is None


def test_restrictions_are_the_inequalities_of_variables_alone():
    box = gs.BlackBox(float, name="box")
    problem = gs.Problem(
        minimize=box(y),
        subject_to=[x[0] + y <= 1, box(y) <= 2, y**2 <= 1, x[1] >= x[2], x[0] == 0.5 * y],
        feasibility_tol=0.25,
    )
    rows = linear_restrictions(problem.program)
    assert [v.name for v in problem.variables] == ["y", "x"]
    np.testing.assert_allclose(rows.matrix, [[1, 1, 0, 0], [0, 0, -1, 1]])
    np.testing.assert_allclose(rows.constants, [-1.25, -0.25])

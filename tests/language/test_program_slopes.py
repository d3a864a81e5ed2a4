"""Slopes carried forward, against automatic differentiation."""

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.language.program import Program
from grisaille.language.slopes import Sloped

x = gs.Variable("x", shape=3, lower=0.2, upper=0.9)
m = gs.Variable("m", shape=(2, 3), lower=-1, upper=1)
c = np.array([0.5, -1.0, 2.0])

EXPRESSIONS = {
    "sums": x + c - 2 * x[0],
    "products": x * c * x[::-1],
    "quotients": c / x + x / (1 + x[1]),
    "powers": x**2 + 2**x + x ** x[0] + x**0,
    "least and most": np.minimum(x, c) + np.maximum(x[0], x),
    "where": np.where(x - 0.5 <= 0, x**2, 3 * x),
    "signs": -np.abs(x - 0.5),
    "reciprocal": np.reciprocal(x),
    "exponentials": np.exp(x) + np.expm1(x),
    "logarithms": np.log(x) + np.log1p(x) + np.log2(x) + np.log10(x),
    "roots": np.sqrt(x) + np.square(x),
    "circles": np.sin(x) + np.cos(x) + np.tan(x),
    "their inverses": np.arcsin(x) + np.arccos(x) + np.arctan(x),
    "hyperbolas": np.sinh(x) + np.cosh(x) + np.tanh(x),
    "sum": np.sum(m * x) + np.sum(m, axis=0) @ c,
    "prod": np.prod(x) + np.prod(m * x, axis=1) @ np.array([1.0, 2.0]),
    "max and min": np.max(m * x) + np.min(m * x, axis=1)[0],
    "norm": np.linalg.norm(x),
    "matrix and vector": m @ x,
    "vector and matrix": np.array([1.0, -2.0]) @ m,
    "vector and vector": x @ c + x @ x,
    "matrix and matrix": m @ m.T,
    "layout": np.concatenate([x[1:], m[0], np.array([1.0])])[::2],
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_slopes_are_those_of_automatic_differentiation(name):
    program = Program([EXPRESSIONS[name]], [x, m])
    assert program.has_slopes
    points = torch.rand(4, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    points = 0.2 + 0.7 * points
    slopes = np.tile(np.eye(9), (4, 1, 1))
    (found,) = program.run_sloped(Sloped(points.numpy(), slopes), _no_box)

    def value(point):
        return program.run(point.unsqueeze(0), _no_box)[0][0]

    size = int(np.prod(found.value.shape[1:]))
    for row, point in enumerate(points):
        np.testing.assert_allclose(found.value[row], value(point), rtol=1e-13, atol=1e-15)
        expected = torch.autograd.functional.jacobian(value, point).reshape(size, 9)
        given = np.zeros((9, size)) if found.slopes is None else found.slopes[row].reshape(9, size)
        np.testing.assert_allclose(given.T, expected, rtol=1e-11, atol=1e-13)


def test_the_slope_of_a_product_with_a_zero_is_the_product_of_the_others():
    program = Program([np.prod(x)], [x])
    point = np.array([[0.0, 2.0, 3.0]])
    (found,) = program.run_sloped(Sloped(point, np.eye(3)[None]), _no_box)
    np.testing.assert_array_equal(found.slopes[0], [6.0, 0.0, 0.0])


def test_an_operation_without_a_rule_is_told():
    assert not Program([np.arctan2(x[0], x[1])], [x]).has_slopes
    assert not Program([gs.white_box(lambda v: v**2, name="square")(x[0])], [x]).has_slopes


def _no_box(*_):
    raise AssertionError("there is no black box")

"""Derivatives that a user gives: used as they are, and compared with differences once."""

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.errors import EvaluationError, ModelError
from grisaille.language.program import Program
from tests.language.language_helpers import assert_gradients_right, flat, free

POINTS = np.random.default_rng(0).uniform(0.5, 2.0, (4, 3))


def law(y, x):
    return np.stack([np.exp(y) * x[..., 0], np.sin(x[..., 1]) * x[..., 2] - y], axis=-1)


def slopes(y, x):
    """(outputs, inputs): y first, then the three numbers of x."""
    zero, one = 0 * x[..., 0], 1 + 0 * x[..., 0]
    first = [np.exp(y) * x[..., 0], np.exp(y) * one, zero, zero]
    second = [-one, zero, np.cos(x[..., 1]) * x[..., 2], np.sin(x[..., 1])]
    return np.stack([np.stack(first, -1), np.stack(second, -1)], -2)


def run(expression, points):
    at = flat(points).requires_grad_()
    (value,) = Program([expression], list(points)).run(at, None)
    value.sum().backward()
    return at.grad.numpy()


@pytest.mark.parametrize("vectorized", [False, True])
def test_given_derivatives_are_used_for_every_output_and_argument(vectorized):
    h = gs.white_box(law, outputs=2, vectorized=vectorized, gradient=slopes)
    assert_gradients_right(lambda y, x: h(y, x) * y, POINTS[:, 0], POINTS)
    assert_gradients_right(lambda x: h(2.0, x) + h(x[0], x), POINTS)


@pytest.mark.parametrize(
    ("fn", "gradient"),
    [
        (lambda x: x[0] * x[1], lambda x: [x[1], x[0], 0]),
        (lambda x: x[0] * x[1], lambda x: [[x[1], x[0], 0]]),
        (lambda x: x[0] * x[1], lambda x: np.array([x[1], x[0], 0.0])),
    ],
)
def test_one_output_may_have_a_flat_gradient(fn, gradient):
    h = gs.white_box(fn, name="h", gradient=gradient)
    assert_gradients_right(lambda x: h(x), POINTS)


def test_a_function_of_one_number_may_have_a_number_as_gradient():
    assert_gradients_right(gs.white_box(np.sin, gradient=np.cos), POINTS[:, 0])
    assert_gradients_right(gs.white_box(np.sin, gradient=np.cos, vectorized=True), POINTS[:, 0])


def test_only_the_rows_that_read_the_white_box_ask_for_its_derivatives():
    asked = []
    h = gs.white_box(np.sin, gradient=lambda y: asked.append(y) or np.cos(y))
    y = free("y")
    at = torch.tensor([[0.1], [0.2], [0.3]], dtype=torch.float64, requires_grad=True)
    (value,) = Program([h(y)]).run(at, None)
    asked.clear()  # compared with differences
    value.backward(torch.tensor([0.0, 2.0, 0.0], dtype=torch.float64))
    assert asked == [0.2]
    np.testing.assert_allclose(at.grad[:, 0], [0, 2 * np.cos(0.2), 0])


@pytest.mark.parametrize("vectorized", [False, True])
def test_a_wrong_derivative_is_noticed_with_numbers(vectorized):
    h = gs.white_box(np.sin, name="h", vectorized=vectorized, gradient=lambda y: -np.cos(y))
    y = free("y")
    with pytest.raises(
        ModelError,
        match=r"gradient= of white box 'h' says -0.921061 for output 0 by input 0 at 0.4, but "
        r"differences say 0.921061: it must return derivatives \(outputs, inputs\) of fn",
    ):
        run(h(y), {y: [0.4]})


def test_a_transposed_jacobian_is_noticed():
    matrix = np.array([[1.0, 2.0], [3.0, 4.0]])
    h = gs.white_box(lambda x: matrix @ x, name="h", outputs=2, gradient=lambda x: matrix.T)
    x = free("x", 2)
    with pytest.raises(ModelError, match=r"says 3 for output 0 by input 1 .* differences say 2"):
        run(h(x), {x: [[0.5, 0.5]]})


@pytest.mark.parametrize(
    ("fn", "gradient", "at"),
    [
        (abs, lambda y: 1.0, 0.0),  # a kink: any slope between both sides
        (abs, lambda y: 0.3, 0.0),
        (lambda y: max(y, 1.0), lambda y: 0.0, 1.0),
        (lambda y: float(y > 1), lambda y: 0.0, 1.0),  # a jump
        (lambda y: round(y**2, 5), lambda y: 2 * y, 0.7),  # exact to five digits only
        (lambda y: 1e9 + y, lambda y: 1.0, 0.3),  # the differences lose seven digits
        (lambda y: y**0.5 if y >= 0 else np.nan, lambda y: 1e9, 0.0),  # no value on one side
        (lambda y: 3.0, lambda y: 1e-14, 2.0),  # rounding
    ],
)
def test_nobody_is_accused_where_differences_say_little(fn, gradient, at):
    h = gs.white_box(fn, name="h", gradient=gradient)
    y = free("y")
    assert run(h(y), {y: [at]}).shape == (1, 1)


def test_a_function_that_fails_beside_the_point_is_not_compared():
    def strict(y):
        if y > 1:
            raise ValueError("above 1")
        return y

    h = gs.white_box(strict, gradient=lambda y: 1.0)
    y = free("y")
    assert run(h(y), {y: [1.0]}) == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gradient": 3}, "has gradient=3: pass a function of the same arguments"),
        ({"torch": "yes"}, "has torch='yes': pass True or False"),
        ({"torch": True, "gradient": np.cos}, "PyTorch differentiates it, and gradient=: leave"),
    ],
)
def test_bad_declarations_are_refused(options, message):
    with pytest.raises(ModelError, match=message):
        gs.white_box(np.sin, name="h", **options)


@pytest.mark.parametrize(
    ("gradient", "message"),
    [
        (lambda x: x[:2], r"derivatives of shape \(2,\) at a point, expected .* = \(1, 3\)"),
        (lambda x: x[:, None], r"derivatives of shape \(3, 1\) at a point"),
        (lambda x: None, "it returned None"),
        (lambda x: "steep", "is not made of real numbers"),
        (lambda x: 1 / 0, "gradient= of white box 'h' .* failed near .*: division by zero"),
    ],
)
def test_failures_of_a_gradient_tell_the_box_and_the_reason(gradient, message):
    h = gs.white_box(lambda x: x.sum(), name="h", gradient=gradient)
    x = free("x", 3)
    with pytest.raises(EvaluationError, match=message):
        run(h(x), {x: POINTS})

"""White boxes: a user's own known functions, with derivatives by differences."""

import numpy as np
import pytest
import torch
from scipy.special import gammaln

import grisaille as gs
from grisaille.errors import EvaluationError, ModelError
from grisaille.language.program import Program
from tests.language.language_helpers import assert_gradients_right, free, value_at, values_at

POINTS = np.random.default_rng(0).uniform(0.5, 2.0, (4, 3))


def test_it_is_declared_by_function_by_decorator_or_with_options():
    @gs.white_box
    def bare(y):
        """A known law."""
        return y

    @gs.white_box(outputs=2, name="law")
    def optioned(y):
        return y, y

    assert isinstance(bare, gs.WhiteBox)
    assert (bare.name, bare.__doc__) == ("bare", "A known law.")
    assert (optioned.name, optioned(free("y")).shape) == ("law", (2,))
    assert gs.white_box(lambda y: y, name="h").name == "h"


@pytest.mark.parametrize(
    ("fn", "options", "message"),
    [
        (3, {}, "a white box needs a function, got 3"),
        (lambda y: y, {}, "a white box without a named function needs a name"),
        (max, {"outputs": 0}, "white box 'max' has outputs=0: pass a number of at least 1"),
    ],
)
def test_bad_declarations_are_refused(fn, options, message):
    with pytest.raises(ModelError, match=message):
        gs.white_box(fn, **options)


def test_called_with_numbers_it_is_the_plain_function():
    assert gs.white_box(lambda a, b: a - b, name="h")(5, 3) == 2


def test_point_by_point_values_are_the_function_s_own():
    seen = []

    def spread(y, x):
        seen.append((type(y), x.shape))
        return y * (max(x) - min(x))

    h = gs.white_box(spread)
    y, x = free("y"), free("x", 3)
    values = values_at(h(y, x), {y: POINTS[:, 0], x: POINTS})
    np.testing.assert_array_equal(values, POINTS[:, 0] * np.ptp(POINTS, axis=1))
    assert seen == [(float, (3,))] * 4


def test_vectorized_values_come_from_one_call():
    calls = []

    def law(x):
        calls.append(x.shape)
        return np.stack([gammaln(x).sum(-1), x.max(-1)], axis=-1)

    h = gs.white_box(law, outputs=2, vectorized=True)
    x = free("x", 3)
    values = values_at(h(x), {x: POINTS})
    np.testing.assert_array_equal(values[:, 0], gammaln(POINTS).sum(1))
    np.testing.assert_array_equal(values[:, 1], POINTS.max(1))
    assert calls == [(4, 3)]


@pytest.mark.parametrize("vectorized", [False, True])
def test_constants_are_spread_over_the_points(vectorized):
    h = gs.white_box(lambda y, c: y + c, name="h", vectorized=vectorized)
    y = free("y")
    np.testing.assert_array_equal(values_at(h(y, 2.0), {y: [1.0, 2.0, 3.0]}), [3.0, 4.0, 5.0])


@pytest.mark.parametrize("vectorized", [False, True])
def test_gradients_by_differences_are_right(vectorized):
    law = gs.white_box(
        lambda y, x: np.stack([np.exp(y) * x[..., 0], np.sin(x[..., 1]) * x[..., 2] - y], axis=-1),
        name="law",
        outputs=2,
        vectorized=vectorized,
    )
    assert_gradients_right(lambda y, x: law(y, x) * y, POINTS[:, 0], POINTS)


def test_gradients_pass_through_to_what_lies_upstream():
    root = gs.white_box(lambda y: y**0.5, name="root")
    assert_gradients_right(lambda x: root(np.sum(x**2)) + root(x[0]), POINTS)


def test_no_differences_are_taken_where_no_gradient_is_asked():
    calls = []
    h = gs.white_box(lambda y, c: calls.append(c) or y * c, name="h")
    y = free("y")
    program = Program([h(y, 2.0)])
    at = torch.tensor([[1.0]], dtype=torch.float64, requires_grad=True)
    (value,) = program.run(at, None)
    assert len(calls) == 1
    value.sum().backward()
    assert calls == [2.0, 2.0, 2.0]  # two sides of y, none of the constant
    np.testing.assert_allclose(at.grad, [[2.0]], rtol=1e-8)


@pytest.mark.parametrize("vectorized", [False, True])
def test_a_function_that_changes_its_argument_harms_nobody(vectorized):
    def careless(x):
        x *= 2
        return x.sum(-1)

    h = gs.white_box(careless, vectorized=vectorized)
    x = free("x", 3)
    program = Program([h(x), x])
    at = torch.as_tensor(POINTS.copy())
    doubled, untouched = program.run(at, None)
    np.testing.assert_allclose(doubled, 2 * POINTS.sum(1))
    np.testing.assert_array_equal(untouched, POINTS)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x,
        lambda x: x[:, ::-1],
        lambda x: np.broadcast_to(1.0, x.shape),
        lambda x: np.asfortranarray(x),
    ],
)
def test_a_vectorized_function_may_return_any_view(view):
    h = gs.white_box(view, name="h", outputs=3, vectorized=True)
    x = free("x", 3)
    np.testing.assert_array_equal(values_at(h(x), {x: POINTS}), view(POINTS))


@pytest.mark.parametrize(
    ("fn", "options", "message"),
    [
        (lambda x: 1 / 0, {}, r"white box 'h' .* failed near \[1\. 2\. 3\.\]: division by zero"),
        (lambda x: None, {}, "it returned None .does it lack a return statement"),
        (lambda x: None, {"vectorized": True}, "it returned None"),
        (lambda x: x, {}, r"\(outputs=1, vectorized=False\) failed .*reshape"),
        (lambda x: x, {"outputs": 2}, r"\(outputs=2, vectorized=False\) failed .*reshape"),
        (lambda x: "text", {}, "failed .*is not made of real numbers"),
        (lambda x: 1j, {}, "failed .*is not made of real numbers"),
        (
            lambda x: np.stack([x[:, 0], x[:, 1], x[:, 2]]),
            {"outputs": 3, "vectorized": True},
            r"it returned shape \(3, 2\) for 2 points: the first axis must count the points",
        ),
        (lambda x: 1.0, {"vectorized": True}, r"it returned shape \(\) for 2 points"),
    ],
)
def test_failures_tell_the_box_the_point_and_the_reason(fn, options, message):
    h = gs.white_box(fn, name="h", **options)
    x = free("x", 3)
    with pytest.raises(EvaluationError, match=message) as caught:
        values_at(h(x), {x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]})
    assert caught.value.__cause__ is not None


def test_a_relation_is_no_argument():
    with pytest.raises(ModelError, match="y <= 0 is a relation, not a value"):
        gs.white_box(abs)(free("y") <= 0)


def test_equal_calls_of_a_white_box_are_computed_once():
    calls = []
    h = gs.white_box(lambda y: calls.append(y) or y, name="h")
    y = free("y")
    assert value_at(h(y) + h(y), {y: 3.0}) == 6.0
    assert calls == [3.0]

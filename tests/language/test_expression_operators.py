"""Operators on expressions mean what they mean on arrays."""

import operator

import numpy as np
import pytest

import grisaille as gs
from grisaille.errors import ModelError
from tests.language.language_helpers import (
    assert_gradients_right,
    assert_same_as_numpy,
    free,
    value_at,
    values_at,
)

BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
]
BROADCASTS = [
    ((), ()),
    ((), (3,)),
    ((3,), ()),
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (2, 3)),
    ((2, 1), (1, 3)),
    ((2, 1, 3), (4, 1)),
]
MATRIX_PRODUCTS = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((2,), (2, 3)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (4, 3, 2)),
]


def positive(shape, seed, batch=4):
    return np.random.default_rng(seed).uniform(0.5, 2.0, (batch, *shape))


def named(pairs):
    return [pytest.param(*pair, id=f"{pair[0]}-{pair[1]}") for pair in pairs]


@pytest.mark.parametrize(("left", "right"), named(BROADCASTS))
@pytest.mark.parametrize("sign", BINARY, ids=lambda sign: sign.__name__)
def test_arithmetic_broadcasts_as_numpy_does(sign, left, right):
    assert_same_as_numpy(sign, positive(left, 0), positive(right, 1))


@pytest.mark.parametrize(
    "other", [2, 1.5, True, np.float64(1.5), np.array([0.5, 2.0]), [0.5, 2.0], (0.5, 2.0)], ids=repr
)
@pytest.mark.parametrize("sign", BINARY, ids=lambda sign: sign.__name__)
def test_numbers_arrays_and_lists_stand_on_either_side_of_an_operator(sign, other):
    x, at = free("x", 2), np.array([0.7, 1.3])
    number = np.asarray(other, dtype=float)
    np.testing.assert_allclose(value_at(sign(x, other), {x: at}), sign(at, number))
    np.testing.assert_allclose(value_at(sign(other, x), {x: at}), sign(number, at))


@pytest.mark.parametrize("sign", BINARY, ids=lambda sign: sign.__name__)
def test_gradients_of_arithmetic_are_right(sign):
    assert_gradients_right(sign, positive((2, 1), 0), positive((3,), 1))


def test_a_power_with_a_whole_exponent_takes_negative_bases():
    y = free("y")
    assert value_at(y**3, {y: -2.0}) == -8.0
    assert value_at(y**2, {y: -2.0}) == 4.0


@pytest.mark.parametrize("sign", [operator.neg, operator.pos, abs])
def test_signs_and_abs_work(sign):
    assert_same_as_numpy(sign, np.random.default_rng(0).normal(size=(4, 3)))


@pytest.mark.parametrize(("left", "right"), named(MATRIX_PRODUCTS))
def test_matrix_products_of_every_rank_agree_with_numpy(left, right):
    assert_same_as_numpy(operator.matmul, positive(left, 0), positive(right, 1))


@pytest.mark.parametrize(("left", "right"), named(MATRIX_PRODUCTS[:4]))
def test_matrix_products_with_constants_agree_with_numpy(left, right):
    constant = positive(left, 2, batch=1)[0]
    assert_same_as_numpy(lambda x: constant @ x, positive(right, 1))
    constant = positive(right, 2, batch=1)[0]
    assert_same_as_numpy(lambda x: x @ constant, positive(left, 1))


def test_gradients_of_matrix_products_are_right():
    assert_gradients_right(operator.matmul, positive((2, 3), 0, 2), positive((3,), 1, 2))


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda x, z: x + z, r"add does not fit x of shape \(2,\) and z of shape \(3,\)"),
        (lambda x, z: x @ z, r"matmul does not fit x of shape \(2,\) and z of shape \(3,\)"),
        (lambda x, z: x @ 2.0, r"matmul does not fit x of shape \(2,\) and 2 of shape \(\)"),
        (lambda x, z: x - "3", "'3' is neither an expression nor numbers"),
        (lambda x, z: x * None, "None is neither an expression nor numbers"),
        (lambda x, z: x * 1j, "1j is neither an expression nor numbers"),
        (lambda x, z: x + np.array([1j, 2]), "is neither an expression nor numbers"),
        (lambda x, z: x * np.nan, "the constant nan contains NaN"),
        (lambda x, z: x * [1.0, np.nan], "contains NaN: replace it by a number"),
        (lambda x, z: x + (z <= 1), "z <= 1 is a relation, not a value: use it in np.where"),
    ],
)
def test_operands_that_do_not_fit_are_named(mistake, message):
    with pytest.raises(ModelError, match=message):
        mistake(free("x", 2), free("z", 3))


def test_a_list_that_holds_expressions_is_a_vector():
    x, y = free("x", 2), free("y")
    at = {x: [1.0, 2.0], y: 10.0}
    np.testing.assert_array_equal(value_at(x * [y, 3], at), [10.0, 6.0])
    assert value_at([y, 1.0] @ x, at) == 12.0


def test_builtin_sum_adds_expressions():
    x = free("x", 3)
    assert value_at(sum(x), {x: [1.0, 2.0, 4.0]}) == 7.0


def test_augmented_assignment_leaves_the_first_expression_alone():
    y = z = free("y")
    z += 1
    assert isinstance(y, gs.Variable)
    assert value_at(z, {y: 2.0}) == 3.0


def test_changing_an_array_afterwards_does_not_change_the_expression():
    y, weights = free("y"), np.array([1.0, 2.0])
    expression = weights * y
    weights[:] = 0
    np.testing.assert_array_equal(value_at(expression, {y: 1.0}), [1.0, 2.0])


@pytest.mark.parametrize(
    "relation",
    [
        lambda y: y <= 5,
        lambda y: operator.ge(5, y),
        lambda y: y <= np.float64(5),
        lambda y: np.float64(5) >= y,
        lambda y: np.array(5.0) >= y,
        lambda y: -y >= -5,
        lambda y: y - 5 <= 0,
        lambda y: operator.ge(0, y - 5),
        lambda y: np.less_equal(y, 5),
        lambda y: np.greater_equal(5, y),
    ],
)
def test_a_relation_is_at_most_zero_exactly_where_it_holds(relation):
    y = free("y")
    constraint = relation(y)
    assert isinstance(constraint, gs.Constraint)
    np.testing.assert_array_equal(
        values_at(constraint.body, {y: np.array([4.0, 5.0, 7.0])}), [-1.0, 0.0, 2.0]
    )


def test_an_array_on_the_left_makes_a_relation_entry_by_entry():
    x = free("x", 2)
    body = (np.array([1.0, 2.0]) <= x).body
    np.testing.assert_array_equal(value_at(body, {x: [3.0, 0.0]}), [-2.0, 2.0])


def test_relations_combine_with_and_and_or():
    y = free("y")
    inside, outside = (y >= 0) & (y <= 1), (y <= 0) | (y >= 1)
    at = {y: np.array([-0.5, 0.5, 1.5])}
    assert (values_at(inside.body, at) <= 0).tolist() == [False, True, False]
    assert (values_at(outside.body, at) <= 0).tolist() == [True, False, True]


@pytest.mark.parametrize("other", [True, 1.0, "y"])
def test_a_relation_combines_only_with_a_relation(other):
    y = free("y")
    with pytest.raises(ModelError, match=r"\(y <= 0\) & .*both sides must be comparisons"):
        (y <= 0) & other
    with pytest.raises(ModelError, match=r"\(y <= 0\) \| .*both sides must be comparisons"):
        (y <= 0) | other

"""Every NumPy function of the table gives NumPy's own values, at many points at once."""

import numpy as np
import pytest

from grisaille.errors import ModelError
from grisaille.language.expression import _ATOM_OF_UFUNC, _RECORD_FUNCTION
from grisaille.language.program import Program
from tests.language.language_helpers import (
    assert_gradients_right,
    assert_same_as_numpy,
    free,
    value_at,
    values_at,
)

# Function -> an interval on which it is defined and smooth.
UNARY = {
    np.negative: (-2, 2),
    np.reciprocal: (0.5, 2),
    np.absolute: (-2, -0.1),
    np.fabs: (0.1, 2),
    np.exp: (-2, 2),
    np.expm1: (-2, 2),
    np.log: (0.5, 2),
    np.log1p: (-0.5, 2),
    np.log2: (0.5, 2),
    np.log10: (0.5, 2),
    np.sqrt: (0.5, 2),
    np.square: (-2, 2),
    np.sin: (-2, 2),
    np.cos: (-2, 2),
    np.tan: (-1, 1),
    np.arcsin: (-0.9, 0.9),
    np.arccos: (-0.9, 0.9),
    np.arctan: (-2, 2),
    np.sinh: (-2, 2),
    np.cosh: (-2, 2),
    np.tanh: (-2, 2),
    np.arcsinh: (-2, 2),
    np.arccosh: (1.1, 2),
    np.arctanh: (-0.9, 0.9),
}
BINARY = {
    np.add: (-2, 2),
    np.subtract: (-2, 2),
    np.multiply: (-2, 2),
    np.divide: (0.5, 2),
    np.power: (0.5, 2),
    np.float_power: (0.5, 2),
    np.minimum: (-2, 2),
    np.fmin: (-2, 2),
    np.maximum: (-2, 2),
    np.fmax: (-2, 2),
    np.arctan2: (0.5, 2),
}
STEPS = {np.sign: (-2, 2), np.floor: (-2, 2), np.ceil: (-2, 2)}

V, M, C = (3,), (2, 3), (2, 3, 4)  # a vector, a matrix, a cube
FUNCTIONS = [
    # name, NumPy function, how it is used, shapes of the arguments
    ("sum", np.sum, np.sum, [M]),
    ("sum of a scalar", np.sum, np.sum, [()]),
    ("sum over an axis", np.sum, lambda a: np.sum(a, axis=0), [M]),
    ("sum over a negative axis", np.sum, lambda a: np.sum(a, -1), [C]),
    ("sum over two axes", np.sum, lambda a: np.sum(a, axis=(2, 0)), [C]),
    ("sum over no axis", np.sum, lambda a: np.sum(a, axis=()), [M]),
    ("sum as a method", np.sum, lambda a: a.sum(axis=1), [M]),
    ("mean", np.mean, np.mean, [M]),
    ("mean over an axis", np.mean, lambda a: np.mean(a, axis=1), [M]),
    ("mean over two axes", np.mean, lambda a: np.mean(a, axis=(0, -1)), [C]),
    ("mean as a method", np.mean, lambda a: a.mean(0), [M]),
    ("prod", np.prod, np.prod, [M]),
    ("prod over two axes", np.prod, lambda a: np.prod(a, axis=(0, 2)), [C]),
    ("max", np.max, np.max, [M]),
    ("max over an axis", np.max, lambda a: np.max(a, axis=1), [M]),
    ("min", np.min, np.min, [M]),
    ("min over two axes", np.min, lambda a: np.min(a, axis=(0, 1)), [C]),
    ("amax", np.amax, np.amax, [V]),
    ("amin over an axis", np.amin, lambda a: np.amin(a, axis=0), [M]),
    ("clip", np.clip, lambda a: np.clip(a, -0.5, 0.5), [M]),
    ("clip below only", np.clip, lambda a: np.clip(a, -0.5, None), [V]),
    ("clip above only", np.clip, lambda a: np.clip(a, None, 0.5), [V]),
    ("clip by min and max", np.clip, lambda a: np.clip(a, min=-0.5, max=0.5), [V]),
    ("clip by expressions", np.clip, lambda a, b: np.clip(a, b, b + 0.5), [M, V]),
    ("clip a number", np.clip, lambda b: np.clip(0.25, b, b + 0.5), [V]),
    ("where", np.where, lambda a, b: np.where(a <= b, a, b**2), [V, V]),
    ("where with >=", np.where, lambda a: np.where(a >= 0.2, 1.0, -1.0), [M]),
    ("where on three shapes", np.where, lambda a, b, c: np.where(a <= 0, b, c), [(2, 1), (), V]),
    ("where with &", np.where, lambda a: np.where((a >= -1) & (a <= 0.5), a, 7), [M]),
    ("where with |", np.where, lambda a: np.where((a <= -1) | (a >= 0.5), a, 7), [M]),
    ("dot of vectors", np.dot, np.dot, [V, V]),
    ("dot of matrix and vector", np.dot, np.dot, [M, V]),
    ("dot of matrices", np.dot, np.dot, [M, (3, 2)]),
    ("dot of a cube and a matrix", np.dot, np.dot, [C, (4, 2)]),
    ("dot of a vector and a cube", np.dot, np.dot, [V, C]),
    ("dot of a scalar and a matrix", np.dot, np.dot, [(), M]),
    ("dot with a constant", np.dot, lambda a: np.dot([1.0, -2.0, 3.0], a), [V]),
    ("norm", np.linalg.norm, np.linalg.norm, [V]),
    ("norm of a scalar", np.linalg.norm, np.linalg.norm, [()]),
    ("norm of a matrix", np.linalg.norm, np.linalg.norm, [M]),
    ("Frobenius norm", np.linalg.norm, lambda a: np.linalg.norm(a, "fro"), [M]),
    ("norm 1", np.linalg.norm, lambda a: np.linalg.norm(a, 1), [V]),
    ("norm 2", np.linalg.norm, lambda a: np.linalg.norm(a, ord=2), [V]),
    ("norm inf", np.linalg.norm, lambda a: np.linalg.norm(a, np.inf), [V]),
    ("norms of columns", np.linalg.norm, lambda a: np.linalg.norm(a, axis=0), [M]),
    ("norms 1 of rows", np.linalg.norm, lambda a: np.linalg.norm(a, 1, axis=-1), [M]),
    ("norms inf of rows", np.linalg.norm, lambda a: np.linalg.norm(a, np.inf, axis=1), [M]),
    ("norms of matrices", np.linalg.norm, lambda a: np.linalg.norm(a, axis=(0, 2)), [C]),
    ("stack", np.stack, lambda a, b: np.stack([a, b]), [V, V]),
    ("stack scalars", np.stack, lambda a, b: np.stack([a, 2.0, b]), [(), ()]),
    ("stack on the last axis", np.stack, lambda a, b: np.stack((a, b), axis=-1), [M, M]),
    ("stack the rows of one", np.stack, lambda a: np.stack(a, axis=1), [M]),
    ("concatenate", np.concatenate, lambda a, b: np.concatenate([a, b, [1.0]]), [V, (2,)]),
    ("concatenate columns", np.concatenate, lambda a, b: np.concatenate([a, b], axis=1), [M, M]),
    ("concatenate all", np.concatenate, lambda a, b: np.concatenate([a, b], axis=None), [M, V]),
    ("hstack scalars", np.hstack, lambda a, b: np.hstack([a, b, 1.0]), [(), V]),
    ("hstack matrices", np.hstack, lambda a, b: np.hstack([a, b]), [M, (2, 1)]),
    ("vstack", np.vstack, lambda a, b: np.vstack([a, b]), [V, M]),
    ("reshape", np.reshape, lambda a: np.reshape(a, (3, -1)), [M]),
    ("reshape as a method", np.reshape, lambda a: a.reshape(3, 2), [M]),
    ("ravel", np.ravel, np.ravel, [M]),
    ("ravel as a method", np.ravel, lambda a: a.ravel(), [C]),
    ("transpose", np.transpose, np.transpose, [C]),
    ("squeeze", np.squeeze, np.squeeze, [(1, 3, 1)]),
]
# These give plain numbers, not expressions; test_indexing.py has them.
PLAIN = {np.shape, np.size, np.ndim}


def uniform(interval, shape, seed=0, batch=5):
    return np.random.default_rng(seed).uniform(*interval, (batch, *shape))


def by_name(function):
    return getattr(function, "__name__", None)


def test_every_function_of_the_table_is_compared_with_numpy():
    assert set(_ATOM_OF_UFUNC) == {*UNARY, *BINARY, *STEPS, np.matmul}
    assert set(_RECORD_FUNCTION) == {row[1] for row in FUNCTIONS} | PLAIN


@pytest.mark.parametrize(("ufunc", "interval"), {**UNARY, **STEPS}.items(), ids=by_name)
def test_unary_functions_give_numpys_values(ufunc, interval):
    assert_same_as_numpy(ufunc, uniform(interval, ()))
    assert_same_as_numpy(ufunc, uniform(interval, (2, 3)))


@pytest.mark.parametrize(("ufunc", "interval"), BINARY.items(), ids=by_name)
def test_binary_functions_give_numpys_values(ufunc, interval):
    assert_same_as_numpy(ufunc, uniform(interval, (2, 1), 0), uniform(interval, (3,), 1))
    number, array = 0.75, uniform(interval, (3,), 2, batch=1)[0]
    assert_same_as_numpy(lambda a: ufunc(a, number), uniform(interval, (3,)))
    assert_same_as_numpy(lambda a: ufunc(array, a), uniform(interval, ()))


def test_matmul_gives_numpys_values():
    assert_same_as_numpy(np.matmul, uniform((-1, 1), (2, 3)), uniform((-1, 1), (3,), 1))


def test_positive_gives_the_expression_back():
    x = free("x", 2)
    assert np.positive(x) is x


@pytest.mark.parametrize(("ufunc", "interval"), UNARY.items(), ids=by_name)
def test_gradients_of_unary_functions_are_right(ufunc, interval):
    assert_gradients_right(ufunc, uniform(interval, (2,), batch=3))


@pytest.mark.parametrize(("ufunc", "interval"), BINARY.items(), ids=by_name)
def test_gradients_of_binary_functions_are_right(ufunc, interval):
    assert_gradients_right(ufunc, uniform(interval, (2, 1), 0, 2), uniform(interval, (2,), 1, 2))


@pytest.mark.parametrize(
    ("use", "shapes"), [pytest.param(row[2], row[3], id=row[0]) for row in FUNCTIONS]
)
def test_functions_give_numpys_values(use, shapes):
    batches = [uniform((-2, 2), shape, seed) for seed, shape in enumerate(shapes)]
    assert_same_as_numpy(use, *batches)


@pytest.mark.parametrize(
    ("use", "shapes"), [pytest.param(row[2], row[3], id=row[0]) for row in FUNCTIONS]
)
def test_gradients_of_functions_are_right(use, shapes):
    batches = [uniform((-2, 2), shape, seed, batch=2) for seed, shape in enumerate(shapes)]
    assert_gradients_right(use, *batches)


@pytest.mark.parametrize(
    "jumps",
    [
        np.sign,
        np.floor,
        np.ceil,
        lambda a: np.where(a <= 0, 1, 2),
        lambda a: np.arctan2(a, a - 1),
        lambda a: np.exp(2 * np.sign(a)),
    ],
)
def test_a_program_with_a_jump_knows_it(jumps):
    assert not Program([jumps(free("a"))]).continuous


def test_a_program_without_a_jump_knows_it():
    x = free("x", 3)
    assert Program([np.max(np.abs(x)) + np.sum(np.exp(x[::-1]))]).continuous


def test_the_condition_of_where_is_inclusive():
    y = free("y")
    assert value_at(np.where(y <= 1, 10, 20), {y: 1.0}) == 10
    assert value_at(np.where(y >= 1, 10, 20), {y: 1.0}) == 10


def test_a_product_with_a_zero_factor_keeps_its_gradient():
    assert_gradients_right(np.prod, np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 3.0]]))


def test_matrices_are_built_and_used_without_loss():
    a, b, x = free("a"), free("b"), free("x", 2)
    rotation = np.stack([np.stack([np.cos(a), -np.sin(a)]), np.stack([np.sin(a), np.cos(a)])])
    turned = rotation @ x + np.stack([b, 2 * b])
    at = {a: np.array([0.0, np.pi / 2]), b: np.array([0.0, 1.0]), x: np.ones((2, 2))}
    np.testing.assert_allclose(values_at(turned, at), [[1, 1], [0, 3]], atol=1e-15)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda x: np.sum(x, axis=2), r"sum over axis 2 of x, which has shape \(2, 3\)"),
        (lambda x: np.sum(x, axis=-3), r"sum over axis -3 of x.*out of bounds"),
        (lambda x: np.prod(x, axis=(0, 0)), r"prod over axis \(0, 0\) of x.*repeated axis"),
        (lambda x: np.max(x, axis=0.5), "max over axis 0.5 of x"),
        (lambda x: np.sum(x, keepdims=True), "np.sum was given arguments .* 'keepdims'"),
        (lambda x: np.mean(x, dtype=float), "np.mean was given arguments .* 'dtype'"),
        (lambda x: np.transpose(x, (1, 0)), "np.transpose was given arguments"),
        (lambda x: np.linalg.norm(x, 2), "norm of a matrix with ord=2 cannot be recorded"),
        (lambda x: np.linalg.norm(x, 1, axis=(0, 1)), "norm of a matrix with ord=1"),
        (lambda x: np.linalg.norm(x, 3, axis=0), "with ord=3 cannot be recorded: use 1, 2"),
        (lambda x: np.dot(x, np.ones((2, 3, 2))), r"np.dot of shapes \(2, 3\) and .* use @"),
        (lambda x: np.stack([x, x[0]]), r"shapes \(2, 3\), \(3,\) cannot be joined"),
        (lambda x: np.concatenate([x, x[0]]), r"shapes \(2, 3\), \(3,\) cannot be joined"),
        (lambda x: np.stack([x, x], axis=4), "cannot be joined: axis 4 is out of bounds"),
        (lambda x: np.reshape(x, (4, 2)), r"x has shape \(2, 3\): cannot reshape"),
        (lambda x: np.where(x, 1, 0), "np.where needs a comparison such as y <= 0.* got x"),
        (lambda x: np.where([True, False, True], x, 0), "np.where needs a comparison"),
        (lambda x: np.where(x <= 0), "np.where was given arguments that cannot be recorded"),
    ],
)
def test_arguments_that_cannot_be_recorded_are_named(mistake, message):
    with pytest.raises(ModelError, match=message):
        mistake(free("x", (2, 3)))

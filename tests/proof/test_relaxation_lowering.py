"""Lowering writes the same values with elementary operations only."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grisaille as gs
from grisaille.language import operations
from grisaille.language.expression import Call, Constant, Operation
from grisaille.language.operations import Atom
from grisaille.language.program import Program
from grisaille.proof.relaxation import lowered
from tests.language.language_helpers import flat, free, really
from tests.language.test_expression_random import POINTS, VARIABLES, apply, trees, vector

RNG = np.random.default_rng(0)
ALLOWED = {atom for atom in vars(operations).values() if isinstance(atom, Atom) and atom.enclose}
ALLOWED |= {operations.total, operations.take, operations.join}


def nodes_of(*expressions):
    return [n.expression for n in Program(expressions).nodes]


def atoms_of(*expressions):
    return [n.atom for n in nodes_of(*expressions) if isinstance(n, Operation)]


def assert_same_values(expression, points, *, white_boxes=()):
    (low,) = lowered([expression])
    assert low.shape == expression.shape
    assert set(atoms_of(low)) <= ALLOWED | set(white_boxes)
    program = Program([expression, low], list(points))
    expected, values = program.run(flat(points), really)
    np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-10)
    return low


FOLDS = [
    np.prod,
    np.max,
    np.min,
    np.linalg.norm,
    lambda a: np.prod(vector(a)),
    lambda a: np.linalg.norm(np.stack([vector(a), vector(2 * a)]), axis=0),
    lambda a: np.stack([vector(a), vector(-a)]) @ vector(a),
    lambda a: np.sum(vector(a) * vector(a)),
]


@settings(max_examples=200, derandomize=True, deadline=None)
@given(tree=st.one_of(trees, st.builds(apply, st.sampled_from(FOLDS), trees)))
def test_a_random_tree_keeps_its_values(tree):
    assert_same_values(tree(VARIABLES), dict(zip(VARIABLES, POINTS, strict=True)))


@pytest.mark.parametrize("fold", [np.prod, np.max, np.min, np.linalg.norm, np.sum])
@pytest.mark.parametrize("axis", [0, 1, 2, (0, 2), (0, 1), None])
@pytest.mark.parametrize("shape", [(2, 3, 5), (1, 4, 1), (7, 1, 2)])
def test_folds_over_any_axes_keep_their_values(fold, axis, shape):
    if fold is np.linalg.norm and axis is None:
        axis = (1, 2)
    x = free("x", shape)
    assert_same_values(fold(x, axis=axis), {x: RNG.normal(size=(3, *shape))})


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 1)),
        ((3,), (5, 3, 4)),
        ((5, 2, 3), (3,)),
        ((1, 1), (1, 1)),
    ],
)
def test_matrix_products_of_all_shapes_keep_their_values(left, right):
    a, b = free("a", left), free("b", right)
    points = {a: RNG.normal(size=(3, *left)), b: RNG.normal(size=(3, *right))}
    assert_same_values(a @ b, points)
    assert_same_values(points[a][0] @ b, {b: points[b]})
    assert_same_values(a @ points[b][0], {a: points[a]})


def test_a_factor_times_itself_is_a_square_however_it_is_written():
    x = free("x", 3)
    for expression in (x * x, x[0] * x[0], x @ x, np.sum(x) * np.sum(x)):
        (low,) = lowered([expression])
        assert operations.square in atoms_of(low)
        assert operations.multiply not in atoms_of(low)


def test_quotients_and_reciprocals_stay():
    x = free("x")
    assert atoms_of(*lowered([x / 3])) == [operations.divide]
    assert atoms_of(*lowered([np.reciprocal(x)])) == [operations.reciprocal]


def test_equal_parts_are_one_node_across_expressions():
    x = free("x", 4)
    first, second = lowered([np.prod(np.exp(x)) + 1, np.prod(np.exp(x)) * 2])
    assert first.arguments[0] is second.arguments[0]


def test_calls_keep_their_box_and_get_lowered_arguments():
    box = gs.BlackBox(lambda y, z: y + z, name="box")
    x = free("x", 3)
    plain, deep = box(x[0], x[1]), box(np.linalg.norm(x), x[1])
    same, changed, again = lowered([plain, deep, deep * 2])
    assert same is plain
    assert isinstance(changed, Call)
    assert changed.box is box
    assert again.arguments[0] is changed
    assert set(atoms_of(changed)) <= ALLOWED
    assert_same_values(deep, {x: RNG.normal(size=(3, 3))})


def test_white_boxes_stay():
    h = gs.white_box(lambda y: y**3, name="h")
    x = free("x", 3)
    low = assert_same_values(h(np.prod(x)), {x: RNG.normal(size=(3, 3))}, white_boxes=[h.atom])
    assert h.atom in atoms_of(low)


def test_what_is_known_becomes_a_constant():
    x = free("x", 2)
    matrix = np.array([[1.0, 2.0], [3.0, 4.0]])
    known = gs.language.expression.as_expression(matrix) @ matrix
    (low,) = lowered([known])
    assert isinstance(low, Constant)
    np.testing.assert_array_equal(low.value, matrix @ matrix)
    (undefined,) = lowered([np.log(known - 100) + x])  # NaN is left to the run
    assert operations.log in atoms_of(undefined)


def test_a_fold_of_many_entries_has_few_nodes():
    x = free("x", 1000)
    (low,) = lowered([np.max(x)])
    assert len(nodes_of(low)) < 60
    assert_same_values(np.max(x), {x: RNG.normal(size=(2, 1000))})


def test_models_thousands_of_steps_deep_are_lowered():
    x = free("x")
    y = x
    for _ in range(5000):
        y = np.sin(y) * y
    (low,) = lowered([y])
    assert len(atoms_of(low)) == 10000


def test_variables_and_empty_folds_stay():
    x = free("x", 3)
    (same,) = lowered([x])
    assert same is x
    assert_same_values(np.sum(x[:0]) + np.linalg.norm(x[:0]), {x: RNG.normal(size=(2, 3))})

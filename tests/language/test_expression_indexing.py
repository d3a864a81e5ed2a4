"""Indexing, slicing, reshaping and joining pick the entries that NumPy picks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grisaille.errors import ModelError
from grisaille.language.program import Program
from tests.language.language_helpers import (
    assert_gradients_right,
    assert_same_as_numpy,
    free,
    value_at,
)

pytestmark = pytest.mark.slow


SHAPES = hnp.array_shapes(min_dims=1, max_dims=3, max_side=4)


def numbered(shape, batch=2):
    """Values that differ from one another, so that a wrong pick shows."""
    return np.arange(batch * np.prod(shape), dtype=float).reshape(batch, *shape)


@pytest.mark.parametrize(
    "pick",
    [
        lambda a: a[1],
        lambda a: a[-1],
        lambda a: a[1, 2],
        lambda a: a[np.int64(1), -1],
        lambda a: a[:, 1],
        lambda a: a[..., 0],
        lambda a: a[0, ...],
        lambda a: a[1:],
        lambda a: a[::-1, ::2],
        lambda a: a[:, None, 1:],
        lambda a: a[np.newaxis],
        lambda a: a[[2, 0, 0]],
        lambda a: a[[0, 1], [3, 2]],
        lambda a: a[np.array([[0, 1], [2, 0]])],
        lambda a: a[np.ix_([0, 2], [1, 3])],
        lambda a: a[:, [True, False, True, True]],
        lambda a: a[1:1],
        lambda a: a[()],
        lambda a: a.T,
        lambda a: a.T[1:].T,
        lambda a: a.reshape(2, 6)[1],
        lambda a: a.reshape((4, -1)).T,
        lambda a: a.ravel()[3:7],
    ],
)
def test_picked_entries_are_numpys(pick):
    assert_same_as_numpy(pick, numbered((3, 4)))


@given(data=st.data(), shape=SHAPES)
def test_any_basic_index_picks_numpys_entries(data, shape):
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True))
    assert_same_as_numpy(lambda a: a[index], numbered(shape))


@given(data=st.data(), shape=SHAPES)
def test_any_integer_array_index_picks_numpys_entries(data, shape):
    index = data.draw(hnp.integer_array_indices(shape))
    assert_same_as_numpy(lambda a: a[index], numbered(shape))


@given(data=st.data(), shape=SHAPES)
def test_any_mask_picks_numpys_entries(data, shape):
    mask = data.draw(hnp.arrays(bool, shape))
    assert_same_as_numpy(lambda a: a[mask], numbered(shape))


@given(data=st.data(), shape=SHAPES)
def test_an_index_of_an_index_picks_numpys_entries(data, shape):
    first = data.draw(hnp.basic_indices(shape, allow_newaxis=True))
    second = data.draw(hnp.basic_indices(np.zeros(shape)[first].shape, allow_newaxis=True))
    assert_same_as_numpy(lambda a: a[first][second], numbered(shape))


@given(data=st.data(), shape=SHAPES, parts=st.integers(1, 3))
def test_any_stack_and_concatenation_lays_entries_as_numpy_does(data, shape, parts):
    batches = [numbered(shape) + 1000 * i for i in range(parts)]
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    assert_same_as_numpy(lambda *a: np.concatenate(a, axis=axis), *batches)
    assert_same_as_numpy(lambda *a: np.stack(a, axis=axis), *batches)


def test_gradients_flow_to_the_entries_that_were_picked():
    assert_gradients_right(lambda a: np.concatenate([a[0, ::-1], a[[1, 1], 0]]), numbered((2, 3)))


def test_an_index_that_changes_nothing_gives_the_same_expression():
    x = free("x", 3)
    assert x[:] is x
    assert x.reshape(3) is x
    assert x[::-1][::-1] is x
    assert x.reshape(3, 1).T.ravel() is x


def test_a_pick_from_a_pick_is_the_same_node_as_one_pick():
    x = free("x", 4)
    program = Program([x[2], x[1:][1], x.reshape(2, 2)[1, 0]])
    assert len(set(program.outputs)) == 1


def test_iteration_and_unpacking_give_the_entries():
    x = free("x", (2, 3))
    first, second = x
    assert first.shape == (3,)
    np.testing.assert_array_equal(value_at(second, {x: numbered((2, 3), 1)[0]}), [3, 4, 5])
    assert [value_at(e, {x: numbered((2, 3), 1)[0]}) for e in first] == [0, 1, 2]


def test_shape_questions_are_answered_without_evaluation():
    x, y = free("x", (2, 3)), free("y")
    assert (x.shape, x.size, x.ndim, len(x)) == ((2, 3), 6, 2, 2)
    assert (np.shape(x), np.size(x), np.ndim(x)) == ((2, 3), 6, 2)
    assert (y.shape, y.size, y.ndim) == ((), 1, 0)


def test_empty_picks_can_be_joined_and_summed():
    x = free("x", 3)
    assert value_at(np.sum(x[3:]), {x: [1.0, 2.0, 4.0]}) == 0.0
    np.testing.assert_array_equal(
        value_at(np.concatenate([x[3:], x[:1]])[:1][0:], {x: [1.0, 2.0, 4.0]}), [1.0]
    )
    assert value_at(np.concatenate([x[3:], x[:0]]).reshape(0, 2), {x: [1.0, 2.0, 4.0]}).size == 0


def test_an_index_out_of_bounds_is_an_index_error():
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        free("x", 3)[3]


def test_a_scalar_has_neither_length_nor_entries():
    y = free("y")
    with pytest.raises(TypeError, match="y is a scalar: it has no length"):
        len(y)
    with pytest.raises(TypeError, match="y is a scalar"):
        iter(y)
    with pytest.raises(IndexError):
        y[0]


def test_a_shape_that_does_not_fit_is_refused_with_both_shapes():
    with pytest.raises(
        ModelError, match=r"x has shape \(3,\): cannot reshape .* into shape \(2,2\)"
    ):
        free("x", 3).reshape(2, 2)


def test_an_expression_is_no_index():
    with pytest.raises(ModelError, match="cannot be put into a NumPy array"):
        free("x", 3)[free("i")]

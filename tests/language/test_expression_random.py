"""Random expression trees have the values that NumPy computes for the same tree.

A tree is an ordinary function of its leaves. Applied to variables it records an expression;
applied to arrays it is plain NumPy: that the two agree is what the language promises.
"""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import grisaille as gs
from tests.language.language_helpers import values_at

POINTS = [np.random.default_rng(0).uniform(-2, 2, (4, *shape)) for shape in ((), (), (3,), (2, 3))]
VARIABLES = [
    gs.Variable(name, batch.shape[1:], lower=-2, upper=2)
    for name, batch in zip("abuv", POINTS, strict=True)
]
WEIGHTS = np.array([[0.5, -1.0, 2.0], [1.0, 0.0, -0.5], [-2.0, 1.5, 1.0]])

cheap = gs.BlackBox(lambda y: np.cos(3 * y), name="cheap")
paired = gs.BlackBox(lambda y, x: np.array([y - x[2], y * x[0]]), name="paired", outputs=2)

leaves = st.one_of(
    st.integers(0, len(VARIABLES) - 1).map(lambda i: lambda env: env[i]),
    st.floats(-2, 2, width=16).map(lambda value: lambda env: 0 * env[0] + value),
)


def apply(function, *parts):
    return lambda env: function(*(part(env) for part in parts))


def vector(value):
    """Three entries, whatever the shape: something to pick from."""
    return np.sum(value) + np.array([-1.0, 0.0, 1.0])


UNARY = [
    np.negative,
    np.sin,
    np.tanh,
    np.arctan,
    abs,
    lambda a: np.exp(-np.square(a)),
    lambda a: np.sqrt(a**2 + 1),
    lambda a: np.log1p(abs(a)),
    lambda a: np.clip(a, -1, 1.5),
    lambda a: a * a,
    np.sum,
    np.mean,
    np.max,
    lambda a: np.linalg.norm(vector(a)),
    lambda a: WEIGHTS @ vector(a),
    lambda a: vector(a)[::-1],
    lambda a: vector(a)[[2, 0]][0],
    lambda a: vector(a).reshape(3, 1).T,
    lambda a: cheap(np.sum(a)),
]
BINARY = [
    np.add,
    np.subtract,
    np.multiply,
    np.minimum,
    np.maximum,
    np.arctan2,
    lambda a, b: a / (1 + b**2),
    lambda a, b: np.where(a <= b, a, 2 * b),
    lambda a, b: np.where((a >= 0) & (a <= b), b, -1.0),
    lambda a, b: vector(a) @ vector(b),
    lambda a, b: np.concatenate([vector(a)[:1], vector(b)[1:]]),
    lambda a, b: np.stack([np.sum(a), 0.5, np.min(b)]),
    lambda a, b: paired(np.mean(a), vector(b))[1],
]
trees = st.recursive(
    leaves,
    lambda parts: st.one_of(
        st.builds(apply, st.sampled_from(UNARY), parts),
        st.builds(apply, st.sampled_from(BINARY), parts, parts),
    ),
    max_leaves=12,
)


@settings(max_examples=300)
@given(tree=trees)
def test_a_random_tree_has_numpys_values(tree):
    recorded = tree(VARIABLES)
    expected = np.stack([tree(row) for row in zip(*POINTS, strict=True)])
    assert recorded.shape == expected.shape[1:]
    values = values_at(recorded, dict(zip(VARIABLES, POINTS, strict=True)))
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-9)

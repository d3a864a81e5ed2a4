"""Variables: a name, a shape, and finite bounds in the right order."""

import numpy as np
import pytest

import grisaille as gs
from grisaille.errors import ModelError


def test_one_bound_serves_every_entry():
    x = gs.Variable("x", shape=2, lower=-2, upper=3)
    assert x.shape == (2,)
    np.testing.assert_array_equal(x.lower, [-2.0, -2.0])
    np.testing.assert_array_equal(x.upper, [3.0, 3.0])


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((), ()), (3, (3,)), (np.int64(3), (3,)), ((2, 3), (2, 3)), ([2, 3], (2, 3)), ([], ())],
)
def test_shapes_are_written_as_in_numpy(shape, expected):
    assert gs.Variable("x", shape, lower=0, upper=1).shape == expected


def test_bounds_are_broadcast_to_the_shape():
    x = gs.Variable("x", (2, 3), lower=[0, 1, 2], upper=[[3], [4]])
    np.testing.assert_array_equal(x.lower, [[0, 1, 2], [0, 1, 2]])
    np.testing.assert_array_equal(x.upper, [[3, 3, 3], [4, 4, 4]])


def test_bounds_are_copies_that_nobody_can_change():
    lower = np.zeros(2)
    x = gs.Variable("x", 2, lower=lower, upper=1)
    lower[:] = 0.5
    np.testing.assert_array_equal(x.lower, [0.0, 0.0])
    with pytest.raises(ValueError, match="read-only"):
        x.lower[0] = 0.5


@pytest.mark.parametrize(
    ("shape", "bounds", "message"),
    [
        ((), {}, "variable 'x' has no lower bound: bounds are required.*pass lower="),
        ((), {"lower": 0}, "variable 'x' has no upper bound: bounds are required.*pass upper="),
        ((), {"upper": 0}, "variable 'x' has no lower bound"),
        ((), {"lower": -np.inf, "upper": 0}, "'x' has lower bound -inf: bounds must be finite"),
        ((), {"lower": 0, "upper": np.inf}, "'x' has upper bound inf: bounds must be finite"),
        ((), {"lower": np.nan, "upper": 0}, "'x' has lower bound nan: bounds must be finite"),
        (2, {"lower": [0, np.nan], "upper": 1}, "lower bound .*nan.*: bounds must be finite"),
        ((), {"lower": 2, "upper": 1}, "lower bound 2 and upper bound 1: the lower must be below"),
        ((), {"lower": 1, "upper": 1}, "lower bound 1 and upper bound 1: .*use a plain number"),
        (2, {"lower": [0, 3], "upper": 1}, r"lower bound 3 and upper bound 1 at entry \[1\]"),
        (
            (2, 2),
            {"lower": 0, "upper": [[1, 1], [0, 1]]},
            r"lower bound 0 and upper bound 0 at entry \[1, 0\]",
        ),
        (2, {"lower": [0, 0, 0], "upper": 1}, r"has shape \(2,\), but its lower bound is \[0, 0"),
        ((), {"lower": 0, "upper": [1, 2]}, r"has shape \(\), but its upper bound is \[1, 2\]"),
        (2, {"lower": [[0], [0, 1]], "upper": 1}, "pass a number or an array of that shape"),
        ((), {"lower": "low", "upper": 1}, "lower bound is 'low': pass a number or an array"),
        ((), {"lower": "0", "upper": 1}, "lower bound is '0': pass a number or an array"),
        ((), {"lower": 0, "upper": 1j}, "upper bound is 1j: pass a number or an array"),
        ((), {"lower": 0, "upper": np.complex128(1)}, "upper bound is .*: pass a number"),
    ],
)
def test_bad_bounds_are_refused_with_the_remedy(shape, bounds, message):
    with pytest.raises(ModelError, match=message):
        gs.Variable("x", shape, **bounds)


def test_an_expression_is_no_bound():
    y = gs.Variable("y", lower=0, upper=1)
    with pytest.raises(ModelError, match="upper bound is y: pass a number"):
        gs.Variable("x", lower=0, upper=y)


@pytest.mark.parametrize("shape", [0, -1, (2, 0), 2.0, (2.5,), "ab", None, ((2,),)], ids=repr)
def test_bad_shapes_are_refused(shape):
    with pytest.raises(
        ModelError, match=r"variable 'x' has shape .*how many entries each axis has"
    ):
        gs.Variable("x", shape, lower=0, upper=1)


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_variable_without_a_name_is_refused(name):
    with pytest.raises(ModelError, match=r"a variable needs a name.*gs.Variable\('x', \.\.\.\)"):
        gs.Variable(name, lower=0, upper=1)

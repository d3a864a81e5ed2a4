"""What cannot be recorded fails at once, with a sentence that names the replacement."""

import math
import operator

import numpy as np
import pytest
import torch
from scipy import special

from grisaille.errors import ModelError
from tests.language.language_helpers import free

NO_TRUTH = "has no truth value before it is evaluated"
STRICT = r"strict comparisons \(<, >\) cannot be recorded: write <= or >= .*np.maximum .*np.where"
UNEQUAL = r"!= \.\.\. cannot be recorded: constraints are written a <= b, a >= b or a == b"
CONDITION = r"is an equality, .*as a condition, write abs\(a - b\) <= tolerance"
NOT_A_NUMBER = r"is not a number yet: use NumPy's functions \(np.sin, not math.sin\).*gs.white_box"
NOT_IN_ARRAYS = "cannot be put into a NumPy array: join expressions with np.stack"
UNKNOWN = "cannot be recorded on an expression: .*wrap your own function with gs.white_box"


def branch(y):
    return y if y >= 0 else -y


def grow(y):
    array = np.zeros(2)
    array += y
    return array


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        pytest.param(branch, f"y >= 0 {NO_TRUTH}: .*np.where", id="if y >= 0"),
        pytest.param(lambda y: bool(y), f"y {NO_TRUTH}: write np.where", id="if y"),
        pytest.param(lambda y: not y, f"y {NO_TRUTH}: write np.where", id="not y"),
        pytest.param(lambda y: y and 1, f"y {NO_TRUTH}: write np.where", id="y and 1"),
        pytest.param(lambda y: 0 <= y <= 1, f"{NO_TRUTH}: write 0 <= y <= 1 as two", id="chain"),
        pytest.param(lambda y: y <= 1 and y >= 0, f"{NO_TRUTH}: .*'a and b' as a & b", id="and"),
        pytest.param(lambda y: not y <= 1, NO_TRUTH, id="not y <= 1"),
        pytest.param(lambda y: y < 1, STRICT, id="y < 1"),
        pytest.param(lambda y: operator.lt(1, y), STRICT, id="1 < y"),
        pytest.param(lambda y: np.float64(1) > y, STRICT, id="np.float64(1) > y"),
        pytest.param(lambda y: np.ones(2) < y, STRICT, id="array < y"),
        pytest.param(lambda y: max(y, 0), STRICT, id="max"),
        pytest.param(lambda y: min(0, y), STRICT, id="min"),
        pytest.param(lambda y: sorted([y, 2 * y]), STRICT, id="sorted"),
        pytest.param(lambda y: y != 1, f"y {UNEQUAL}", id="y != 1"),
        pytest.param(lambda y: np.not_equal(y, 1), UNEQUAL, id="np.not_equal"),
        pytest.param(lambda y: y in [1, 2], f"y == 1 {NO_TRUTH}", id="y in list"),
        pytest.param(lambda y: np.where(y == 1, 0, 1), CONDITION, id="np.where(y == 1)"),
        pytest.param(lambda y: (y == 1) & (y <= 2), CONDITION, id="(y == 1) & ..."),
        pytest.param(lambda y: math.sin(y), f"y {NOT_A_NUMBER}", id="math.sin"),
        pytest.param(lambda y: math.floor(y), NOT_A_NUMBER, id="math.floor"),
        pytest.param(lambda y: float(y), NOT_A_NUMBER, id="float"),
        pytest.param(lambda y: int(y), NOT_A_NUMBER, id="int"),
        pytest.param(lambda y: complex(y), NOT_A_NUMBER, id="complex"),
        pytest.param(lambda y: range(y), NOT_A_NUMBER, id="range"),
        pytest.param(lambda y: np.array([y]), f"y {NOT_IN_ARRAYS}", id="np.array"),
        pytest.param(lambda y: np.array([[y, 1], [0, y]]), NOT_IN_ARRAYS, id="np.array matrix"),
        pytest.param(lambda y: np.array([y], dtype=object), NOT_IN_ARRAYS, id="object array"),
        pytest.param(lambda y: np.asarray(y), NOT_IN_ARRAYS, id="np.asarray"),
        pytest.param(lambda y: np.sum([y, 1]), NOT_IN_ARRAYS, id="np.sum of a list"),
        pytest.param(lambda y: np.vectorize(abs)(y), NOT_IN_ARRAYS, id="np.vectorize"),
        pytest.param(lambda y: np.cumsum(y), f"np.cumsum {UNKNOWN}", id="np.cumsum"),
        pytest.param(lambda y: np.linalg.inv(y), f"np.linalg.inv {UNKNOWN}", id="np.linalg.inv"),
        pytest.param(lambda y: np.fmod(y, 2), f"np.fmod {UNKNOWN}", id="np.fmod"),
        pytest.param(lambda y: y ^ 2, "write \\*\\*", id="y ^ 2"),
        pytest.param(lambda y: np.isnan(y), f"np.isnan {UNKNOWN}", id="np.isnan"),
        pytest.param(lambda y: np.allclose(y, 1), f"np.allclose {UNKNOWN}", id="np.allclose"),
        pytest.param(
            lambda y: np.interp(y, [0, 1], [2, 3]),
            r"gs.white_box\(lambda a: np.interp\(a, ...\), name='interp'\)\(x\)",
            id="np.interp",
        ),
        pytest.param(
            lambda y: special.erf(y),
            r"scipy.special.erf cannot .*gs.white_box\(lambda a: scipy.special.erf",
            id="erf",
        ),
        pytest.param(
            lambda y: torch.sin(y), r"torch.sin cannot .*gs.white_box\(fn, torch=True", id="torch"
        ),
        pytest.param(lambda y: y / 0, r"y / 0 divides by zero", id="y / 0"),
        pytest.param(lambda y: y % [0.0], "divides by zero", id="y % 0"),
        pytest.param(lambda y: y + math.sin, "is a function, which must be called", id="y + f"),
        pytest.param(lambda y: y * 10**400, "is too large for a float", id="huge"),
        pytest.param(lambda y: y + np.inf, "add cannot calculate with the .* inf", id="y + inf"),
        pytest.param(lambda y: round(y, 1), r"write np.floor\(y \+ 0.5\)", id="round"),
        pytest.param(lambda y: np.round(y, 1), r"np.round .*write np.floor\(a", id="np.round"),
        pytest.param(lambda y: math.trunc(y), NOT_A_NUMBER, id="math.trunc"),
        pytest.param(lambda y: f"{y:.2f}", "y has no value to write as '.2f' before", id="format"),
        pytest.param(lambda y: y <= 1 & y >= 0, "write each comparison in parenth", id="no paren"),
        pytest.param(lambda y: y | (y <= 1), "write each comparison in parenth", id="y | ..."),
        pytest.param(lambda y: True & (y <= 1), "both sides must be comparisons", id="True & ..."),
        pytest.param(lambda y: all(y <= 1), "y <= 1 counts entry by entry: pass it", id="all"),
        pytest.param(lambda y: np.all(y <= 1), "np.all .*pass them to subject_to", id="np.all"),
        pytest.param(lambda y: np.max(y <= 1), "y <= 1 is a relation, not a value", id="np.max"),
        pytest.param(
            lambda y: np.add.reduce(y), r"np\.add\.reduce cannot .*use np.sum", id="np.add.reduce"
        ),
        pytest.param(
            lambda y: np.multiply.outer(y, y), r"np\.multiply\.outer cannot", id="multiply.outer"
        ),
        pytest.param(
            lambda y: np.exp(y, out=np.zeros(1)), r"np.exp with out= cannot", id="np.exp with out"
        ),
        pytest.param(
            lambda y: np.exp(y, dtype=float),
            r"np.exp with dtype= cannot .*leave it out",
            id="dtype",
        ),
        pytest.param(grow, r"np.add with out= .*write a = a \+ y", id="array += y"),
    ],
)
def test_it_fails_at_once_and_names_the_replacement(mistake, message):
    with pytest.raises(ModelError, match=message):
        mistake(free("y"))


def test_tensors_are_numbers_with_or_without_gradients():
    y, two = free("y"), torch.tensor(2.0, requires_grad=True)
    made = [two * y, y - two, two**y, two <= y, [two, 1.0] * y]
    assert list(map(repr, made)) == ["2 * y", "y - 2", "2**y", "y >= 2", "[2., 1.] * y"]


def test_a_formula_can_be_written_into_a_text_and_divided_with_remainder():
    y = free("y")
    assert f"{y}" == "y"
    assert [repr(part) for part in divmod(y, 2)] == ["floor(y / 2)", "y - floor(y / 2) * 2"]


def test_these_failures_are_value_errors_too():
    with pytest.raises(ValueError, match="no truth value"):
        bool(free("y"))


def test_an_expression_put_into_an_array_is_told_why_in_the_cause():
    # NumPy hides what __float__ raised behind a sentence of its own.
    with pytest.raises(ValueError, match="setting an array element") as caught:
        np.zeros(2)[0] = free("y")
    assert isinstance(caught.value.__cause__, ModelError)


@pytest.mark.parametrize("other", [2.0, np.float64(2), np.ones(2)], ids=repr)
def test_relations_have_no_arithmetic(other):
    # Python says the one, and NumPy lets us say the other.
    with pytest.raises((TypeError, ModelError), match=r"unsupported operand|y <= 1 is a relation"):
        other * (free("y") <= 1)


def test_expressions_can_still_be_keys_and_be_told_apart():
    x, y = free("y"), free("y")
    assert {x: 1, y: 2}[y] == 2
    assert y in {x, y}
    assert x not in {y}

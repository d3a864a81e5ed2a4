"""White boxes of PyTorch tensors: values and derivatives by PyTorch, and what is refused."""

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.errors import EvaluationError, ModelError
from grisaille.language.enclosures.interval import Interval
from grisaille.language.fingerprint import fingerprint
from grisaille.language.program import Program
from tests.language.language_helpers import assert_gradients_right, free, value_at, values_at

POINTS = np.random.default_rng(0).uniform(0.5, 2.0, (4, 3))


def law(y, x):
    return torch.stack([torch.exp(y) * x[..., 0], torch.sin(x[..., 1]) * x[..., 2] - y], -1)


def numbers_of(y, x):
    return np.stack([np.exp(y) * x[:, 0], np.sin(x[:, 1]) * x[:, 2] - y], 1)


@pytest.mark.parametrize("vectorized", [False, True])
def test_values_and_gradients_are_those_of_the_function(vectorized):
    h = gs.white_box(law, outputs=2, torch=True, vectorized=vectorized)
    y, x = free("y"), free("x", 3)
    values = values_at(h(y, x), {y: POINTS[:, 0], x: POINTS})
    np.testing.assert_allclose(values, numbers_of(POINTS[:, 0], POINTS), rtol=1e-14)
    assert_gradients_right(lambda y, x: h(y, x) * y, POINTS[:, 0], POINTS)


@pytest.mark.parametrize("vectorized", [False, True])
def test_constants_are_spread_over_the_points(vectorized):
    h = gs.white_box(lambda y, c: y + c, name="h", vectorized=vectorized, torch=True)
    y = free("y")
    np.testing.assert_array_equal(values_at(h(y, 2.0), {y: [1.0, 2.0, 3.0]}), [3.0, 4.0, 5.0])
    assert_gradients_right(lambda y: h(y, 2.0), POINTS[:, 0])


def test_one_call_serves_all_points_unless_the_function_looks_at_values():
    calls = []

    def smooth(y):
        calls.append(y)
        return y**2

    def branched(y):
        calls.append(y)
        return y**2 if y > 1 else 2 * y - 1

    y = free("y")
    for fn, many in ((smooth, 1), (branched, 4)):
        h = gs.white_box(fn, torch=True)
        values_at(h(y), {y: POINTS[:, 0]})
        calls.clear()  # the first time, mapping over the points is tried
        values = values_at(h(y), {y: POINTS[:, 0]})
        assert len(calls) == many
    np.testing.assert_allclose(
        values, np.where(POINTS[:, 0] > 1, POINTS[:, 0] ** 2, 2 * POINTS[:, 0] - 1)
    )
    assert_gradients_right(lambda y: h(y), POINTS[:, 0])


def test_several_outputs_may_be_a_tuple_of_tensors():
    h = gs.white_box(lambda x: (x[0] * x[1], x.sum()), name="h", outputs=2, torch=True)
    x = free("x", 3)
    values = values_at(h(x), {x: POINTS})
    np.testing.assert_allclose(values, np.stack([POINTS[:, 0] * POINTS[:, 1], POINTS.sum(1)], 1))


@pytest.mark.parametrize("vectorized", [False, True])
def test_a_function_that_changes_its_argument_harms_nobody(vectorized):
    def careless(x):
        x *= 2
        return x.sum(-1)

    h = gs.white_box(careless, vectorized=vectorized, torch=True)
    x = free("x", 3)
    at = torch.as_tensor(POINTS.copy()).requires_grad_()
    doubled, untouched = Program([h(x), x]).run(at, None)
    np.testing.assert_allclose(doubled.detach(), 2 * POINTS.sum(1))
    np.testing.assert_array_equal(untouched.detach(), POINTS)
    doubled.sum().backward()
    np.testing.assert_array_equal(at.grad, np.full((4, 3), 2.0))


@pytest.mark.parametrize(
    ("fn", "options", "message"),
    [
        (
            lambda x: 1 / 0,
            {},
            r"'h' .*torch=True\) failed near \[1\. 2\. 3\.\]: division",
        ),
        (torch.nn.Linear(3, 1), {}, r"the same dtype.*float64, too: pass net.double\(\)"),
        (lambda x: None, {}, "it returned None .does it lack a return statement"),
        (lambda x: 3.0, {}, "returned 3.0, of type float: with torch=True, return a PyTorch"),
        (lambda x: x.numpy().sum(), {"vectorized": True}, r"of type float64: with torch=True"),
        (lambda x: x.sum().float(), {}, r"tensor of torch.float32: compute in torch.float64"),
        (lambda x: (x > 1).any(), {}, r"tensor of torch.bool: compute in torch.float64"),
        (lambda x: x, {}, r"a tensor of shape \(3,\), expected \(\)"),
        (lambda x: x, {"vectorized": True}, r"a tensor of shape \(2, 3\), expected \(2,\)"),
        (lambda x: x.T, {"outputs": 3, "vectorized": True}, r"shape \(3, 2\), expected \(2, 3\)"),
        (lambda x: (x[0], 1.0), {"outputs": 2}, "of type tuple: with torch=True"),
    ],
)
def test_failures_tell_the_box_the_point_and_the_reason(fn, options, message):
    h = gs.white_box(fn, name="h", torch=True, **options)
    x = free("x", 3)
    with pytest.raises(EvaluationError, match=message):
        values_at(h(x), {x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]})


def test_a_network_of_a_scalar_is_told_to_read_a_vector_of_one():
    h = gs.white_box(torch.nn.Linear(1, 1), name="h", torch=True)
    y = free("y")
    with pytest.raises(EvaluationError, match=r"declare gs.Variable\(name, 1, ...\), of shape 1"):
        values_at(h(y), {y: [1.0, 2.0]})


@pytest.mark.parametrize(
    "fn", [lambda y: torch.tensor(2.0).double(), lambda y: (2 * y).detach()], ids=["new", "cut"]
)
def test_a_result_without_a_derivative_is_refused_where_one_is_wanted(fn):
    h = gs.white_box(fn, name="h", torch=True)
    y = free("y")
    assert value_at(h(y), {y: 1.0}) == 2.0
    at = torch.ones(1, 1, dtype=torch.float64, requires_grad=True)
    with pytest.raises(EvaluationError, match="no connection between its arguments and what it"):
        Program([h(y)]).run(at, None)


def test_a_derivative_that_lacks_a_part_is_noticed():
    h = gs.white_box(lambda y: y**2 * (3 * y).detach(), name="h", torch=True)
    at = torch.full((2, 1), 2.0, dtype=torch.float64, requires_grad=True)
    with pytest.raises(
        ModelError,
        match=r"PyTorch's derivative of white box 'h' says 24 for output 0 by input 0 at 2., but "
        "differences say 36",
    ):
        Program([h(free("y"))]).run(at, None)


def test_bounds_over_regions_come_from_tensors_too():
    h = gs.white_box(
        lambda y: torch.sin(y),
        name="h",
        torch=True,
        lipschitz=1.0,
        interval=lambda y: (torch.sin(y[0]), torch.sin(y[1])),  # rising where it is asked
    )
    low, high = torch.tensor([[0.1, 0.2], [0.3, 1.2]], dtype=torch.float64)
    found = h.atom.enclose(Interval(low, high)).interval
    np.testing.assert_allclose(found.lower, np.sin([0.1, 0.2]), rtol=1e-12)
    np.testing.assert_allclose(found.upper, np.sin([0.3, 1.2]), rtol=1e-12)


def test_how_a_white_box_is_differentiated_is_no_other_problem():
    def lines(**options):
        y = free("y")
        return fingerprint(gs.Problem(minimize=gs.white_box(lambda y: y, name="h", **options)(y)))

    assert lines() == lines(torch=True) == lines(gradient=lambda y: 1.0) == lines(vectorized=True)


def test_a_problem_with_such_a_white_box_is_solved():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    tilt = gs.BlackBox(lambda x: 0.5 * x[0], name="tilt", noise=0)
    bowl = gs.white_box(lambda x, y: ((x - 0.25) ** 2).sum() + y, name="bowl", torch=True)
    result = gs.Problem(minimize=bowl(x, tilt(x))).solve(7, progress=False)
    assert result.fun == pytest.approx(0.0625, abs=1e-4)  # at (0, 1/4)

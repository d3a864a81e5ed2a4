"""What is said of a program over regions is below everything that it does there."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import grisaille as gs
from grisaille.language import operations
from grisaille.language.enclosures.interval import Interval
from grisaille.language.expression import Operation
from grisaille.language.program import BoxCall, Program
from grisaille.proof.propagation import Propagation, obstacles
from grisaille.proof.relaxation import lowered

pytestmark = pytest.mark.slow


VARIABLES = [
    gs.Variable(name, shape, lower=-2, upper=2)
    for name, shape in zip("abuv", ((), (), (3,), (2, 3)), strict=True)
]
SIZE = sum(v.size for v in VARIABLES)
WEIGHTS = np.array([[0.5, -1.0, 2.0], [1.0, 0.0, -0.5], [-2.0, 1.5, 1.0]])
REGIONS, SAMPLES = 10, 24

# What the black boxes really do: a linear function, and up to this much more or less.
ERROR = 0.3
single = gs.BlackBox(None, name="single")
paired = gs.BlackBox(None, name="paired", outputs=2)
MATRICES = {
    "single": torch.tensor([[0.8]], dtype=torch.float64),
    "paired": torch.tensor([[0.5, -1.0, 0.0, 0.3], [0.0, 0.2, 0.7, -0.4]], dtype=torch.float64),
}
white = gs.WhiteBox(
    lambda y: math.sin(2 * y) + y if math.isfinite(y) else math.nan, name="white", lipschitz=3.0
)


def answer(call: BoxCall, states: Interval) -> Interval:
    """The range of a black box."""
    matrix = MATRICES[call.box.name]
    up, down = matrix.clamp_min(0).T, matrix.clamp_max(0).T
    # 0 * inf is no number: what is not known on one side may be anything.
    low = torch.nan_to_num(states.lower @ up + states.upper @ down, nan=-torch.inf)
    high = torch.nan_to_num(states.upper @ up + states.lower @ down, nan=torch.inf)
    room = ERROR + 1e-12 * (low.abs() + high.abs())
    room = torch.where(room.isfinite(), room, ERROR)
    return Interval(low - room, high + room)


def as_intervals(program, calls_of_boxes, constant):
    """Replace black boxes by the ends of their intervals."""

    def replace(call: BoxCall, weight: Tensor) -> None:
        interval = calls_of_boxes.intervals[call.node]
        lower = interval.lower.reshape(len(interval.lower), 1, -1)
        upper = interval.upper.reshape(len(interval.upper), 1, -1)
        terms = torch.where(weight > 0, weight * lower, 0.0)
        constant[0] = constant[0] + (terms + torch.where(weight < 0, weight * upper, 0.0)).sum(-1)

    return replace


def as_functions(constant):
    """Replace black boxes by the linear function and the worst that can be added."""

    def replace(call: BoxCall, weight: Tensor) -> Tensor:
        constant[0] = constant[0] - ERROR * weight.abs().sum(-1)
        return (weight @ MATRICES[call.box.name]).expand(REGIONS, -1, -1)

    return replace


def really(phase: float):
    """A resolver: a black box as it may be."""

    def resolve(call: BoxCall, states: Tensor) -> Tensor:
        value = states @ MATRICES[call.box.name].T
        wild = torch.nan_to_num(states.sum(1, keepdim=True))
        return value + ERROR * torch.sin(37 * wild + phase).sign()

    return resolve


def random_regions(seed):
    """Regions from the whole range to points, and points in them."""
    generator = torch.Generator().manual_seed(seed)

    def rand(*shape):
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    center = 4 * rand(REGIONS, SIZE) - 2
    half = 10 ** (-5 * rand(REGIONS, 1)) * 2 * rand(REGIONS, SIZE)
    half[1], center[0], half[0] = 0.0, 0.0, 2.0
    half[2, ::2] = 0.0
    center[3].round_()
    lower, upper = (center - half).clamp(-2, 2), (center + half).clamp(-2, 2)
    unit = rand(SAMPLES, REGIONS, SIZE)
    pushed = rand(SAMPLES, REGIONS, SIZE)
    unit = torch.where(pushed < 0.2, 0.0, torch.where(pushed > 0.8, 1.0, unit))
    points = lower + (upper - lower) * unit
    return Interval(lower, upper), torch.minimum(torch.maximum(points, lower), upper)


def apply(function, *parts):
    return lambda env: function(*(part(env) for part in parts))


def vector(value):
    """Three entries, whatever the shape."""
    return np.sum(value) + np.array([-1.0, 0.0, 1.0])


def four(a, b):
    return np.stack([np.mean(a), np.sum(b), np.max(a), 0.5])


UNARY = [
    np.negative,
    abs,
    np.exp,
    np.expm1,
    np.log,
    np.log1p,
    np.log2,
    np.log10,
    np.sqrt,
    np.square,
    np.sin,
    np.cos,
    np.tan,
    np.arcsin,
    np.arccos,
    np.arctan,
    np.sinh,
    np.cosh,
    np.tanh,
    np.arcsinh,
    np.arccosh,
    np.arctanh,
    np.sign,
    np.floor,
    np.ceil,
    np.reciprocal,
    lambda a: a**3,
    lambda a: a**-2,
    lambda a: abs(a) ** 1.5,
    lambda a: 2**a,
    lambda a: a * a,
    lambda a: a * a - a * 3 + 1,
    np.sum,
    np.mean,
    np.max,
    np.min,
    np.prod,
    lambda a: np.linalg.norm(vector(a)),
    lambda a: WEIGHTS @ vector(a),
    lambda a: vector(a)[::-1],
    lambda a: vector(a)[[2, 0, 2]],
    lambda a: vector(a).reshape(3, 1).T * vector(a),
    lambda a: single(np.sum(a)),
    lambda a: white(np.sum(a)),
    lambda a: np.clip(a, -1, 1.5),
]
BINARY = [
    np.add,
    np.subtract,
    np.multiply,
    np.divide,
    np.minimum,
    np.maximum,
    np.arctan2,
    lambda a, b: abs(a) ** b,
    lambda a, b: a / (1 + b**2),
    lambda a, b: np.where(a <= b, a, 2 * b),
    lambda a, b: np.where((a >= 0) & (a <= b), b, -1.0),
    lambda a, b: vector(a) @ vector(b),
    lambda a, b: np.concatenate([vector(a)[:1], vector(b)[1:]]),
    lambda a, b: paired(four(a, b)) @ np.array([1.0, -2.0]),
    lambda a, b: paired(four(a, b))[1] - a,
]
leaves = st.one_of(
    st.integers(0, len(VARIABLES) - 1).map(lambda i: lambda env: env[i]),
    st.floats(-2, 2, width=16).map(lambda value: lambda env: 0 * env[0] + value),
)
trees = st.recursive(
    leaves,
    lambda parts: st.one_of(
        st.builds(apply, st.sampled_from(UNARY), parts),
        st.builds(apply, st.sampled_from(BINARY), parts, parts),
        # Something read twice, with weights that may cancel.
        st.builds(
            lambda part, other: apply(lambda a, b: a * b - 0.5 * a + b, part, other), parts, parts
        ),
    ),
    max_leaves=8,
)


def _undecided(program: Program, points: Tensor, phase: float) -> Tensor:
    """Where the condition of a choice is no number."""
    conditions = [
        program.nodes[node.arguments[0]].expression
        for node in program.nodes
        if isinstance(node.expression, Operation) and node.expression.atom is operations.where
    ]
    found = torch.zeros(len(points), dtype=torch.bool)
    for value in Program(conditions, VARIABLES).run(points, really(phase)):
        found |= value.reshape(len(points), -1).isnan().any(1)
    return found


def assert_nothing_undercuts(expressions, seed: int) -> None:
    program = Program(lowered(expressions), VARIABLES)
    plain = Program(expressions, VARIABLES)
    assert not obstacles(program)
    x, points = random_regions(seed)
    flat = points.reshape(-1, SIZE)
    propagation = Propagation(program, x, answer)
    generator = torch.Generator().manual_seed(seed + 1)
    entries = sum(e.size for e in expressions)
    weights = torch.randn(5, entries, generator=generator, dtype=torch.float64)
    weights[0], weights[1] = 0.0, weights[1].abs()
    weights[0, 0] = 1.0
    positive = weights.abs()
    with torch.no_grad():
        found = []
        constant = [torch.zeros(1, 1, dtype=torch.float64)]
        affine = propagation.below(weights, as_functions(constant))
        found.append((affine, constant[0]))
        constant = [torch.zeros(1, 1, dtype=torch.float64)]
        affine = propagation.below(weights, as_intervals(program, propagation, constant))
        found.append((affine, constant[0]))
        least = propagation.least(positive)
        for phase in (0.0, np.pi):
            outputs = plain.run(flat, really(phase))
            values = torch.cat([o.reshape(len(flat), -1) for o in outputs], 1)
            values = values.reshape(SAMPLES, REGIONS, entries)
            # What is not finite counts as infeasible. A choice by what is no number has a test of
            # its own.
            usable = values.isfinite().all(-1) & (values.abs().amax(-1) < 1e100)
            usable &= ~_undecided(plain, flat, phase).reshape(SAMPLES, REGIONS)
            sums = values @ weights.T
            size = 1 + values.abs() @ weights.abs().T
            for affine, own in found:
                line = torch.einsum("bwn,sbn->sbw", affine.slopes, points) + affine.constant + own
                bound = torch.nan_to_num(line - affine.error, nan=-torch.inf)
                room = 1e-9 * (size + (affine.slopes.abs().sum(-1) + affine.constant.abs()))
                assert ((bound <= sums + room) | ~usable.unsqueeze(-1)).all()
            size = 1 + values.abs() @ positive.T
            assert ((least <= values @ positive.T + 1e-9 * size) | ~usable.unsqueeze(-1)).all()


@settings(max_examples=700)
@given(tree=trees, seed=st.integers(0, 50))
def test_no_value_of_a_random_program_undercuts_its_bound(tree, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # constants may be logarithms of -1
        recorded = tree(VARIABLES)
    assert_nothing_undercuts([recorded], seed)


@settings(max_examples=150)
@given(first=trees, second=trees, seed=st.integers(0, 50))
def test_nor_does_a_weighted_sum_of_several_outputs(first, second, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expressions = [first(VARIABLES), second(VARIABLES), first(VARIABLES) * 2]
    assert_nothing_undercuts(expressions, seed)


@pytest.mark.parametrize("function", UNARY, ids=lambda f: getattr(f, "__name__", "?"))
def test_no_single_operation_undercuts_its_bound(function):
    for variable in VARIABLES:
        assert_nothing_undercuts([function(variable)], 3)
        assert_nothing_undercuts([function(single(np.sum(variable)))], 4)


@pytest.mark.parametrize("function", BINARY, ids=lambda f: getattr(f, "__name__", "?"))
def test_no_operation_of_two_arguments_undercuts_its_bound(function):
    a, b, u, v = VARIABLES
    for pair in ((a, b), (a, a), (u, v), (b, u), (u, 2.0), (0 * b + 3.0, a)):
        assert_nothing_undercuts([function(*pair)], 5)


def test_bounds_of_affine_programs_are_exact():
    a, b, u, v = VARIABLES
    z = paired(four(a, u))
    expressions = [
        2 * a - b / 4 + np.sum(u) + np.mean(v) - 1,
        WEIGHTS @ u - v.T[:, 0] * 2,
        z * 3 + u[1],
        np.sum(v * WEIGHTS[:2], axis=1)[::-1],
    ]
    for affine_in in expressions[:2] + expressions[3:]:
        program = Program(lowered([affine_in]), VARIABLES)
        x, points = random_regions(1)
        propagation = Propagation(program, x, answer)
        weights = torch.randn(4, affine_in.size, dtype=torch.float64)
        found = propagation.below(weights, as_functions([torch.zeros(1, 1).double()]))
        (values,) = program.run(points.reshape(-1, SIZE), really(0.0))
        values = values.reshape(SAMPLES, REGIONS, -1) @ weights.T
        lines = torch.einsum("bwn,sbn->sbw", found.slopes, points) + found.constant
        np.testing.assert_allclose(lines, values, atol=1e-12)
        assert found.error.max() < 1e-11
    program = Program(lowered([z[0] * 3 + b]), VARIABLES)
    constant = [torch.zeros(1, 1).double()]
    x, points = random_regions(2)
    with torch.no_grad():
        found = Propagation(program, x, answer).below(
            torch.ones(1, 1).double(),
            as_intervals(program, Propagation(program, x, answer), constant),
        )
    interval = answer_of(program, x)
    expected = 3 * interval.lower[:, :1] + points[..., 1:2]
    lines = torch.einsum("bwn,sbn->sbw", found.slopes, points) + found.constant + constant[0]
    np.testing.assert_allclose(lines, expected, atol=1e-12)


def answer_of(program, x) -> Interval:
    """The range of the first call's outputs."""
    return Propagation(program, x, answer).intervals[program.calls[0].node]


def test_weights_that_cancel_leave_nothing():
    a, b, *_ = VARIABLES
    z = single(a)
    program = Program(lowered([z - z + b - b + 1]), VARIABLES)
    x, _ = random_regions(0)
    seen = []

    def replace(call, weight):
        seen.append(float(weight.abs().max()))

    found = Propagation(program, x, answer).below(torch.ones(1, 1).double(), replace)
    assert max(seen, default=0.0) == 0
    assert (found.slopes == 0).all()
    np.testing.assert_allclose(found.constant, 1.0)


def test_the_error_covers_weights_that_cancel_in_exact_arithmetic():
    a, b, *_ = VARIABLES
    factors = np.random.default_rng(0).uniform(1e8, 1e9, (20, 7))
    for row in factors:
        last = -float(row.sum())
        expression = sum(c * a for c in row.tolist()) + last * a - b / 3
        program = Program(lowered([expression]), VARIABLES)
        x, points = random_regions(6)
        found = Propagation(program, x, answer).below(torch.ones(1, 1).double(), lambda *_: None)
        slope = sum(map(Fraction, row.tolist())) + Fraction(last)
        error = found.error.expand(REGIONS, 1)[:, 0].tolist()
        for region in range(REGIONS):
            line = [Fraction(v) for v in found.slopes[region, 0, :2].tolist()]
            for point in points[:4, region, :2].tolist():
                first, second = map(Fraction, point)
                exact = slope * first - second / 3
                computed = (
                    line[0] * first + line[1] * second + Fraction(float(found.constant[region]))
                )
                assert computed - Fraction(error[region]) <= exact
                assert abs(computed - exact) < 1e-4


def test_least_takes_the_lower_ends_and_no_bound_is_no_bound():
    a, b, *_ = VARIABLES
    program = Program(lowered([a, 1 / b, a + 3]), VARIABLES)
    lower = torch.full((2, SIZE), -1.0, dtype=torch.float64)
    lower[1] = 0.5
    propagation = Propagation(program, Interval(lower, torch.ones_like(lower)), answer)
    weights = torch.tensor([[1.0, 0.0, 2.0], [1.0, 1.0, 0.0]], dtype=torch.float64)
    found = propagation.least(weights)
    np.testing.assert_allclose(found[:, 0], [3.0, 7.5], atol=1e-12)
    assert found[0, 1] == -torch.inf
    np.testing.assert_allclose(found[1, 1], 1.5, atol=1e-12)


def test_an_answer_that_is_no_number_is_no_bound():
    # Whoever answers for a black box may not know anything.
    program = Program(lowered([single(VARIABLES[0])]), VARIABLES)
    x, _ = random_regions(0)

    def unknown(call, states):
        nothing = torch.full((REGIONS, 1), torch.nan, dtype=torch.float64)
        return Interval(nothing, nothing)

    found = Propagation(program, x, unknown).least(torch.ones(1, 1).double())
    assert not (found > -torch.inf).any()


@pytest.mark.parametrize(
    "condition",
    [np.log, np.sqrt, np.arccosh, np.arccos, lambda x: x**0.5 - 9],
    ids=["log", "sqrt", "arccosh", "arccos", "power"],
)
def test_a_condition_that_is_no_number_has_no_value(condition):
    # Else leaving the domain of a function could meet a constraint, and no bound would know.
    a = VARIABLES[0]
    for sign in (1.0, -1.0):
        program = Program(lowered([np.where(sign * condition(a) - 5 <= 0, 1.0, -5.0)]), VARIABLES)
        outside = torch.full((2, SIZE), -2.0, dtype=torch.float64)
        (value,) = program.run(outside, really(0.0))
        assert value.isnan().all()


def test_the_argument_that_is_not_chosen_may_be_no_number():
    a = VARIABLES[0]
    program = Program(lowered([np.where(a <= 0.5, -3.0, np.log(a))]), VARIABLES)
    lower = torch.full((2, SIZE), -2.0, dtype=torch.float64)
    upper = torch.full((2, SIZE), -1.5, dtype=torch.float64)
    upper[1] = 2.0
    least = Propagation(program, Interval(lower, upper), answer).least(torch.ones(1, 1).double())
    assert (least <= -3).all()


def test_obstacles_are_white_boxes_that_nothing_is_known_of():
    a = VARIABLES[0]
    secret = gs.WhiteBox(lambda y: y, name="secret")
    ranged = gs.WhiteBox(lambda y: y, name="ranged", interval=lambda y: y)
    open_program = Program(lowered([secret(a) + white(a) + ranged(a)]), VARIABLES)
    assert obstacles(open_program) == [
        "white box 'secret' has neither lipschitz= nor interval=, and a proof needs one of them"
    ]
    all_known = np.max(VARIABLES[2]) + VARIABLES[3] @ VARIABLES[2] + ranged(a)
    assert obstacles(Program(lowered([all_known]), VARIABLES)) == []

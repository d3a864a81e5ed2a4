"""No plausible point lies below the bound of a box that it is in, or in a box called empty.

A false "infeasible" or a lower bound above the truth is the worst bug this library can have, so
thousands of plausible points, each with a box around it, are held against what is said of the box.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import Tensor

import grisaille as gs
from grisaille.certification.clipped_bands import center_and_half
from grisaille.certification.relaxation import PlausibleRelaxation, relaxed
from grisaille.confidence.plausible_set import PlausibleSet
from grisaille.enclosures.interval import Interval
from grisaille.language.program import BoxCall
from grisaille.solvers.branch_and_bound import Limits, branch_and_bound
from grisaille.solvers.proof import NoRelaxation, ProofStatus
from tests.confidence.confidence_helpers import (
    Fixed,
    fixed_set,
    history_at,
    plausible_set,
    random_design,
)

PAIRS = 1500
# What the posterior's own rounding may do to a plausible point.
ROUNDING = 1e-9

SE = gs.SquaredExponential(0.7, 1.3)


def box(name, function, kernel=SE, noise=0.05, **options):
    return gs.BlackBox(function, name=name, noise=noise, kernel=kernel, **options)


def wave(name="f", **options):
    return box(name, lambda s: np.sin(3 * s), **options)


def bump(name="g", **options):
    return box(name, lambda s: np.sum(np.cos(2 * np.atleast_1d(s))), **options)


def scalar(name="x", lower=-1.0, upper=1.0):
    return gs.Variable(name, lower=lower, upper=upper)


# --- Problems -----------------------------------------------------------------------------------


def linear_program():
    x = gs.Variable("x", 2, lower=0, upper=[2.0, 3.0])
    f, g = bump("f"), bump("g", kernel=gs.SquaredExponential([0.6, 2.0], 0.8))
    rows = np.array([[1.0, 2.0], [-1.0, 0.5]])
    return gs.Problem(
        minimize=np.array([-1.0, 0.3]) @ x + 2 * f(x) - g(x),
        subject_to=[rows @ x + f(x) <= np.array([2.0, 1.0]), g(x) - 0.2 * f(x) <= 0.4],
    )


def many_inputs():
    x = gs.Variable("x", 4, lower=-1, upper=1)
    f, g = bump("f", kernel=gs.SquaredExponential([0.8, 1.5, 3.0, 0.9], 1.0)), bump("g")
    return gs.Problem(minimize=f(x) + 0.1 * x[0], subject_to=[g(x) + f(x) <= 0.5])


def chain():
    x = scalar()
    f, g = wave("f"), wave("g")
    return gs.Problem(minimize=g(f(x)), subject_to=[f(x) - x <= 0.3])


def chain_through_white_boxes():
    x = scalar()
    f, g, h = wave("f"), wave("g", kernel=gs.Matern(2.5, 1.1, 0.6)), wave("h")
    inner = f(x) ** 2 + 3 * f(x) - 1
    return gs.Problem(minimize=h(g(inner) + x), subject_to=[g(inner) - np.tanh(inner) <= 0.2])


def shifted_square():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    f = bump("f")
    return gs.Problem(minimize=(f(x) - 0.7) ** 2 + 0.1 * x[1], subject_to=[0.5 - f(x) <= 0])


def products_and_quotients():
    x, y = scalar(), scalar("y", 1.0, 2.5)
    f, g = wave("f"), wave("g")
    return gs.Problem(
        minimize=x * f(x) - g(y) / y + f(x) * g(y),
        subject_to=[y / (g(y) + 5) - 0.4 <= 0, x * x * f(x) - y <= 0],
    )


def exponentials():
    x = scalar()
    f, g = wave("f"), wave("g")
    return gs.Problem(
        minimize=np.exp(f(x)) - 2 * np.exp(-g(x)) + np.log(f(x) + 9),
        subject_to=[np.sqrt(g(x) + 7) - 2.6 <= 0],
    )


def branches():
    x = scalar()
    f, g = wave("f"), wave("g")
    return gs.Problem(
        minimize=np.where(x <= 0.2, f(x), 2 * g(x) + 1) + np.where(g(x) <= 0.1, f(x), -x),
        subject_to=[np.maximum(f(x), g(x)) - abs(f(x)) <= 0.3, np.minimum(f(x), x) <= 0.5],
    )


def called_twice():
    x, y = scalar(), scalar("y")
    f = wave("f")
    return gs.Problem(minimize=f(x) - 2 * f(y), subject_to=[f(f(x) * 0.5) - f(x) <= 0.2])


def several_outputs():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    pair = box(
        "pair", lambda s: np.array([np.sin(s[0]), s[1] ** 2, s[0] * s[1]]), outputs=3, noise=0.1
    )
    after = bump("after")
    z = pair(x)
    return gs.Problem(
        minimize=z[0] + after(np.stack([z[2], x[0]])),
        subject_to=[z[1] - z[0] * x[1] <= 0.1, np.linalg.norm(z[:2]) <= 1.5, z - x[0] <= 1],
    )


def partly_bent_outputs():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    pair = box("pair", lambda s: np.array([np.sin(s[0]), 1 + s[1] ** 2]), outputs=2, noise=0.1)
    z = pair(x)
    return gs.Problem(
        minimize=2 * z[0] - z[1] ** 2, subject_to=[z[0] - 3 * z[1] <= 1, x[0] * z[0] + z[1] <= 2]
    )


def rearranged_states():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    f, g = bump("f"), bump("g")
    z = f(np.stack([x[1], x[0], x[0], x[1] * x[0] - 0.3, np.sum(x) / 3]))
    again = f(np.concatenate([x, x, [0.3]])[::-1])
    return gs.Problem(
        minimize=g(np.stack([z, x[0], x[1], z, 0.1 * again])) - z + x[0],
        subject_to=[again - z * x[0] <= 1, z + again - x[1] <= 2],
    )


def shared_nodes():
    x, y = scalar(), scalar("y")
    f = wave("f")
    z = f(x + y)
    w = z * y
    return gs.Problem(minimize=w + w**2 - z, subject_to=[w - z <= 0.2, z + y <= 0.8, -w <= 1])


def accepted_inputs():
    x, y = scalar(), scalar("y")
    f = wave("f", input_lower=-0.3, input_upper=0.6)
    g = wave("g", input_lower=-0.2)
    two = bump("two", input_upper=[0.4, 5.0])
    return gs.Problem(
        minimize=f(x) + g(2 * x - y) - two(np.stack([x, y])),
        subject_to=[
            g(f(y) * 1.5) - x <= 0.2,
            -f(3 * x) <= 0.4,
            f(x) - 2 * x <= 1,
            2 * x - f(x) <= 1,
            f(x) + 2 * x <= 1,
        ],
    )


def declared_ranges():
    x = scalar()
    f = wave("f", lower=-0.6, upper=0.5)
    g = wave("g", norm_bound=0.9, kernel=gs.SquaredExponential(0.7, 1.0), noise=0.3)
    h = wave("h", lower=0.2)
    return gs.Problem(minimize=f(x) - g(x) - h(x), subject_to=[g(f(x)) + h(x) ** 2 <= 1])


def off_its_declared_range():
    x = scalar()
    f = box("f", lambda s: 3 + 0 * s, upper=1.0, kernel=gs.SquaredExponential(2.0, 4.0))
    g = box("g", lambda s: -3 + 0 * s, lower=-1.0, kernel=gs.SquaredExponential(2.0, 4.0))
    return gs.Problem(minimize=f(x) - f(x) ** 2 + g(x), subject_to=[g(x) ** 2 - x <= 2])


def linear_kernels():
    x = gs.Variable("x", 2, lower=[-1, 0.5], upper=[2, 3])
    f = box("f", lambda s: s[0] - 2 * s[1], kernel=gs.Linear([1.0, 3.0], 1.5))
    g = box("g", lambda s: 0.3 * s, kernel=gs.Linear(1.0, 0.5))
    return gs.Problem(minimize=f(x) - x[0] ** 2, subject_to=[g(f(x)) - f(x) * x[1] <= 5])


def rough_kernels():
    x = gs.Variable("x", 2, lower=-1, upper=1)
    f = bump("f", kernel=gs.Matern(0.5, 1.0, 1.0))
    g = bump("g", kernel=gs.Matern(1.5, [0.5, 2.0], 2.0))
    h = bump("h", kernel=gs.Matern(2.5, 0.6, 0.7), noise=0.001)
    return gs.Problem(minimize=f(x) - h(x), subject_to=[g(x) - f(x) ** 2 <= 0.2, h(g(x) * x) <= 1])


def known_functions():
    x = gs.Variable("x", 2, lower=0.1, upper=1)
    f = bump("f")
    white = gs.WhiteBox(lambda v: np.sin(v[0]) + 0.5 * v[1], name="white", lipschitz=[1.0, 0.5])
    return gs.Problem(
        minimize=white(np.stack([f(x), x[0]])) + np.arctan2(x[0], f(x) + 5),
        subject_to=[x @ x + np.max(x) * f(x) <= 1.5, np.prod(x) ** f(x) <= 2],
    )


def learned():
    x = gs.Variable("x", 2, lower=[1e4, -1], upper=[1e4 + 2, 1])
    f = gs.BlackBox(lambda s: 100 + np.sin(s[0] - 1e4) * s[1], name="f", noise=0.01)
    g = gs.BlackBox(lambda s: s / 100, name="g", noise=0.01)
    return gs.Problem(minimize=f(x) + x[1], subject_to=[g(f(x)) - 2 <= 0])


PROBLEMS = {
    make.__name__: make
    for make in (
        linear_program,
        many_inputs,
        chain,
        chain_through_white_boxes,
        shifted_square,
        products_and_quotients,
        exponentials,
        branches,
        called_twice,
        several_outputs,
        partly_bent_outputs,
        rearranged_states,
        shared_nodes,
        accepted_inputs,
        declared_ranges,
        off_its_declared_range,
        linear_kernels,
        rough_kernels,
        known_functions,
        learned,
    )
}


# --- Points and boxes ---------------------------------------------------------------------------


@dataclass
class Points:
    """Plausible points: where they are among the branching variables, and what they are worth."""

    at: Tensor
    values: Tensor  # objective, then constraints


def plausible_points(
    plausible: PlausibleSet, relaxation: PlausibleRelaxation, count: int, seed: int
) -> Points:
    """Random ones: inside, on faces, and at corners of the box of (x, eta)."""
    generator = torch.Generator().manual_seed(seed)
    size = (count, len(plausible.lower))
    unit = torch.rand(size, generator=generator, dtype=torch.float64)
    pushed = torch.rand(size, generator=generator, dtype=torch.float64)
    unit = torch.where(pushed < 0.15, 0.0, torch.where(pushed > 0.85, 1.0, unit))
    points = plausible.lower + (plausible.upper - plausible.lower) * unit
    n = plausible.program.size
    outputs: list[Tensor] = []

    def resolve(call: BoxCall, states: Tensor) -> Tensor:
        lower, upper = plausible.band(call, states)
        eta = points[:, n:][:, call.columns]
        answer = (lower + upper) / 2 + eta * (upper - lower) / 2
        outputs.append(answer)
        return answer

    with torch.no_grad():
        plausible.program.run(points[:, :n], resolve)
        objective, constraints = plausible.evaluate(points)
    values = torch.cat([objective.unsqueeze(1), constraints], 1)
    branched = torch.tensor(relaxation.column_of_output >= 0)
    at = torch.cat([points[:, :n], torch.cat(outputs, 1)[:, branched]], 1)
    usable = values.isfinite().all(1) & at.isfinite().all(1)
    return Points(at[usable], values[usable])


def boxes_around(relaxation: PlausibleRelaxation, at: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """A box around each point: from the whole range down to the point itself."""
    generator = torch.Generator().manual_seed(seed + 1)
    low, high = relaxation.lower, relaxation.upper
    width = torch.where((high - low).isfinite(), high - low, 10.0)
    size = 10 ** (-7 * torch.rand(len(at), 1, generator=generator, dtype=torch.float64))
    kind = torch.rand(at.shape, generator=generator, dtype=torch.float64)
    own = torch.where(kind < 0.1, 0.0, torch.where(kind > 0.85, 2.0, 1.0)) * size * width
    place = torch.rand(at.shape, generator=generator, dtype=torch.float64)
    place = torch.where(place < 0.15, 0.0, torch.where(place > 0.85, 1.0, place))
    lower = torch.maximum(at - place * own, low)
    upper = torch.minimum(at + (1 - place) * own, high)
    # Rounding may put an output barely beyond the end of its band.
    room = 1e-3 * ROUNDING * (1 + at.abs())
    room[:, : relaxation.program.size] = 0.0
    return torch.minimum(lower, at) - room, torch.maximum(upper, at) + room


def random_weights(constraints: int, seed: int) -> Tensor:
    """The objective alone, each constraint alone, and mixtures of both kinds."""
    generator = torch.Generator().manual_seed(seed + 2)
    mixtures = torch.rand(6, 1 + constraints, generator=generator, dtype=torch.float64) ** 3
    mixtures[:3, 0] = 1.0
    mixtures[3:, 0] = 0.0
    return torch.cat([torch.eye(1 + constraints, dtype=torch.float64), 10 * mixtures])


def prepared(make, observations=7, beta=2.0, seed=0) -> tuple[PlausibleSet, PlausibleRelaxation]:
    problem = make()
    history = history_at(problem, random_design(problem, observations, seed))
    plausible = plausible_set(problem, history, beta)
    with torch.no_grad():
        return plausible, PlausibleRelaxation(plausible)


def assert_sound(
    plausible: PlausibleSet, relaxation: PlausibleRelaxation, count: int = PAIRS, seed: int = 0
) -> None:
    points = plausible_points(plausible, relaxation, count, seed)
    assert len(points.at) > count / 4
    lower, upper = boxes_around(relaxation, points.at, seed)
    weights = random_weights(relaxation.constraints, seed)
    with torch.no_grad():
        boxes = relaxation.over(lower, upper)
        bounds, duals = boxes.bound(weights), boxes.dual(weights)
    room = ROUNDING * (1 + points.at.abs())
    assert not boxes.empty.any()
    assert (boxes.lower <= points.at + room).all()
    assert (points.at <= boxes.upper + room).all()
    assert not bounds.isnan().any()
    sums = points.values @ weights.T
    size = 1 + points.values.abs() @ weights.T
    assert (bounds <= sums + ROUNDING * size).all()
    assert (duals <= sums + ROUNDING * size).all()


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_plausible_point_is_below_the_bound_of_its_box(name):
    for observations, beta, seed in ((7, 2.0, 0), (1, 0.5, 0), (7, 5.0, 3), (7, 5.0, 23)):
        plausible, relaxation = prepared(PROBLEMS[name], observations, beta, seed)
        assert_sound(plausible, relaxation, 1000, seed)


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_plausible_point_is_below_the_bound_of_the_whole_range(name):
    plausible, relaxation = prepared(PROBLEMS[name], seed=1)
    points = plausible_points(plausible, relaxation, 4000, 5)
    weights = random_weights(relaxation.constraints, 5)
    with torch.no_grad():
        root = relaxation.over(relaxation.lower.unsqueeze(0), relaxation.upper.unsqueeze(0))
        bounds = root.bound(weights)[0]
    assert not root.empty.any()
    size = 1 + (points.values.abs() @ weights.T).amax(0)
    assert (bounds <= (points.values @ weights.T).amin(0) + ROUNDING * size).all()


def test_exact_data_and_many_observations_are_no_exception():
    for make in (linear_program, chain, rough_kernels):
        problem = make()
        for black_box in problem.boxes:
            black_box.noise = np.zeros(black_box.outputs)
        history = history_at(problem, random_design(problem, 40, 3))
        plausible = plausible_set(problem, history, 2.0)
        with torch.no_grad():
            assert_sound(plausible, PlausibleRelaxation(plausible), 800)


@pytest.mark.parametrize(
    "name",
    [
        "linear_program",
        "many_inputs",
        "chain",
        "chain_through_white_boxes",
        "shifted_square",
        "products_and_quotients",
        "exponentials",
        "several_outputs",
        "accepted_inputs",
        "linear_kernels",
        "rough_kernels",
        "known_functions",
    ],
)
def test_the_bound_closes_as_boxes_shrink_around_a_point(name):
    # Below the best that any eta makes of the outputs without a box of their own.
    plausible, relaxation = prepared(PROBLEMS[name])
    weights = torch.zeros(1, 1 + relaxation.constraints, dtype=torch.float64)
    weights[0, 0] = 1.0
    points = plausible_points(plausible, relaxation, 60, 2)
    size = relaxation.upper - relaxation.lower
    bounds = []
    for width in (1e-2, 1e-5):
        lower = torch.maximum(points.at - width * size, relaxation.lower)
        upper = torch.minimum(points.at + width * size, relaxation.upper)
        with torch.no_grad():
            bounds.append(relaxation.over(lower, upper).bound(weights)[:, 0])
    assert (bounds[1] >= bounds[0] - 1e-9).all()
    # A hundredth of the first-order error is left at most, the next width would show no more.
    lower, upper = points.at - 1e-7 * size, points.at + 1e-7 * size
    with torch.no_grad():
        limit = relaxation.over(lower, upper).bound(weights)[:, 0]
    assert (limit - bounds[1]).max() < 2e-2
    assert (limit - bounds[1]).median() < 1e-3
    assert (points.values[:, 0] - bounds[1]).min() < 0.2


def test_at_a_single_point_the_bound_of_an_affine_problem_is_the_end_of_its_band():
    plausible, relaxation = prepared(linear_program)
    points = plausible_points(plausible, relaxation, 40, 3)
    weights = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]], dtype=torch.float64)
    with torch.no_grad():
        bounds = relaxation.over(points.at, points.at).bound(weights)
        ends = []
        for corner in ((-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)):
            eta = torch.tensor(corner, dtype=torch.float64).expand(len(points.at), 2)
            objective, constraints = plausible.evaluate(torch.cat([points.at, eta], 1))
            ends.append(torch.stack([objective, constraints[:, 2]], 1))
    least = torch.stack(ends).amin(0)
    np.testing.assert_allclose(bounds, least, atol=1e-6)


def test_variables_far_from_zero_in_a_narrow_range_leave_a_valid_bound():
    # The middle of a box is rounded; what that leaves uncovered counts with the band's slope.
    start, step = 1e9, float(np.spacing(1e9))
    x = scalar(lower=start, upper=start + 1e-3)
    f = gs.BlackBox(lambda s: np.sin((s - start) * 3e3), name="f", noise=1e-3)
    problem = gs.Problem(minimize=f(x))
    plausible = plausible_set(problem, history_at(problem, [[start + i * 1e-4] for i in range(11)]))
    lower = start + step * torch.arange(0, 8000, 7).double()
    upper = lower + 5 * step
    with torch.no_grad():
        boxes = PlausibleRelaxation(plausible).over(lower.unsqueeze(1), upper.unsqueeze(1))
        bounds = boxes.bound(torch.ones(1, 1).double())[:, 0]
        for end in (lower, upper):
            least, _ = plausible.evaluate(torch.stack([end, -torch.ones_like(end)], 1))
            assert (bounds <= least + ROUNDING).all()


def test_in_exact_arithmetic_no_bound_of_an_affine_problem_is_above_its_minimum():
    generator = np.random.default_rng(4)
    x = gs.Variable("x", 5, lower=-1e3, upper=1e3)
    slopes = generator.standard_normal((3, 5)) * 10.0 ** generator.integers(-3, 6, (3, 5))
    problem = gs.Problem(minimize=slopes[0] @ x + 1 / 3, subject_to=[slopes[1:] @ x - 1e7 <= 0])
    constants = [Fraction(1 / 3), Fraction(-1e7), Fraction(-1e7)]
    center = generator.uniform(-1e3, 1e3, (200, 5))
    half = 10.0 ** generator.uniform(-12, 2, (200, 1)) * generator.uniform(0, 1, (200, 5))
    lower, upper = center - half, center + half
    relaxation = PlausibleRelaxation(PlausibleSet(problem.program, {}, {}))
    with torch.no_grad():
        bounds = relaxation.over(torch.tensor(lower), torch.tensor(upper)).bound(
            torch.eye(3, dtype=torch.float64)
        )
    for low, high, row in zip(lower.tolist(), upper.tolist(), bounds.tolist(), strict=True):
        for constant, slope, bound in zip(constants, slopes.tolist(), row, strict=True):
            exact = constant + sum(
                min(Fraction(c) * Fraction(a), Fraction(c) * Fraction(b))
                for c, a, b in zip(slope, low, high, strict=True)
            )
            assert Fraction(bound) <= exact
            assert float(exact - Fraction(bound)) < 1e-3


def test_the_centre_and_half_widths_of_a_box_cover_it_in_spite_of_rounding():
    generator = torch.Generator().manual_seed(0)
    lower = torch.randn(2000, 1, generator=generator, dtype=torch.float64)
    lower = lower * 10 ** (6 * torch.rand(2000, 1, generator=generator, dtype=torch.float64) - 3)
    width = 10 ** (-17 * torch.rand(2000, 1, generator=generator, dtype=torch.float64))
    upper = lower + width * lower.abs()
    center, half = center_and_half(Interval(lower, upper))
    rows = zip(*(v.flatten().tolist() for v in (lower, upper, center, half)), strict=True)
    for low, high, middle, reach in rows:
        assert Fraction(middle) - Fraction(reach) <= Fraction(low)
        assert Fraction(middle) + Fraction(reach) >= Fraction(high)


# --- Where something is infinite ----------------------------------------------------------------


def objective_bound(plausible: PlausibleSet) -> tuple[float, float]:
    """The root's bound on the objective, and the least of many plausible points."""
    with torch.no_grad():
        relaxation = PlausibleRelaxation(plausible)
        root = relaxation.over(relaxation.lower.unsqueeze(0), relaxation.upper.unsqueeze(0))
        weights = torch.zeros(1, 1 + relaxation.constraints, dtype=torch.float64)
        weights[0, 0] = 1.0
        bound = float(root.bound(weights)[0, 0])
        unit = torch.rand(
            4000, len(plausible.lower), generator=torch.Generator().manual_seed(0)
        ).double()
        objective, _ = plausible.evaluate(
            plausible.lower + (plausible.upper - plausible.lower) * unit
        )
    return bound, float(objective[objective.isfinite()].min())


@pytest.mark.parametrize("kernel", [SE, gs.Matern(0.5, 1.0, 1.0), gs.Matern(2.5, 1.0, 1.0)])
@pytest.mark.parametrize(
    ("state", "lower"), [(np.log, 0.0), (lambda x: 1 / x, -1.0), (lambda x: 1 / x**2, -1.0)]
)
def test_states_without_bound_leave_a_valid_bound(kernel, state, lower):
    x = scalar(lower=lower)
    f = box("f", lambda s: -1 + 0 * s, kernel=kernel)
    problem = gs.Problem(minimize=f(state(x)))
    bound, least = objective_bound(plausible_set(problem, history_at(problem, [[0.5], [0.9]])))
    assert bound <= least
    assert bound > -100  # a radial kernel's functions are bounded


@pytest.mark.parametrize("kernel", [SE, gs.Matern(0.5), gs.Matern(1.5), gs.Matern(2.5)])
def test_states_too_large_to_square_leave_a_valid_bound(kernel):
    x = scalar(lower=0.0)
    known = {"lengthscale": 1.0, "variance": 1.0}
    smoothness = (kernel.smoothness,) if isinstance(kernel, gs.Matern) else ()
    f = box("f", lambda s: np.cos(s) - 1, kernel=type(kernel)(*smoothness, **known))
    problem = gs.Problem(minimize=f(np.exp(500 * x)))
    bound, least = objective_bound(plausible_set(problem, history_at(problem, [[0.0], [0.001]])))
    assert bound <= least


def test_a_branched_output_without_bound_leaves_a_valid_bound():
    x = scalar()
    f = box("f", lambda s: -s, kernel=gs.Linear(1.0, 1.0))
    z = f(1 / x)
    problem = gs.Problem(minimize=z, subject_to=[z**2 <= 25])
    plausible = plausible_set(problem, history_at(problem, [[0.5], [0.7]]))
    with torch.no_grad():
        relaxation = PlausibleRelaxation(plausible)
        limits = Limits(1e-3, 0.0, 500, None, 32)
        proof = branch_and_bound(
            relaxation, torch.ones(2).double(), torch.inf, limits, lambda _a, _b: torch.inf
        )
    assert proof.status in (ProofStatus.GAP, ProofStatus.UNKNOWN)
    assert proof.lower <= -4.9


def test_where_nothing_is_known_of_the_states_the_declared_range_still_counts():
    # The band lies wholly above its declared range: both its ends come to rest on the range.
    x = scalar()
    f = box("f", lambda s: -2 + 0 * s, kernel=gs.SquaredExponential(1.0, 0.01), upper=-1.0)
    problem = gs.Problem(minimize=f(1 / x))
    bound, least = objective_bound(plausible_set(problem, history_at(problem, [[0.5]]), beta=1.0))
    assert bound <= least
    g = box("g", lambda s: 2 + 0 * s, kernel=gs.SquaredExponential(1.0, 0.01), lower=1.0)
    problem = gs.Problem(minimize=-g(1 / x))
    bound, least = objective_bound(plausible_set(problem, history_at(problem, [[0.5]]), beta=1.0))
    assert bound <= least


def test_a_declared_range_outside_the_norm_bound_leaves_a_valid_bound():
    x = scalar()
    kernel = gs.SquaredExponential(1.0, 1.0)
    above = box("above", lambda s: 0.9 + 0 * s, kernel=kernel, norm_bound=1.0, lower=2.0)
    below = box("below", lambda s: -0.9 + 0 * s, kernel=kernel, norm_bound=1.0, upper=-2.0)
    for objective in (-above(x), above(x), below(x), -below(x)):
        problem = gs.Problem(minimize=objective)
        bound, least = objective_bound(plausible_set(problem, history_at(problem, [[0.0]])))
        assert bound <= least + ROUNDING


def test_calls_that_only_lowering_knows_to_be_equal_leave_a_valid_bound():
    # The plausible set gives f(x*x) and f(square(x)) an eta each; lowering knows that they are one
    # call, whose values are equal in truth, so the bound may lie above the auxiliary optimum.
    x = scalar()
    f = wave("f")
    first, second = f(x * x), f(np.square(x))
    for objective in (5 * (first - second) + x, x - (first - second) ** 2):
        problem = gs.Problem(minimize=objective)
        plausible = plausible_set(problem, history_at(problem, [[0.5], [0.7]]))
        bound, _ = objective_bound(plausible)
        assert bound <= float(plausible.program.lower[0])  # the difference is 0, x is left
        relaxation = PlausibleRelaxation(plausible)
        starts = relaxation.starts(relaxation.lower.unsqueeze(0), relaxation.upper.unsqueeze(0))
        assert starts.shape[1] == len(plausible.lower)


# --- What it says of itself ---------------------------------------------------------------------


def test_branched_on_are_the_variables_and_the_outputs_that_something_bends():
    _, relaxation = prepared(several_outputs)
    assert (relaxation.column_of_output >= 0).tolist() == [True, True, True, False]
    _, relaxation = prepared(linear_program)
    assert (relaxation.column_of_output >= 0).tolist() == [False, False]
    assert relaxation.groups == [[0, 1]]
    _, relaxation = prepared(chain)
    assert relaxation.groups == [[0], [1]]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("size", [1.0, 1e4])
def test_the_range_of_a_branched_output_is_that_of_its_band(size, sign):
    x = scalar()
    kernel = gs.SquaredExponential(3.0, size**2)
    f = box("f", lambda s: sign * size * (1 + np.exp(s)), kernel=kernel, noise=1e-3 * size)
    problem = gs.Problem(minimize=f(x) ** 2)
    for design in ([[-1.0], [0.0], [1.0]], [[-1.0], [1.0]], [[-0.9], [0.3], [1.0], [0.8]]):
        plausible = plausible_set(problem, history_at(problem, design))
        with torch.no_grad():
            relaxation = PlausibleRelaxation(plausible)
            lower, upper = plausible.band(
                plausible.program.calls[0], torch.linspace(-1, 1, 2001).double().unsqueeze(1)
            )
        assert relaxation.lower[1] <= lower.min() + 1e-10 * size
        assert relaxation.upper[1] >= upper.max() - 1e-10 * size
        assert relaxation.lower[1] >= lower.min() - 0.05 * size
        assert relaxation.upper[1] <= upper.max() + 0.05 * size


def test_a_box_of_outputs_that_no_band_reaches_is_empty():
    plausible, relaxation = prepared(chain)
    low, high = relaxation.lower.clone(), relaxation.upper.clone()
    low[1], high[1] = high[1] + 1, high[1] + 2
    assert relaxation.over(low.unsqueeze(0), high.unsqueeze(0)).empty.all()
    points = plausible_points(plausible, relaxation, 200, 0)
    assert (points.at[:, 1] < low[1]).all()


def test_starts_are_points_of_the_problem_in_their_boxes():
    plausible, relaxation = prepared(chain)
    points = plausible_points(plausible, relaxation, 50, 1)
    lower = torch.maximum(points.at - 1e-3, relaxation.lower)
    upper = torch.minimum(points.at + 1e-3, relaxation.upper)
    starts = relaxation.starts(lower, upper)
    assert (starts >= plausible.lower).all()
    assert (starts <= plausible.upper).all()
    x = starts[:, :1]
    inside = (x >= lower[:, 0]) & (x <= upper[:, 0])
    assert inside.any(0).all()  # every box has one
    assert inside.any(1).all()  # and all are in a box


def test_what_is_known_too_little_about_is_named():
    x = scalar()
    f = wave("f")
    secret = gs.WhiteBox(lambda v: v, name="secret")
    problem = gs.Problem(minimize=secret(f(x)))
    plausible = plausible_set(problem, history_at(problem, [[0.1]]))
    with pytest.raises(NoRelaxation, match=r"white box 'secret' has neither"):
        PlausibleRelaxation(plausible)
    problem = gs.Problem(minimize=f(x))
    with pytest.raises(NoRelaxation, match=r"black box 'f' has a model of its own"):
        PlausibleRelaxation(fixed_set(problem, {"f": Fixed(0.0, 1.0)}))
    with pytest.raises(NoRelaxation):
        relaxed(fixed_set(problem, {"f": Fixed(0.0, 1.0)})).relax()

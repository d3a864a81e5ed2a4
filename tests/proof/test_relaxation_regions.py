"""No plausible point lies below the bound of its region, or in a region called empty.

A false "infeasible" or a lower bound above the truth is the worst bug this library can have, so
thousands of plausible points, each with a region around it, are compared with the bounds.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import Tensor

import grisaille as gs
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.language.enclosures.interval import Interval
from grisaille.proof.relaxation import PlausibleRelaxation
from grisaille.search.branch_and_bound import Limits, branch_and_bound
from grisaille.search.search_problem import ProofStatus
from tests.belief.belief_helpers import history_at, plausible_set, random_design
from tests.proof.proof_helpers import (
    PROBLEMS,
    SE,
    black_box,
    chain,
    linear_program,
    plausible_points,
    prepared,
    rough_kernels,
    scalar,
    wave,
)

pytestmark = pytest.mark.slow


PAIRS = 1500
# What the posterior's own rounding may do to a plausible point.
ROUNDING = 1e-9


def regions_around(relaxation: PlausibleRelaxation, at: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """A region around each point: from the whole range down to the point itself."""
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


def assert_sound(
    plausible: PlausibleSet, relaxation: PlausibleRelaxation, count: int = PAIRS, seed: int = 0
) -> None:
    points = plausible_points(plausible, relaxation, count, seed)
    assert len(points.at) > count / 4
    lower, upper = regions_around(relaxation, points.at, seed)
    weights = random_weights(relaxation.constraints, seed)
    with torch.no_grad():
        regions = relaxation.over(lower, upper)
        bounds, duals = regions.bound(weights), regions.dual(weights)
    room = ROUNDING * (1 + points.at.abs())
    assert not regions.empty.any()
    assert (regions.lower <= points.at + room).all()
    assert (points.at <= regions.upper + room).all()
    assert not bounds.isnan().any()
    sums = points.values @ weights.T
    size = 1 + points.values.abs() @ weights.T
    assert (bounds <= sums + ROUNDING * size).all()
    assert (duals <= sums + ROUNDING * size).all()


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_plausible_point_is_below_the_bound_of_its_black_box(name):
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
        for each in problem.boxes:
            each.noise = np.zeros(each.outputs)
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
def test_the_bound_closes_as_regions_shrink_around_a_point(name):
    # Below the best that any eta makes of the outputs without a region of their own.
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
    # The middle of a region is rounded; what that leaves uncovered counts with the band's slope.
    start, step = 1e9, float(np.spacing(1e9))
    x = scalar(lower=start, upper=start + 1e-3)
    f = gs.BlackBox(lambda s: np.sin((s - start) * 3e3), name="f", noise=1e-3)
    problem = gs.Problem(minimize=f(x))
    plausible = plausible_set(problem, history_at(problem, [[start + i * 1e-4] for i in range(11)]))
    lower = start + step * torch.arange(0, 8000, 7).double()
    upper = lower + 5 * step
    with torch.no_grad():
        regions = PlausibleRelaxation(plausible).over(lower.unsqueeze(1), upper.unsqueeze(1))
        bounds = regions.bound(torch.ones(1, 1).double())[:, 0]
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
    f = black_box("f", lambda s: -1 + 0 * s, kernel=kernel)
    problem = gs.Problem(minimize=f(state(x)))
    bound, least = objective_bound(plausible_set(problem, history_at(problem, [[0.5], [0.9]])))
    assert bound <= least
    assert bound > -100  # a radial kernel's functions are bounded


@pytest.mark.parametrize("kernel", [SE, gs.Matern(0.5), gs.Matern(1.5), gs.Matern(2.5)])
def test_states_too_large_to_square_leave_a_valid_bound(kernel):
    x = scalar(lower=0.0)
    known = {"lengthscale": 1.0, "variance": 1.0}
    smoothness = (kernel.smoothness,) if isinstance(kernel, gs.Matern) else ()
    f = black_box("f", lambda s: np.cos(s) - 1, kernel=type(kernel)(*smoothness, **known))
    problem = gs.Problem(minimize=f(np.exp(500 * x)))
    bound, least = objective_bound(plausible_set(problem, history_at(problem, [[0.0], [0.001]])))
    assert bound <= least


def test_a_branched_output_without_bound_leaves_a_valid_bound():
    x = scalar()
    f = black_box("f", lambda s: -s, kernel=gs.Linear(1.0, 1.0))
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
    f = black_box("f", lambda s: -2 + 0 * s, kernel=gs.SquaredExponential(1.0, 0.01), upper=-1.0)
    problem = gs.Problem(minimize=f(1 / x))
    bound, least = objective_bound(plausible_set(problem, history_at(problem, [[0.5]]), beta=1.0))
    assert bound <= least
    g = black_box("g", lambda s: 2 + 0 * s, kernel=gs.SquaredExponential(1.0, 0.01), lower=1.0)
    problem = gs.Problem(minimize=-g(1 / x))
    bound, least = objective_bound(plausible_set(problem, history_at(problem, [[0.5]]), beta=1.0))
    assert bound <= least


def test_a_declared_range_outside_the_norm_bound_leaves_a_valid_bound():
    x = scalar()
    kernel = gs.SquaredExponential(1.0, 1.0)
    above = black_box("above", lambda s: 0.9 + 0 * s, kernel=kernel, norm_bound=1.0, lower=2.0)
    below = black_box("below", lambda s: -0.9 + 0 * s, kernel=kernel, norm_bound=1.0, upper=-2.0)
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


def test_a_region_of_outputs_that_no_band_reaches_is_empty():
    plausible, relaxation = prepared(chain)
    low, high = relaxation.lower.clone(), relaxation.upper.clone()
    low[1], high[1] = high[1] + 1, high[1] + 2
    assert relaxation.over(low.unsqueeze(0), high.unsqueeze(0)).empty.all()
    points = plausible_points(plausible, relaxation, 200, 0)
    assert (points.at[:, 1] < low[1]).all()


# --- Work that is not done ----------------------------------------------------------------------


def band_in_three_variables(sign=1.0):
    x = gs.Variable("x", 3, lower=-1, upper=1)
    f = gs.BlackBox(lambda x: x[0] * x[1] - x[2], name="f", kernel=SE, noise=0.05)
    return gs.Problem(minimize=sign * f(x) + x[0])


def halves_of(relaxation, cuts=6):
    lower, upper = relaxation.lower.unsqueeze(0), relaxation.upper.unsqueeze(0)
    for cut in range(cuts):
        middle = (lower + upper) / 2
        left, right = upper.clone(), lower.clone()
        left[:, cut % 3] = right[:, cut % 3] = middle[:, cut % 3]
        lower, upper = torch.cat([lower, right]), torch.cat([left, upper])
    return lower, upper


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_regions_that_reach_a_target_are_not_bounded_again_and_others_are(sign):
    _, relaxation = prepared(lambda: band_in_three_variables(sign), observations=12)
    ends = halves_of(relaxation)
    objective = torch.ones(1, 1, dtype=torch.float64)
    tight = relaxation.over(*ends).bound(objective).squeeze(1)
    target = float(tight.median())
    found = relaxation.over(*ends).bound(objective, target).squeeze(1)
    assert torch.equal((found >= target), (tight >= target))
    np.testing.assert_allclose(found[found < target], tight[found < target], atol=1e-9)
    assert (found <= tight + 1e-9).all()
    assert (found < tight - 1e-6).any()  # some work was saved


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_where_one_end_of_a_band_counts_the_other_one_is_a_constant(sign):
    plausible, relaxation = prepared(lambda: band_in_three_variables(sign), observations=12)
    assert_sound(plausible, relaxation)
    (band,) = relaxation.bands.values()
    lower, upper = halves_of(relaxation)
    found = band.quadratics(Interval(lower, upper), (lower + upper) / 2)
    constant = 1 if sign > 0 else 0
    assert not found.slope[constant].any()
    assert found.slope[1 - constant].any()
    mean, deviation = relaxation.beliefs["f"].predict(lower)
    ends = torch.stack([mean - 2 * deviation, -mean - 2 * deviation])
    assert (found.constant[constant] <= ends[constant].T).all()


@pytest.mark.parametrize("make", [chain, linear_program], ids=lambda make: make.__name__)
def test_both_ends_count_where_outputs_are_branched_on_or_have_weights_of_both_signs(make):
    _, relaxation = prepared(make)
    low = relaxation.lower.unsqueeze(0)
    found = relaxation.over(low, relaxation.upper.unsqueeze(0))
    assert slice(0, 1) not in found.needed_sides().values()


def test_a_mean_alone_is_bounded_once():
    _, relaxation = prepared(band_in_three_variables, observations=12, beta=0.0)
    assert not relaxation.bounds_twice
    assert prepared(band_in_three_variables, observations=12)[1].bounds_twice

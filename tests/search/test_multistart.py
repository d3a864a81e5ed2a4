"""Multi-start search on problems whose answers are known, or found by other means."""

import itertools

import numpy as np
import pytest
import torch
from scipy.optimize import linprog, minimize

import grisaille as gs
from grisaille.errors import ModelError
from grisaille.search.search_problem import SearchProblem
from tests.search.search_helpers import (
    Counting,
    assert_honest,
    no_hints,
    reference_minimum,
    search_problem,
)

pytestmark = pytest.mark.slow


def solve(problem, seed=0, solver=None, hints=None):
    solver = gs.MultiStart() if solver is None else solver
    solution = solver.solve(problem, no_hints(problem) if hints is None else hints, seed)
    assert_honest(problem, solution, tolerance=1e-5)
    return solution


def row(*values):
    return torch.tensor(values, dtype=torch.float64)


# --- closed forms --------------------------------------------------------------------------------
def rosen_suzuki():
    """Minimum -44 at (0, 1, 2, -1), with multipliers 1, 0 and 2."""
    return search_problem(
        [-3] * 4,
        [3] * 4,
        lambda p: p.square() @ row(1, 1, 2, 1) + p @ row(-5, -5, -21, 7),
        [
            lambda p: p.square() @ row(1, 1, 1, 1) + p @ row(1, -1, 1, -1) - 8,
            lambda p: p.square() @ row(1, 2, 1, 2) + p @ row(-1, 0, 0, -1) - 10,
            lambda p: p.square() @ row(2, 1, 1, 0) + p @ row(2, -1, 0, -1) - 5,
        ],
    )


@pytest.mark.parametrize("seed", range(3))
def test_rosen_suzuki_is_solved(seed):
    solution = solve(rosen_suzuki(), seed)
    assert solution.feasible
    assert solution.value == pytest.approx(-44, abs=1e-6)
    np.testing.assert_allclose(solution.point, [0, 1, 2, -1], atol=1e-3)


def test_the_answer_is_stationary_with_the_known_multipliers():
    problem = rosen_suzuki()
    point = solve(problem).point.clone().requires_grad_()
    objective, constraints = problem.evaluate(point[None])
    columns = [objective[0], constraints[0, 0], constraints[0, 2]]  # the second is not active
    slope, first, third = (torch.autograd.grad(c, point, retain_graph=True)[0] for c in columns)
    found = np.linalg.lstsq(torch.stack([first, third], 1).numpy(), -slope.numpy())[0]
    np.testing.assert_allclose(found, [1, 2], atol=1e-2)
    np.testing.assert_allclose(constraints.detach()[0], [0, -1, 0], atol=1e-2)


def test_the_nearest_point_of_a_disc_is_found():
    # distance from (3, 4) to the unit disc is 4, at (3/5, 4/5), multiplier 4
    problem = search_problem(
        [-2, -2],
        [2, 2],
        lambda p: (p - row(3, 4)).square().sum(1),
        [lambda p: p.square().sum(1) - 1],
    )
    solution = solve(problem)
    assert solution.value == pytest.approx(16, abs=1e-4)
    np.testing.assert_allclose(solution.point, [0.6, 0.8], atol=1e-4)


def test_one_dimension_with_many_valleys_is_solved():
    def waves(p):
        return torch.sin(20 * p[:, 0]) + 0.1 * (p[:, 0] - 1.3).square()

    problem = search_problem(-3, 3, waves)
    fine = np.linspace(-3, 3, 2_000_001)
    assert solve(problem).value <= (np.sin(20 * fine) + 0.1 * (fine - 1.3) ** 2).min() + 1e-9


# --- convex problems against other solvers -------------------------------------------------------
@pytest.mark.parametrize("seed", range(4))
def test_linear_programs_are_solved(seed):
    rng = np.random.default_rng(seed)
    matrix, cost = rng.normal(size=(30, 20)), rng.normal(size=20)
    bound = matrix @ rng.uniform(-0.5, 0.5, 20) + rng.uniform(0, 1, 30)
    expected = linprog(cost, A_ub=matrix, b_ub=bound, bounds=[(-1, 1)] * 20)
    rows = [
        lambda p, a=a, b=b: p @ a - b
        for a, b in zip(torch.tensor(matrix), torch.tensor(bound), strict=True)
    ]
    problem = search_problem([-1] * 20, [1] * 20, lambda p: p @ row(*cost), rows)
    solution = solve(problem, seed)
    assert solution.feasible
    assert solution.value == pytest.approx(expected.fun, abs=1e-5)


def test_an_infeasible_linear_program_is_not_called_feasible():
    # sum(x) >= 25 cannot be, with 20 entries of at most 1
    problem = search_problem([-1] * 20, [1] * 20, lambda p: p.sum(1), [lambda p: 25 - p.sum(1)])
    solution = solve(problem)
    assert not solution.feasible
    assert solution.violation == pytest.approx(5.0, rel=1e-4)


@pytest.mark.parametrize("seed", range(2))
def test_forty_dimensions_with_active_bounds_are_solved(seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(40, 40))
    hessian, slope = root @ root.T / 40 + 0.1 * np.eye(40), 3 * rng.normal(size=40)
    expected = minimize(
        lambda x: x @ hessian @ x / 2 + slope @ x,
        np.zeros(40),
        jac=lambda x: hessian @ x + slope,
        bounds=[(-1, 1)] * 40,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    assert (np.abs(expected.x) == 1).sum() > 10
    h, g = torch.tensor(hessian), torch.tensor(slope)
    problem = search_problem([-1] * 40, [1] * 40, lambda p: ((p @ h) * p).sum(1) / 2 + p @ g)
    assert solve(problem, seed).value == pytest.approx(expected.fun, rel=1e-6)


def test_rosenbrock_s_valley_is_followed_through_forty_dimensions():
    def valley(p):
        return (100 * (p[:, 1:] - p[:, :-1] ** 2).square() + (1 - p[:, :-1]).square()).sum(1)

    problem = search_problem([-2] * 40, [2] * 40, valley)
    solution = solve(problem, solver=gs.MultiStart(starts=4, samples=512, iterations=400))
    assert solution.value < 1e-3
    np.testing.assert_allclose(solution.point, 1.0, atol=0.05)


def test_thirty_constraints_in_twenty_dimensions_that_are_not_linear_are_met():
    # the nearest point of the intersection of thirty balls
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(30, 20)) * 0.1
    target = row(*rng.normal(size=20))
    rows = [lambda p, c=c: (p - c).square().sum(1) - 1 for c in torch.tensor(centers)]
    problem = search_problem([-2] * 20, [2] * 20, lambda p: (p - target).square().sum(1), rows)
    solution = solve(problem)
    expected = minimize(
        lambda x: ((x - target.numpy()) ** 2).sum(),
        np.zeros(20),
        jac=lambda x: 2 * (x - target.numpy()),
        constraints=[
            {
                "type": "ineq",
                "fun": lambda x, c=c: 1 - ((x - c) ** 2).sum(),
                "jac": lambda x, c=c: -2 * (x - c),
            }
            for c in centers
        ],
        method="SLSQP",
        options={"ftol": 1e-12},
    )
    assert expected.success
    assert solution.feasible
    assert solution.value == pytest.approx(expected.fun, rel=1e-5)


# --- many valleys, against a grid ----------------------------------------------------------------
def branin(p):
    x, y = p[:, 0], p[:, 1]
    bowl = (y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6).square()
    return bowl + 10 * (1 - 1 / (8 * np.pi)) * torch.cos(x) + 10


NONCONVEX = {
    "branin": (lambda: search_problem([-5, 0], [10, 15], branin)),
    "camel": lambda: search_problem(
        [-3, -2],
        [3, 2],
        lambda p: (
            (4 - 2.1 * p[:, 0] ** 2 + p[:, 0] ** 4 / 3) * p[:, 0] ** 2
            + p[:, 0] * p[:, 1]
            + (-4 + 4 * p[:, 1] ** 2) * p[:, 1] ** 2
        ),
    ),
    "branin outside a ring": lambda: search_problem(
        [-5, 0], [10, 15], branin, [lambda p: 20 - (p - row(3, 3)).square().sum(1)]
    ),
    # Gardner et al.: three disconnected feasible islands
    "islands": lambda: search_problem(
        [0, 0],
        [6, 6],
        lambda p: torch.sin(p[:, 0]) + p[:, 1],
        [lambda p: torch.sin(p[:, 0]) * torch.sin(p[:, 1]) + 0.95],
    ),
    # Gramacy et al.: one local minimum at each of three kinks
    "kinks": lambda: search_problem(
        [0, 0],
        [1, 1],
        lambda p: p.sum(1),
        [
            lambda p: (
                1.5
                - p[:, 0]
                - 2 * p[:, 1]
                - torch.sin(2 * np.pi * (p[:, 0] ** 2 - 2 * p[:, 1])) / 2
            ),
            lambda p: p.square().sum(1) - 1.5,
        ],
    ),
    "rastrigin": lambda: search_problem(
        [-5, -4], [4, 5], lambda p: (p**2 - 10 * torch.cos(2 * np.pi * p) + 10).sum(1)
    ),
    "eggs": lambda: search_problem(
        [-2, -2],
        [2, 2],
        lambda p: torch.cos(5 * p[:, 0]) * torch.cos(5 * p[:, 1]) + 0.1 * p.sum(1),
        [lambda p: torch.cos(7 * p[:, 0] - 2 * p[:, 1]) - 0.5],
    ),
}


@pytest.mark.parametrize("name", NONCONVEX)
@pytest.mark.parametrize("seed", range(2))
def test_no_point_of_a_fine_grid_beats_the_answer(name, seed):
    problem = NONCONVEX[name]()
    solution = solve(problem, seed)
    assert solution.feasible
    fine = reference_minimum(problem, 1001)
    assert solution.value <= fine + 1e-5
    assert solution.value >= fine - 0.2  # and the grid is fine enough to compare with


# --- jumps ---------------------------------------------------------------------------------------
def test_steps_that_no_gradient_sees_are_descended():
    problem = search_problem(
        [-4, -4], [4, 4], lambda p: torch.floor(p.abs() * 3).sum(1), continuous=False
    )
    assert solve(problem).value == 0.0


def test_the_best_side_of_a_jump_is_found():
    # falls to -1 at x = 0.7, where it jumps up to 1: the infimum is at the jump itself
    problem = search_problem(
        [0, 0],
        [1, 1],
        lambda p: torch.where(p[:, 0] <= 0.7, -p[:, 0] / 0.7, 1.0) + (p[:, 1] - 0.3).square(),
        continuous=False,
    )
    solution = solve(problem)
    assert solution.value == pytest.approx(-1, abs=1e-3)
    assert solution.point[0] <= 0.7


def test_a_constraint_that_jumps_is_met():
    # allowed only where floor(4 x) is odd: x in [1/4, 1/2) or [3/4, 1); pulled to 0.6
    problem = search_problem(
        [0, 0],
        [1, 1],
        lambda p: (p - row(0.6, 0.5)).square().sum(1),
        [lambda p: 0.5 - torch.floor(4 * p[:, 0]) % 2],
        continuous=False,
    )
    solution = solve(problem)
    assert solution.feasible
    assert solution.value == pytest.approx(0.01, abs=1e-3)


def test_jumps_are_searched_at_finer_scales():
    def jagged(p):
        return torch.floor(1000 * (p - row(0.3217, 0.7719)).abs()).sum(1)

    rough, told = (
        gs.MultiStart(6, 256, 1).solve(p, no_hints(p), 0)
        for p in (
            search_problem([0, 0], [1, 1], jagged, continuous=True),
            search_problem([0, 0], [1, 1], jagged, continuous=False),
        )
    )
    assert told.value < rough.value


# --- flat and thin -------------------------------------------------------------------------------
def test_a_hollow_in_a_plain_is_found():
    # flat but for a bowl of radius 0.1, 0.8 % of the area
    def hollow(p):
        return ((p - row(0.37, 0.81)).square().sum(1) - 0.01).clamp_max(0)

    assert solve(search_problem([0, 0], [1, 1], hollow)).value == pytest.approx(-0.01, abs=1e-8)


def test_a_locally_constant_problem_without_any_gradient_is_answered():
    problem = search_problem([0, 0], [9, 9], lambda p: p.detach().round().sum(1), continuous=False)
    assert solve(problem).value == 0.0


@pytest.mark.parametrize("thickness", [1e-2, 1e-4, 1e-6])
def test_a_thin_ring_is_kept_to(thickness):
    # within `thickness` of the unit circle, the lowest x + y is -sqrt(2 (1 + thickness))
    problem = search_problem(
        [-2, -2],
        [2, 2],
        lambda p: p.sum(1),
        [
            lambda p: p.square().sum(1) - 1 - thickness,
            lambda p: 1 - thickness - p.square().sum(1),
        ],
    )
    solution = solve(problem)
    assert solution.feasible
    assert solution.value == pytest.approx(-np.sqrt(2 * (1 + thickness)), abs=1e-5)


def test_equalities_written_as_two_inequalities_are_met():
    # x + y + z = 1 and x = y: (a, a, 1 - 2a) is nearest to (1, 0, 0) where 12 a = 6
    target = row(1.0, 0.0, 0.0)
    equalities = [lambda p: p.sum(1) - 1, lambda p: p[:, 0] - p[:, 1]]
    rows = [*equalities, *(lambda p, h=h: -h(p) for h in equalities)]
    problem = search_problem([-2] * 3, [2] * 3, lambda p: (p - target).square().sum(1), rows)
    solution = solve(problem)
    assert solution.feasible
    np.testing.assert_allclose(solution.point, [0.5, 0.5, 0.0], atol=1e-3)
    assert solution.value == pytest.approx(0.5, abs=1e-5)


# --- units ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_units_of_objective_and_constraints_do_not_matter(unit):
    plain = rosen_suzuki()

    def scaled(points):
        objective, constraints = plain.evaluate(points)
        return objective * unit, constraints / unit * row(1, 1e3, 1e-3)

    problem = SearchProblem(plain.lower, plain.upper, scaled)
    solution = gs.MultiStart().solve(problem, no_hints(problem), 0)
    assert solution.feasible
    assert solution.value / unit == pytest.approx(-44, abs=1e-3)


def test_units_of_the_region_do_not_matter():
    def stretched(p):
        return branin(torch.stack([p[:, 0] * 1e-6 - 5, p[:, 1] * 1e6], 1))

    problem = search_problem([0, 0], [15e6, 15e-6], stretched)
    assert solve(problem).value == pytest.approx(0.3978873577, abs=1e-6)


def test_a_constant_added_to_the_objective_does_not_matter():
    problem = search_problem([-5, 0], [10, 15], lambda p: branin(p) + 1e6)
    assert solve(problem).value - 1e6 == pytest.approx(0.3978873577, abs=1e-4)


# --- settings ------------------------------------------------------------------------------------
@pytest.mark.parametrize("mistake", [{"starts": 0}, {"samples": 0}, {"iterations": -1}])
def test_settings_below_one_are_refused(mistake):
    ((name, value),) = mistake.items()
    with pytest.raises(
        ModelError, match=rf"MultiStart\({name}={value}\): pass a whole number of at least 1"
    ):
        gs.MultiStart(**mistake)


@pytest.mark.parametrize("samples", [1, 2, 3, 17])
def test_the_smallest_settings_still_give_an_answer(samples):
    problem = search_problem([0, 0], [1, 1], branin, [lambda p: p.sum(1) - 1.5])
    assert solve(problem, solver=gs.MultiStart(starts=1, samples=samples, iterations=1)).feasible


# --- screening -----------------------------------------------------------------------------------
def test_screening_covers_the_inside_and_the_bounds():
    counting = Counting(search_problem([-1, 5, 0], [1, 6, 1], lambda p: p.sum(1)))
    gs.MultiStart(4, 512, 5).solve(counting.problem, no_hints(counting.problem), 0)
    cover = (counting.batches[0] - row(-1, 5, 0)) / row(2, 1, 1)
    assert cover.shape == (512, 3)
    on_bound = (cover == 0) | (cover == 1)
    assert not on_bound[256:].any()
    for corner in itertools.product([0.0, 1.0], repeat=3):
        assert (cover == row(*corner)).all(1).any()
    for count in range(4):  # any number of coordinates
        assert (on_bound[:256].sum(1) == count).sum() > 10
    inside = cover[256:]
    octants = {tuple((point > 0.5).tolist()) for point in inside}
    assert len(octants) == 8


def test_hints_are_searched_from_as_well():
    # a valley too narrow for so little screening, entered by the hint
    def valley(p):
        return -torch.exp(-((p - row(0.123, 0.456)) / 1e-3).square().sum(1))

    problem = search_problem([0, 0], [1, 1], valley)
    weak = gs.MultiStart(starts=1, samples=8, iterations=60)
    assert weak.solve(problem, no_hints(problem), 0).value > -1e-3
    hint = row(0.1237, 0.4553)[None]
    assert problem.evaluate(hint)[0].item() > -0.7
    assert solve(problem, solver=weak, hints=hint).value == pytest.approx(-1, abs=1e-6)


# --- least violation -----------------------------------------------------------------------------
def test_the_least_violation_is_found_although_the_objective_pulls_away():
    # |x - 1| + 0.5 <= 0 in ten dimensions, pulled to -5
    problem = search_problem(
        [-5] * 10, [5] * 10, lambda p: p.sum(1), [lambda p: (p - 1).square().sum(1) + 0.5]
    )
    solution = solve(problem)
    assert not solution.feasible
    assert solution.violation == pytest.approx(0.5, abs=1e-2)


def test_a_feasible_corner_is_found_where_screening_finds_none():
    # x >= 0.999 in every one of 12 dimensions
    rows = [lambda p, j=j: 0.999 - p[:, j] for j in range(12)]
    problem = search_problem([0] * 12, [1] * 12, lambda p: p.sum(1), rows)
    solution = solve(problem, solver=gs.MultiStart(starts=8, samples=256, iterations=60))
    assert solution.feasible
    assert solution.value == pytest.approx(12 * 0.999, rel=1e-6)

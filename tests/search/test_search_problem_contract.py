"""What every solver promises."""

import numpy as np
import pytest
import torch

import grisaille as gs
from tests.search.search_helpers import Counting, assert_honest, at, no_hints, search_problem

LIGHT = gs.MultiStart(starts=6, samples=256, iterations=30)
SOLVERS = [gs.Grid(points=31), LIGHT]
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=["Grid", "MultiStart"])


def bowl(center):
    center = torch.tensor(center, dtype=torch.float64)
    return lambda p: (p - center).square().sum(1)


def halfplane(weights, bound):
    weights = torch.tensor(weights, dtype=torch.float64)
    return lambda p: p @ weights - bound


def solve(solver, problem, hints=None, seed=0):
    return solver.solve(problem, no_hints(problem) if hints is None else hints, seed)


def points(*rows):
    return torch.tensor(rows, dtype=torch.float64)


# --- answers -------------------------------------------------------------------------------------
@every_solver
@pytest.mark.parametrize("count", [0, 1, 2, 5, 12])
def test_any_number_of_constraints_is_handled(solver, count):
    # Half-planes that all touch the circle of radius 1/2 around 0; the objective pulls to (1, 1).
    angles = np.linspace(0, 2 * np.pi, count, endpoint=False) + 0.3
    rows = [halfplane([np.cos(a), np.sin(a)], 0.5) for a in angles]
    problem = search_problem([-1, -1], [1, 1], bowl([1.0, 1.0]), rows)
    solution = solve(solver, problem)
    assert_honest(problem, solution)
    assert solution.feasible
    fine = torch.cartesian_prod(*[torch.linspace(-1, 1, 401).double()] * 2)
    objective, constraints = problem.evaluate(fine)
    best = objective[(constraints <= 0).all(1)].min().item()
    assert solution.value <= best + (0.15 if isinstance(solver, gs.Grid) else 1e-6)


@every_solver
@pytest.mark.parametrize("seed", range(5))
def test_answers_lie_in_the_region_and_say_of_themselves_what_is_true(solver, seed):
    rng = np.random.default_rng(seed)
    lower = rng.normal(size=2) * 10.0 ** rng.integers(-3, 4, size=2)
    upper = lower + 10.0 ** rng.integers(-3, 4, size=2)
    weights, shift = torch.tensor(rng.normal(size=(3, 2))), torch.tensor(rng.normal(size=3))
    width, low = torch.tensor(upper - lower), torch.tensor(lower)

    def waves(p):
        return torch.sin(6 * ((p - low) / width) @ weights.T + shift)

    problem = search_problem(
        lower, upper, lambda p: waves(p)[:, 0], [lambda p: waves(p)[:, 1], lambda p: waves(p)[:, 2]]
    )
    assert_honest(problem, solve(solver, problem, seed=seed))


@every_solver
def test_the_minimum_may_lie_in_a_corner(solver):
    problem = search_problem([-1, 2], [1, 5], lambda p: p[:, 0] - p[:, 1])
    solution = solve(solver, problem)
    assert solution.point.tolist() == [-1, 5]
    assert (solution.value, solution.violation, solution.feasible) == (-6, 0, True)


@every_solver
def test_one_dimension_is_enough(solver):
    problem = search_problem(-2, 2, lambda p: (p[:, 0] - 0.4).square(), [lambda p: 1 - p[:, 0]])
    solution = solve(solver, problem)
    assert_honest(problem, solution)
    assert solution.point.item() == pytest.approx(1.0, abs=0.14)
    assert solution.feasible


# --- infeasible ----------------------------------------------------------------------------------
@every_solver
def test_the_least_violation_is_returned_when_nothing_is_feasible(solver):
    # x^2 + y^2 + 1 <= 0 is violated least at 0; the objective pulls elsewhere.
    problem = search_problem(
        [-1, -1], [1, 1], lambda p: p.sum(1), [lambda p: p.square().sum(1) + 1.0]
    )
    solution = solve(solver, problem)
    assert not solution.feasible
    assert solution.violation == pytest.approx(1.0, abs=1e-4)
    assert_honest(problem, solution)
    np.testing.assert_allclose(solution.point, 0, atol=0.02)


@every_solver
def test_contradicting_constraints_are_violated_as_little_as_possible(solver):
    # x >= 1 and x <= 0: every x in [0, 1] violates by 1 in all
    problem = search_problem(-1, 2, lambda p: p[:, 0], [lambda p: 1 - p[:, 0], lambda p: p[:, 0]])
    solution = solve(solver, problem)
    assert not solution.feasible
    assert -1e-6 <= solution.point.item() <= 1 + 1e-6


@every_solver
def test_a_violation_beyond_rounding_is_not_feasible(solver):
    # no point of the region meets it, but all miss it by 1e-5 of its spread at most by 1e-5
    problem = search_problem(0, 1, lambda p: p[:, 0], [lambda p: p[:, 0] + 1e-5])
    solution = solve(solver, problem)
    assert not solution.feasible
    assert solution.violation == pytest.approx(1e-5, rel=1e-3)


# --- hints ---------------------------------------------------------------------------------------
def needle(p):
    """Zero nearly everywhere, and -1 in a hole that no search finds unaided."""
    inside = (p - torch.tensor([0.123456, 0.654321])).abs().amax(1) < 1e-7
    return torch.where(inside, -1.0, 0.0).double() + 0.001 * p.sum(1)


@every_solver
def test_a_hint_is_never_lost(solver):
    problem = search_problem([0, 0], [1, 1], needle, continuous=False)
    assert solve(solver, problem).value > -0.5
    hints = points([0.5, 0.5], [0.123456, 0.654321])
    solution = solve(solver, problem, hints)
    assert solution.value <= at(problem, hints[1])[0] < -0.99
    assert_honest(problem, solution)


@every_solver
@pytest.mark.parametrize("seed", range(3))
def test_the_answer_is_at_least_as_good_as_the_best_feasible_hint(solver, seed):
    rng = np.random.default_rng(seed)
    weights = torch.tensor(rng.normal(size=(2, 12)))

    def rough(p):
        return torch.cos(40 * p @ weights).sum(1)

    problem = search_problem([0, 0], [1, 1], rough, [lambda p: torch.sin(30 * p.sum(1)) - 0.3])
    hints = torch.tensor(rng.uniform(size=(300, 2)))
    objective, constraints = problem.evaluate(hints)
    best = objective[(constraints <= 0).all(1)].min().item()
    weak = solver if isinstance(solver, gs.Grid) else gs.MultiStart(1, 8, 1)
    solution = solve(weak, problem, hints, seed)
    assert solution.feasible
    assert solution.value <= best


@every_solver
def test_the_only_feasible_hint_beats_lower_but_infeasible_points(solver):
    problem = search_problem([0, 0], [1, 1], lambda p: p.sum(1), [lambda p: needle(p) + 0.5])
    hint = points([0.123456, 0.654321])
    assert not solve(solver, problem).feasible
    solution = solve(solver, problem, hint)
    assert solution.feasible
    np.testing.assert_allclose(solution.point, hint[0], atol=2e-7)


@every_solver
def test_hints_outside_the_region_are_moved_into_it(solver):
    problem = search_problem([0, 0], [1, 1], lambda p: p.sum(1))
    counting = Counting(problem)
    solution = solve(solver, counting.problem, points([-5.0, 0.5], [0.5, 7.0]))
    assert_honest(problem, solution)
    assert solution.value == 0.0
    assert ((counting.points >= 0) & (counting.points <= 1)).all()


# --- repeatable ----------------------------------------------------------------------------------
@every_solver
def test_the_same_seed_gives_the_same_answer_whatever_the_global_generator(solver):
    problem = search_problem(
        [-2, -2],
        [2, 2],
        lambda p: torch.sin(5 * p).sum(1) + p.square().sum(1),
        [halfplane([1, 1], 1)],
    )
    torch.manual_seed(1)
    first = solve(solver, problem, seed=7)
    torch.manual_seed(2)
    state = torch.get_rng_state()
    second = solve(solver, problem, seed=7)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(first.point, second.point)
    assert (first.value, first.evaluations) == (second.value, second.evaluations)


# --- not a number --------------------------------------------------------------------------------
@every_solver
@pytest.mark.parametrize("nothing", [np.nan, np.inf, -np.inf])
def test_points_whose_objective_is_no_number_are_avoided(solver, nothing):
    # the objective falls towards x = 1, and beyond x = 0.5 it is no number at all
    problem = search_problem(
        [0, 0],
        [1, 1],
        lambda p: torch.where(p[:, 0] > 0.5, nothing, -p[:, 0] + p[:, 1].square()),
    )
    solution = solve(solver, problem)
    assert_honest(problem, solution)
    assert solution.feasible
    assert solution.value == pytest.approx(-0.5, abs=0.04)


@every_solver
def test_points_whose_constraint_is_no_number_are_avoided(solver):
    problem = search_problem(
        [0, 0], [1, 1], lambda p: -p.sum(1), [lambda p: torch.sqrt(0.5 - p[:, 0]) - 10]
    )
    solution = solve(solver, problem)
    assert_honest(problem, solution)
    assert solution.point.tolist() == pytest.approx([0.5, 1.0], abs=0.04)


@every_solver
def test_a_constraint_of_minus_infinity_is_met(solver):
    problem = search_problem(
        [0, 0], [1, 1], lambda p: p.sum(1), [lambda p: torch.log(p[:, 0].clamp_min(0)) - 1]
    )
    solution = solve(solver, problem)
    assert solution.feasible
    assert solution.value == pytest.approx(0.0, abs=1e-9)


@every_solver
@pytest.mark.parametrize("constrained", [False, True])
def test_a_problem_without_any_number_is_answered_but_not_as_feasible(solver, constrained):
    def nothing(p):
        return torch.full_like(p[:, 0], np.nan)

    rows = [nothing, lambda p: p[:, 0]] if constrained else []
    problem = search_problem([0, 0], [1, 1], nothing, rows)
    solution = solve(solver, problem)
    assert ((solution.point >= 0) & (solution.point <= 1)).all()
    assert not solution.feasible
    assert solution.value == np.inf
    assert solution.violation == (np.inf if constrained else 0.0)


@every_solver
def test_a_hint_where_nothing_is_a_number_does_not_spoil_the_search(solver):
    def root(p):  # below the curve y = sqrt(0.8 - x), which ends at x = 0.8
        return p[:, 1] - torch.sqrt(0.8 - p[:, 0])

    problem = search_problem([0, 0], [1, 1], bowl([0.3, 0.9]), [root])
    alone = solve(solver, problem)
    with_hint = solve(solver, problem, points([0.9, 0.9]))
    assert with_hint.feasible
    assert with_hint.value == pytest.approx(alone.value, abs=1e-7)


# --- flat ----------------------------------------------------------------------------------------
@every_solver
def test_a_flat_objective_is_answered_with_any_feasible_point(solver):
    problem = search_problem(
        [0, 0], [1, 1], lambda p: torch.full_like(p[:, 0], 3.0), [halfplane([-1, -1], -1.5)]
    )
    solution = solve(solver, problem)
    assert_honest(problem, solution)
    assert (solution.value, solution.feasible) == (3.0, True)


# --- counting ------------------------------------------------------------------------------------
def flat_coordinate(p):
    return (p[:, 0] - 0.3).square()


@every_solver
@pytest.mark.parametrize("objective", [bowl([0.2, 0.7]), flat_coordinate], ids=["bowl", "flat"])
@pytest.mark.parametrize("constrained", [False, True])
def test_the_number_of_evaluated_points_is_told(solver, objective, constrained):
    rows = [halfplane([-1, -1], -1.5), lambda p: 1.7 - p.sum(1)] if constrained else []
    counting = Counting(search_problem([0, 0], [1, 1], objective, rows))
    solution = solve(solver, counting.problem, points([0.5, 0.5]))
    assert solution.evaluations == len(counting.points)
    assert ((counting.points >= 0) & (counting.points <= 1)).all()

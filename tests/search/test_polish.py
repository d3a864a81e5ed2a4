"""First-order conditions in local units, and the polish of what does not meet them."""

from functools import lru_cache

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

import grisaille as gs
from grisaille.search.local_search import linearize
from grisaille.search.polish import POLISH, local_scale, polished, stationarity
from grisaille.search.search_problem import Scale, SearchProblem, best_of
from tests.search.search_helpers import (
    assert_honest,
    no_hints,
    search_problem,
    unit_scale,
)


def row(*values):
    return torch.tensor(values, dtype=torch.float64)


def steep_powers():
    """Hock and Schittkowski's problem 100 in the box [-10, 10]: minimum 680.6300573.

    The objective varies by ten millions over the box, and by a few hundreds around the optimum.
    """
    powers = row(2, 4, 4, 2, 6, 2, 4)
    shifts = row(10, 0, 0, 11, 0, 0, 0)
    weights = row(1, 0, 1, 3, 10, 7, 1)

    def objective(p):
        terms = (weights * (p - shifts) ** powers).sum(1) + 5 * (p[:, 1] - 12) ** 2
        return terms - 4 * p[:, 5] * p[:, 6] - 10 * p[:, 5] - 8 * p[:, 6]

    return search_problem(
        [-10] * 7,
        [10] * 7,
        objective,
        [
            lambda p: (
                2 * p[:, 0] ** 2 + 3 * p[:, 1] ** 4 + p[:, 2] + 4 * p[:, 3] ** 2 + 5 * p[:, 4] - 127
            ),
            lambda p: 7 * p[:, 0] + 3 * p[:, 1] + 10 * p[:, 2] ** 2 + p[:, 3] - p[:, 4] - 282,
            lambda p: 23 * p[:, 0] + p[:, 1] ** 2 + 6 * p[:, 5] ** 2 - 8 * p[:, 6] - 196,
            lambda p: (
                4 * p[:, 0] ** 2
                + p[:, 1] ** 2
                - 3 * p[:, 0] * p[:, 1]
                + 2 * p[:, 2] ** 2
                + 5 * p[:, 5]
                - 11 * p[:, 6]
            ),
        ],
    )


def best_of_slsqp(problem, starts):
    """The least feasible value of SLSQP from uniform starts, in coordinates from 0 to 1."""
    hundreds = Scale(row(100.0)[0], 100 * torch.ones(4).double())

    @lru_cache(maxsize=1)
    def at(unit):
        return [part[0] for part in linearize(problem, hundreds, np.frombuffer(unit)[None])]

    values = []
    for start in np.random.default_rng(0).uniform(size=(starts, 7)):
        answer = minimize(
            lambda unit: at(unit.tobytes())[0],
            start,
            jac=lambda unit: at(unit.tobytes())[2],
            bounds=[(0, 1)] * 7,
            constraints={
                "type": "ineq",
                "fun": lambda unit: -at(unit.tobytes())[1],
                "jac": lambda unit: -at(unit.tobytes())[3],
            },
            method="SLSQP",
            options={"maxiter": 60, "ftol": 1e-12},
        )
        value, rows, *_ = at(np.clip(answer.x, 0, 1).tobytes())
        if rows.max() <= 1e-8:
            values.append(100 * value)
    return min(values)


# --- an objective that varies over seven orders of magnitude -------------------------------------
def test_no_local_solver_beats_the_answer_where_the_objective_varies_by_millions():
    problem = steep_powers()
    solution = gs.MultiStart().solve(problem, no_hints(problem), 0)
    assert_honest(problem, solution, tolerance=1e-3)
    assert solution.value == pytest.approx(680.6300573, rel=1e-6)
    assert solution.value <= best_of_slsqp(problem, 20) * (1 + 1e-6)
    assert solution.stationarity <= POLISH.converged


# --- how far from a local optimum ----------------------------------------------------------------
def measured(problem, *point):
    scale = unit_scale(problem.evaluate(problem.lower[None])[1].shape[1])
    return stationarity(problem, row(*point), local_scale(problem, row(*point), scale))


def bowl(constraints=(), unit=1.0):
    return search_problem(
        [-1, -1], [1, 1], lambda p: unit * (p - row(0.3, 0.4)).square().sum(1), constraints
    )


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_bowl_is_stationary_at_its_bottom_alone_whatever_its_unit(unit):
    assert measured(bowl(unit=unit), 0.3, 0.4) <= 1e-12
    assert measured(bowl(unit=unit), 0.3 + 1e-5, 0.4) == pytest.approx(5e-4, rel=0.2)
    assert measured(bowl(unit=unit), -0.9, 0.9) > 0.5


def test_a_constraint_that_holds_back_makes_a_point_stationary():
    # the nearest point with x + y <= 0.3 is (0.1, 0.2)
    problem = bowl([lambda p: p.sum(1) - 0.3])
    assert measured(problem, 0.1, 0.2) <= 1e-9
    assert measured(problem, 0.15, 0.15) > 0.1  # held back, but free to slide along
    assert measured(problem, 0.1 - 1e-4, 0.2 - 1e-4) == pytest.approx(3e-3, rel=0.5)  # not yet


def test_a_bound_that_holds_back_makes_a_point_stationary():
    problem = search_problem([-1, -1], [1, 1], lambda p: p[:, 0] - 1e-6 * p[:, 1])
    assert measured(problem, -1, 1) == 0
    assert measured(problem, -1, -1) > 0


def test_a_constraint_held_by_a_kink_of_the_objective_is_not_stationary_beside_it():
    problem = search_problem([-1, -1], [1, 1], lambda p: p.abs().sum(1))
    assert measured(problem, 1e-3, 0) > 1e-3


def test_the_answer_to_an_infeasible_problem_has_no_stationarity():
    problem = search_problem([0, 0], [1, 1], lambda p: p.sum(1), [lambda p: 3 - p.sum(1)])
    solution = gs.MultiStart(4, 64, 20).solve(problem, no_hints(problem), 0)
    assert not solution.feasible
    assert solution.stationarity is None


# --- polish --------------------------------------------------------------------------------------
def start_at(problem, scale, *point):
    points = row(*point)[None]
    return best_of(points, *problem.evaluate(points), scale, 1)


def test_a_point_that_is_stationary_is_left_alone():
    problem, scale = bowl(), unit_scale(0)
    found = start_at(problem, scale, 0.3, 0.4)
    answer = polished(problem, scale, found, no_hints(problem), 60)
    assert answer.point.tolist() == [0.3, 0.4]
    assert answer.evaluations < 200


def test_spreads_far_too_large_do_not_end_a_polish_early():
    problem = bowl([lambda p: p.sum(1) - 0.3])
    scale = Scale(row(1e9)[0], row(1e3))
    found = start_at(problem, scale, -0.5, -0.6)
    answer = polished(problem, scale, found, no_hints(problem), 60)
    np.testing.assert_allclose(answer.point, [0.1, 0.2], atol=1e-7)
    assert answer.stationarity <= POLISH.converged


def test_another_end_that_leads_lower_is_taken():
    # two valleys; the better start lies in the worse one
    problem = search_problem(-1, 1, lambda p: (p[:, 0] ** 2 - 0.25) ** 2 + 0.1 * p[:, 0])
    found = start_at(problem, unit_scale(0), 0.45)
    answer = polished(problem, unit_scale(0), found, row(-0.9)[None], 60)
    assert answer.point[0] < -0.4


def test_a_polish_that_meets_what_is_not_a_number_keeps_what_it_has_reached():
    def objective(p):
        return torch.where(p[:, 0] > 0.5, torch.nan, -p[:, 0] + p[:, 1] ** 2)

    problem = search_problem([0, 0], [1, 1], objective)
    found = start_at(problem, unit_scale(0), 0.3, 0.4)
    answer = polished(problem, unit_scale(0), found, no_hints(problem), 60)
    assert answer.feasible
    assert answer.value <= found.value


def test_a_lower_end_that_violates_a_constraint_is_not_taken():
    # no slope tells of the constraint
    problem = SearchProblem(
        row(-1),
        row(1),
        lambda p: (p[:, 0], torch.where(p[:, :1].detach() < 0, 1.0, -1.0)),
        continuous=False,
    )
    found = start_at(problem, unit_scale(1), 0.5)
    answer = polished(problem, unit_scale(1), found, no_hints(problem), 60)
    assert answer.feasible
    assert answer.point[0] >= 0


def test_an_infeasible_start_is_led_to_a_feasible_point():
    problem = bowl([lambda p: p.sum(1) - 0.3])
    found = start_at(problem, unit_scale(1), 0.9, 0.9)
    assert not found.feasible
    assert polished(problem, unit_scale(1), found, no_hints(problem), 60).feasible


def test_a_polish_at_a_kink_tries_few_points():
    problem = search_problem([-1] * 3, [1] * 3, lambda p: (p - 0.123).abs().sum(1))
    found = start_at(problem, unit_scale(0), 0.123, 0.123, 0.124)
    answer = polished(problem, unit_scale(0), found, no_hints(problem), 60)
    assert answer.value <= found.value
    assert answer.evaluations <= 3 * 60 + 500


def test_a_search_without_polish_leaves_the_stationarity_open():
    problem = bowl()
    search = gs.MultiStart(starts=2, samples=16, iterations=5, polish=False)
    assert search.solve(problem, no_hints(problem), 0).stationarity is None


def test_a_polish_that_is_cut_short_keeps_a_better_point_than_its_start():
    # each step of SLSQP begins with a long one, which lands higher up
    problem = search_problem(
        [-2, -2],
        [2, 2],
        lambda p: 10 * (p[:, 0] - p[:, 1]).abs() + (p[:, 0] - 0.7) ** 2 + p[:, 1] ** 2,
    )
    found = start_at(problem, unit_scale(0), 0.5, 0.4)
    answer = polished(problem, unit_scale(0), found, no_hints(problem), iterations=4)
    assert answer.value < 0.5 * found.value


def test_a_polish_that_leads_to_the_point_known_is_given_up():
    problem = search_problem(-1, 1, lambda p: (p[:, 0] - 0.3) ** 4 + p[:, 0] ** 2)
    found = start_at(problem, unit_scale(0), 0.6)
    alone = polished(problem, unit_scale(0), found, no_hints(problem), 60)
    both = polished(problem, unit_scale(0), found, alone.point[None] + 5e-4, 60)
    assert torch.equal(both.point, alone.point)
    # the sample of its neighbourhood, its start, and both ends to compare
    assert both.evaluations - alone.evaluations == 128 + 1 + 2

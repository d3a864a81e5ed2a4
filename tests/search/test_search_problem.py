"""How objective and constraints are made comparable, and how the best point is chosen."""

import numpy as np
import pytest
import torch

from grisaille.search.search_problem import (
    SEARCH,
    Scale,
    best_of,
    evaluate_in_chunks,
    nearby,
    rounded,
    with_fixed,
)
from tests.search.search_helpers import Counting, search_problem, unit_scale

NAN, INF = np.nan, np.inf


def column(*values):
    return torch.tensor(values, dtype=torch.float64)


def scale_of(values):
    """The spread of one column, as objective and as constraint."""
    values = torch.as_tensor(values, dtype=torch.float64)
    scale = Scale.of(values, values[:, None])
    assert scale.objective == scale.constraints[0]
    return scale.objective.item()


# --- spreads -------------------------------------------------------------------------------------
def test_a_spread_is_half_the_distance_from_the_tenth_to_the_ninetieth_percent():
    assert scale_of(torch.linspace(0, 100, 101)) == pytest.approx(40)
    assert scale_of(5e6 + torch.linspace(0, 100, 101, dtype=torch.float64)) == pytest.approx(40)


def test_outliers_do_not_change_a_spread():
    values = torch.linspace(0, 100, 101)
    values[100] = 1e12
    assert scale_of(values) == pytest.approx(40)


def test_a_constant_column_has_its_own_size_as_spread():
    assert scale_of(torch.full((50,), -7.0)) == 7.0
    assert scale_of(torch.zeros(50)) == 1.0


def test_a_column_constant_up_to_rounding_counts_as_constant():
    values = 1e6 + 1e-8 * torch.linspace(0, 1, 50, dtype=torch.float64)
    assert scale_of(values) == pytest.approx(1e6)


def test_infinities_and_nan_are_left_out_of_a_spread():
    values = torch.linspace(0, 100, 101)
    assert scale_of(torch.cat([values, torch.tensor([NAN, INF, -INF] * 20)])) == pytest.approx(40)


@pytest.mark.parametrize("nothing", [NAN, INF, -INF])
def test_a_column_without_any_number_has_a_spread_of_one(nothing):
    assert scale_of(torch.full((50,), nothing)) == 1.0


def test_each_constraint_has_its_own_spread():
    ramp = torch.linspace(0, 100, 101, dtype=torch.float64)
    scale = Scale.of(ramp * 3, torch.stack([ramp, ramp * 10, torch.full_like(ramp, 4)], 1))
    assert scale.objective.item() == pytest.approx(120)
    np.testing.assert_allclose(scale.constraints, [40, 400, 4])


def test_without_constraints_there_is_nothing_to_violate():
    scale = Scale.of(torch.arange(5.0), torch.zeros(5, 0))
    assert scale.constraints.shape == (0,)
    assert scale.violation(torch.zeros(3, 0)).tolist() == [0, 0, 0]


# --- violations ----------------------------------------------------------------------------------
def test_a_violation_is_the_sum_of_what_is_above_zero_in_units_of_the_spreads():
    scale = Scale(torch.ones(()), column(2.0, 10.0))
    bodies = column([1, 5], [-3, 20], [4, -7], [-1, -1], [0, 0]).double()
    assert scale.violation(bodies).tolist() == [1.0, 2.0, 2.0, 0.0, 0.0]


def test_a_violation_that_is_no_number_is_infinite():
    scale = unit_scale(2)
    violation = scale.violation(column([NAN, -1], [-1, NAN], [-INF, -1], [INF, -1]))
    assert violation[:2].tolist() == [INF, INF]
    assert violation[2] == 0
    assert violation[3] > 1e300


# --- the best point ------------------------------------------------------------------------------
def choose(objectives, constraints):
    """Which of some points is chosen, and what is said about it."""
    bodies = torch.tensor(constraints, dtype=torch.float64)
    points = torch.arange(len(objectives), dtype=torch.float64)[:, None]
    solution = best_of(points, column(*objectives), bodies, unit_scale(bodies.shape[1]), 99)
    assert solution.evaluations == 99
    return int(solution.point.item()), solution.value, solution.violation, solution.feasible


def test_the_feasible_point_of_least_objective_is_chosen():
    assert choose([1, 3, 2], [[5.0], [-1.0], [0.0]]) == (2, 2.0, 0.0, True)


def test_without_feasible_points_the_least_violation_is_chosen():
    assert choose([1, 3, 2], [[5.0, 0], [1.0, 1.0], [0.0, 3.0]]) == (1, 3.0, 1.0, False)


def test_the_largest_violation_is_told_in_the_constraint_s_own_units():
    bodies = column([30.0, 0.2], [50.0, 0.1])
    scale = Scale(torch.ones(()), column(100.0, 1.0))
    solution = best_of(column([0.0], [1.0]), column(0.0, 0.0), bodies, scale, 0)
    assert solution.point.item() == 0.0  # 0.3 + 0.2 in units of the spreads, against 0.5 + 0.1
    assert solution.violation == 30.0


def test_rounding_above_zero_is_feasible_and_more_is_not():
    assert choose([1, 0], [[-1.0], [SEARCH.feasibility * 0.99]]) == (
        1,
        0.0,
        SEARCH.feasibility * 0.99,
        True,
    )
    assert choose([1, 0], [[-1.0], [SEARCH.feasibility * 1.01]]) == (0, 1.0, 0.0, True)


@pytest.mark.parametrize("nothing", [NAN, INF, -INF])
def test_a_point_whose_objective_is_no_number_is_chosen_last(nothing):
    assert choose([nothing, 5], [[-1.0], [-1.0]]) == (1, 5.0, 0.0, True)
    assert choose([nothing, 5], [[-1.0], [9.0]]) == (1, 5.0, 9.0, False)
    assert choose([nothing], [[-1.0]]) == (0, INF, 0.0, False)


def test_a_point_whose_constraint_is_no_number_is_not_feasible():
    assert choose([1, 5], [[NAN], [-1.0]]) == (1, 5.0, 0.0, True)
    assert choose([1, 5], [[NAN], [9.0]]) == (1, 5.0, 9.0, False)
    assert choose([1], [[NAN]]) == (0, 1.0, INF, False)


def test_without_constraints_every_number_is_feasible():
    assert choose([3, 1, 2], np.zeros((3, 0))) == (1, 1.0, 0.0, True)


# --- chunks --------------------------------------------------------------------------------------
def test_many_points_are_evaluated_in_small_batches_without_gradients():
    counting = Counting(
        search_problem([0, 0], [1, 1], lambda p: p.sum(1), [lambda p: p[:, 0], lambda p: p[:, 1]])
    )
    points = torch.rand(10, 2, generator=torch.Generator().manual_seed(0)).double()
    points.requires_grad_()
    objective, constraints = evaluate_in_chunks(counting.problem, points, chunk=4)
    assert [len(b) for b in counting.batches] == [4, 4, 2]
    assert not objective.requires_grad
    assert torch.equal(objective, points.detach().sum(1))
    assert torch.equal(constraints, points.detach())


# --- whole numbers -------------------------------------------------------------------------------
def counted():
    return search_problem(
        [0, 0, 0, 0],
        [9, 200, 4, 1],
        lambda p: p.sum(1),
        whole=[True, True, True, False],
        nominal=[False, False, True, False],
    )


def test_near_a_point_whole_numbers_move_by_one_at_least_and_labels_freely():
    near = nearby(counted(), column(4.0, 100.0, 2.0, 0.5), 4)
    assert near.lower.tolist() == [3.0, 96.0, 0.0, 0.48]
    assert near.upper.tolist() == [5.0, 104.0, 4.0, 0.52]
    assert near.whole is not None
    assert near.whole.tolist() == [True, True, True, False]


def test_a_problem_with_fixed_entries_knows_which_of_the_others_are_whole():
    fixed = torch.tensor([True, False, False, True])
    rest = with_fixed(counted(), column(4.0, 0.0, 0.0, 0.5), fixed)
    assert rest.whole is not None
    assert rest.nominal is not None
    assert (rest.whole.tolist(), rest.nominal.tolist()) == ([True, True], [False, True])
    assert rest.evaluate(column(7.0, 1.0)[None])[0].tolist() == [12.5]
    assert with_fixed(counted(), column(4.0, 0.0, 0.0, 0.5), counted().whole).whole is None


def test_only_whole_entries_are_rounded():
    assert rounded(counted(), column(1.6, 2.2, 0.4, 0.6)).tolist() == [2.0, 2.0, 0.0, 0.6]

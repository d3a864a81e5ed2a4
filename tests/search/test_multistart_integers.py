"""Searches of whole numbers: every answer is whole, and as good as the best of all combinations."""

from __future__ import annotations

from itertools import combinations as subsets

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.search.multistart import combinations, moved_at_random, neighbours, spread_evenly
from tests.search.search_helpers import Counting, assert_honest, no_hints, search_problem

QUICK = gs.MultiStart(starts=4, samples=128, iterations=10, again=False, polish=False)


def generator():
    return torch.Generator().manual_seed(0)


def mixed(**options):
    """An integer from -2 to 7, a label of three and a continuous entry."""
    costs = torch.tensor([0.3, -0.4, 0.1]).double()

    def objective(points):
        n, label, x = points.T
        # Between whole numbers it would be lower still.
        waves = -2 * torch.sin(torch.pi * n).square()
        hats = (1 - (label[:, None] - torch.arange(3)).abs()).clamp_min(0)
        return (n - 3.4).square() + waves + hats @ costs + (x - 0.1 * n).square()

    flags = {"whole": [True, True, False], "nominal": [False, True, False]}
    return search_problem([-2, 0, -1], [7, 2, 1], objective, **flags, **options)


def choose(count, wanted, seed):
    """As many of some things as wanted, which are better or worse together."""
    numbers = np.random.default_rng(seed)
    worth, pairs = numbers.normal(size=count), 0.3 * numbers.normal(size=(count, count))
    problem = search_problem(
        np.zeros(count),
        np.ones(count),
        lambda p: p @ torch.tensor(worth) + ((p @ torch.tensor(pairs)) * p).sum(1),
        [lambda p: p.sum(1) - wanted, lambda p: wanted - p.sum(1)],
        whole=[True] * count,
    )
    best = min(
        worth[list(s)].sum() + pairs[np.ix_(s, s)].sum() for s in subsets(range(count), wanted)
    )
    return problem, best


@pytest.mark.parametrize("solver", [gs.MultiStart(), QUICK], ids=["usual", "quick"])
@pytest.mark.parametrize("seed", range(3))
def test_the_best_combination_is_found_with_the_rest_that_suits_it(solver, seed):
    problem = mixed()
    solution = solver.solve(problem, no_hints(problem), seed)
    assert_honest(problem, solution)
    assert solution.point[:2].tolist() == [3.0, 1.0]
    assert float(solution.point[2]) == pytest.approx(0.3, abs=1e-4)
    assert solution.value == pytest.approx(0.16 - 0.4, abs=1e-6)


def test_nothing_is_evaluated_between_whole_numbers_if_combinations_are_few():
    counting = Counting(mixed())
    gs.MultiStart().solve(counting.problem, no_hints(counting.problem), 0)
    assert (counting.points[:, :2] == counting.points[:, :2].round()).all()


def test_a_hint_between_whole_numbers_is_rounded():
    problem = mixed()
    solution = QUICK.solve(problem, torch.tensor([[3.2, 0.9, 0.3]]).double(), 0)
    assert solution.point[:2].tolist() == [3.0, 1.0]


def test_an_optimum_among_many_values_is_found_by_way_of_the_relaxation():
    problem = search_problem(
        [0, 0],
        [10_000, 10_000],
        lambda p: (p[:, 0] - 6789.3).square() + (p[:, 1] - 1234.8).square(),
        whole=[True, True],
    )
    solution = gs.MultiStart().solve(problem, no_hints(problem), 0)
    assert solution.point.tolist() == [6789.0, 1235.0]


@pytest.mark.parametrize("seed", range(3))
def test_so_many_of_some_things_are_chosen_as_well_as_by_trying_all(seed):
    problem, best = choose(14, 4, seed)
    solution = gs.MultiStart().solve(problem, no_hints(problem), seed)
    assert solution.feasible
    assert solution.value == pytest.approx(best)


def test_a_point_is_stationary_if_its_continuous_entries_are():
    solution = gs.MultiStart().solve(mixed(), no_hints(mixed()), 0)
    assert solution.stationarity is not None
    assert solution.stationarity <= 1e-6


def test_an_answer_without_a_feasible_point_is_whole_too():
    problem = mixed(constraints=[lambda p: 0.4 - (p[:, 0] - 2.5).abs() + 20])
    solution = gs.MultiStart().solve(problem, no_hints(problem), 0)
    assert not solution.feasible
    assert (solution.point[:2] == solution.point[:2].round()).all()


# --- parts ---------------------------------------------------------------------------------------
def test_combinations_are_listed_only_if_they_are_few():
    assert combinations(mixed()).tolist() == [[n, c] for n in range(-2, 8) for c in range(3)]
    many = search_problem([0, 0], [9, 9], lambda p: p.sum(1), whole=[True, True])
    assert combinations(many) is None
    assert combinations(search_problem([0], [1], lambda p: p.sum(1))) is None


@pytest.mark.parametrize("values", [5, 100])
def test_all_values_are_screened_equally_often(values):
    problem = search_problem([0], [values - 1], lambda p: p.sum(1), whole=[True])
    unit = (torch.arange(10_000).double()[:, None] + 0.5) / 10_000
    counts = torch.bincount(spread_evenly(problem, unit, generator()).flatten().long())
    assert counts.tolist() == [10_000 // values] * values


def test_labels_are_drawn_again_and_numbers_are_moved():
    problem = search_problem(
        [0, 0], [99, 99], lambda p: p.sum(1), whole=[True] * 2, nominal=[False, True]
    )
    noise = torch.randn(4000, 1, 2, generator=generator()).double()
    center = torch.tensor([[50.0, 0.0]]).double()
    deviation = torch.full((2,), 0.1).double()
    moved = moved_at_random(problem, center, deviation, noise, generator())[:, 0]
    assert (moved == moved.round()).all()
    assert 0 < (moved[:, 0] - 50).abs().max() <= 3
    assert moved[:, 1].min() >= 0
    assert moved[:, 1].max() == 99
    assert 0.25 < (moved[:, 1] != 0).double().mean() < 0.35


def test_neighbours_are_one_away_or_have_the_same_sum_or_another_label():
    problem = search_problem(
        [0, 0, 0, 0],
        [2, 2, 2, 1],
        lambda p: p.sum(1),
        whole=[True, True, True, False],
        nominal=[False, False, True, False],
    )
    around = neighbours(
        problem, torch.tensor([0.0, 1.0, 1.0, 0.7], dtype=torch.float64), generator()
    )
    expected = {(1, 1, 1), (0, 2, 1), (0, 0, 1), (1, 0, 1), (0, 1, 0), (0, 1, 2)}
    assert {tuple(row[:3]) for row in around.tolist()} == expected
    assert len(around) == len(expected)
    assert (around[:, 3] == 0.7).all()

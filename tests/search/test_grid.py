"""Grid search: every point of the grid, no more and no less."""

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.errors import ModelError
from grisaille.search import grid
from tests.search.search_helpers import Counting, no_hints, search_problem


def solve(points, problem, hints=None):
    return gs.Grid(points).solve(problem, no_hints(problem) if hints is None else hints, 0)


def test_every_point_of_the_grid_is_evaluated_bounds_included():
    counting = Counting(search_problem([0, -1, 10], [1, 1, 30], lambda p: p.sum(1)))
    solve(3, counting.problem)
    asked = {tuple(p) for p in counting.points.tolist()}
    axes = [[0, 0.5, 1], [-1, 0, 1], [10, 20, 30]]
    assert asked == {(a, b, c) for a in axes[0] for b in axes[1] for c in axes[2]}


def test_the_best_feasible_grid_point_is_returned():
    problem = search_problem(
        [0, 0],
        [1, 1],
        lambda p: (p - torch.tensor([0.52, 0.68])).square().sum(1),
        [lambda p: p[:, 0] - 0.45],
    )
    solution = solve(11, problem)
    assert solution.point.tolist() == pytest.approx([0.4, 0.7])
    assert solution.value == pytest.approx(0.12**2 + 0.02**2)
    assert (solution.feasible, solution.violation) == (True, 0.0)


def test_a_grid_larger_than_one_block_gives_what_one_block_gives(monkeypatch):
    problem = search_problem(
        [-2, -2],
        [2, 2],
        lambda p: torch.sin(7 * p).sum(1) + p[:, 1],
        [lambda p: torch.cos(9 * p[:, 0]), lambda p: p.sum(1) - 0.5],
    )
    whole = solve(40, problem)
    monkeypatch.setattr(grid, "_BLOCK", 37)
    parts = solve(40, problem)
    assert torch.equal(parts.point, whole.point)
    assert (parts.value, parts.feasible) == (whole.value, True)


def test_an_infeasible_grid_larger_than_one_block_gives_the_least_violation(monkeypatch):
    monkeypatch.setattr(grid, "_BLOCK", 37)
    problem = search_problem(
        [-2, -2], [2, 2], lambda p: -p.sum(1), [lambda p: 1 + (p - 0.8).square().sum(1)]
    )
    solution = solve(41, problem)
    np.testing.assert_allclose(solution.point, [0.8, 0.8], atol=1e-12)
    assert not solution.feasible


def test_the_seed_does_not_matter():
    problem = search_problem([0, 0], [1, 1], lambda p: p.sum(1))
    first, second = (gs.Grid(5).solve(problem, no_hints(problem), seed) for seed in (0, 1))
    assert torch.equal(first.point, second.point)


@pytest.mark.parametrize(
    ("points", "dimensions"),
    [(21, 6), (4473, 2), (2, 40), (20_000_001, 1), (21, 400)],
)
def test_a_grid_too_large_is_refused_with_the_remedy(points, dimensions):
    problem = search_problem([0] * dimensions, [1] * dimensions, lambda p: p.sum(1))
    with pytest.raises(
        ModelError,
        match=rf"a grid of {points} points in each of {dimensions} dimensions has "
        rf"{points}\^{dimensions} points: use at least 2 per dimension and at most 20,000,000 in "
        r"all, or gs\.MultiStart\(\)",
    ):
        solve(points, problem)


@pytest.mark.parametrize("points", [1, 0, -3, 2.5, True, "21", None, 10**30])
def test_a_grid_of_something_else_than_two_or_more_points_is_refused_when_it_is_made(points):
    with pytest.raises(ModelError, match=r"Grid\(points=.*\): pass a whole number of at least 2"):
        gs.Grid(points)


def test_whole_numbers_are_the_only_ones_on_the_grid():
    problem = search_problem([0, 0, 0], [2, 100, 1], lambda p: p.sum(1), whole=[True, True, False])
    counting = Counting(problem)
    hint = torch.tensor([[0.4, 3.2, 0.9]], dtype=torch.float64)
    solve(5, counting.problem, hint)
    asked = {tuple(p) for p in counting.points.tolist()}
    axes = [[0, 1, 2], [0, 25, 50, 75, 100], [0, 0.25, 0.5, 0.75, 1]]
    grid_points = {(a, b, c) for a in axes[0] for b in axes[1] for c in axes[2]}
    assert asked == grid_points | {(0, 3, 0.9)}

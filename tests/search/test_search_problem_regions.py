"""Searches draw their samples where linear inequalities are met."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from grisaille.search.multistart import MultiStart
from grisaille.search.polytope import Polytope
from grisaille.search.search_problem import (
    SearchProblem,
    in_region,
    nearby,
    sampled_scale,
    with_fixed,
)

N = 9


def mixture(seen: list[torch.Tensor], regional: bool = True) -> SearchProblem:
    """Nine of ten fractions, and one more number; the best point is a corner of the mixture."""
    prices = torch.linspace(2, 1, N, dtype=torch.float64)

    def evaluate(points):
        seen.append(points.detach())
        objective = (prices - 3) @ points[:, :N].T + points[:, N] ** 2
        return objective, points[:, :N].sum(1, keepdim=True) - 1

    none = np.zeros(N, dtype=bool)
    region = Polytope(np.ones((1, N)), np.ones(1), np.zeros(N), np.ones(N), none)
    lower, upper = torch.zeros(N + 1), torch.ones(N + 1)
    lower[N] = -1
    return SearchProblem(
        lower.double(), upper.double(), evaluate, region=region if regional else None
    )


def test_screening_looks_inside_and_finds_the_corner():
    seen: list[torch.Tensor] = []
    problem = mixture(seen)
    solution = MultiStart(starts=4, samples=256, iterations=20).solve(
        problem, torch.zeros(0, N + 1, dtype=torch.float64), 0
    )
    assert (seen[0][:, :N].sum(1) <= 1 + 1e-9).all()  # all samples, and not one in 362,880
    torch.testing.assert_close(solution.point[:N], torch.eye(N).double()[N - 1], atol=1e-5, rtol=0)
    assert abs(solution.value + 2) < 1e-5


def test_limits_that_leave_no_volume_have_the_spread_that_they_have_in_the_whole_space():
    both = torch.tensor([[1.0, 2, 0], [-1, -2, 0], [1, 0, 1]], dtype=torch.float64)
    ends = torch.tensor([0.3, -0.1 - 0.2, 1.5], dtype=torch.float64)
    none, lower = np.zeros(3, dtype=bool), torch.zeros(3, dtype=torch.float64)
    region = Polytope(both.numpy(), ends.numpy(), np.zeros(3), np.ones(3), none)
    flat = SearchProblem(lower, lower + 1, lambda p: (p[:, 0], p @ both.T - ends), region=region)
    scale, whole = sampled_scale(flat, 0), sampled_scale(replace(flat, region=None), 0)
    torch.testing.assert_close(scale.constraints[:2], whole.constraints[:2])
    assert 0.05 < scale.constraints[2] < 0.9 * whole.constraints[2]  # as it varies along the flat
    solution = MultiStart(starts=4, samples=256, iterations=20).solve(flat, lower[None], 0)
    assert solution.feasible
    assert abs(solution.value) < 1e-6


def test_entries_behind_the_region_stay_as_they_are():
    problem = mixture([])
    points = torch.rand(64, N + 1, dtype=torch.float64)
    found = in_region(problem, problem.region, points, 0)
    torch.testing.assert_close(found[:, N], points[:, N], rtol=0, atol=0)
    assert (found[:, :N].sum(1) <= 1 + 1e-9).all()


def test_labels_are_not_moved_to_the_first_and_the_last_one():
    none, flags = np.zeros(3, dtype=bool), torch.tensor([False, False, True])
    whole = none | np.array([False, False, True])
    upper = np.array([1.0, 1.0, 3.0])
    region = Polytope(np.array([[1.0, 1.0, 0.0]]), np.ones(1), np.zeros(3), upper, whole)
    problem = SearchProblem(
        torch.zeros(3).double(),
        torch.tensor(upper),
        lambda p: (p[:, 0], p[:, :0]),
        whole=flags,
        nominal=flags,
        region=region,
    )
    found = in_region(problem, region, torch.zeros(400, 3).double(), 0, faces=400)
    counts = torch.bincount(found[:, 2].long(), minlength=4)
    assert (counts >= 80).all()


def test_the_region_follows_the_problem_nearby_and_with_fixed_entries():
    problem = mixture([])
    point = torch.full((N + 1,), 0.1, dtype=torch.float64)
    near = nearby(problem, point, N)
    np.testing.assert_allclose(near.region.upper, near.upper[:N])
    assert near.region.contains(near.region.uniform(50, 0)).all()
    fixed = torch.zeros(N + 1, dtype=torch.bool)
    fixed[0] = fixed[N] = True
    left = with_fixed(problem, point, fixed).region
    np.testing.assert_allclose(left.limits, [0.9])
    fixed[:N] = True
    assert with_fixed(problem, point, fixed).region is None

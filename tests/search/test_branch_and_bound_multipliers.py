"""The pool learns the multipliers and rays that a proof needs, and keeps its size."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from grisaille.search.branch_and_bound import MultiplierPool


def small_program():
    """min -x - 2y over [0, 1]^2, x + y <= 1, x - y <= 0.5: multipliers (1 to 2, 0), value -2."""
    rows = torch.tensor([[-1.0, -2.0, 0.0], [1.0, 1.0, -1.0], [1.0, -1.0, -0.5]]).double()

    def bound(weights):
        slopes = weights @ rows[:, :2]
        return slopes.clamp_max(0).sum(1) + weights @ rows[:, 2]

    return bound


def test_the_right_multipliers_of_a_linear_program_are_learned():
    pool = MultiplierPool(torch.tensor([1.0, 2.0, 0.5]).double())
    bound = small_program()
    assert float(bound(pool.weights)[0]) == -3
    for _ in range(6):
        pool.learn(bound, target=-2.0)
    duals = pool.weights[pool.weights[:, 0] > 0]
    best = bound(duals).argmax()
    assert float(bound(duals)[best]) == pytest.approx(-2.0, abs=0.03)
    assert 0.9 <= float(duals[best][1]) <= 2.1
    assert float(duals[best][2]) == pytest.approx(0.0, abs=0.1)
    assert (pool.weights >= 0).all()
    assert ((pool.weights[:, 0] == 0) | (pool.weights[:, 0] == 1)).all()


def test_rays_that_prove_infeasibility_are_learned_and_sum_to_one():
    # x + y <= -0.1 and -x - y <= -0.1 over [-1, 1]^2: only both together are refuted.
    def bound(weights):
        slopes = weights[:, 1:2] - weights[:, 2:3]
        return 0.1 * weights[:, 1:].sum(1) - 2 * slopes.abs().squeeze(1)

    pool = MultiplierPool(torch.tensor([1.0, 1.0, 3.0]).double())
    _, excess, _ = pool.best_bounds(bound(pool.weights).unsqueeze(0))
    assert float(excess) < 0
    assert pool.learn(bound, target=math.inf)
    _, excess, multipliers = pool.best_bounds(bound(pool.weights).unsqueeze(0))
    assert float(excess) > 0
    np.testing.assert_allclose(multipliers, [[0.5, 0.5]], atol=0.05)
    rays = pool.weights[pool.weights[:, 0] == 0]
    np.testing.assert_allclose(rays.sum(1), 1.0, rtol=1e-12)


def test_the_pool_keeps_its_size_and_what_it_started_with():
    pool = MultiplierPool(torch.ones(3).double())
    start = pool.weights.clone()
    generator = torch.Generator().manual_seed(0)
    for _ in range(60):
        corners = 3 * torch.randn(4, 3, generator=generator, dtype=torch.float64)

        def bound(weights, corners=corners):
            return (weights @ corners.T).amin(1)

        pool.learn(bound, target=float(corners[:, 0].amax()))
        pool.best_bounds(bound(pool.weights).unsqueeze(0))
    assert len(pool.weights) <= 12 + 3
    assert torch.equal(pool.weights[:3], start)
    assert len(pool.weights) > 8


def test_the_best_bounds_are_the_best_of_each_kind():
    pool = MultiplierPool(torch.ones(3).double())
    values = torch.tensor([[5.0, -1.0, -2.0], [4.0, -3.0, 0.5]]).double()
    bound, excess, multipliers = pool.best_bounds(values)
    assert bound.tolist() == [5.0, 4.0]
    assert excess.tolist() == [-1.0, 0.5]
    assert multipliers.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    alone = MultiplierPool(torch.ones(1).double())
    bound, excess, multipliers = alone.best_bounds(torch.tensor([[2.0]]).double())
    assert (bound.tolist(), excess.tolist(), multipliers.shape) == ([2.0], [-math.inf], (1, 0))

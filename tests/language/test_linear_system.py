"""Points on linear equalities: whether there are any, and the nearest."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

from grisaille.language.linear_system import LinearSystem


def system(equal, values, less=(), limits=(), n=3, steps=0.0, upper=1.0) -> LinearSystem:
    return LinearSystem(
        equal=np.array(equal, dtype=float).reshape(-1, n),
        values=np.array(values, dtype=float),
        less=np.array(less, dtype=float).reshape(-1, n),
        limits=np.array(limits, dtype=float),
        lower=np.zeros(n),
        upper=np.full(n, upper),
        steps=np.full(n, steps),
    )


def test_whether_there_is_a_point():
    assert system([[1, 1, 1]], [1]).has_point()
    assert not system([[1, 1, 1]], [4]).has_point()
    assert system([[1, 1, 1]], [4]).has_point(bounded=False)
    assert not system([[1, 1, 1]], [1], [[-1, -1, 0]], [-1.5]).has_point()
    assert not system([[1, 1, 1], [1, 1, 1]], [1, 2]).has_point(bounded=False)


def test_a_correction_is_the_nearest_point_where_no_bound_is_reached():
    generator = np.random.default_rng(1)
    for _ in range(20):
        inside = generator.uniform(0.3, 0.7, 5)
        matrix = generator.normal(size=(2, 5))
        one = system(matrix, matrix @ inside, n=5)
        x = inside + 0.05 * generator.normal(size=5)
        found = one.corrected(x)
        step = np.linalg.pinv(matrix) @ (matrix @ inside - matrix @ x)
        np.testing.assert_allclose(found, x + step, atol=1e-12)
        assert one.missed(found) < 1e-14


def test_entries_at_a_bound_stay_there_if_they_can():
    found = system([[1, 1, 1]], [1]).corrected(np.array([0.3, 0.6999, 0.0]))
    assert found[2] == 0.0
    assert abs(found.sum() - 1) < 1e-15
    found = system([[1, 1, 1]], [3]).corrected(np.array([0.9, 1.0, 0.0]))
    np.testing.assert_allclose(found, 1)


@pytest.mark.parametrize("seed", range(10))
def test_the_nearest_point_meets_everything_and_no_other_is_nearer(seed):
    generator = np.random.default_rng(seed)
    one = system([[1, 1, 1, 1]], [1], [[1, 1, 0, 0]], [0.4], n=4)
    x = generator.uniform(0, 1, 4)
    found = one.nearest(x)
    assert one.missed(found) < 1e-12
    assert found[0] + found[1] <= 0.4 + 1e-7
    # The same with a general method, of the distance that counts: the sum.
    best = np.inf
    for start in generator.dirichlet(np.ones(4), 20):
        other = minimize(
            lambda t: np.sqrt((t - x) ** 2 + 1e-12).sum(),
            start,
            bounds=[(0, 1)] * 4,
            constraints=[
                {"type": "eq", "fun": lambda t: t.sum() - 1},
                {"type": "ineq", "fun": lambda t: 0.4 - t[0] - t[1]},
            ],
        )
        best = min(best, other.fun)
    corrected = one.corrected(x)
    if not (corrected[:2].sum() <= 0.4):
        assert np.abs(found - x).sum() <= best + 1e-3


def test_the_nearest_point_on_steps_is_that_of_all_of_them():
    one = system([[1, 1, 1]], [1], steps=0.25)
    every = [np.array(p) * 0.25 for p in product(range(5), repeat=3) if sum(p) == 4]
    for x in np.random.default_rng(0).uniform(0, 1, (20, 3)):
        found = one.nearest(x)
        assert any(np.array_equal(found, p) for p in every)
        assert np.abs(found - x).sum() <= min(np.abs(p - x).sum() for p in every) + 1e-9


def test_there_is_no_nearest_point_where_there_is_none():
    assert system([[1, 1, 1]], [1.1], steps=0.25).nearest(np.zeros(3)) is None

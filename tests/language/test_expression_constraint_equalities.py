"""Equalities with black boxes: two inequalities with a tolerance."""

import numpy as np
import pytest

import grisaille as gs
from grisaille.errors import ModelError


def circle(**options):
    x = gs.Variable("x", shape=2, lower=-2, upper=2)
    radius = gs.BlackBox(lambda x: x[0] ** 2 + x[1] ** 2, name="radius", noise=0)
    return gs.Problem(minimize=x[0] + x[1], subject_to={"circle": radius(x) == 1.0}, **options)


def test_an_equality_is_written_once_and_counts_twice():
    problem = circle()
    assert "circle: radius(x) == 1 (tolerance 0.0001)" in repr(problem)
    assert problem.constraint_names == ["circle (too large)", "circle (too small)"]
    assert problem.tolerances.tolist() == [1e-4, 1e-4]
    assert circle(feasibility_tol=0.01).tolerances.tolist() == [0.01, 0.01]


@pytest.mark.slow
def test_the_recommended_point_satisfies_an_equality_with_a_black_box():
    result = circle().solve(
        12, strategy=gs.Optimistic(solver=gs.MultiStart(starts=8)), progress=False
    )
    assert result.maxcv == 0
    assert result.fun == pytest.approx(-np.sqrt(2), abs=1e-3)
    assert result.lower_bound <= -np.sqrt(2)


def test_a_tolerance_of_zero_for_an_equality_of_black_boxes_is_refused():
    with pytest.raises(ModelError, match=r"circle: .* has feasibility_tol=0: .* above 0"):
        circle(feasibility_tol=0)

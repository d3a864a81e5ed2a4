"""The paper's measures, on numbers worked out by hand."""

import numpy as np
import pytest

import grisaille as gs


def test_the_measures_are_those_of_the_definitions():
    metrics = gs.Metrics([3.0, 0.5, 2.0], [[1.0, -1.0], [0.25, 0.5], [-3.0, 0.0]], optimum=1.0)
    assert metrics.regret.tolist() == [2.0, -0.5, 1.0]
    assert metrics.positive_regret.tolist() == [2.0, 0.0, 1.0]
    assert metrics.cumulative_regret.tolist() == [2.0, 1.5, 2.5]
    assert metrics.cumulative_positive_regret.tolist() == [2.0, 2.0, 3.0]
    assert metrics.violations.tolist() == [[1.0, 0.0], [0.25, 0.5], [0.0, 0.0]]
    assert metrics.cumulative_violations.tolist() == [[1.0, 0.0], [1.25, 0.5], [1.25, 0.5]]
    assert metrics.shortfall.tolist() == [3.0, 0.75, 1.0]
    assert metrics.constrained_regret.tolist() == [3.0, 0.75, 0.75]
    assert metrics.best_iterate == 1


def test_without_constraints_there_are_no_violations():
    metrics = gs.Metrics([3.0, 2.0], [], optimum=1.0)
    assert metrics.violations.shape == (2, 0)
    assert metrics.constrained_regret.tolist() == [2.0, 1.0]


def test_a_point_without_a_value_is_never_the_best():
    metrics = gs.Metrics([np.nan, 2.0, np.nan], [], optimum=1.0)
    assert metrics.best_iterate == 1
    assert metrics.constrained_regret[1:].tolist() == [1.0, 1.0]


def test_without_any_value_there_is_no_best_point():
    for objectives in ([], [np.nan]):
        with pytest.raises(gs.ModelError, match="no point has a value"):
            _ = gs.Metrics(objectives, [], 0.0).best_iterate


def test_a_result_gives_its_metrics_in_either_sense():
    x = gs.Variable("x", lower=0, upper=1)
    h = gs.BlackBox(lambda x: x, name="h", noise=0)
    result = gs.Problem(maximize=h(x), subject_to=[h(x) <= 0.8]).solve(5, progress=False)
    metrics = result.metrics(0.8)
    assert metrics.regret == pytest.approx([0.8 - t.x[0] for t in result.history])
    assert metrics.violations[:, 0] == pytest.approx([max(t.x[0] - 0.8, 0) for t in result.history])


def test_what_makes_no_sense_is_refused():
    for optimum in (np.nan, np.inf, "low", None):
        with pytest.raises(gs.ModelError, match="a finite optimum"):
            gs.Metrics([1.0], [], optimum)
    for objectives, constraints in (([[1.0]], []), (1.0, []), ([1.0, 2.0, 3.0], [[1, 2, 3]])):
        with pytest.raises(gs.ModelError, match="one objective per point, and one row"):
            gs.Metrics(objectives, constraints, 0.0)

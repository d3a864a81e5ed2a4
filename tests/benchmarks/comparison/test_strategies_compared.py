"""The strategies that are compared."""

from __future__ import annotations

import pytest
from benchmarks.comparison.strategies_compared import BASELINE, DEFAULT, strategies_compared

from grisaille.lab.comparison.comparison import SameStart
from grisaille.lab.problems import catalogue

pytestmark = pytest.mark.slow


def test_every_strategy_starts_from_the_same_points():
    makers = strategies_compared()
    assert DEFAULT in makers
    assert BASELINE in makers
    known = catalogue()["sum_of_squares"](0)
    starts = set()
    for name in ("Optimistic", "EIFN", "LogEI", "RandomSearch"):
        strategy = makers[name](3)
        assert isinstance(strategy, SameStart)
        history = known.problem.solve(3, strategy=strategy, seed=5, progress=False).history
        starts.add(tuple(tuple(trial.x) for trial in history))
    assert len(starts) == 1

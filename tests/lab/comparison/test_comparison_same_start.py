"""The same initial design for every strategy."""

from __future__ import annotations

from grisaille.lab.comparison.comparison import SameStart
from tests.lab.comparison.comparison_helpers import optimistic, slope


def test_a_given_start_leaves_the_decisions_to_the_strategy():
    known = slope(0)
    started = SameStart(optimistic(3), 3)
    results = [
        known.problem.solve(6, strategy=s, evaluation="chained", seed=1, progress=False)
        for s in (optimistic(3), started)
    ]
    first, second = ([tuple(t.x) for t in result.history] for result in results)
    assert first == second
    assert started.learned(known.problem) == ["slope"]

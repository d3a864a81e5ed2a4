"""How much is left to gain, and whether trials gain it."""

from __future__ import annotations

import numpy as np
import pytest

from grisaille.confidence.incumbent import Incumbent
from grisaille.records import History, Suggestion, Trial, TrialKind
from grisaille.strategies.practical.gap import relative_gap, stalled


def history(initial: list[float], chosen: list[float]) -> tuple[History, Incumbent]:
    """Trials of given objectives without constraints, and the best of them."""
    kinds = [TrialKind.INITIAL] * len(initial) + [TrialKind.NARROWED] * len(chosen)
    objectives = [*initial, *chosen]
    trials = tuple(
        Trial(i + 1, Suggestion(kind, np.zeros(1)), objective, np.zeros(0), np.zeros(1), ())
        for i, (kind, objective) in enumerate(zip(kinds, objectives, strict=True))
    )
    best = int(np.argmin(objectives))
    return History(trials), Incumbent(best, objectives[best], 0.0, True)


def test_the_gap_is_measured_by_the_spread_of_chosen_trials():
    trials, best = history([0.0, 10.0], [1.0, -1.0])
    assert relative_gap(trials, best, -1.5) == pytest.approx(0.5)
    assert relative_gap(trials, best, None) == np.inf


def test_a_gap_is_stalled_when_the_last_trials_gained_little_of_it():
    trials, best = history([2.0, 3.0], [1.0, 0.95, 0.99, 1.2])
    assert stalled(trials, best, 0.0)
    assert not stalled(trials, best, 0.8)


def test_a_digit_is_no_progress_where_trials_typically_miss_by_much():
    digits = [0.5, 0.5 - 1e-6, 0.5 - 2e-6, 0.5 - 3e-6]
    trials, best = history([2.0, 3.0], [1.0, 1.5, 2.0, 1.2, 1.7, *digits])
    assert stalled(trials, best, best.objective - 1e-6)
    trials, best = history([2.0, 3.0], digits)
    assert not stalled(trials, best, best.objective - 1e-6)

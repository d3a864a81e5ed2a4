"""The memory of a study as a notebook shows it."""

from __future__ import annotations

import numpy as np

from grisaille.records import Bound, History, Observation, Suggestion, Trial, TrialKind


def trial(number: int, bound: float | None = None) -> Trial:
    suggestion = Suggestion(TrialKind.OPTIMISTIC, np.zeros(1), bound=Bound(bound))
    seen = (Observation("<b>", np.zeros(1), np.zeros(1)),)
    return Trial(number, suggestion, 2.5 * number, np.array([0.25]), np.zeros(1), seen)


def test_a_history_shows_its_trials_and_counts_answers():
    shown = History((trial(1), trial(2, -7.0)))._repr_html_()
    assert "2 trials; answers: &lt;b&gt; 2" in shown
    assert shown.count("<tr") == 3
    for text in (">5<", ">0.25<", ">-7<", ">-<"):
        assert text in shown


def test_of_a_long_history_the_last_trials_are_shown():
    shown = History(tuple(trial(number) for number in range(1, 41)))._repr_html_()
    assert "the last 12 trials" in shown
    assert ">29<" in shown
    assert ">28<" not in shown


def test_an_empty_history_says_so():
    shown = History()._repr_html_()
    assert "0 trials; answers: none" in shown
    assert "<table" not in shown

"""The memory of a study as a notebook shows it."""

from __future__ import annotations

import numpy as np

from grisaille.records import (
    Bound,
    History,
    Observation,
    Suggestion,
    Trial,
    TrialKind,
    Untested,
    first_tested,
    untested,
)


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


def answered(number: int, kind: TrialKind, boxes: str) -> Trial:
    seen = tuple(Observation(box, np.zeros(1), np.zeros(1)) for box in boxes)
    return Trial(number, Suggestion(kind, np.zeros(1)), 0.0, np.zeros(0), np.zeros(1), seen)


def test_learned_bands_are_untested_until_five_answers_of_each_box_were_predicted():
    kinds = [TrialKind.DATA, TrialKind.OWN, TrialKind.INITIAL, TrialKind.OPTIMISTIC, TrialKind.OWN]
    trials = [answered(number, kind, "fg") for number, kind in enumerate(kinds, 1)]
    history = History(tuple(trials))
    # A user's own point counts once a model was there to predict it.
    assert untested(["f", "g"], history) == Untested("f", 2)
    assert str(untested(["f"], history)) == "untested (2 of 5 answers predicted)"
    trials += [answered(number, TrialKind.NARROWED, "fff") for number in (6,)]
    history = History(tuple(trials))
    assert untested(["f"], history) is None
    assert untested(["f", "g"], history) == Untested("g", 2)
    assert untested([], history) is None
    since = [first_tested(boxes, history) for boxes in (["f"], ["f", "g"], [])]
    assert since == [6, np.inf, 0]
    assert untested(["f"], History()) == Untested("f", 0)


def test_an_empty_history_says_so():
    shown = History()._repr_html_()
    assert "0 trials; answers: none" in shown
    assert "<table" not in shown

from __future__ import annotations

import warnings

import pytest

from grisaille.study.log.event_log import Event, Kind
from grisaille.views.page.study_page import event_text
from tests.views.page.page_helpers import asked_study, reactor_study

pytestmark = pytest.mark.slow


def test_every_event_of_a_study_has_a_text():
    study = asked_study()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.tell("1-1", [3.5, 0.2])
        study.correct("1-1", [3.4, 0.2])
        study.retract("1-1", "wrong sample")
        study.fail("2-1", "the oven was cold")
        study.observe("oven", [[0.25]], [[1.0, 2.0]])
        study.release(study.ask()[0])
    texts = {event.kind: event_text(event) for event in study.events()}
    assert texts[Kind.TOLD] == "question 1-1 was answered: [3.5, 0.2]"
    assert texts[Kind.RETRACTED] == "answer 1-1 was taken back: wrong sample"
    assert texts[Kind.FAILED] == "question 2-1 failed: the oven was cold"
    assert texts[Kind.OBSERVED] == "1 answer of oven from elsewhere"
    assert all(texts.values())


def test_points_of_many_entries_are_cut():
    data = {"trial": 1, "suggestion": {"kind": "initial", "x": list(range(50))}}
    assert event_text(Event(1, Kind.SUGGESTED, data, 0.0)).endswith("[0, 1, 2, 3, 4, 5, ...]")


def test_a_run_tells_its_trials():
    texts = [event_text(event) for event in reactor_study(2).events()]
    assert "trial 2 is complete" in texts

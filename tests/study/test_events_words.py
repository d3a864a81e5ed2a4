from __future__ import annotations

import warnings

import pytest

from grisaille.study.events import KINDS, Corrected, Details, Text, _kinds
from tests.views.page.page_helpers import asked_study, reactor_study

pytestmark = pytest.mark.slow


def words(study) -> list[tuple[str, str]]:
    return [(event.kind, KINDS[event.kind].of(event.data).words()) for event in study.events()]


def test_every_event_of_a_study_has_words():
    study = asked_study()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.tell("1-1", [3.5, 0.2])
        study.correct("1-1", [3.4, 0.2])
        study.retract("1-1", "wrong sample")
        study.fail("2-1", "the oven was cold")
        study.observe("oven", [[0.25]], [[1.0, 2.0]])
        study.release(study.ask()[0])
    texts = dict(words(study))
    assert texts["told"] == "question 1-1 was answered: [3.5, 0.2]"
    assert texts["retracted"] == "answer 1-1 was taken back: wrong sample"
    assert texts["failed"] == "question 2-1 failed: the oven was cold"
    assert texts["observed"] == "1 answer of oven from elsewhere"
    assert all(texts.values())


def test_answers_of_many_numbers_are_cut():
    details = Corrected("1-1", [0.0], list(range(50)))
    assert details.words().endswith("[0, 1, 2, 3, 4, 5, ...]")


class Noted(Details, frozen=True):
    kind = "noted"
    template = "note: {0.text}"

    text: Text


def test_a_field_may_be_called_text_and_hold_braces():
    assert Noted("heat {oven} to {0}").words() == "note: heat {oven} to {0}"
    assert _kinds(Noted) == {"noted": Noted}


@pytest.mark.parametrize("name", ["kind", "template", "teaches", "changes_rows", "words", "plain"])
def test_no_field_replaces_what_every_event_has(name):
    # As a class statement with this one field would make it.
    body = {"__module__": __name__, "__annotations__": {name: "Text"}, "kind": "noted"}
    clashing = type(Details)("Clashing", (Details,), body, frozen=True)
    with pytest.raises(TypeError, match=f"event class Clashing: every event has '{name}' already"):
        _kinds(clashing)


def test_a_run_tells_its_trials():
    assert ("completed", "trial 2 is complete") in words(reactor_study(2))

from __future__ import annotations

import time

import pytest

from grisaille.views.page.facts import StudyFacts
from grisaille.views.page.study_page import ago, answers, questions
from tests.views.page.page_helpers import asked_study, reactor_study

pytestmark = pytest.mark.slow


def facts_of(study) -> StudyFacts:
    return StudyFacts(study.name, study.state.settings, study.history)


def test_open_questions_show_what_to_do_and_who_has_them():
    study = asked_study()
    found = questions(facts_of(study), study.state)
    assert [q.id for q in found] == ["1-1", "2-1"]
    assert [name for name, _ in found[0].inputs] == ["x"]
    assert found[0].outputs == ["hardness", "colour"]
    assert (found[0].holder, found[0].age) == ("asked by a person", "just now")


def test_an_answered_question_moves_to_the_answers():
    study = asked_study()
    study.tell("1-1", [3.5, 0.2])
    assert [q.id for q in questions(facts_of(study), study.state)] == ["2-1"]
    (answer,) = answers(facts_of(study), study.state)
    assert answer.outputs == [("hardness", "3.5"), ("colour", "0.2")]


def test_a_form_that_corrects_an_answer_begins_with_all_its_digits():
    study = asked_study()
    study.tell("1-1", [1 / 3, -2 / 3])
    (answer,) = answers(facts_of(study), study.state)
    assert [float(text) for text in answer.exact] == [1 / 3, -2 / 3]


def test_a_failed_attempt_is_shown_with_its_reason():
    study = asked_study()
    study.fail("1-1", "the oven was cold")
    first = questions(facts_of(study), study.state)[0]
    assert (first.failed, first.holder) == ("the oven was cold", "")


def test_observed_rows_are_answers_with_names_of_their_own():
    study = asked_study()
    study.observe("oven", [[0.25]], [[1.0, 2.0]])
    (answer,) = answers(facts_of(study), study.state)
    assert answer.trial is None
    assert "/" in answer.id
    assert answer.inputs == [("x", "0.25")]


def test_the_latest_answer_comes_first():
    study = reactor_study(3)
    found = [int(a.id.split("-")[0]) for a in answers(facts_of(study), study.state)]
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(5, "just now"), (61, "1 minute ago"), (7300, "2 hours ago"), (2e5, "2 days ago")],
)
def test_ages_are_words(seconds: float, words: str):
    assert ago(time.time() - seconds) == words

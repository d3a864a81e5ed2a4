from __future__ import annotations

import re

import pytest

import grisaille as gs
from grisaille.views.page.facts import StudyFacts, number
from grisaille.views.page.study_page import Status, status_of
from tests.study.study_helpers import QUICK
from tests.views.page.page_helpers import asked_study, made_study, reactor_study

pytestmark = pytest.mark.slow


def status(study: gs.Study) -> Status:
    return status_of(StudyFacts(study.name, study.state.settings, study.history), study.state)


def test_a_study_with_trials_says_best_value_bound_gap_and_trials():
    study = made_study()
    found = status(study)
    best = max(-t.objective for t in study.history if t.violation == 0)
    assert f"The best value so far is {number(best, 8)}" in found.sentence
    assert re.search(
        r"The optimum lies between .* and .*, a gap of .* \((certified|estimated)", found.sentence
    )
    assert "8 trials are complete." in found.sentence
    assert re.search(r"The next suggestion (takes about .* s|comes at once)\.", found.sentence)
    assert found.word == "open"


def test_an_empty_study_says_so():
    found = status(reactor_study(0))
    assert found.sentence.startswith("No trial is complete yet. 0 trials are complete.")
    assert (found.best, found.bound, found.gap) == ("–", "–", "–")


def test_open_questions_are_counted():
    found = status(asked_study())
    assert "2 questions are open." in found.sentence
    assert found.word == "waiting"


def test_a_finished_study_expects_no_suggestion():
    study = reactor_study()
    study.record_settings(trials=8)
    found = status(study)
    assert "8 of 8 trials are complete; the study is finished." in found.sentence
    assert "next suggestion" not in found.sentence
    assert found.word == "finished"


def test_without_a_feasible_point_the_closest_one_is_named():
    x = gs.Variable("x", lower=0, upper=1)
    box = gs.BlackBox(lambda x: x, name="f", noise=0)
    problem = gs.Problem(minimize=box(x), subject_to=[box(x) >= 2])
    study = gs.Study(problem, strategy=QUICK, seed=0)
    study.run(5, progress=False)
    found = status(study)
    least = min(study.history, key=lambda t: t.violation)
    assert (
        f"No point tried meets all constraints. Trial {least.number} comes closest"
        in found.sentence
    )
    assert found.best == "–"

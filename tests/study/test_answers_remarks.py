"""Answers that look like mistakes are told of, with the numbers and the remedy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import grisaille as gs
from grisaille.belief.learning import believe
from tests.study.study_helpers import answer, parabola

pytestmark = pytest.mark.slow


CHANCE = gs.RandomSearch()


def answered(trials: int, **options) -> gs.Study:
    study = gs.Study(parabola(**options), strategy=CHANCE)
    study.run(trials, progress=False)
    return study


@pytest.mark.parametrize("noise", [0, 0.01, None])
def test_a_typing_error_is_told_of_with_the_numbers_and_the_remedy(noise):
    study = answered(8, noise=noise)
    (query,) = study.ask()
    said = r"query 9-1: 55 is \d+ deviations above what was expected of black box 'f' there \("
    with pytest.warns(gs.GrisailleWarning, match=said) as caught:
        study.tell(query, 55.0)
    assert "study.correct('9-1', ...)" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert len(study.history) == 9  # it is recorded all the same


def test_right_answers_are_not_told_of():
    study = answered(8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for query in study.ask(3):
            study.tell(query, answer(study.problem, query))


def test_little_is_expected_from_few_answers():
    study = answered(3)
    (query,) = study.ask()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study.tell(query, 55.0)


def test_exact_answers_that_contradict_each_other_at_one_input_are_told_of():
    study = answered(1)
    study.enqueue(study.history.trials[0].x)
    (query,) = study.ask()
    with pytest.warns(gs.GrisailleWarning, match=r"declared without noise, but at .* it gave \["):
        study.tell(query, 7.0)


def test_a_small_surprise_of_a_well_known_function_is_no_matter():
    study = answered(20)
    (query,) = study.ask()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study.tell(query, answer(study.problem, query) + 1e-3)


def test_the_answer_is_recorded_for_everybody_before_it_is_remarked_on(monkeypatch, tmp_path):
    stored = {"name": "a", "storage": f"sqlite:///{tmp_path}/a.db", "strategy": CHANCE}
    study, other = (gs.Study(parabola(), **stored) for _ in range(2))
    (query,) = study.ask()
    seen = []

    def remark(*_):
        seen.append(len(other.answers()))
        other.observe("f", [0.1], [0.3])  # another writer need not wait
        raise KeyboardInterrupt

    monkeypatch.setattr("grisaille.study.study.remarks_on_answer", remark)
    with pytest.raises(KeyboardInterrupt):
        study.tell(query, 1.0)
    assert seen == [1]
    assert len(study.answers()) == 2


def test_an_answer_of_which_nothing_can_be_learned_is_recorded(monkeypatch):
    study = answered(8)
    (query,) = study.ask()

    def fail(*_, **__):
        raise RuntimeError("no factor")

    monkeypatch.setattr("grisaille.study.answers.believe", fail)
    assert study.tell(query, 55.0).number == 9


def test_of_many_answers_the_nearest_ones_say_what_to_expect(monkeypatch):
    x = gs.Variable("x", 2, lower=0, upper=1)
    box = gs.BlackBox(None, name="f", outputs=2, noise=0)
    study = gs.Study(gs.Problem(minimize=np.sum(box(x))), strategy=CHANCE)
    inputs = np.random.default_rng(0).uniform(size=(400, 2))
    study.observe("f", inputs, np.stack([inputs.sum(1), inputs[:, 0] ** 2], 1))
    learned = []

    def counted(program, history, **options):
        learned.append(len(history.loose))
        return believe(program, history, **options)

    monkeypatch.setattr("grisaille.study.answers.believe", counted)
    (query,) = study.ask()
    with pytest.warns(gs.GrisailleWarning, match=r"7 is \d+ deviations above"):
        study.tell(query, [query.inputs.sum(), 7.0])
    assert learned == [60]

"""Answers that look like mistakes are told of, with the numbers and the remedy."""

from __future__ import annotations

import warnings

import pytest

import grisaille as gs
from tests.study.study_helpers import answer, parabola

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

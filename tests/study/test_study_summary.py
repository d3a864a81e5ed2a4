"""What is recorded of a study, as views show it that have no problem."""

from __future__ import annotations

import numpy as np

import grisaille as gs
from grisaille.study.study_summary import concluded


def test_a_bound_that_rests_on_a_corrected_answer_is_not_shown():
    x = gs.Variable("x", lower=-1, upper=1)
    box = gs.BlackBox(lambda x: np.cos(2 * x), name="f", noise=0)
    quick = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=64), initial=3)

    def answer(study, error=0.0):
        (query,) = study.ask()
        study.tell(query, float(np.cos(2 * query.inputs[0])) + error)
        return query

    with gs.Study(gs.Problem(minimize=box(x)), strategy=quick, seed=0) as study:
        wrong = answer(study, error=0.1)
        for _ in range(4):
            answer(study)
        assert concluded(study._session.state()).bound is not None
        study.correct(wrong, float(np.cos(2 * wrong.inputs[0])))
        assert concluded(study._session.state()).bound is None
        for _ in range(12):  # decided with the right answer
            answer(study)
        assert concluded(study._session.state()).bound is not None

from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs
from grisaille.views.page.facts import StudyFacts, constraint_rows, number
from tests.views.page.page_helpers import made_study, reactor_study

pytestmark = pytest.mark.slow


def test_slacks_are_those_of_the_best_point():
    study = made_study()
    facts = StudyFacts.of_result(study.result(), "study")
    waste, total = constraint_rows(facts)
    assert waste.slack == number(-facts.best.constraints[0], 4)
    assert (waste.name, waste.formula) == ("waste", "reactor(flow, heat)['waste'] <= 0.05")
    met = np.mean([t.constraints[0] <= 0 for t in study.history])
    assert waste.met == 100 * met
    assert [waste.is_tightest, total.is_tightest].count(True) == 1
    assert waste.chart is not None


def test_without_a_trial_there_is_no_row():
    study = reactor_study(0)
    facts = StudyFacts("study", study.state.settings, study.history)
    assert constraint_rows(facts) == []


def test_a_constraint_that_is_met_within_its_tolerance_says_so_as_the_printed_result_does():
    x = gs.Variable("x", lower=0, upper=1)
    y = gs.BlackBox(lambda x: 3 * x, name="box", noise=0)(x)
    study = gs.Study(gs.Problem(maximize=y, subject_to=[y <= 0.9]))
    for point in (0.25, 0.3 * (1 + 1e-13)):
        study.enqueue([point])
    result = study.run(2, progress=False)
    (row,) = constraint_rows(StudyFacts.of_result(result, "study"))
    assert row.remark == "met within 1e-06 of the size of its terms"
    assert row.remark in str(result)
    assert row.met == 100

from __future__ import annotations

import numpy as np
import pytest

from grisaille.records import History
from grisaille.views.page.facts import StudyFacts, number, shown
from tests.views.inspection.inspection_helpers import with_choice
from tests.views.page.page_helpers import made_study, reactor_study

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (np.nan, "–"), (-1.5, "−1.5"), (0.1234567, "0.123457"), (1e-9, "1e-09")],
)
def test_numbers_are_written_for_people(value: float | None, text: str):
    assert number(value) == text


def test_labels_are_shown_as_they_are():
    assert shown("steep") == "steep"


def test_facts_of_a_result_are_those_of_its_study():
    study = made_study()
    recorded = StudyFacts("study", study.state.settings, study.history)
    found = StudyFacts.of_result(study.result(), "study")
    for what in ("sense", "objective", "unit", "entries", "constraints", "graph", "boxes"):
        assert getattr(found, what) == getattr(recorded, what)
    assert found.best.x.tolist() == study.result().x.tolist()


def test_points_and_ranges_have_names_units_and_labels():
    study = made_study()
    facts = StudyFacts("study", study.state.settings, study.history)
    assert facts.ranges() == [("flow", "[0.5, 3] kg/s"), ("heat", "[20, 90] degC")]
    assert [name for name, _ in facts.point(facts.best)] == ["flow", "heat"]
    result = with_choice()
    facts = StudyFacts.of_result(result, "tower")
    assert dict(facts.point(facts.best))["kind"] in ("flat", "steep")
    assert dict(facts.ranges())["kind"] == "{flat, steep}"


def test_values_are_in_the_users_sense():
    study = made_study()
    facts = StudyFacts("study", study.state.settings, study.history)
    assert facts.value(facts.best.objective) == number(study.result().fun, 8)


def test_a_study_without_trials_has_no_best_point():
    study = reactor_study(0)
    facts = StudyFacts("study", study.state.settings, History())
    assert facts.best is None
    assert facts.least_violation is None


@pytest.mark.parametrize(
    ("value", "text"),
    [(2304.7, "2305"), (0.00922, "0.00922"), (-1234567.8, "−1234568"), (1e9, "1e+09"), (0, "0")],
)
def test_numbers_of_a_few_digits_have_no_power_of_ten(value: float, text: str):
    assert number(value, 3) == text

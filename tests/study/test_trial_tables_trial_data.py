"""A trial in the user's sense and names."""

from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs
from grisaille.language.values import ValueKind
from grisaille.records import Bound, Observation, Suggestion, Trial
from grisaille.study.trial_tables import trial_data

pytestmark = pytest.mark.slow


SUGGESTION = Suggestion(gs.TrialKind.OPTIMISTIC, np.array([1.0, 2.0]), bound=Bound(-5.0, -7.0))
KINDS = [ValueKind(), ValueKind()]
NAMES = {"sense": -1, "entries": ["x", "y"], "kinds": KINDS, "boxes": ["f", "g"]}


def test_objective_and_bounds_are_in_the_users_sense():
    seen = (Observation("f", np.zeros(1), np.zeros(1)),)
    trial = Trial(1, SUGGESTION, -4.0, np.array([0.5, -1.0]), np.zeros(1), seen)
    data = trial_data(SUGGESTION, trial, ["f"], **NAMES)
    assert data.objective == 4.0
    assert (data.bound, data.certified_bound) == (5.0, 7.0)
    assert (data.constraints, data.violation) == ([0.5, -1.0], 0.5)
    assert data.x == {"x": 1.0, "y": 2.0}
    assert data.evaluations == {"f": 1, "g": 0}
    assert data.kind == "optimistic"


def test_a_trial_that_is_not_complete_has_a_point_and_no_outcome():
    data = trial_data(SUGGESTION, None, [], **NAMES)
    assert data.x == {"x": 1.0, "y": 2.0}
    assert (data.objective, data.constraints, data.violation) == (None, None, None)


def test_a_point_of_other_variables_has_no_names():
    assert trial_data(SUGGESTION, None, [], **{**NAMES, "entries": ["x"]}).x is None


def test_labels_and_whole_numbers_stand_in_place_of_positions_and_floats():
    kinds = [ValueKind(("A", "B", "C")), ValueKind((), is_whole=True)]
    suggestion = Suggestion(gs.TrialKind.RANDOM, np.array([1.0, 7.0]))
    shown = trial_data(suggestion, None, [], **{**NAMES, "kinds": kinds}).x
    assert shown == {"x": "B", "y": 7}
    assert isinstance(shown["y"], int)

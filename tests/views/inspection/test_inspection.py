from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs
from grisaille.records import History
from grisaille.views.inspection.inspection import Inspection
from tests.study.study_helpers import QUICK, nested
from tests.views.inspection.inspection_helpers import inspection_of, two_boxes, with_choice


def test_the_best_trial_is_the_one_that_the_result_recommends():
    result = two_boxes()
    assert np.array_equal(inspection_of(result).best_trial.x, result.x)


def test_points_that_fill_the_space_respect_whole_numbers_and_reach_both_corners():
    inspection = inspection_of(two_boxes())
    design = inspection.design.numpy()
    assert np.array_equal(design[:, 1], np.rint(design[:, 1]))
    assert design.min(0).tolist() == [-2, 0]
    assert design.max(0).tolist() == [3, 4]


def test_states_at_the_best_point_are_the_inputs_that_were_evaluated_there():
    result = nested().solve(trials=8, seed=0, strategy=QUICK, progress=False)
    inspection = inspection_of(result)
    first = next(o for o in inspection.best_trial.observations if o.box == "first")
    assert np.array_equal(inspection.states_at_best["first"][0], first.inputs)
    assert np.allclose(inspection.states_at_best["second"][0], first.outputs)


def test_states_of_a_choice_are_indicators():
    states = inspection_of(with_choice()).states["rise"]
    assert set(states[:, 0]) == {0.0, 1.0}
    assert np.array_equal(states[:, :2].sum(1), np.ones(len(states)))


def test_what_was_known_before_choices_is_the_initial_design():
    inspection = inspection_of(two_boxes())
    kinds = {str(t.suggestion.kind) for t in inspection.before_choices()}
    assert kinds == {"initial"}


def test_without_a_trial_there_is_no_point_to_look_at():
    with pytest.raises(gs.ModelError, match="no trial is complete"):
        _ = Inspection(two_boxes().problem, History(), QUICK).best_trial

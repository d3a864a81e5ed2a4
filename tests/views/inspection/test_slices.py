from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs
from grisaille.views.inspection.slices import box_slices, design_slices
from tests.views.inspection.inspection_helpers import inspection_of, two_boxes, with_choice


def test_a_slice_of_a_black_box_agrees_with_its_model_and_passes_through_the_best_point():
    result = two_boxes()
    (piece,) = box_slices(inspection_of(result), "large")
    table = result.model("large").predict(piece.positions.reshape(-1, 1))
    assert np.allclose(piece.mean, table["large mean"])
    assert np.allclose(piece.lower, table["large lower"])
    assert piece.at == result.x[0]
    assert (piece.positions[0], piece.positions[-1]) == (-2, 3)


def test_answers_on_the_slice_are_near_and_the_others_fall_off_with_distance():
    inspection = inspection_of(two_boxes())
    piece = design_slices(inspection, [0])[0]
    seen_n = np.array([t.x[1] for t in inspection.history])
    distance = np.abs(seen_n - inspection.best_trial.x[1])
    assert np.allclose(piece.nearness[distance == 0], 1)
    order = np.argsort(distance)
    assert (np.diff(piece.nearness[order]) <= 1e-12).all()


def test_a_slice_of_the_objective_agrees_with_predictions_in_the_users_sense():
    result = with_choice()
    kind, x = design_slices(inspection_of(result))
    assert kind.labels == ("flat", "steep")
    assert x.is_logarithmic
    assert np.isclose(x.mean.max(), np.log(10), atol=0.05)
    points = {"kind": ["steep"] * len(x.positions), "x": x.positions}
    assert np.allclose(x.mean, result.predict(result.problem.objective, points)["mean"])
    assert x.value == "height of the tower"


def test_a_slice_along_a_whole_number_stands_at_whole_numbers():
    piece = design_slices(inspection_of(two_boxes()), [1])[0]
    assert piece.positions.tolist() == [0, 1, 2, 3, 4]


def test_a_slice_of_the_objective_says_where_constraints_may_hold():
    result = two_boxes()
    piece = design_slices(inspection_of(result), [0])[0]
    truly = np.sin(3 * piece.positions) * piece.positions <= 2
    assert piece.may_be_feasible[truly].all()
    assert not piece.may_be_feasible.all()


def test_outputs_are_found_by_name_and_by_position():
    inspection = inspection_of(with_choice())
    by_name = box_slices(inspection, "rise", "length")
    by_position = box_slices(inspection, "rise", 1)
    assert [s.value for s in by_name] == ["length", "length"]
    assert np.array_equal(by_name[1].mean, by_position[1].mean)


@pytest.mark.parametrize("output", ["width", 2, -1, True])
def test_an_output_that_does_not_exist_is_named(output: object):
    with pytest.raises(gs.ModelError, match=r"'rise' has no output .* 'height', 'length', or 0"):
        box_slices(inspection_of(with_choice()), "rise", output)

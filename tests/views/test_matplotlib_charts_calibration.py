"""The picture of calibration."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import same_color
from matplotlib.figure import Figure

import grisaille as gs
from grisaille.views.matplotlib_charts import ACCENT, draw_calibration
from tests.study.study_helpers import QUICK
from tests.views.inspection.inspection_helpers import inspection_of, two_boxes, with_choice
from tests.views.picture_helpers import covers_nothing, triangles


def points(axes, marker: str) -> np.ndarray:
    """The points that have this marker, (points, 2)."""
    own = [one.get_xydata() for one in axes.lines if one.get_marker() == marker]
    return np.concatenate(own) if own else np.zeros((0, 2))


def surprising() -> gs.Result:
    """Smooth answers but for one that stands out."""
    x = gs.Variable("x", lower=0, upper=1)
    spike = gs.BlackBox(lambda x: 0.1 * x + 5.0 * (abs(x - 0.52) < 0.01), name="spike", noise=0.01)
    own = np.append(np.linspace(0, 1, 14), 0.52).reshape(-1, 1)
    problem = gs.Problem(minimize=spike(x))
    return problem.solve(15, x0=own, strategy=QUICK, progress=False)


def test_every_answer_stands_against_its_leave_one_out_prediction():
    result = two_boxes()
    figure = draw_calibration(inspection_of(result), "large")
    table = result.model("large").leave_one_out()
    shown = np.concatenate([points(figure.axes[0], "o"), points(figure.axes[0], "X")])
    expected = table[["large", "large mean"]].to_numpy()
    assert np.allclose(np.sort(shown, 0), np.sort(expected, 0))
    assert len(figure.axes) == 2
    assert covers_nothing(figure)


def test_answers_outside_their_bands_have_a_shape_and_a_colour_of_their_own():
    result = surprising()
    model = result.model("spike")
    error = model.leave_one_out()["spike error"].to_numpy()
    outside = np.abs(error) > model.band_widths["spike"]
    assert 0 < outside.sum() < len(error)
    left, right = draw_calibration(inspection_of(result)).axes
    crosses = [one for one in left.lines if one.get_marker() == "X"]
    assert len(points(left, "X")) == outside.sum()
    assert all(same_color(one.get_color(), ACCENT) for one in crosses)
    marked = points(right, "X")[:, 0].tolist()
    edges = triangles(right, top=True) + triangles(right, top=False)
    assert sorted(marked + edges) == (np.flatnonzero(outside) + 1).tolist()


def test_all_outputs_of_all_black_boxes_are_drawn_and_one_can_be_chosen():
    titles = [a.get_title("left") for a in draw_calibration(inspection_of(two_boxes())).axes]
    assert titles[::2] == ["large", "small"]
    inspection = inspection_of(with_choice())
    titles = [a.get_title("left") for a in draw_calibration(inspection).axes]
    assert titles[::2] == ["rise: height", "rise: length"]
    titles = [a.get_title("left") for a in draw_calibration(inspection, "rise", "length").axes]
    assert titles[::2] == ["rise: length"]


def test_axes_are_drawn_into_and_their_number_is_told():
    axes = Figure().subplots(2, 2)
    draw_calibration(inspection_of(two_boxes()), axes=axes)
    assert axes[1, 1].get_ylabel() == "error in deviations"
    with pytest.raises(
        gs.ModelError, match=r"4 Axes are needed, two for each output \(large, smal"
    ):
        draw_calibration(inspection_of(two_boxes()), axes=axes[0])


def own_model() -> gs.Result:
    from botorch.models import SingleTaskGP

    x = gs.Variable("x", lower=0, upper=1)
    box = gs.BlackBox(lambda x: x, name="own", model=SingleTaskGP)
    other = gs.BlackBox(lambda x: x, name="other", noise=0)
    problem = gs.Problem(minimize=box(x) + other(x))
    return problem.solve(4, strategy=gs.RandomSearch(), progress=False)


def test_a_model_without_leave_one_out_is_a_sentence_among_all_and_an_error_alone():
    inspection = inspection_of(own_model())
    figure = draw_calibration(inspection)
    own, told = figure.axes[:2]
    assert own.get_title("left") == "own"
    assert "its model is your own" in told.get_title("left")
    assert figure.axes[2].get_title("left") == "other"
    assert len(points(figure.axes[2], "o")) == 4
    with pytest.raises(gs.ModelError, match="no leave-one-out predictions to show"):
        draw_calibration(inspection, "own")


def test_an_output_needs_its_black_box():
    with pytest.raises(
        gs.ModelError, match=r"plot_calibration\(output=1\): pass the black box, too"
    ):
        draw_calibration(inspection_of(two_boxes()), None, 1)

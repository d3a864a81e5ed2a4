"""Pictures of slices."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import grisaille as gs
from grisaille.views.inspection.slices import box_slices, design_slices
from grisaille.views.matplotlib_charts import draw_box_slices, draw_design_slices
from tests.study.study_helpers import QUICK
from tests.views.inspection.inspection_helpers import inspection_of, two_boxes, with_choice
from tests.views.picture_helpers import covers_nothing, line


def hatched(axes) -> list[tuple[float, float]]:
    """From where to where the axes are hatched."""
    spans = [patch for patch in axes.patches if patch.get_hatch()]
    return [(s.get_x(), s.get_x() + s.get_width()) for s in spans]


def test_mean_band_and_recommended_point_are_those_of_the_slices():
    inspection = inspection_of(two_boxes())
    x, n = design_slices(inspection)
    figure = draw_design_slices(inspection)
    first, second = figure.axes
    assert np.array_equal(line(first, "prediction").get_ydata(), x.mean)
    assert line(first, "recommended point").get_xdata() == [x.at]
    assert first.get_xlabel() == "x in m"
    assert second.get_xlabel() == "n"
    assert line(second, "prediction").get_xdata().tolist() == n.positions.tolist()
    assert covers_nothing(figure)


def test_stretches_without_a_feasible_point_are_hatched_and_the_others_are_not():
    inspection = inspection_of(two_boxes())
    piece = design_slices(inspection)[0]
    spans = hatched(draw_design_slices(inspection).axes[0])
    inside = [any(low <= p <= high for low, high in spans) for p in piece.positions]
    assert spans
    assert inside == (~piece.may_be_feasible).tolist()


def test_answers_are_paler_the_farther_they_are_from_the_slice():
    inspection = inspection_of(two_boxes())
    piece = design_slices(inspection)[0]
    axes = draw_design_slices(inspection).axes[0]
    answers = next(c for c in axes.collections if c.get_offset_transform() == axes.transData)
    shown = dict(zip(answers.get_offsets()[:, 0].tolist(), answers.get_alpha(), strict=True))
    nearness = dict(zip(piece.seen[:, 0].tolist(), piece.nearness, strict=True))
    nearest, farthest = max(shown, key=nearness.get), min(shown, key=nearness.get)
    assert shown[nearest] > shown[farthest]


def test_a_choice_is_drawn_at_its_labels_and_decades_have_a_logarithmic_axis():
    kind, x = draw_design_slices(inspection_of(with_choice())).axes
    assert [label.get_text() for label in kind.get_xticklabels()] == ["flat", "steep"]
    piece = design_slices(inspection_of(with_choice()))[0]
    assert [bar.get_y() for bar in kind.patches] == piece.lower.tolist()
    assert [bar.get_height() for bar in kind.patches] == (piece.upper - piece.lower).tolist()
    assert kind.get_xscale() == "linear"
    assert x.get_xscale() == "log"


def test_a_slice_of_a_black_box_has_the_name_of_the_output():
    inspection = inspection_of(with_choice())
    figure = draw_box_slices(inspection, "rise", "length")
    assert figure.axes[0].get_ylabel() == "length"
    assert not hatched(figure.axes[0])
    piece = box_slices(inspection, "rise", "length")[1]
    assert np.array_equal(line(figure.axes[1], "prediction").get_ydata(), piece.mean)


def test_axes_are_drawn_into_and_their_number_is_told():
    inspection = inspection_of(two_boxes())
    axes = Figure().subplots(2)
    assert draw_design_slices(inspection, axes) is axes[0].figure
    assert axes[1].get_xlabel() == "n"
    with pytest.raises(
        gs.ModelError, match=r"2 Axes are needed, one for each variable \(x, n\); 1"
    ):
        draw_design_slices(inspection, axes[0])


def test_of_many_variables_those_with_the_largest_effect_are_drawn():
    x = gs.Variable("x", 14, lower=0, upper=1)
    weights = np.arange(14.0)
    box = gs.BlackBox(lambda x: float(weights @ x), name="f", noise=0)
    problem = gs.Problem(minimize=box(x))
    result = problem.solve(6, strategy=QUICK, progress=False)
    figure = draw_design_slices(inspection_of(result))
    effects = [np.ptp(piece.mean) for piece in design_slices(inspection_of(result))]
    largest = sorted(np.argsort(effects)[2:])
    assert [a.get_xlabel() for a in figure.axes] == [f"x[{k}]" for k in largest]
    assert figure.get_suptitle() == "the 12 of 14 variables with the largest effect"


def test_a_black_box_without_inputs_has_no_slice():
    x = gs.Variable("x", lower=0, upper=1)
    chance = gs.exogenous(lambda: 0.5, name="chance", noise=0.1)
    problem = gs.Problem(minimize=chance + x)
    result = problem.solve(3, strategy=gs.RandomSearch(), progress=False)
    with pytest.raises(gs.ModelError, match="'chance' has no inputs, so there is no slice of it"):
        draw_box_slices(inspection_of(result), "chance")


def test_a_problem_over_interventions_has_no_slices():
    problem = gs.problems.toy_graph(runs=2, observations=8).problem
    result = problem.solve(2, strategy=gs.MCBO(), progress=False)
    for draw in (draw_design_slices, lambda inspection: draw_box_slices(inspection, "Y")):
        with pytest.raises(gs.ModelError, match="this one is over interventions"):
            draw(inspection_of(result))

"""The picture of sensitivity."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

import grisaille as gs
from grisaille.views.inspection.influence import box_influence, variable_influence
from grisaille.views.matplotlib_charts import draw_sensitivity
from tests.study.study_helpers import parabola
from tests.views.inspection.inspection_helpers import inspection_of, two_boxes
from tests.views.picture_helpers import covers_nothing


def bars(axes) -> dict[str, dict[str, float]]:
    """Lengths of the bars by label and name."""
    names = [label.get_text() for label in axes.get_yticklabels()]
    return {
        group.get_label(): dict(zip(names, [bar.get_width() for bar in group], strict=True))
        for group in axes.containers
    }


def test_bars_are_effects_and_gains_of_variables_and_effects_and_shares_of_black_boxes():
    inspection = inspection_of(two_boxes())
    figure = draw_sensitivity(inspection)
    variables, boxes, shares = map(bars, figure.axes)
    for found in variable_influence(inspection):
        assert variables["effect over its range"][found.name] == found.effect
        assert variables["could still be gained"][found.name] == found.gain
    for own in box_influence(inspection):
        assert boxes["effect of its answers"][own.box] == own.effect
        assert shares["would close if it were known"][own.box] == own.share
    assert covers_nothing(figure)


def test_the_largest_effect_is_at_the_top():
    axes = draw_sensitivity(inspection_of(two_boxes())).axes[1]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["large", "small"]
    low, high = axes.get_ylim()
    assert low > high


def test_without_a_bound_a_sentence_stands_in_place_of_the_shares():
    result = parabola().solve(4, strategy=gs.RandomSearch(), progress=False)
    axes = draw_sensitivity(inspection_of(result)).axes[2]
    assert [t.get_text() for t in axes.texts] == [
        "there is no gap\nbetween a best value and a bound"
    ]


def test_axes_are_drawn_into_and_their_number_is_told():
    axes = Figure().subplots(3)
    draw_sensitivity(inspection_of(two_boxes()), axes)
    assert axes[1].get_title("left") == "black boxes"
    with pytest.raises(
        gs.ModelError, match=r"plot_sensitivity\(axes=...\): 3 Axes are needed, for"
    ):
        draw_sensitivity(inspection_of(two_boxes()), axes[:2])

from __future__ import annotations

from xml.etree import ElementTree

import pytest

import grisaille as gs
from grisaille.lab.problems import toy_graph
from grisaille.records import History
from grisaille.views.inspection.influence import BoxInfluence
from grisaille.views.inspection.inspection import Inspection
from grisaille.views.page.learned_parts import (
    BoxOverview,
    Learned,
    box_part,
    contour_of,
    graph_notes,
    influence_rows,
    objective_slices,
)
from grisaille.views.page.svg import svg
from tests.study.study_helpers import QUICK
from tests.views.inspection.inspection_helpers import inspection_of, two_boxes, with_choice

pytestmark = pytest.mark.slow


def test_a_black_box_shows_the_output_that_was_chosen():
    inspection = inspection_of(with_choice())
    assert box_part(inspection, "rise").output == "height"
    part = box_part(inspection, "rise", "length")
    assert (part.output, part.outputs) == ("length", ["height", "length"])
    assert len(part.slices) == 2
    assert [name for name, _ in part.lengthscales] == ["kind=flat", "kind=steep", "x"]
    assert part.calibration is not None


def test_a_given_kernel_without_any_answer_has_nothing_to_show_yet():
    x = gs.Variable("x", lower=0, upper=1)
    f = gs.BlackBox(None, name="f", kernel=gs.Matern(lengthscale=1, variance=1), noise=0)
    study = gs.Study(gs.Problem(minimize=f(x)), strategy=QUICK)
    with pytest.raises(gs.ModelError, match="no trial is complete"):
        box_part(Inspection(study.problem, study.history, study.strategy), "f")


def test_notes_of_the_graph_say_answers_bands_audit_and_share():
    overview = BoxOverview("f", 12, 1, 8, 7, 3.0, 2.5, 0.5, 2.0, ())
    assert graph_notes([overview], [BoxInfluence("f", 1.0, 0.31)]) == {
        "f": [
            "12 answers, 1 failed",
            "band width 25% of start",
            "7 of 8 inside bands",
            "31% of the gap",
        ]
    }
    fresh = BoxOverview("f", 1, 0, 0, 0, 0.0, None, None, None, ())
    assert graph_notes([fresh], []) == {"f": ["1 answer"]}


def test_what_moves_the_objective_most_comes_first_with_the_longest_bar():
    variables, boxes = influence_rows(inspection_of(two_boxes()))
    assert [row.name for row in variables] == ["x", "n"]
    assert [row.name for row in boxes] == ["large", "small"]
    assert variables[0].percent == boxes[0].percent == 100
    assert variables[1].percent < 5


def test_there_is_a_slice_for_each_variable():
    assert len(objective_slices(inspection_of(two_boxes()))) == 2


def test_a_map_has_a_cell_for_each_pair_of_values():
    chart = contour_of(inspection_of(two_boxes()), 0, 1)
    cells = list(ElementTree.fromstring(svg(chart)).iter("rect"))
    assert len(cells) == 25 * 5


@pytest.mark.parametrize("pair", [(0, 0), (0, 2), (-1, 0)])
def test_a_map_needs_two_different_variables(pair: tuple[int, int]):
    with pytest.raises(gs.ModelError, match="two different variables"):
        contour_of(inspection_of(two_boxes()), *pair)


def test_what_was_learned_is_kept_for_the_latest_histories():
    learned, result = Learned(), two_boxes()
    first = learned.inspection(result.problem, result.history, QUICK)
    assert learned.inspection(result.problem, result.history, QUICK) is first
    for _ in range(4):
        learned.inspection(result.problem, History(), QUICK)
    assert learned.inspection(result.problem, result.history, QUICK) is not first


def test_interventions_are_answered_with_a_sentence():
    with pytest.raises(gs.ModelError, match="interventions"):
        Learned().inspection(toy_graph().problem, History(), QUICK)


def test_the_best_point_of_a_map_is_inside_it():
    inspection = inspection_of(two_boxes())
    chart = contour_of(inspection, 0, 1)
    best, ring = inspection.best_trial.x, chart.marks[-1]
    assert (*ring.x, *ring.y) == (best[0], best[1])
    assert chart.x.low < best[0] < chart.x.high
    assert chart.y.low < best[1] < chart.y.high

from __future__ import annotations

import grisaille as gs
from grisaille.records import History
from grisaille.views.inspection.inspection import Inspection
from grisaille.views.page.learned_parts import box_overviews
from tests.study.study_helpers import QUICK
from tests.views.inspection.inspection_helpers import inspection_of, two_boxes


def test_an_overview_counts_answers_and_audits_as_the_result_does():
    result = two_boxes()
    large, small = box_overviews(inspection_of(result))
    assert {large.box: large.answers, small.box: small.answers} == result.evaluations
    audit = {row.box: row for row in result.calibration}
    assert (large.predicted, large.inside) == (audit["large"].answers, audit["large"].inside)


def test_bands_get_narrower_with_answers():
    large, _ = box_overviews(inspection_of(two_boxes()))
    assert large.width < large.width_at_start


def test_before_any_answer_there_is_no_width():
    overview = box_overviews(Inspection(two_boxes().problem, History(), QUICK))
    assert [(o.answers, o.width, o.width_at_start) for o in overview] == [(0, None, None)] * 2


def test_failures_are_counted_by_black_box():
    x = gs.Variable("x", lower=0, upper=1)

    @gs.black_box(noise=0)
    def pump(x):
        if x > 0.8:
            raise RuntimeError("too fast")
        return x

    problem = gs.Problem(maximize=pump(x))
    result = problem.solve(trials=8, seed=0, strategy=QUICK, progress=False)
    (overview,) = box_overviews(inspection_of(result))
    assert overview.failures == len(result.failures) > 0

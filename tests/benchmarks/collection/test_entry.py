"""Entries: what they build, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.collection.entry import depth, entry

import grisaille as gs

pytestmark = pytest.mark.slow


def line(noise):
    x = gs.Variable("x", lower=0, upper=1)
    box = gs.BlackBox(lambda x: x, name="h", noise=noise)
    return gs.Problem(minimize=box(box(x)))


def test_a_problem_with_noise_left_out_still_tells_the_truth():
    known = entry("line", "nested", optimum=0.0, x=[0], source="here")(line).make(None)
    assert [box.noise for box in known.problem.boxes] == [None]
    assert known.measure([0.25]) == (0.25, 0.0)


def test_a_tag_that_is_not_listed_is_refused():
    with pytest.raises(ValueError, match=r"entry 'line' has unknown tags \['sommth'\]"):
        entry("line", "sommth", optimum=0.0, x=[0], source="here")(line)


@pytest.mark.parametrize(("tag", "optimum"), [("infeasible", 0.0), ("smooth", np.nan)])
def test_infeasible_entries_and_no_others_have_no_optimum(tag, optimum):
    with pytest.raises(ValueError, match="entry 'line': infeasible entries have optimum NaN"):
        entry("line", tag, optimum=optimum, x=[0], source="here")(line)


def test_depth_counts_the_boxes_that_lie_one_after_the_other():
    assert depth(line(0)) == 2

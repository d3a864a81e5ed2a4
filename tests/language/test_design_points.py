"""Design points as people write them."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

import grisaille as gs
from grisaille.language.design_points import design_points

feed = gs.Variable("feed", 2, lower=0, upper=[1, 2])
heat = gs.Variable("heat", lower=-5, upper=5)
f = gs.BlackBox(None, name="f")
PROGRAM = gs.Problem(minimize=f(feed, heat)).program


@pytest.mark.parametrize(
    "given",
    [
        [0.5, 1.5, -2],
        np.array([[0.5, 1.5, -2]]),
        {"heat": -2, "feed": [0.5, 1.5]},
        {heat: -2, feed: (0.5, 1.5)},
        {"feed[1]": 1.5, "feed[0]": 0.5, "heat": -2},
        [{"heat": -2, "feed": [0.5, 1.5]}],
        pandas.DataFrame({"heat": [-2], "feed[1]": [1.5], "feed[0]": [0.5]}),
    ],
    ids=["flat", "rows", "names", "variables", "entries", "list", "table"],
)
def test_every_way_to_write_a_point_gives_the_same_numbers(given):
    assert design_points(PROGRAM, "enqueue", given).tolist() == [[0.5, 1.5, -2.0]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([0.5, 1.5], r"shape \(2,\), but a design point has 3 numbers \('feed\[0\]', 'feed\[1\]'"),
        ([0.5, 2.5, 0], r"point has feed\[1\] = 2.5, which is outside its bounds \[0, 2\]"),
        ([[0.5, 1, 0], [0.5, 1, 9]], r"point 2 has heat = 9, which is outside its bounds \[-5, 5"),
        ([0.5, np.nan, 0], r"feed\[1\] = nan, which is not a finite number"),
        ({"heat": 0}, r"no value of 'feed\[0\]', 'feed\[1\]': give all variables"),
        ({"heat": 0, "fed": [0, 0]}, r"no variable 'fed', it has .*did you mean 'feed'\?"),
        ({"heat": 0, "feed": [0, 0, 0]}, r"'feed' has 2 numbers, got \[0, 0, 0\]"),
        ({"heat": "warm", "feed": [0, 0]}, r"'warm' of 'heat' is not a number"),
        (pandas.DataFrame({"heat": [0.0]}), r"the table has no column 'feed\[0\]', 'feed\[1\]'"),
        (pandas.DataFrame({"hot": [0.0]}), r"no variable 'hot'"),
        (pandas.DataFrame({"heat": [], "feed[0]": [], "feed[1]": []}), "the table has no row"),
        ([], r"a design point has 3 numbers"),
        ("here", r"'here' is not a number"),
    ],
)
def test_what_is_no_point_is_refused_by_name_and_value(given, message):
    with pytest.raises(gs.ModelError, match=message):
        design_points(PROGRAM, "enqueue", given)


def test_a_bound_that_is_missed_by_rounding_is_met():
    points = design_points(PROGRAM, "enqueue", [1 + 1e-12, 0, 5])
    assert points.tolist() == [[1.0, 0.0, 5.0]]

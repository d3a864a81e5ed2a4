"""Points as users write them."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

import grisaille as gs
from grisaille.language.design_points import check_inside, design_points, named_points

T = gs.Variable("T", lower=300, upper=400)
X = gs.Variable("x", (2, 2), lower=-1, upper=1)
PROBLEM = gs.Problem(minimize=np.sum(X) + T)
ENTRIES = ["x[0,0]", "x[0,1]", "x[1,0]", "x[1,1]", "T"]
POINT = [0.1, 0.2, 0.3, 0.4, 350.0]
TABLE = pandas.DataFrame([POINT, [0.0, 0.0, 0.0, 1.0, 300.0]], columns=ENTRIES)


@pytest.mark.parametrize(
    "given",
    [
        POINT,
        np.array([POINT]),
        {"x": [[0.1, 0.2], [0.3, 0.4]], "T": 350},
        {"T": 350, **dict(zip(ENTRIES[:4], POINT, strict=False))},
        {X: [[0.1, 0.2], [0.3, 0.4]], T: 350},
        [{"x": [[0.1, 0.2], [0.3, 0.4]], "T": 350}],
        TABLE.iloc[0],
        TABLE.iloc[:1][ENTRIES[::-1]],
    ],
    ids=["flat", "row", "by name", "by entry", "by variable", "list", "Series", "columns in order"],
)
def test_one_point_may_be_written_in_many_ways(given):
    assert design_points(PROBLEM.program, given, "predict(x)").tolist() == [POINT]


def test_many_points_are_rows_and_one_number_serves_all_of_them():
    assert design_points(PROBLEM.program, TABLE, "f").tolist() == TABLE.to_numpy().tolist()
    both = design_points(PROBLEM.program, {"x": np.zeros((3, 2, 2)), "T": 310}, "f")
    assert both.tolist() == [[0, 0, 0, 0, 310]] * 3
    one = gs.Problem(minimize=gs.Variable("u", lower=0, upper=1))
    assert design_points(one.program, [0.1, 0.2], "f").tolist() == [[0.1], [0.2]]
    assert design_points(one.program, 0.3, "f").tolist() == [[0.3]]


def test_rounding_beyond_a_bound_is_moved_onto_it():
    (point,) = design_points(PROBLEM.program, [*POINT[:4], 400 + 1e-9], "f")
    assert point[4] == 400


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, 2], r"predict\(x\): x has shape \(2,\), but a point has 5 entries \(x\[0,0\], "),
        ([], "x has shape"),
        ([*POINT[:4], 450], r"T = 450 is not in \[300, 400\]\. Nothing is learned outside"),
        ([POINT, [0, 0, 0, 2, 350]], r"x\[1,1\] = 2 in point 2 is not in \[-1, 1\]"),
        ([*POINT[:4], np.nan], "T is nan: every entry"),
        ({"x": np.zeros((2, 2))}, "there is no value for T: a point has x"),
        ({"x": np.zeros(3), "T": 350}, r"x has shape \(3,\), but its own shape is \(2, 2\)"),
        (TABLE.assign(objective=1.0), "there is no entry objective in a point"),
        ({"y": np.zeros((2, 2)), "Temp": 350}, r"no entry y, Temp .*, T: leave other columns out"),
        (TABLE.rename(columns={"x[0,0]": "x[0,2]"}), r"\(did you mean 'x\[0,[01]\]'\?\)"),
        (TABLE[["T", "T"]], "two columns are called 'T'"),
        ({"x": np.zeros((2, 2, 2)), "T": [300, 310, 320]}, "the numbers of points differ"),
        ("warm", "x is not made of numbers, there is 'warm'"),
        ({"x": np.zeros((2, 2)), "T": "warm"}, "T is not made of numbers, there is 'warm'"),
        ({"x": np.zeros((2, 2)), "T": [[350.0]]}, r"T has shape \(1, 1\)"),
    ],
)
def test_what_is_no_point_is_refused_with_names_and_values(given, message):
    with pytest.raises(gs.ModelError, match=message):
        design_points(PROBLEM.program, given, "predict(x)")


def test_a_message_about_many_entries_stays_short():
    names = [f"x[{i}]" for i in range(50)]
    points, ends = np.full((1, 50), 2.0), (np.zeros(50), np.ones(50))
    with pytest.raises(gs.ModelError, match=r"x\[4\] = 2 is not in \[0, 1\]; and 45 more\. "):
        check_inside(points, names, *ends, "f")
    with pytest.raises(gs.ModelError, match=r"\(x\[0\], x\[1\], .* and 45 more\)"):
        named_points([("x", (50,))], [1.0], "f")

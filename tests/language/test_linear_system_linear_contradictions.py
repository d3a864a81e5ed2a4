"""Linear constraints that cannot be met are named when the problem is made."""

from __future__ import annotations

import re

import numpy as np
import pytest

import grisaille as gs

x = gs.Variable("x", 3, lower=0, upper=1)
y = gs.Variable("y", lower=0, upper=10)


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (
            {"all": np.sum(x) == 1, "twice": 2 * np.sum(x) == 3, "fine": y == 2},
            "all: sum(x) == 1 and twice: 2 * sum(x) == 3 contradict one another: no point meets "
            "them all; leave one out",
        ),
        (
            [np.sum(x) == 4, y <= 3],
            "sum(x) == 4 cannot be met between the bounds of the variables ('x' from 0 to 1): "
            "change the bounds, or the equality",
        ),
        (
            [np.sum(x) == 1, x[0] + x[1] >= 1.5],
            "sum(x) == 1 and x[0] + x[1] >= 1.5 cannot be met between the bounds",
        ),
        ([y == 11], "y == 11 cannot be met between the bounds of the variables ('y' from 0 to 10)"),
        ([np.sum(x) == y, y >= 4], "sum(x) == y and y >= 4 cannot be met between the bounds"),
        (
            [y >= 12],
            "y >= 12 cannot be met between the bounds of the variables ('y' from 0 to 10): change "
            "the bounds, or the constraint",
        ),
        ({"fine": y <= 5, "mass": np.sum(x) <= -1}, "mass: sum(x) <= -1 cannot be met between"),
        ([x >= np.array([0.5, 2.0, 0.5])], "cannot be met between the bounds of the variables"),
    ],
)
def test_what_cannot_be_met_is_named(constraints, message):
    with pytest.raises(gs.ModelError, match=re.escape(message)):
        gs.Problem(minimize=np.sum(x) + y, subject_to=constraints)


@pytest.mark.parametrize(
    "constraints",
    [
        [np.sum(x) == 1, 2 * np.sum(x) == 2],  # the same twice
        [np.sum(x) == 3],  # one point
        [np.sum(x) == 1, x[0] * x[1] == 5],  # not linear: found out later
        [y >= 6, y <= 5],  # inequalities: the result has a certificate
        [y >= 10],  # one point
        [0.1 * x[0] + 0.2 * x[1] >= 0.3 + 1e-16],  # rounding is no mistake
        [y**2 >= 101],  # not linear: found out later
    ],
)
def test_what_can_be_met_or_is_no_linear_equality_is_no_mistake(constraints):
    gs.Problem(minimize=np.sum(x) + y, subject_to=constraints)

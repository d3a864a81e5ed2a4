"""Variables with steps, and variables over decades."""

from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs


def test_a_variable_has_no_steps_and_no_logarithm_unless_they_are_asked_for():
    x = gs.Variable("x", 2, lower=0, upper=1)
    assert x.step is None
    assert x.log is False


def test_steps_are_one_number_or_one_per_entry():
    assert gs.Variable("x", 2, lower=0, upper=1, step=0.5).step.tolist() == [0.5, 0.5]
    x = gs.Variable("x", 2, lower=0, upper=1, step=[0.5, 0.25])
    assert x.step.tolist() == [0.5, 0.25]
    with pytest.raises(ValueError, match="read-only"):
        x.step[0] = 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step": 0}, r"'x' has step 0: pass a positive number, one per entry, or None"),
        ({"step": -1.0}, r"'x' has step -1.0: pass a positive number"),
        ({"step": np.nan}, r"'x' has step nan: pass a positive number"),
        ({"step": [0.1, 0.2]}, r"'x' has shape \(\), but its step is \[0.1, 0.2\]"),
        ({"step": "wide"}, r"'x' has shape \(\), but its step is 'wide'"),
        (
            {"step": 9.5},
            r"'x' has step 9.5, but its bounds are only 9 apart: it could take one value; pass a "
            "smaller step",
        ),
        (
            {"shape": 2, "step": [1, 20]},
            r"'x' has step 20 at entry \[1\], but its bounds are only 9 apart",
        ),
        ({"step": 1e-9}, r"'x' has step 1e-09, of which more than 1e\+09 fit .* leave step= out"),
        ({"log": 1}, r"variable 'x' has log=1: pass True or False"),
        (
            {"lower": 0, "log": True},
            r"'x' has log=True and lower bound 0: a logarithm needs positive numbers, so pass a "
            "positive lower=, or leave log= out",
        ),
        ({"shape": 2, "lower": [1, -3], "log": True}, r"log=True and lower bound -3"),
    ],
)
def test_what_cannot_be_searched_is_refused_with_a_sentence(options, message):
    with pytest.raises(gs.ModelError, match=message):
        gs.Variable("x", **{"lower": 1, "upper": 10, **options})


def test_a_step_as_wide_as_the_range_leaves_both_bounds():
    x = gs.Variable("x", lower=0, upper=0.3, step=0.3)
    assert gs.Problem(minimize=x).program.space.upper.tolist() == [0.3]

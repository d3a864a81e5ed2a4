"""The text that a study stores of its strategy stays what it was when an option is renamed."""

from __future__ import annotations

import pytest

import grisaille as gs
from grisaille.study.identity import settings_of


def described(strategy) -> str:
    x = gs.Variable("x", lower=0, upper=1)
    problem = gs.Problem(minimize=gs.BlackBox(lambda s: s, name="f")(x))
    return settings_of(problem, strategy, "study", {}, 0, None)["strategy"]


SEARCH = "search=MultiStart(starts=8, samples=512, iterations=40)"


@pytest.mark.parametrize(
    ("solver", "text"),
    [
        (gs.Certified(), f"Optimistic(solver=Certified({SEARCH}))"),
        (gs.Certified(regions=5000), f"Optimistic(solver=Certified(boxes=5000, {SEARCH}))"),
        (gs.MultiStart(starts=3), "Optimistic(solver=MultiStart(starts=3))"),
    ],
)
def test_a_renamed_option_is_stored_under_its_former_name(solver, text):
    assert described(gs.Optimistic(solver=solver)) == text


def test_what_is_at_its_default_is_not_stored():
    assert described(gs.Optimistic()) == "Optimistic()"

"""The runs of a comparison that are planned."""

from __future__ import annotations

from grisaille.lab.comparison.plan import Job
from tests.lab.comparison.comparison_helpers import (
    INITIAL,
    limited,
    plan_of,
    slope,
    small_plan,
    steps,
)


def test_a_strategy_that_does_not_apply_is_left_out_with_its_sentence():
    plan = plan_of({"slope": slope, "limited": limited}, {"steps": steps}, 2, 3)
    assert list(plan.settings) == [Job("slope", "steps", 0), Job("slope", "steps", 1)]
    (case,) = plan.left_out
    assert (case.problem, case.strategy) == ("limited", "steps")
    assert "knows no constraints" in case.reason


def test_the_initial_design_has_two_points_per_variable_and_two_more():
    plan = small_plan(1)
    assert next(iter(plan.settings.values()))["initial"] == INITIAL

"""The steps that the default adds to the paper, as a whole."""

from __future__ import annotations

from grisaille.strategies.optimistic import Optimistic
from grisaille.strategies.practical import policy
from grisaille.theory.beta import Theory


def names(strategy: Optimistic) -> list[str]:
    return [step.__name__ for step in strategy._steps]


def test_steps_are_taken_in_the_order_of_the_policy():
    assert names(Optimistic()) == [
        "seek_feasible_point",
        "repeat_best",
        "recommend",
        "widen_bands",
        "refine",
        "avoid_failures",
        "keep_to_steps",
        "_visit_states",
        "go_elsewhere",
        "leave_out_expensive",
        "stay_within_budget",
    ]


def test_the_paper_setting_takes_no_step_that_leaves_the_algorithms_own_points():
    exploiting = {step.__name__ for step in policy.EXPLOITING}
    for paper in (Optimistic(exploit=False), Optimistic(beta=Theory())):
        assert exploiting.isdisjoint(names(paper))

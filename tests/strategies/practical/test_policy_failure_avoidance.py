"""A solution where black boxes failed is replaced by the best one elsewhere."""

from __future__ import annotations

import numpy as np

from grisaille.belief.knowledge import Knowledge
from grisaille.records import Situation, TrialKind
from grisaille.strategies.practical.policy import avoid_failures
from tests.strategies.practical.practical_helpers import (
    line_problem,
    opening,
    tried,
    with_failure,
)


def situation() -> Situation:
    problem = line_problem()
    return Situation(problem, tried(problem, [-1.5, -1.0, 1.0, 2.0], TrialKind.INITIAL), 0)


def test_without_failures_the_plan_stays():
    knowledge = Knowledge(situation())
    plan = opening(knowledge)
    assert avoid_failures(plan, knowledge) is plan


def test_a_point_that_failed_is_left_for_one_much_nearer_to_an_answer():
    chosen = float(opening(Knowledge(situation())).x[0])
    knowledge = Knowledge(with_failure(situation(), chosen))
    plan = opening(knowledge)
    assert abs(plan.x[0] - chosen) < 1e-3  # a failure teaches the surrogate nothing
    away = float(avoid_failures(plan, knowledge).x[0])
    answers = np.array([-1.5, -1.0, 1.0, 2.0])
    assert 2 * np.abs(answers - away).min() <= abs(away - chosen) + 1e-6


def test_a_failure_elsewhere_changes_nothing():
    knowledge = Knowledge(with_failure(situation(), 1.99))
    plan = opening(knowledge)
    assert avoid_failures(plan, knowledge) is plan

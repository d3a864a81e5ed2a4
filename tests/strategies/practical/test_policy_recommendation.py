"""Points that are believed feasible and good, and when one is worth a trial."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.histories import clustered_history

import grisaille as gs
from benchmarks.collection import development
from grisaille.belief.knowledge import Knowledge
from grisaille.records import Pending, Situation, Suggestion, TrialKind
from grisaille.strategies.practical.policy import cautious_solution, recommend
from tests.strategies.practical.practical_helpers import closed_gap, opening


def situation(**options: object) -> Situation:
    """A constraint that is active at the optimum, and enough points to know it well."""
    x = gs.Variable("x", lower=-2, upper=2)
    g = gs.BlackBox(lambda x: 0.3 * x**2, name="g", noise=0)
    problem = gs.Problem(minimize=x, subject_to=[g(x) <= 0.3])
    history = problem.solve(9, strategy=gs.SobolSearch(), progress=False).history
    return Situation(problem, history, 0, **options)  # type: ignore[arg-type]


def test_the_last_trials_go_to_a_feasible_point_near_the_constraint():
    knowledge = Knowledge(situation(remaining=1))
    plan = recommend(opening(knowledge), knowledge)
    assert plan.is_final
    assert plan.suggestion.kind is TrialKind.RECOMMENDED
    assert 0.3 * plan.suggestion.x[0] ** 2 <= 0.3
    assert plan.suggestion.x[0] < knowledge.history.trials[knowledge.incumbent.position].x[0]


def test_until_a_recommendation_is_answered_there_is_no_other():
    waiting = Pending(Suggestion(TrialKind.RECOMMENDED, np.array([-1.0])))
    knowledge = Knowledge(situation(remaining=1, pending=(waiting,)))
    plan = opening(knowledge)
    assert recommend(plan, knowledge) is plan


@pytest.mark.parametrize(("away", "recommended"), [(4e-4, False), (0.02, True)])
def test_a_point_next_to_a_pending_one_is_not_recommended(away, recommended):
    started = situation(remaining=1)
    knowledge = Knowledge(started)
    x = recommend(opening(knowledge), knowledge).suggestion.x
    waiting = Pending(Suggestion(TrialKind.NARROWED, x - away))
    knowledge = Knowledge(replace(started, pending=(waiting,)))
    plan = opening(knowledge)
    assert (recommend(plan, knowledge) is not plan) == recommended


def test_before_the_first_trial_nothing_is_recommended():
    started = situation(remaining=1)
    knowledge = Knowledge(replace(started, history=type(started.history)()))
    assert knowledge.incumbent is None
    kernel = gs.SquaredExponential(lengthscale=1.0, variance=1.0)
    x = gs.Variable("x", lower=-2, upper=2)
    g = gs.BlackBox(lambda x: x, name="g", noise=0, kernel=kernel)
    empty = Situation(gs.Problem(minimize=g(x)), type(started.history)(), 0, remaining=1)
    knowledge = Knowledge(empty)
    plan = opening(knowledge)
    assert recommend(plan, knowledge) is plan


def test_a_trial_whose_turn_it_is_to_doubt_recommends_nothing():
    knowledge = Knowledge(closed_gap())
    plan = opening(knowledge)
    assert recommend(plan, knowledge) is plan


@pytest.mark.slow
def test_a_badly_scaled_search_ends_in_a_local_optimum_and_looks_farther_without_a_feasible_point():
    problem = next(e for e in development() if e.name == "HS 101").make().problem  # 7 variables
    history = clustered_history(problem, 15, 5, seed=0)
    for seed in (2, 3):
        knowledge = Knowledge(Situation(problem, history, seed))
        incumbent = knowledge.incumbent
        assert not incumbent.feasible
        few, many = (
            cautious_solution(knowledge, replace(incumbent, feasible=known), knowledge.plausible)
            for known in (True, False)
        )
        assert many.evaluations > 1.5 * few.evaluations
        for solution in (few, many):  # 0.07 where line searches gain nothing for long
            assert solution.feasible
            assert solution.stationarity < 1e-3

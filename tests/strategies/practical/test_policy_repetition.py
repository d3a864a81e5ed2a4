"""No trial asks again what is known already."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import grisaille as gs
from grisaille.confidence.knowledge import Knowledge
from grisaille.records import Situation, TrialKind
from grisaille.strategies.practical.policy import go_elsewhere
from grisaille.strategies.practical.recommendation import repeats
from tests.strategies.practical.practical_helpers import opening


def situation(noise: float) -> Situation:
    x = gs.Variable("x", 2, lower=[0, -100], upper=[1, 100])
    f = gs.BlackBox(lambda x: x @ x, name="f", noise=noise)
    problem = gs.Problem(minimize=f(x))
    history = problem.solve(2, strategy=gs.SobolSearch(), progress=False).history
    return Situation(problem, history, 0)


def test_a_point_is_repeated_when_it_is_the_same_in_every_range():
    now = Knowledge(situation(0.0))
    tried = now.history.trials[1].x
    assert repeats(tried + np.array([1e-10, 5e-8]), now)
    assert not repeats(tried + np.array([1e-8, 0.0]), now)
    assert not repeats(tried + np.array([0.0, 5e-7]), now)


def test_with_noise_the_same_point_may_give_another_answer():
    now = Knowledge(situation(0.1))
    assert not repeats(now.history.trials[0].x, now)


def test_a_problem_that_is_solved_gets_points_that_fill_space():
    x = gs.Variable("x", lower=-1, upper=1)
    f = gs.BlackBox(lambda x: 2 * x, name="f", noise=0)
    solved = gs.Problem(minimize=(f(x) - 2) ** 2)  # once it is 0, no band promises less
    result = solved.solve(14, evaluation="chained", progress=False)
    points = np.array([t.x for t in result.history])
    assert len(np.unique(np.round(points, 9), axis=0)) == len(points)
    assert result.fun == pytest.approx(0, abs=1e-12)
    assert TrialKind.RANDOM in {t.suggestion.kind for t in result.history}


def test_a_plan_that_repeats_a_point_goes_to_one_that_fills_space():
    knowledge = Knowledge(situation(0.0))
    plan = opening(knowledge)
    assert go_elsewhere(plan, knowledge) is plan
    known = replace(plan.suggestion, x=knowledge.history.trials[1].x)
    elsewhere = go_elsewhere(replace(plan, suggestion=known), knowledge).suggestion
    assert elsewhere.kind is TrialKind.RANDOM
    assert not repeats(elsewhere.x, knowledge)

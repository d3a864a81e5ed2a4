"""No trial asks again what is known already."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import grisaille as gs
from grisaille.belief.knowledge import Knowledge
from grisaille.records import History, Pending, Situation, Suggestion, TrialKind
from grisaille.strategies.practical.policy import go_elsewhere, repeat_best, repeats
from tests.strategies.practical.practical_helpers import line_problem, opening, tried


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


def closing(noise: float | None, gap_tol: float | None) -> Situation:
    """Four initial trials and two that found the minimum of a parabola."""
    problem = line_problem(noise=noise)
    initial = tried(problem, [-2.0, -0.7, 0.6, 2.0], TrialKind.INITIAL)
    chosen = tried(problem, [0.1, 0.0], TrialKind.NARROWED, 5)
    history = History((*initial.trials, *chosen.trials))
    return Situation(problem, history, 0, gap_tol=gap_tol)


def test_before_a_gap_is_closed_the_best_point_is_tried_again_if_noise_was_left_out():
    knowledge = Knowledge(closing(None, gap_tol=0.5))
    assert knowledge.untested == ("f",)
    plan = repeat_best(opening(knowledge), knowledge)
    assert plan.is_final
    assert plan.suggestion.kind is TrialKind.DOUBTING
    np.testing.assert_array_equal(plan.suggestion.x, [0.0])


def test_answers_that_look_noisy_are_tested_at_once_by_trying_the_best_point_again():
    x = gs.Variable("x", lower=-2, upper=2)
    box = gs.BlackBox(lambda x: x**2 + 0.1 * np.sin(1000 * x), name="f")  # it looks noisy
    problem = gs.Problem(minimize=box(x))
    history = tried(problem, np.linspace(-2, 2, 20).tolist(), TrialKind.INITIAL)
    knowledge = Knowledge(Situation(problem, history, 0))
    assert knowledge.suspected == ("f",)
    plan = repeat_best(opening(knowledge), knowledge)
    best = history.trials[knowledge.incumbent.position].x
    np.testing.assert_array_equal(plan.suggestion.x, best)
    again = tried(problem, best.tolist(), TrialKind.DOUBTING, 21)
    known = Knowledge(Situation(problem, History((*history.trials, *again.trials)), 0))
    assert known.suspected == ()
    assert known.is_exact
    assert repeat_best(opening(known), known).suggestion.kind is TrialKind.OPTIMISTIC


@pytest.mark.parametrize(("noise", "gap_tol"), [(0.0, 0.5), (None, None), (None, 1e-9)])
def test_the_best_point_is_not_tried_again_without_a_reason(noise, gap_tol):
    knowledge = Knowledge(closing(noise, gap_tol))
    plan = opening(knowledge)
    assert repeat_best(plan, knowledge) is plan


def test_a_best_point_that_is_being_tried_again_is_not_asked_for_once_more():
    situation = closing(None, gap_tol=0.5)
    again = Pending(Suggestion(TrialKind.DOUBTING, np.array([0.0])))
    knowledge = Knowledge(replace(situation, pending=(again,)))
    plan = opening(knowledge)
    assert repeat_best(plan, knowledge) is plan


def test_a_point_tried_twice_settles_whether_there_is_noise():
    situation = closing(None, gap_tol=0.5)
    again = tried(situation.problem, [0.0], TrialKind.DOUBTING, 7)
    history = History((*situation.history.trials, *again.trials))
    knowledge = Knowledge(replace(situation, history=history))
    assert knowledge.untested == ()
    plan = opening(knowledge)
    assert repeat_best(plan, knowledge) is plan

"""Points are chosen by narrower bands than those of the bound."""

from __future__ import annotations

import numpy as np

import grisaille as gs
from grisaille.belief.knowledge import Knowledge
from grisaille.records import Pending, Situation, Suggestion, TrialKind
from grisaille.strategies.auxiliary_problem import solve_auxiliary
from grisaille.strategies.practical.policy import narrowed
from tests.strategies.practical.practical_helpers import SEARCH, line_problem, opening, tried


def situation(trials: int = 4, **options: object) -> Situation:
    problem = line_problem()
    points = list(np.linspace(-2, 2, trials + 1)[1:])
    return Situation(problem, tried(problem, points, TrialKind.INITIAL), 0, **options)  # type: ignore[arg-type]


def test_bands_are_half_as_wide_and_promise_less():
    knowledge = Knowledge(situation(trials=5))  # the first bound is given, but no exploring is due
    plan, whole = narrowed(knowledge, SEARCH), opening(knowledge)
    assert plan is not None
    assert plan.suggestion.kind is TrialKind.NARROWED
    assert plan.plausible.beta["f"].item() == 1.0
    assert plan.promise > whole.promise


def test_the_bound_is_that_of_bands_that_hold_at_once():
    knowledge = Knowledge(situation())
    plan = narrowed(knowledge, SEARCH)
    solution = solve_auxiliary(knowledge.confident, knowledge, SEARCH)
    assert plan.suggestion.bound.estimated == solution.value
    assert (knowledge.confident.beta["f"] > knowledge.audited.beta["f"]).all()
    assert plan.suggestion.bound.estimated < opening(knowledge).promise


def test_every_eighth_trial_explores_where_the_bound_hides_something():
    knowledge = Knowledge(situation(trials=8))
    plan = narrowed(knowledge, SEARCH)
    assert plan.suggestion.kind is TrialKind.OPTIMISTIC
    assert plan.plausible is knowledge.audited
    assert plan.suggestion.bound.estimated < plan.promise < knowledge.incumbent.objective


def test_with_pending_trials_there_is_no_bound():
    pending = (Pending(Suggestion(TrialKind.NARROWED, np.array([0.3]))),)
    plan = narrowed(Knowledge(situation(pending=pending)), SEARCH)
    assert plan.suggestion.bound.estimated is None
    assert plan.suggestion.optimum is None


def test_bands_without_a_feasible_point_are_not_used():
    x = gs.Variable("x", lower=-2, upper=2)
    f = gs.BlackBox(lambda x: 0.2 * x**2, name="f", noise=0)
    problem = gs.Problem(minimize=f(x), subject_to=[f(x) <= -50])
    history = problem.solve(4, strategy=gs.SobolSearch(), progress=False).history
    assert narrowed(Knowledge(Situation(problem, history, 0)), SEARCH) is None

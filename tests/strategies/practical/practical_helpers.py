"""Situations and plans for the steps that the default adds to the paper."""

from __future__ import annotations

from typing import Any

import numpy as np

import grisaille as gs
from grisaille.belief.knowledge import Knowledge
from grisaille.records import Failure, History, Observation, Situation, Suggestion, Trial, TrialKind
from grisaille.strategies.auxiliary_problem import solve_auxiliary
from grisaille.strategies.plan import Plan

SEARCH = gs.MultiStart(6, 256, 20)


def line_problem(**options: Any) -> gs.Problem:
    """The minimum of one black box of one variable in [-2, 2]."""
    x = gs.Variable("x", lower=-2, upper=2)
    f = gs.BlackBox(lambda x: 0.2 * x**2, name="f", **{"noise": 0, **options})
    return gs.Problem(minimize=f(x))


def tried(problem: gs.Problem, points: list[float], kind: TrialKind, first: int = 1) -> History:
    """Trials at points of a problem with one variable and one black box, which is its objective."""
    trials = []
    for number, x in enumerate(points, first):
        at = np.array([x])
        value = problem.boxes[0].evaluate(at)
        seen = (Observation(problem.boxes[0].name, at, value),)
        suggestion = Suggestion(kind, at)
        trials.append(Trial(number, suggestion, float(value[0]), np.zeros(0), value, seen))
    return History(tuple(trials))


def closed_gap(**options: Any) -> Situation:
    """A parabola whose bands leave nothing to gain; the last trials gained nothing."""
    problem = line_problem(**options)
    initial = tried(problem, [-2.0, -1.0, 0.5, 1.5, 2.0], TrialKind.INITIAL)
    chosen = tried(problem, [1.2, -0.3, 0.1, 0.0, 1e-4, -1e-4, 2e-4], TrialKind.NARROWED, 6)
    history = History((*initial.trials, *chosen.trials))
    # After 13 trials it is not the turn of a trial that goes on as usual.
    return Situation(problem, history, 0, incomplete=1)


def with_failure(situation: Situation, x: float) -> Situation:
    """The same after the black box failed at x."""
    failure = Failure(situation.problem.boxes[0].name, np.array([x]), "no answer", 1, np.array([x]))
    history = situation.history
    return Situation(situation.problem, History(history.trials, failures=(failure,)), 0)


def opening(knowledge: Knowledge) -> Plan:
    """The plan that the steps start from: the solution for the whole bands."""
    solution = solve_auxiliary(knowledge.plausible, knowledge, SEARCH)
    return Plan.of(TrialKind.OPTIMISTIC, knowledge, SEARCH, knowledge.plausible, solution, solution)

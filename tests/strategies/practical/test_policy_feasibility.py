"""While no point tried is feasible, every other trial goes where one most surely is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import grisaille as gs
from grisaille.belief.knowledge import Knowledge
from grisaille.records import History, Pending, Situation, Suggestion, TrialKind
from grisaille.strategies.practical.policy import cautious_solution, seek_feasible_point
from tests.belief.belief_helpers import history_at, known_kernel
from tests.strategies.practical.practical_helpers import opening

# Infeasible, all of them, and not near the corner (1, 1).
DESIGN = [[a, b] for a in (0.0, 0.4, 0.8) for b in (0.0, 0.4, 0.8)]


def corner(size: float = 0.1) -> gs.Problem:
    """Feasible only within `size` of the corner (1, 1) of the unit square."""
    x = gs.Variable("x", 2, lower=0, upper=1)
    g = gs.BlackBox(
        lambda x: (1 - x[0]) ** 2 + (1 - x[1]) ** 2, name="g", noise=0, kernel=known_kernel(1.5)
    )
    return gs.Problem(minimize=x[0], subject_to=[g(x) <= size**2])


def situation(
    problem: gs.Problem, design=DESIGN, last: TrialKind = TrialKind.INITIAL, **options
) -> Situation:
    """After trials of a design, the last of which was of some kind."""
    history = history_at(problem, design)
    *trials, latest = history.trials
    latest = replace(latest, suggestion=replace(latest.suggestion, kind=last))
    return Situation(problem, History((*trials, latest)), 0, **options)


def sought(found: Situation) -> bool:
    """Whether the next trial looks for a feasible point."""
    knowledge = Knowledge(found)
    plan = opening(knowledge)
    return seek_feasible_point(plan, knowledge) is not plan


def test_a_feasible_point_of_a_narrow_corner_is_found_where_whole_bands_allow_none():
    problem = corner()
    knowledge = Knowledge(situation(problem))
    for plausible in (knowledge.plausible, knowledge.audited):
        assert not cautious_solution(knowledge, knowledge.incumbent, plausible).feasible
    plan = seek_feasible_point(opening(knowledge), knowledge)
    assert plan.is_final
    assert plan.suggestion.kind is TrialKind.RECOMMENDED
    assert history_at(problem, [plan.suggestion.x]).trials[0].violation == 0


def test_where_even_predictions_are_infeasible_the_least_violation_is_tried():
    # Nothing is feasible, and x = 1, which was not tried, violates the constraint least.
    x = gs.Variable("x", lower=-2, upper=4)
    g = gs.BlackBox(lambda x: 0.1 * (x - 1) ** 2, name="g", noise=0, kernel=known_kernel(2.0, 4.0))
    problem = gs.Problem(minimize=x, subject_to=[g(x) + 1 <= 0])
    knowledge = Knowledge(situation(problem, [[v] for v in (-2.0, -1.0, 0.0, 2.0, 3.0, 4.0)]))
    plan = seek_feasible_point(opening(knowledge), knowledge)
    assert plan.suggestion.kind is TrialKind.RECOMMENDED
    assert plan.suggestion.x[0] == pytest.approx(1.0, abs=0.02)


def test_while_no_point_is_feasible_every_other_trial_looks_for_one():
    problem = corner()
    assert sought(situation(problem, last=TrialKind.OPTIMISTIC))
    assert not sought(situation(problem, last=TrialKind.RECOMMENDED))
    waiting = (Pending(Suggestion(TrialKind.RECOMMENDED, np.array([0.9, 0.9]))),)
    assert not sought(situation(problem, last=TrialKind.OPTIMISTIC, pending=waiting))


def test_each_of_the_last_trials_looks_for_one_unless_others_are_pending():
    problem = corner()
    assert not sought(situation(problem, last=TrialKind.RECOMMENDED, remaining=6))
    assert sought(situation(problem, last=TrialKind.RECOMMENDED, remaining=5))
    waiting = (Pending(Suggestion(TrialKind.OPTIMISTIC, np.array([0.9, 0.9]))),)
    assert not sought(situation(problem, remaining=5, pending=waiting))


def test_once_a_point_is_feasible_nothing_is_looked_for():
    assert not sought(situation(corner(), [*DESIGN, [1.0, 1.0]], remaining=1))


def test_before_the_first_trial_nothing_is_looked_for():
    assert not sought(Situation(corner(), History(), 0))


def test_a_point_that_was_tried_is_not_tried_again():
    # The least violation is at an end of the range, which the design contains or does not.
    x = gs.Variable("x", lower=0, upper=4)
    g = gs.BlackBox(lambda x: 2 - 0.3 * x, name="g", noise=0, kernel=known_kernel(3.0, 9.0))
    problem = gs.Problem(minimize=x, subject_to=[g(x) <= 0])
    design = [[0.0], [1.0], [2.0], [3.0]]
    assert sought(situation(problem, design))
    assert not sought(situation(problem, [*design, [4.0]]))


def test_a_study_of_a_narrow_corner_ends_with_a_feasible_point():
    strategy = gs.Optimistic(solver=gs.MultiStart(4, 128, 10))
    result = corner().solve(10, strategy=strategy, progress=False)
    assert result.success
    kinds = [t.suggestion.kind for t in result.history]
    assert TrialKind.RECOMMENDED in kinds

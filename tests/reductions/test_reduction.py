"""Situations go down through all reductions, and suggestions come up."""

from __future__ import annotations

import numpy as np

import grisaille as gs
from grisaille.records import Pending, Situation, Suggestion
from grisaille.reductions.collapse import COLLAPSED, Collapse
from grisaille.reductions.reduction import Reductions, border


def blend() -> gs.Problem:
    f = gs.Variable("f", 3, lower=0, upper=1)
    box = gs.BlackBox(lambda f: float(f[0] * f[2]), name="box", noise=0)
    return gs.Problem(minimize=box(f), subject_to=[np.sum(f) == 1])


def tried(problem: gs.Problem, trials: int = 3) -> Situation:
    history = problem.solve(trials, strategy=gs.RandomSearch(), progress=False).history
    return Situation(problem, history, 0)


def test_nothing_changes_where_nothing_is_reduced():
    x = gs.Variable("x", lower=0, upper=1)
    problem = gs.Problem(minimize=gs.BlackBox(lambda x: x, name="box", noise=0)(x))
    situation, suggestion = tried(problem), Suggestion(gs.TrialKind.RANDOM, np.array([0.5]))
    assert border(problem).problem is problem
    assert border(problem).down(situation) is situation
    assert border(problem).up(suggestion) is suggestion


def test_what_goes_down_comes_up_as_it_was():
    problem = blend()
    situation = tried(problem)
    pending = Pending(situation.history.trials[0].suggestion)
    inside = border(problem).down(Situation(problem, situation.history, 0, pending=(pending,)))
    assert inside.problem is problem.searched
    assert [len(t.x) for t in inside.history] == [2, 2, 2]
    for trial, seen in zip(situation.history, inside.history, strict=True):
        assert trial.number == seen.number
        up = border(problem).up(seen.suggestion)
        np.testing.assert_allclose(up.x, trial.x, atol=1e-12)
    (waiting,) = inside.pending
    np.testing.assert_array_equal(waiting.suggestion.x, inside.history.trials[0].x)


def test_a_strategy_may_add_a_link():
    problem = blend()
    first = problem.elimination
    second = Collapse(first.problem, gs.collapse(first.problem))
    both = Reductions(problem, (first, second))
    inside = both.down(tried(problem))
    assert inside.problem is both.problem is second.problem
    assert {o.box for o in inside.history.observations()} == {COLLAPSED}
    assert all(o.inputs.shape == (2,) for o in inside.history.observations())
    up = both.up(Suggestion(gs.TrialKind.RANDOM, np.array([0.25, 0.5])))
    np.testing.assert_allclose(up.x, [0.25, 0.5, 0.25], atol=1e-15)

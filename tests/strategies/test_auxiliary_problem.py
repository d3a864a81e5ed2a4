"""How much a proof may take, and that nothing depends on what trials took."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import grisaille as gs
from grisaille.belief.knowledge import Knowledge
from grisaille.proof.relaxation import relaxed
from grisaille.records import History, Situation, TrialKind
from grisaille.search.certified import Certified
from grisaille.strategies import auxiliary_problem
from tests.strategies.practical.practical_helpers import line_problem, tried


def seven_variables() -> gs.Problem:
    x = gs.Variable("x", 7, lower=-1, upper=1)
    f = gs.BlackBox(lambda x: np.sum(x**2), name="f", noise=0)
    return gs.Problem(minimize=f(x))


def history_of(problem: gs.Problem, seconds: float = 0.1) -> History:
    trials = problem.solve(4, strategy=gs.SobolSearch(), progress=False).history.trials
    return History(tuple(replace(t, seconds=(0.0, seconds)) for t in trials))


def test_a_proof_takes_as_many_regions_as_are_allowed_and_no_more(monkeypatch):
    asked = []

    class Counting(Certified):
        def __new__(cls, gap: float, violation: float, most: int) -> Certified:
            asked.append(most)
            return Certified(gap, violation, most)

    monkeypatch.setattr(auxiliary_problem, "Certified", Counting)
    problem = line_problem()
    history = tried(problem, [-2.0, -1.0, 0.5, 2.0], TrialKind.INITIAL)
    knowledge = Knowledge(Situation(problem, history, 0))
    box = relaxed(knowledge.plausible)
    solution = auxiliary_problem.search_and_prove(box, box.lower.new_zeros(0, 2), knowledge)
    assert asked == [2000]
    assert solution.proof is not None


def test_with_many_variables_there_is_no_proof_and_it_says_why():
    problem = seven_variables()
    knowledge = Knowledge(Situation(problem, history_of(problem), 0))
    box = relaxed(knowledge.plausible)
    solution = auxiliary_problem.search_and_prove(box, box.lower.new_zeros(0, 8), knowledge)
    assert solution.proof is not None
    assert "a proof would have to search 7 quantities at once" in solution.proof.reason
    assert "gs.Optimistic(solver=gs.Certified()) to insist" in solution.proof.reason
    assert solution.proof.lower == -np.inf


def test_what_trials_took_does_not_change_what_is_decided():
    problem = seven_variables()
    quick, slow = (
        gs.Optimistic(initial=4).suggest(Situation(problem, history_of(problem, seconds), 0))
        for seconds in (3.9, 4.1)
    )
    np.testing.assert_array_equal(quick.x, slow.x)
    assert quick.bound == slow.bound
    assert quick.kind is slow.kind


def test_a_known_part_that_overflows_does_not_end_a_study():
    x = gs.Variable("x", lower=-1, upper=1)
    f = gs.BlackBox(lambda x: 2 * x, name="f", noise=0)
    result = gs.Problem(minimize=-np.exp(800 * f(x))).solve(6, progress=False)
    assert result.nit == 6

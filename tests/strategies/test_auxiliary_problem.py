"""A proof takes as many regions as are cheap beside a trial."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import grisaille as gs
from grisaille.certification.relaxation import relaxed
from grisaille.confidence.knowledge import Knowledge
from grisaille.records import History, Situation, TrialKind
from grisaille.solvers.certified import Certified
from grisaille.strategies import auxiliary_problem
from tests.strategies.practical.practical_helpers import line_problem, tried


def knowledge_after(seconds: float, problem: gs.Problem | None = None) -> Knowledge:
    problem = problem or line_problem()
    if problem.program.size == 1:
        trials = tried(problem, [-2.0, -1.0, 0.5, 2.0], TrialKind.INITIAL).trials
    else:
        trials = problem.solve(4, strategy=gs.SobolSearch(), progress=False).history.trials
    history = History(tuple(replace(t, seconds=(0.0, seconds)) for t in trials))
    return Knowledge(Situation(problem, history, 0))


@pytest.mark.parametrize(("seconds", "regions"), [(0.1, 2000), (5.0, 8000), (20.0, 32000)])
def test_longer_trials_allow_longer_proofs(monkeypatch, seconds, regions):
    asked = []

    class Counting(Certified):
        def __new__(cls, gap: float, violation: float, most: int) -> Certified:
            asked.append(most)
            return Certified(gap, violation, most)

    monkeypatch.setattr(auxiliary_problem, "Certified", Counting)
    knowledge = knowledge_after(seconds)
    problem = relaxed(knowledge.plausible)
    solution = auxiliary_problem.search_and_prove(problem, problem.lower.new_zeros(0, 2), knowledge)
    assert asked == [regions]
    assert solution.proof is not None


def test_with_many_variables_a_quick_trial_has_no_proof_and_says_why():
    x = gs.Variable("x", 7, lower=-1, upper=1)
    f = gs.BlackBox(lambda x: np.sum(x**2), name="f", noise=0)
    knowledge = knowledge_after(0.1, gs.Problem(minimize=f(x)))
    problem = relaxed(knowledge.plausible)
    solution = auxiliary_problem.search_and_prove(problem, problem.lower.new_zeros(0, 8), knowledge)
    assert solution.proof is not None
    assert "more than 6 variables" in solution.proof.reason
    assert solution.proof.lower == -np.inf

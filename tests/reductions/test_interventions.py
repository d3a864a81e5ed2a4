"""Under one set of interventions, a situation is one of the causal model."""

from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs
from grisaille.records import Failure, History, Pending, Situation, Suggestion
from grisaille.reductions.interventions import Interventions


def system(values, generator):
    x = values.get("X", 0.1 * generator.standard_normal())
    z = values.get("Z", x + 1 + 0.1 * generator.standard_normal())
    return {"X": x, "Z": z, "Y": (z - 1.5) ** 2 + 0.1 * generator.standard_normal()}


@pytest.fixture(scope="module")
def problem() -> gs.Problem:
    x = gs.exogenous(name="X")
    z = gs.BlackBox(None, name="Z", process_noise=True)(x)
    y = gs.BlackBox(None, name="Y", process_noise=True)(z)
    sets = [[gs.do(x, lower=-3, upper=3)], [gs.do(z, lower=-2, upper=4)]]
    return gs.causal_problem(gs.Problem(minimize=y), sets, system=system, runs=4, seed=0)


@pytest.fixture(scope="module")
def situation(problem) -> Situation:
    history = problem.solve(6, strategy=gs.SobolSearch(), progress=False).history
    failed = problem.causal.design(1, np.array([3.5]))
    failures = (Failure("system", failed, "it broke", 7, failed),)
    pending = Pending(Suggestion(gs.TrialKind.RANDOM, problem.causal.design(0, np.array([2.0]))))
    return Situation(problem, History(history.trials, (), failures), 0, pending=(pending,))


def test_each_trial_is_one_of_its_set(problem, situation):
    causal = problem.causal
    seen = [Interventions(problem, causal, n).down(situation) for n in range(2)]
    for number, inside in enumerate(seen):
        assert inside.problem is causal.intervened(number)
        here = [t for t in situation.history if causal.read(t.x)[0] == number]
        assert [t.number for t in inside.history] == [t.number for t in here]
        for trial, reduced in zip(here, inside.history, strict=True):
            assert reduced.x.tolist() == causal.read(trial.x)[1].tolist()
            assert reduced.objective == trial.objective
            assert len(reduced.chain) == inside.problem.program.box_outputs
    assert sum(len(inside.history) for inside in seen) == len(situation.history)
    assert [f.x.tolist() for f in seen[1].history.failures] == [[3.5]]
    assert [p.suggestion.x.tolist() for p in seen[0].pending] == [[2.0]]
    assert not seen[0].history.failures
    assert not seen[1].pending


def test_all_runs_of_all_sets_are_answers_of_the_mechanisms(problem, situation):
    causal = problem.causal
    counts = Interventions(problem, causal, 0).down(situation).history.counts()
    setting_x = sum(causal.read(t.x)[0] == 0 for t in situation.history)
    assert counts["Y"] == 4 * len(situation.history)
    assert counts["Z"] == 4 * setting_x


def test_values_of_a_set_come_up_as_a_point_of_the_whole_problem(problem):
    link = Interventions(problem, problem.causal, 1)
    up = link.up(Suggestion(gs.TrialKind.ACQUIRED, np.array([2.5])))
    number, values = problem.causal.read(up.x)
    assert number == 1
    assert values.tolist() == [2.5]

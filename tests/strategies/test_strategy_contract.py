"""What every strategy must do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.records import Failure, Pending, Situation
from tests.strategies.strategy_helpers import after, composite, constrained, network

pytestmark = pytest.mark.slow


def likely_better(knowledge):
    """The probability of improvement, a user's own acquisition."""

    def value(x):
        objective, _ = knowledge.draw(x, 16)
        return torch.sigmoid((knowledge.best - objective) / 0.01).mean(0)

    return value


SEARCH = gs.MultiStart(starts=4, samples=256, iterations=20)
STRATEGIES = {
    "Optimistic": gs.Optimistic(solver=SEARCH, initial=3),
    "CONFIG": gs.CONFIG(solver=SEARCH, initial=3),
    "EICF": gs.EICF(samples=16, initial=3),
    "EIFN": gs.EIFN(samples=16, initial=3),
    "CUQB": gs.CUQB(samples=32, initial=3),
    "MCBO": gs.MCBO(solver=SEARCH, initial=3),
    "LogEI": gs.LogEI(restarts=2, raw_samples=32, initial=3),
    "Acquisition": gs.Acquisition(likely_better, initial=3),
    "RandomSearch": gs.RandomSearch(),
    "SobolSearch": gs.SobolSearch(),
}
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES.keys())


@every_strategy
def test_the_same_situation_gives_the_same_answer(strategy):
    situation = after(constrained(), 5, remaining=4)
    first, second = strategy.suggest(situation), strategy.suggest(situation)
    assert first.x.tolist() == second.x.tolist()
    assert first.kind is second.kind


@every_strategy
def test_suggestions_lie_within_the_bounds(strategy):
    problem = constrained()
    for trials in (0, 1, 4):
        situation = after(problem, trials) if trials else Situation(problem, _nothing(), 0)
        x = strategy.suggest(situation).x
        assert (x >= problem.program.lower - 1e-12).all()
        assert (x <= problem.program.upper + 1e-12).all()


@every_strategy
def test_what_is_under_way_is_not_suggested_again(strategy):
    situation = after(composite(), 5)
    first = strategy.suggest(situation)
    waiting = replace(situation, pending=(Pending(first),))
    second = strategy.suggest(waiting)
    assert np.abs(first.x - second.x).max() > 1e-3
    assert second.pending == 1


@every_strategy
def test_a_study_that_is_resumed_goes_on_as_if_it_had_not_stopped(strategy, tmp_path):
    problem = constrained()
    whole = problem.solve(5, strategy=strategy, evaluation="chained", seed=2, progress=False)
    settings = {
        "name": "s",
        "storage": f"sqlite:///{tmp_path / 'study.db'}",
        "strategy": strategy,
        "seed": 2,
        "evaluation": "chained",
    }
    with gs.Study(problem, **settings) as study:
        study.run(5, progress=False, callback=lambda trial: trial.number == 3)
    with gs.Study(problem, **settings) as study:
        assert len(study.history) == 3
        study.run(5, progress=False)
        assert [t.x.tolist() for t in study.history] == [t.x.tolist() for t in whole.history]


@every_strategy
def test_every_strategy_knows_its_best_trial_and_what_it_learns(strategy):
    situation = after(constrained(), 6)
    incumbent = strategy.incumbent(situation)
    feasible = [t.objective for t in situation.history if t.violation == 0]
    assert incumbent.feasible
    assert incumbent.objective == pytest.approx(min(feasible))
    assert isinstance(strategy.learned(situation.problem), list)
    bound = strategy.bound(situation)
    assert bound.estimated is not None or bound.reason


@every_strategy
def test_failed_points_are_not_tried_again(strategy):
    situation = after(composite(), 5)
    suggestion = strategy.suggest(situation)
    failures = (Failure("h", suggestion.x, "it broke", 6, suggestion.x),)
    after_failure = replace(
        situation, history=replace(situation.history, failures=failures), incomplete=1
    )
    again = strategy.suggest(after_failure)
    assert np.abs(again.x - suggestion.x).max() > 1e-4


def test_strategies_for_one_layer_or_for_all_say_so():
    for name, strategy in STRATEGIES.items():
        if name == "EICF":
            with pytest.raises(gs.ModelError):
                strategy.check(network())
        else:
            strategy.check(network())


def _nothing():
    return gs.History()

"""What is known at a decision is worked out once."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief import learning, plausible_set, rules
from grisaille.belief.knowledge import Knowledge
from grisaille.records import History, Situation

pytestmark = pytest.mark.slow


STRATEGIES = [
    gs.Optimistic(initial=4, solver=gs.MultiStart(4, 128, 8)),
    gs.CONFIG(initial=4, solver=gs.MultiStart(4, 128, 8)),
    gs.EIFN(initial=4, samples=16),
    gs.CUQB(initial=4, samples=16),
    gs.LogEI(initial=4, restarts=2, raw_samples=16),
    gs.RandomSearch(),
]


def noisy() -> gs.Problem:
    generator = np.random.default_rng(0)
    x = gs.Variable("x", lower=-1, upper=1)
    f = gs.BlackBox(lambda x: x**2 + 0.1 * generator.normal(), name="f", noise=0.1)
    g = gs.BlackBox(lambda y: y - 0.2, name="g", noise=0)
    y = f(x)
    return gs.Problem(minimize=g(y) + 0.1 * x, subject_to=[y <= 0.5])


def copied(history: History) -> History:
    """The same trials in another object, which nothing has been learned of yet."""
    return History(history.trials, history.loose, history.failures)


@pytest.fixture
def counted(monkeypatch):
    """How often every black box of a problem was learned."""
    calls = []

    def believe(*arguments, **options):
        calls.append(arguments)
        return learning.believe(*arguments, **options)

    monkeypatch.setattr(rules, "believe", believe)
    return calls


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: type(s).__name__)
def test_a_decision_learns_every_black_box_at_most_once(counted, strategy):
    problem = noisy()
    history = copied(problem.solve(7, strategy=gs.SobolSearch(), progress=False).history)
    counted.clear()
    strategy.suggest(Situation(problem, history, 0, remaining=9))
    assert len(counted) <= 1


def test_a_strategy_without_beta_builds_no_bands(monkeypatch):
    x = gs.Variable("x", lower=-1, upper=1)
    f = gs.BlackBox(lambda x: x**2, name="f", noise=0)
    problem = gs.Problem(minimize=f(x))
    history = problem.solve(5, strategy=gs.SobolSearch(), progress=False).history

    def band(*_arguments):
        raise AssertionError("a band was asked for")

    monkeypatch.setattr(plausible_set.PlausibleSet, "band", band)
    for strategy in (gs.EIFN(initial=4, samples=16), gs.CUQB(initial=4, samples=16)):
        strategy.suggest(Situation(problem, history, 0))
    with pytest.raises(AssertionError, match="a band was asked for"):
        gs.Optimistic(initial=4).suggest(Situation(problem, history, 0))


def test_noisy_trials_are_judged_by_the_bands_of_all_answers():
    problem = noisy()
    history = problem.solve(7, strategy=gs.SobolSearch(), progress=False).history
    knowledge = Knowledge(Situation(problem, history, 0))
    best = knowledge.incumbent
    assert best is not None
    assert best.objective != history.trials[best.position].objective
    assert knowledge.incumbent is best


def test_what_was_learned_of_one_history_serves_all_who_ask_and_changes_nothing(counted):
    problem = noisy()
    history = copied(problem.solve(7, strategy=gs.SobolSearch(), progress=False).history)
    counted.clear()
    first = Knowledge(Situation(problem, history, 0)).incumbent
    assert Knowledge(Situation(problem, history, 0, remaining=3)).incumbent == first
    assert len(counted) == 1
    assert Knowledge(Situation(problem, copied(history), 0)).incumbent == first
    assert len(counted) == 2


def test_a_study_learns_each_black_box_once_per_trial(counted):
    study = gs.Study(noisy(), strategy=gs.Optimistic(initial=4, solver=gs.MultiStart(4, 128, 8)))
    study.run(6, progress=False)
    counted.clear()
    study.run(9, progress=False)
    assert len(counted) <= 4  # before the first of three trials, and after each


def test_predictions_go_along_the_chain_at_posterior_means_and_draws_around_them():
    problem = noisy()
    history = problem.solve(7, strategy=gs.SobolSearch(), progress=False).history
    knowledge = Knowledge(Situation(problem, history, 0))
    x = torch.linspace(-1, 1, 5, dtype=torch.float64).unsqueeze(1)
    objective, constraints = knowledge.predict(x)
    y, _ = knowledge.beliefs["f"].predict(x)
    z, _ = knowledge.beliefs["g"].predict(y)
    assert objective.tolist() == pytest.approx((z[:, 0] + 0.1 * x[:, 0]).tolist())
    assert constraints[:, 0].tolist() == pytest.approx((y[:, 0] - 0.5).tolist())
    drawn, limits = knowledge.draw(x, 512)
    assert drawn.shape == (512, 5)
    assert limits.mean(0)[:, 0].tolist() == pytest.approx(constraints[:, 0].tolist(), abs=0.01)
    assert knowledge.draw(x, 512)[0].tolist() == drawn.tolist()


def test_the_best_value_is_that_of_the_incumbent_if_it_is_feasible():
    problem = noisy()
    assert Knowledge(Situation(problem, History(), 0)).best is None
    history = problem.solve(7, strategy=gs.SobolSearch(), progress=False).history
    knowledge = Knowledge(Situation(problem, history, 0))
    assert knowledge.best == knowledge.incumbent.objective

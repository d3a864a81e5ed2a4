"""One run of a comparison: what is measured."""

from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs
from grisaille.lab.comparison.run import make_run
from grisaille.lab.problems import KnownProblem, Structure
from tests.lab.comparison.comparison_helpers import (
    INITIAL,
    compared,
    limited,
    optimistic,
    plan_of,
    slope,
    small_plan,
)


def test_the_regret_is_that_of_the_best_feasible_point_so_far():
    plan = plan_of({"limited": limited}, {"optimistic": optimistic}, 1, 3)
    (settings,) = plan.settings.values()
    made = make_run(settings, compared(limited), optimistic)
    assert not made.failed
    assert [step.number for step in made.steps] == list(range(1, INITIAL + 4))
    best = np.inf
    for step in made.steps:
        (x,) = step.x
        assert step.objective == x
        assert step.violation == pytest.approx(max(x - 0.7, 0.0))
        if step.violation == 0:
            best = min(best, 0.7 - x)
        assert step.regret == best
        assert step.suggesting > 0


def tiny(_seed: int) -> gs.Problem:
    x = gs.Variable("x", lower=0, upper=1e-10)
    box = gs.BlackBox(lambda x: x, name="box", noise=0)
    return gs.Problem(maximize=x, subject_to=[box(x) <= 0.5e-10])


def test_a_comparison_judges_feasibility_as_studies_do_in_every_unit():
    def random(_initial: int) -> gs.RandomSearch:
        return gs.RandomSearch()

    plan = plan_of({"tiny": tiny}, {"random": random}, 1, 6)
    (settings,) = plan.settings.values()
    made = make_run(settings, compared(tiny), random)
    met = [step.x[0] for step in made.steps if step.x[0] <= 0.5e-10]
    assert 0 < len(met) < len(made.steps)
    assert made.steps[-1].regret == -max(met)


def noisy(seed: int) -> KnownProblem:
    generator = np.random.default_rng(seed)
    x = gs.Variable("x", lower=0, upper=1)
    box = gs.BlackBox(lambda x: x + generator.normal(0, 0.5), name="noisy", noise=0.5)

    def truth(x):
        return float(x[0]), 0.0

    problem = gs.Problem(minimize=box(x))
    zero = np.zeros(1)
    return KnownProblem("noisy", problem, 0.0, zero, "made up", Structure.ONE_LAYER, truth)


def test_with_noise_the_regret_is_the_true_one_of_what_is_recommended():
    plan = plan_of({"noisy": noisy}, {"optimistic": optimistic}, 1, 2)
    (settings,) = plan.settings.values()
    made = make_run(settings, compared(noisy), optimistic)
    assert not made.failed, made.message
    tried = [step.x[0] for step in made.steps]
    for number, step in enumerate(made.steps, 1):
        assert step.regret in tried[:number]
        assert step.objective == step.x[0]
    known = noisy(0)
    study = gs.Study(known.problem, strategy=optimistic(4), evaluation="chained", seed=0)
    study.run(6, progress=False)
    best = study.incumbent()
    assert made.steps[-1].regret == study.history.trials[best.position].x[0]


def test_the_same_settings_give_the_same_numbers():
    plan = small_plan(1, 3, optimistic=optimistic)
    (settings,) = plan.settings.values()
    first, second = (make_run(settings, compared(slope), optimistic) for _ in range(2))
    assert [(s.x, s.regret) for s in first.steps] == [(s.x, s.regret) for s in second.steps]

"""How much is left to gain, and whether trials gain it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from grisaille.belief.incumbent import Incumbent
from grisaille.belief.knowledge import Knowledge
from grisaille.records import History, Observation, Situation, Suggestion, Trial, TrialKind
from grisaille.search.search_problem import Solution
from grisaille.strategies.practical.gap import gap_of, relative_gap, stalled, teaches
from tests.strategies.practical.practical_helpers import line_problem, opening, tried


def history(initial: list[float], chosen: list[float]) -> tuple[History, Incumbent]:
    """Trials of given objectives without constraints, and the best of them."""
    kinds = [TrialKind.INITIAL] * len(initial) + [TrialKind.NARROWED] * len(chosen)
    objectives = [*initial, *chosen]
    trials = tuple(
        Trial(i + 1, Suggestion(kind, np.zeros(1)), objective, np.zeros(0), np.zeros(1), ())
        for i, (kind, objective) in enumerate(zip(kinds, objectives, strict=True))
    )
    best = int(np.argmin(objectives))
    return History(trials), Incumbent(best, objectives[best], 0.0, True)


def test_the_gap_is_measured_by_the_spread_of_chosen_trials():
    trials, best = history([0.0, 10.0], [1.0, -1.0])
    assert relative_gap(trials, best, -1.5) == pytest.approx(0.5)
    assert relative_gap(trials, best, None) == np.inf


def test_a_gap_is_stalled_when_the_last_trials_gained_little_of_it():
    trials, best = history([2.0, 3.0], [1.0, 0.95, 0.99, 1.2])
    assert stalled(trials, best, 0.0)
    assert not stalled(trials, best, 0.8)


def test_a_digit_is_no_progress_where_trials_typically_miss_by_much():
    digits = [0.5, 0.5 - 1e-6, 0.5 - 2e-6, 0.5 - 3e-6]
    trials, best = history([2.0, 3.0], [1.0, 1.5, 2.0, 1.2, 1.7, *digits])
    assert stalled(trials, best, best.objective - 1e-6)
    trials, best = history([2.0, 3.0], digits)
    assert not stalled(trials, best, best.objective - 1e-6)


def averaging(noise: float | None) -> Situation:
    """A parabola whose best point was tried again and again, with noise of 0.1 or without."""
    problem = line_problem(noise=noise)
    level = 0.1 if noise is None else noise
    initial = tried(problem, [-2.0, -1.0, 0.5, 1.5, 2.0], TrialKind.INITIAL)
    chosen = tried(problem, [0.0] * 12, TrialKind.NARROWED, 6)
    errors = level * np.random.default_rng(0).standard_normal(17)
    trials = []
    for trial, error in zip((*initial.trials, *chosen.trials), errors, strict=True):
        (seen,) = trial.observations
        outputs = seen.outputs + error
        heard = (Observation(seen.box, seen.inputs, outputs),)
        value = float(outputs[0])
        trials.append(replace(trial, objective=value, chain=outputs, observations=heard))
    return Situation(problem, History(tuple(trials)), 0)


def at(knowledge: Knowledge, x: float) -> Solution:
    outputs = knowledge.plausible.predict(torch.tensor([[x]], dtype=torch.float64))[0].numpy()
    point = knowledge.plausible.locate(np.array([x]), outputs)
    return Solution(point, 0.0, 0.0, feasible=True, evaluations=1)


@pytest.mark.parametrize("noise", [None, 0.1])
def test_a_point_whose_noise_is_averaged_teaches_nothing_and_another_one_does(noise):
    knowledge = Knowledge(averaging(noise))
    assert not teaches(knowledge.plausible, at(knowledge, 0.0), knowledge)
    assert teaches(knowledge.plausible, at(knowledge, 1.0), knowledge)
    assert not teaches(knowledge.plausible, at(knowledge, 1.0), knowledge, least=100.0)


def test_exact_answers_always_teach():
    knowledge = Knowledge(averaging(0.0))
    assert teaches(knowledge.plausible, at(knowledge, 0.0), knowledge)


def test_bands_are_doubted_where_trials_would_only_average_noise():
    knowledge = Knowledge(averaging(0.1))
    plan = opening(knowledge)
    there = replace(plan, solution=replace(at(knowledge, 0.0), value=-0.1))
    gap = gap_of(there, knowledge)
    assert gap.is_doubted
    assert not gap.is_nearly_closed
    elsewhere = replace(plan, solution=replace(at(knowledge, 1.0), value=-0.1))
    assert not gap_of(elsewhere, knowledge).is_doubted

"""Which of the points tried is the best one: as observed, or, with noise, as believed."""

import numpy as np
import pytest
import torch

import grisaille as gs
from grisaille.belief.incumbent import find_incumbent
from grisaille.records import History, Situation
from tests.belief.belief_helpers import (
    Fixed,
    fixed_set,
    history_at,
    known_kernel,
    plausible_set,
)


def problem_with(noise, constrained=True, objective=lambda x: (x - 1) ** 2):
    """Minimize h(x) where g(x) <= 0 means x >= 2, over [0, 4]; the best observed x is nearest 2."""
    x = gs.Variable("x", lower=0, upper=4)
    kernel = known_kernel(1.0, 25.0)
    h = gs.BlackBox(objective, name="h", kernel=kernel, noise=noise)
    g = gs.BlackBox(lambda x: 2 - x, name="g", kernel=kernel, noise=noise)
    return gs.Problem(minimize=h(x), subject_to=[g(x) <= 0] if constrained else [])


def incumbent_of(problem, history, beta=2.0):
    exact = all(box.is_exact for box in problem.boxes)
    return find_incumbent(history, None if exact else plausible_set(problem, history, beta))


# --- nothing tried -------------------------------------------------------------------------------
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_before_the_first_trial_there_is_no_incumbent(noise):
    assert incumbent_of(problem_with(noise), History()) is None


# --- exact boxes ---------------------------------------------------------------------------------
def test_exact_boxes_give_the_best_feasible_trial_as_observed():
    problem = problem_with(noise=0)
    best = incumbent_of(problem, history_at(problem, [[1.0], [3.5], [2.5], [3.0], [1.9]]))
    assert (best.position, best.feasible, best.violation) == (2, True, 0.0)
    assert best.objective == 2.25


def test_exact_boxes_count_as_feasible_on_the_very_edge_and_not_beyond():
    problem = problem_with(noise=0)
    best = incumbent_of(problem, history_at(problem, [[2.0 - 1e-12], [2.0], [3.0]]))
    assert (best.position, best.feasible) == (1, True)


def test_exact_boxes_give_the_least_violation_when_nothing_is_feasible():
    problem = problem_with(noise=0)
    best = incumbent_of(problem, history_at(problem, [[1.0], [1.75], [0.0]]))
    assert (best.position, best.feasible) == (1, False)
    assert best.violation == pytest.approx(0.25)
    assert best.objective == pytest.approx(0.75**2)


def test_the_largest_violation_of_all_constraints_counts():
    x = gs.Variable("x", 2, lower=0, upper=4)
    h = gs.BlackBox(lambda x: x, name="h", outputs=2, noise=0, kernel=known_kernel())
    problem = gs.Problem(minimize=x[0], subject_to=[h(x) <= 1])
    best = incumbent_of(problem, history_at(problem, [[1.0, 3.0], [2.0, 2.5], [2.9, 2.9]]))
    assert (best.position, best.violation) == (1, 1.5)


def test_of_equal_trials_the_first_is_the_incumbent():
    problem = problem_with(noise=0)
    assert incumbent_of(problem, history_at(problem, [[3.0], [2.5], [2.5]])).position == 1


def test_a_problem_without_constraints_has_nothing_but_feasible_trials():
    problem = problem_with(noise=0, constrained=False)
    best = incumbent_of(problem, history_at(problem, [[3.0], [1.25], [0.0]]))
    assert (best.position, best.feasible, best.violation, best.objective) == (1, True, 0.0, 0.0625)


def test_the_objective_of_a_maximization_is_the_minimized_one():
    x = gs.Variable("x", lower=0, upper=4)
    h = gs.BlackBox(lambda x: x, name="h", kernel=known_kernel(), noise=0)
    problem = gs.Problem(maximize=h(x))
    best = incumbent_of(problem, history_at(problem, [[3.0], [3.5], [1.0]]))
    assert (best.position, best.objective) == (1, -3.5)


def test_a_problem_without_black_boxes_is_judged_by_its_values():
    x = gs.Variable("x", lower=0, upper=4)
    problem = gs.Problem(minimize=x, subject_to=[x >= 2])
    best = incumbent_of(problem, history_at(problem, [[1.0], [3.0], [2.5]]))
    assert (best.position, best.objective, best.feasible) == (2, 2.5, True)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_trial_without_a_value_is_chosen_last(noise):
    # sqrt(h) does not exist where h(x) = x - 2 is negative
    x = gs.Variable("x", lower=0, upper=4)
    h = gs.BlackBox(lambda x: x - 2, name="h", kernel=known_kernel(), noise=noise)
    problem = gs.Problem(minimize=np.sqrt(h(x)))
    history = history_at(problem, [[0.5], [3.0], [0.25]])
    assert np.isnan([t.objective for t in history]).tolist() == [True, False, True]
    best = incumbent_of(problem, history)
    assert (best.position, best.feasible) == (1, True)
    nothing = incumbent_of(problem, history_at(problem, [[0.5], [0.25]]))
    assert not nothing.feasible


# --- noise ---------------------------------------------------------------------------------------
def test_with_noise_the_luckiest_sample_does_not_win():
    # Around x = 1 the function is 0 and was observed ten times; at x = 3, where it is 1, one of ten
    # observations was lucky by 1.5 and is the lowest of all.
    problem = problem_with(noise=0.5, constrained=False, objective=lambda x: 0.0 if x < 2 else 1.0)
    design = [[1.0]] * 10 + [[3.0]] * 10
    noises = [0.3, -0.3] * 5 + [0.2] * 9 + [-1.5]
    history = history_at(problem, design, noises)
    observed = [t.objective for t in history]
    assert int(np.argmin(observed)) == 19
    best = incumbent_of(problem, history)
    assert history.trials[best.position].x.tolist() == [1.0]
    assert best.objective == pytest.approx(0.0, abs=0.1)


def test_with_noise_the_objective_is_the_posterior_mean():
    # five observations that average 2, noise variance 1/4, prior variance 25
    problem = problem_with(noise=0.5, constrained=False, objective=lambda x: 2.0)
    history = history_at(problem, [[1.0]] * 5, [-0.5, 0.5, 0.0, 1.0, -1.0])
    assert incumbent_of(problem, history).objective == pytest.approx(2 * 125 / (125 + 0.25))


def test_with_noise_constraints_must_hold_with_the_confidence_of_the_bands():
    # x = 2.5 meets g <= 0 by 0.5: one observation leaves +-0.8 of doubt at beta 2, ten leave +-0.25
    problem = problem_with(noise=0.4)
    once = history_at(problem, [[2.5]])
    best = incumbent_of(problem, once)
    assert not best.feasible
    assert best.violation == 0.0  # the mean meets it
    often = history_at(problem, [[2.5]] * 10)
    assert incumbent_of(problem, often).feasible
    assert incumbent_of(problem, once, beta=1.0).feasible


def test_with_noise_and_nothing_surely_feasible_the_least_doubtful_trial_wins():
    problem = problem_with(noise=1.0)
    history = history_at(problem, [[0.5], [2.3], [1.5]])
    best = incumbent_of(problem, history)
    assert (best.position, best.feasible) == (1, False)


def test_a_lucky_constraint_does_not_make_a_trial_feasible():
    # g(1.5) = 0.5 > 0 was observed eight times around its value, and once, luckily, below 0
    problem = problem_with(noise=0.3)
    history = history_at(problem, [[1.5]] * 9 + [[3.0]] * 9, [0.05] * 8 + [-0.9] + [0.0] * 9)
    assert history.trials[8].violation == 0
    best = incumbent_of(problem, history)
    assert history.trials[best.position].x.tolist() == [3.0]
    assert best.feasible


def test_the_bands_that_are_given_judge():
    x = gs.Variable("x", lower=0, upper=4)
    exact = gs.BlackBox(lambda x: x, name="exact", kernel=known_kernel(), noise=0)
    noisy = gs.BlackBox(lambda x: 0.0, name="noisy", kernel=known_kernel(), noise=[1.0])
    problem = gs.Problem(minimize=exact(x) + noisy(x))
    history = history_at(problem, [[1.0], [2.0]])
    beliefs = {"exact": Fixed(lambda s: -s, 0.1), "noisy": Fixed(0.0, 0.1)}
    best = find_incumbent(history, fixed_set(problem, beliefs))
    assert (best.position, best.objective) == (1, -2.0)
    assert find_incumbent(history, None).position == 0


@pytest.mark.parametrize("noise", [0.5, None])
def test_one_box_whose_noise_is_not_zero_is_enough_to_judge_by_the_posterior(noise):
    x = gs.Variable("x", lower=0, upper=4)
    exact = gs.BlackBox(lambda x: x, name="exact", kernel=known_kernel(), noise=0)
    kernel = None if noise is None else known_kernel()
    # Asked twice at 1, it answers differently: that is noise, also where none is declared.
    answers = iter([0.0, 0.5, 0.0, 0.0])
    noisy = gs.BlackBox(lambda x: next(answers), name="noisy", kernel=kernel, noise=noise)
    problem = gs.Problem(minimize=exact(x) + noisy(x))
    history = history_at(problem, [[1.0], [1.0], [2.0], [3.0]])
    best = gs.Optimistic().incumbent(Situation(problem, history, 0))
    believed = plausible_set(problem, history).predict(torch.tensor([[1.0], [2.0], [3.0]]).double())
    assert best.objective == pytest.approx(float(believed[0].min()), abs=1e-12)
    assert best.objective != history.trials[best.position].objective


def test_a_box_whose_answers_show_no_noise_is_judged_as_observed():
    x = gs.Variable("x", lower=0, upper=4)
    h = gs.BlackBox(lambda x: (x - 1) ** 2, name="h")
    problem = gs.Problem(minimize=h(x))
    history = history_at(problem, [[1.25], [2.0], [3.0], [0.25], [1.25]])
    best = gs.Optimistic().incumbent(Situation(problem, history, 0))
    assert (best.position, best.objective, best.upper) == (0, 0.0625, None)

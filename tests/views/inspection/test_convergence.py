from __future__ import annotations

import numpy as np

from grisaille.records import History
from grisaille.views.inspection.convergence import convergence
from tests.views.inspection.inspection_helpers import two_boxes, with_choice


def test_the_best_value_improves_only_at_feasible_trials():
    result = two_boxes()
    went = convergence(result.history, 1, {})
    table = result.to_dataframe()
    assert np.allclose(went.objective, table["objective"])
    assert went.best[-1] == result.fun
    steps = np.flatnonzero(np.diff(went.best) != 0) + 1
    assert went.feasible[steps].all()


def test_a_maximum_is_shown_in_the_users_sense():
    result = with_choice()
    went = convergence(result.history, result.problem.sense, {})
    known = np.isfinite(went.carried_bound)
    assert (np.diff(went.best[np.isfinite(went.best)]) >= 0).all()
    assert known.any()
    assert (went.carried_bound[known] >= went.best[known] - 1e-9).all()


def test_costs_add_up_over_the_answers_of_each_black_box():
    result = two_boxes()
    went = convergence(result.history, 1, {"large": 5.0})
    counts = result.evaluations
    assert went.cost[-1] == 5 * counts["large"] + counts["small"]


def test_the_gap_is_the_distance_to_the_latest_bound():
    went = convergence(two_boxes().history, 1, {})
    both = np.isfinite(went.gap)
    assert both.any()
    assert np.allclose(went.gap[both], (went.best - went.carried_bound)[both])


def test_an_empty_history_gives_empty_series():
    went = convergence(History(), 1, {})
    assert len(went.best) == len(went.carried_bound) == len(went.gap) == 0

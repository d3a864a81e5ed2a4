"""Profiles and savings, worked out by hand."""

from __future__ import annotations

import numpy as np

from grisaille.lab.comparison.run import Results
from grisaille.lab.comparison.tables import (
    data_profile,
    performance_profile,
    savings,
    solution_times,
)
from tests.lab.comparison.comparison_helpers import made_up

INF = np.inf


def test_times_are_the_first_evaluations_below_a_part_of_the_first_regret(results):
    times = solution_times(results, ["wave", "hill"], ["Optimistic", "LogEI"], 0.25)
    # Targets are 2 and 1 on wave, 1.25 on hill.
    assert times["Optimistic"].tolist() == [2, 2, INF, INF]
    assert times["LogEI"].tolist() == [4, 4, 1, INF]


def test_profiles_of_an_example_worked_out_by_hand():
    times = {"a": np.array([1.0, 4, INF, 2]), "b": np.array([2.0, 2, INF, INF])}
    evaluations = np.array([0.0, 1, 2, 4])
    assert data_profile(times["a"], evaluations).tolist() == [0, 0.25, 0.5, 0.75]
    assert data_profile(times["b"], evaluations).tolist() == [0, 0, 0.5, 0.5]
    shares = performance_profile(times, np.array([1.0, 2.0, 100.0]))
    assert shares["a"].tolist() == [0.5, 0.75, 0.75]
    assert shares["b"].tolist() == [0.25, 0.5, 0.5]


def test_what_the_initial_design_solves_counts_as_one_evaluation_in_a_ratio():
    times = {"a": np.array([0.0]), "b": np.array([2.0])}
    shares = performance_profile(times, np.array([1.0, 2.0]))
    assert shares["a"].tolist() == [1, 1]
    assert shares["b"].tolist() == [0, 1]


def test_savings_compare_median_curves_at_what_the_baseline_comes_to(results):
    found = {saving.problem: saving for saving in savings(results, "Optimistic", "LogEI")}
    wave, hill = found["wave"], found["hill"]
    # LogEI ends at 1 in the median, after 4; Optimistic's median (6, 3, 1, ...) is there after 2.
    assert (wave.target, wave.baseline, wave.reference) == (1, 4, 2)
    assert (wave.ratio, wave.ratio_in_all) == (2, 6 / 4)
    # LogEI ends at 2, after 1; Optimistic ends at 2.5.
    assert (hill.target, hill.baseline, hill.reference) == (2, 1, INF)
    assert (hill.ratio, hill.ratio_in_all) == (0, 0)


def test_a_baseline_without_a_feasible_point_gives_no_ratio():
    runs = (
        made_up("wave", "Optimistic", 0, [1.0] * 4),
        made_up("wave", "LogEI", 0, [INF] * 4),
    )
    (saving,) = savings(Results(runs), "Optimistic", "LogEI")
    assert np.isnan(saving.ratio)

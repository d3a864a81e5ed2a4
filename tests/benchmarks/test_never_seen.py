"""The numbers that are printed about problems never seen."""

from __future__ import annotations

import math

import pytest
from benchmarks.never_seen import best_rival, regrets_against, summarize

pytestmark = pytest.mark.slow


def run(problem: str, strategy: str, regret: float, **others: object) -> dict[str, object]:
    """One stored run."""
    row = {
        "problem": problem,
        "strategy": strategy,
        "noise": "left_out",
        "seed": 0,
        "traceback": "",
        "feasible": True,
        "regret": regret,
        "scale": 1.0,
        "status": "max_trials",
        "assurance": "estimated",
        "wrong_bound": False,
    }
    return {**row, **others}


def test_medians_are_compared_over_the_seeds_that_both_have():
    ours = [run("a", "ours", r, seed=s) for s, r in enumerate((0.1, 0.2, 0.3, 99.0))]
    theirs = [run("a", "theirs", r, seed=s) for s, r in enumerate((0.4, 0.1, 0.01))]
    found = regrets_against([*ours, *theirs], "ours", "theirs")
    assert found["problems"] == 1
    assert found["no worse by more than 1 %"] == 0  # 0.2 against 0.1
    assert found["worse by more than 2 x"] == 0  # rounding counts for both: 2 x exactly is not more
    assert found["worse by more than 3 x"] == {}


def test_a_run_without_a_feasible_point_is_the_worst():
    lost = run("a", "ours", -5.0, feasible=False)
    found = regrets_against([lost, run("a", "theirs", 7.0)], "ours", "theirs")
    assert found["worse by more than 3 x"] == {"a": math.inf}
    both = regrets_against([lost, run("a", "theirs", 7.0, feasible=False)], "ours", "theirs")
    assert both["no worse by more than 1 %"] == 1


def test_a_run_that_ended_in_an_exception_is_the_worst_too():
    broken = {key: run("a", "ours", 0.0)[key] for key in ("problem", "strategy", "noise", "seed")}
    found = regrets_against([broken, run("a", "theirs", 7.0)], "ours", "theirs")
    assert found["worse by more than 3 x"] == {"a": math.inf}


def test_what_is_left_of_two_solved_problems_is_rounding():
    rows = [run("a", "ours", 1e-9), run("a", "theirs", 1e-12)]
    found = regrets_against(rows, "ours", "theirs")
    assert found["worse by more than 2 x"] == 0


def test_bounds_are_counted_by_what_they_rest_on():
    rows = [
        run("a", "Optimistic", 0.1, wrong_bound=True),
        run("b", "Optimistic", 0.1, assurance="certified"),
        run("c", "Optimistic", math.nan, feasible=False, status="likely_infeasible"),
        run("d", "Optimistic", 0.1, status="likely_infeasible", feasible=False),
    ]
    found = summarize(rows)["Optimistic, noise left_out"]
    assert found["bounds estimated"] == "1 wrong of 2"
    assert found["bounds certified"] == "0 wrong of 1"
    assert found["false likely_infeasible"] == 1
    assert (found["runs on infeasible problems"], found["found likely_infeasible"]) == (1, 1)
    assert (found["runs on feasible problems"], found["feasible at the end"]) == (3, 2)


def test_problems_that_a_rival_refuses_or_is_too_slow_for_do_not_count():
    refused = run("a", "EICF", math.inf, traceback="ModelError: EICF is for one layer")
    late = run("b", "EICF", math.inf, traceback="GaveUpError: it took too long")
    broken = run("c", "EICF", math.inf, traceback="ValueError: x", feasible=False)
    ours = [run(name, "Optimistic", 1.0) for name in "abc"]
    found = regrets_against([*ours, refused, late, broken], "Optimistic", "EICF")
    assert found["problems"] == 1
    counts = summarize([*ours, refused, late, broken])["EICF, noise left_out"]
    assert (counts["problems refused"], counts["given up"], counts["tracebacks"]) == (1, 1, 1)


def test_the_best_rival_is_the_best_on_each_problem_and_seed():
    rows = [
        run("a", "EIFN", 0.3),
        run("a", "CONFIG", 0.1),
        run("a", "LogEI", 0.01, feasible=False),
        run("a", "EIFN", 0.2, seed=1),
        run("a", "Optimistic", 0.0),
    ]
    assert [(row["seed"], row["regret"]) for row in best_rival(rows)] == [(0, 0.1), (1, 0.2)]

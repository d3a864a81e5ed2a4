"""The problem of 60 variables: its optima against local searches of the true functions."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.many_variables import BOXES, INPUTS, METHODS, run_one, sixty_variables, summarize
from scipy.optimize import minimize

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("constrained", [False, True])
def test_the_optimum_is_attained_where_it_is_said_to_be(constrained):
    known = sixty_variables(constrained)
    value, violation = known.measure(known.x)
    assert value == pytest.approx(known.optimum, abs=1e-9)
    assert violation <= 1e-9
    program = known.problem.program
    assert program.size == BOXES * INPUTS
    assert (known.x >= program.lower).all()
    assert (known.x <= program.upper).all()
    assert [call.box.inputs for call in program.calls] == [INPUTS] * BOXES


def test_no_black_box_goes_lower_than_the_optimum_takes_it():
    known = sixty_variables()
    box = known.problem.boxes[0]
    generator = np.random.default_rng(0)
    found = [
        minimize(lambda u: box.evaluate(u)[0], start, bounds=[(0, 1)] * INPUTS).fun
        for start in generator.uniform(size=(20, INPUTS))
    ]
    assert min(found) == pytest.approx(-3.32237, abs=1e-5)


def test_the_problem_does_not_fall_into_parts():
    # Moving the last variable of a black box changes it and the next one.
    known = sixty_variables()
    here = known.problem.program.first_states(known.x)
    there = known.problem.program.first_states(known.x + 0.01 * (np.arange(60) == INPUTS - 1))
    changed = [call for call in here if not np.array_equal(here[call], there[call])]
    assert changed == [0, 1]


def test_a_row_has_regret_seconds_and_memory():
    for method in METHODS:
        row = run_one((method, 0, 1, False))  # a point of the initial design
        assert row["regret"] > 0
        assert row["longest_seconds"] >= row["seconds_at_the_end"] >= 0
        assert 0.05 < row["peak_gigabytes"] < 20


def test_the_bar_is_met_by_half_of_the_better_rival_within_the_time():
    def rows(ours, seconds):
        regrets = {"default": ours, "LogEI": 3.0, "TuRBO-1": 2.0}
        shared = {"seconds_at_the_end": seconds, "peak_gigabytes": 1.0}
        return [{"method": name, "regret": regrets[name], **shared} for name in METHODS]

    assert summarize(rows(1.0, 5.0))["met"]
    assert not summarize(rows(1.1, 5.0))["met"]
    assert not summarize(rows(1.0, 5.1))["met"]

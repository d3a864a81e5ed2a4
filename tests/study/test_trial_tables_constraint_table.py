"""The constraints side by side, each with its slack in its own unit."""

from __future__ import annotations

import numpy as np
import pytest

import grisaille as gs
from grisaille.records import History, Suggestion, Trial, TrialKind
from grisaille.study.trial_tables import constraint_lines, tightness

pytestmark = pytest.mark.slow


def history(*rows: list[float]) -> History:
    """Trials with these constraint bodies."""
    trials = []
    for number, row in enumerate(rows, 1):
        suggestion = Suggestion(kind=TrialKind.INITIAL, x=np.zeros(1))
        constraints, nothing = np.array(row), np.zeros(0)
        trials.append(Trial(number, suggestion, 0.0, constraints, nothing, ()))
    return History(tuple(trials))


def problem(tolerance: float | dict[str, float] | None = None) -> gs.Problem:
    t = gs.Variable("t", lower=0, upper=1, unit="K")
    p = gs.Variable("p", lower=0, upper=1, unit="Pa")
    constraints = {"hot": t <= 1, "pressed": p <= 1, "free": t * p <= 1}
    return gs.Problem(minimize=t, subject_to=constraints, feasibility_tol=tolerance)


def test_constraints_of_different_units_are_compared_by_their_sizes():
    seen = history([-1.0, -1e5], [-3.0, -3e5])
    # Sizes are 1 + 2 and 1e5 + 2e5: deviation and mean size over the trials.
    scaled = tightness(np.array([-0.3, -1e3]), seen)
    assert scaled.tolist() == pytest.approx([-0.1, -1 / 300])
    assert np.argmax(scaled) == 1  # though -0.3 is larger than -1000


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf])
def test_strange_bodies_do_no_harm(strange):
    scaled = tightness(np.array([strange, -1.0]), history([strange, -1.0], [-1.0, -1.0]))
    assert scaled[0] == (-np.inf if strange == -np.inf else np.inf)


def test_slack_unit_and_remarks_stand_side_by_side():
    seen = history([-1.0, -1e5, -1.0], [-3.0, -3e5, 1.0])
    lines = constraint_lines(problem(), np.array([-0.25, -1e3, 0.5]), seen)
    assert lines == [
        "hot      slack 0.25 K",
        "pressed  slack 1000 Pa  active",
        "free     slack -0.5     violated",
    ]


def test_slack_is_that_of_the_constraint_as_written_and_its_tolerance_is_said():
    seen = history([-1.0, -1e5, -1.0], [-3.0, -3e5, 1.0])
    loose = problem({"hot": 0.5, "free": 0.125})
    lines = constraint_lines(loose, np.array([-0.25, -2e5, 0.5]), seen)
    assert lines == [
        "hot      slack -0.25 K   met within its tolerance, tolerance 0.5",
        "pressed  slack 2e+05 Pa",
        "free     slack -0.625    violated, tolerance 0.125",
    ]


def test_of_many_constraints_the_tightest_are_shown_in_their_order():
    x = gs.Variable("x", 12, lower=0, upper=1)
    many = gs.Problem(minimize=x.sum(), subject_to={"each": x <= 1})
    bodies = -np.arange(12.0)[::-1]
    lines = constraint_lines(many, bodies, history([-1.0] * 12, [-1.0] * 12))
    assert len(lines) == 9
    assert lines[0].startswith("each[4]   slack 7")
    assert lines[-2] == "each[11]  slack 0  active"
    assert lines[-1] == "and 4 more, which are less tight"


def test_a_long_formula_is_cut():
    x = gs.Variable("a_variable_with_a_long_name", lower=0, upper=1)
    long = gs.Problem(minimize=x, subject_to=[x + 2 * x + 3 * x <= 1])
    (line,) = constraint_lines(long, np.array([-1.0]), history([-1.0], [-2.0]))
    assert "...  slack 1" in line
    assert len(line) < 70

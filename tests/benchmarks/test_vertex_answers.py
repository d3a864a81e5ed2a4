"""Answers where limits meet."""

from __future__ import annotations

import pytest
from benchmarks.vertex_answers import Job, linear_program

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", ["two inequalities", "infeasible", "small ranges"])
def test_a_linear_program_is_judged_by_another_solver(kind: str):
    row = linear_program(Job(kind, 1, 1))
    assert (row["right"], row["agree"]) == (True, True)
    assert row["success"] == (kind != "infeasible")

"""Proofs with whole numbers agree with enumeration: a few of the benchmark's problems."""

from __future__ import annotations

import math

import pytest
from benchmarks.whole_numbers import run_one, summarize

pytestmark = pytest.mark.slow


# With and without a continuous variable, constraints, a square, and a feasible point.
SEEDS = (1, 7, 59, 94, 96, 98)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_proved_is_what_enumeration_finds(seed):
    row = run_one(seed)
    assert row["whole"]
    assert not row["wrong_bound"]
    assert not row["wrongly_infeasible"]
    assert row["agrees"] or (row["status"] == "infeasible" and row["optimum"] == math.inf)


def test_a_summary_counts_wrong_verdicts():
    row = run_one(1)
    wrong = {**row, "wrongly_infeasible": True, "agrees": False}
    summary = summarize([row, wrong])
    assert summary["wrongly infeasible"] == 1
    assert summary["proved, and equal to enumeration"] == 1

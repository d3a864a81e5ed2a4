"""The numbers that are printed about rules of the audit."""

from __future__ import annotations

import pytest
from benchmarks.band_rules import RULES, summarize

pytestmark = pytest.mark.slow


def bound(problem: str, rule: str, gap: float, wrong: bool) -> dict[str, object]:
    """One stored bound."""
    return {
        "problem": problem,
        "seed": 0,
        "trials": 15,
        "rule": rule,
        "gap": gap,
        "wrong": wrong,
    }


def test_the_price_of_a_rule_counts_only_where_no_widening_was_needed():
    rows = [bound("right", rule, 3.0, False) for rule in RULES]
    rows += [bound("wrong", rule, 700.0, False) for rule in RULES]
    for row in rows:
        if row["rule"] == "none":
            row["gap"], row["wrong"] = 2.0, row["problem"] == "wrong"
    found = summarize(rows)
    assert (found["none"]["wrong"], found["none"]["median price"]) == (1, 1.0)
    assert (found["largest"]["wrong"], found["largest"]["median price"]) == (0, 1.5)
    assert found["largest"]["bounds"] == 2

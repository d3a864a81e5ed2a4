"""The benchmark that halves and doubles constants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from benchmarks.constants import CASES, Case, Outcome, changes, measured, reads, records, run

from benchmarks import constants


@dataclass(frozen=True, slots=True)
class SomeConstants:
    weight: float = 2.0
    name: str = "a"


def _outcome(points: list[list[float]], shortfall: float = 1.0) -> Outcome:
    return Outcome(np.array(points), np.zeros(0), shortfall, first=4.0, seconds=1.0)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, {"halved": 2, "doubled": 6}),
        (1, {"doubled": 2}),
        (1e-6, {"halved": 5e-7, "doubled": 2e-6}),
        ((0.0, 0.5), {"halved": (0.0, 0.25), "doubled": (0.0, 1.0)}),
        (True, {}),
        ("a", {}),
    ],
)
def test_a_value_is_halved_and_doubled_where_that_makes_sense(value, expected):
    assert changes(value) == expected


def test_runs_that_differ_by_rounding_decide_alike():
    first = _outcome([[0.1, 0.2]])
    assert first.decides_like(_outcome([[0.1, 0.2 + 1e-9]]))
    assert not first.decides_like(_outcome([[0.1, 0.2 + 1e-3]]))
    assert not first.decides_like(_outcome([[0.1, 0.2], [0.3, 0.4]]))


def test_a_row_compares_runs_with_a_changed_constant(monkeypatch):
    record = SomeConstants()
    monkeypatch.setattr(
        constants, "run", lambda case: _outcome([[record.weight]], shortfall=record.weight)
    )
    case = Case("some", CASES[0].make, 1)
    halved, doubled = measured(
        ("grisaille.some", "SOME", "weight"), record, [(case, _outcome([[2.0]], 2.0))]
    )
    assert (halved["tried"], halved["changed"], halved["regret"]) == ("1.0", 1, "0.5")
    assert (doubled["tried"], doubled["changed_runs"], doubled["worst"]) == ("4.0", "some", "2")
    assert record == SomeConstants()


@pytest.mark.parametrize(
    ("field", "cases", "note"),
    [("weight", 0, "not reached by the sample"), ("name", 1, "no other value to try")],
)
def test_a_row_says_why_nothing_is_measured(field, cases, note):
    pairs = [(CASES[0], _outcome([[2.0]]))] * cases
    rows = list(measured(("grisaille.some", "SOME", field), SomeConstants(), pairs))
    assert [row["note"] for row in rows] == [note, note]


def test_the_constants_that_a_run_reads_are_noted_and_put_back():
    found = records()
    case = Case("short", CASES[0].make, 2)
    outcome, read = reads(case, found)
    assert ("grisaille.strategies.initial_design", "INITIAL_DESIGN", "points") in read
    assert ("grisaille.belief.predictions", "PREDICTIONS", "near") not in read
    assert records() == found
    assert run(case).decides_like(outcome)

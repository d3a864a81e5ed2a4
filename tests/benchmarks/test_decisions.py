"""Decisions of two versions: equal runs are equal to the last bit, and a difference is found."""

from __future__ import annotations

import json

import pytest
from benchmarks.decisions import SCENARIO, SCENARIOS, compare, difference, jobs_of, run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ({"a": [1, {"b": 2.0}]}, {"a": [1, {"b": 2.0}]}, None),
        ({"a": [1, {"b": 1.0}]}, {"a": [1, {"b": 1.0 + 2**-52}]}, ".a[1].b: 1.0, then"),
        ([float("nan")], [float("nan")], None),
        ([float("nan")], [0.0], "[0]: nan, then 0.0"),
        ([1, 2], [1], ": 2 entries, then 1"),
        ({"a": 1}, {"a": 1, "b": 2}, ".b: None, then 2"),
        ({"a": 1}, [1], ": {'a': 1}, then [1]"),
        ({"a": 1, "b": 1}, {"a": 2, "b": 2}, ".a: 1, then 2"),
    ],
)
def test_the_first_difference_is_named(old, new, found):
    text = difference(old, new)
    assert text is None if found is None else text.startswith(found)


def record(seed: int, x: float, **more) -> dict:
    events = [["suggested", {"x": [x], "holder": "process 1"}]]
    key = {"problem": "drop_wave", "strategy": "CUQB", "seed": seed, "trials": 1}
    return {**key, "events": events, "took": 1.0, **more}


def write(file, *records):
    file.write_text("".join(json.dumps(r) + "\n" for r in records))
    return file


def test_files_are_compared_run_by_run(tmp_path, capsys):
    before = write(tmp_path / "before.jsonl", record(0, 0.5), record(1, 0.5), record(2, 0.5))
    after = write(tmp_path / "after.jsonl", record(1, 0.25), record(0, 0.5, took=9.0))
    assert compare(before, after) == 1
    assert capsys.readouterr().out.splitlines() == [
        "2 runs in both files (2 that ran, the others refused or failed)",
        "1 in one file only; 1 differ",
        "drop_wave CUQB 1 .events[0][1].x[0]: 0.5, then 0.25",
    ]


def test_neither_time_nor_process_counts_as_a_difference(tmp_path, capsys):
    other = record(0, 0.5, took=9.0)
    other["events"][0][1]["holder"] = "process 2"
    before = write(tmp_path / "before.jsonl", record(0, 0.5))
    assert compare(before, write(tmp_path / "after.jsonl", other)) == 0
    assert "0 differ" in capsys.readouterr().out


@pytest.mark.parametrize("job", [("drop_wave", "RandomSearch", 0, 3), (SCENARIO, "batches", 0, 4)])
def test_the_same_run_is_recorded_alike_twice(job):
    first, second = run(job), run(job)
    assert "error" not in first
    assert any(kind == "suggested" for kind, _ in first["events"])
    del first["took"], second["took"]
    assert difference(json.loads(json.dumps(first)), json.loads(json.dumps(second))) is None


def test_a_strategy_that_does_not_apply_and_an_error_are_recorded():
    assert "EICF is for one layer" in run(("drop_wave", "EICF", 0, 3))["refused"]
    assert run(("no problem", "EICF", 0, 3))["error"] == "KeyError: 'no problem'"


def test_jobs_can_be_chosen_by_problem_strategy_and_scenario():
    everything = jobs_of([0], 5, None)
    assert len(everything) == len(set(everything))
    assert {name for problem, name, *_ in everything if problem == SCENARIO} == {*SCENARIOS}
    assert jobs_of([1], 5, ["costs"]) == [(SCENARIO, "costs", 1, 5)]
    chosen = jobs_of([0, 1], 5, ["drop_wave", "CUQB"])
    assert chosen == [j for s in (0, 1) for j in jobs_of([s], 5, ["drop_wave", "CUQB"])]
    assert all("drop_wave" in job or "CUQB" in job for job in chosen)

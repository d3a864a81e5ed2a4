"""Runs of a comparison: none is made twice, and none is lost."""

from __future__ import annotations

import pytest
from benchmarks.comparison.plan import Job
from benchmarks.comparison.run import make_run

import grisaille as gs
from benchmarks.comparison import make_runs
from tests.benchmarks.comparison.comparison_helpers import (
    folder_of,
    optimistic,
    small_plan,
    steps,
    unlucky,
)


@pytest.fixture
def here(monkeypatch):
    """Make runs in this process; gives the jobs that were made."""
    made = []

    def run_jobs(function, tasks, keep, *, total, processes):
        for task in tasks:
            run = function(task)
            made.append(run.job)
            keep(task, run)

    monkeypatch.setattr(make_runs, "run_jobs", run_jobs)
    return made


def run(plan, folder, **options):
    return make_runs.make_missing_runs(folder_of(folder), plan, processes=1, **options)


def test_what_is_there_is_not_made_again(tmp_path, here):
    assert run(small_plan(2), tmp_path) == 2
    before = folder_of(tmp_path).load()
    assert run(small_plan(3), tmp_path) == 1
    assert here == [Job("slope", "steps", seed) for seed in (0, 1, 2)]
    after = folder_of(tmp_path).load()
    assert all(after[job] == before[job] for job in before)


def test_a_comparison_that_was_interrupted_goes_on(tmp_path, here, monkeypatch):
    def stopped(task):
        if task.settings["seed"] == 1:
            raise KeyboardInterrupt
        return make_run(task)

    with monkeypatch.context() as patched:
        patched.setattr(make_runs, "make_run", stopped)
        with pytest.raises(KeyboardInterrupt):
            run(small_plan(3), tmp_path)
    assert here == [Job("slope", "steps", 0)]
    assert run(small_plan(3), tmp_path) == 2
    assert here == [Job("slope", "steps", seed) for seed in (0, 1, 2)]


def test_a_torn_draft_is_no_run(tmp_path, here):
    run(small_plan(1), tmp_path)
    (tmp_path / "runs/slope/steps/1.draft").write_text('{"settings": {')
    assert len(folder_of(tmp_path).load()) == 1
    assert run(small_plan(2), tmp_path) == 1


def test_a_run_made_in_another_way_is_not_mixed_in(tmp_path, here):
    run(small_plan(2), tmp_path)
    with pytest.raises(
        gs.ModelError,
        match=r"2 of the runs.*steps on slope, seed 0 \(evaluations was 3 and is 4 now\).*--repl",
    ):
        run(small_plan(2, 4), tmp_path)
    assert run(small_plan(2, 4), tmp_path, replace=True) == 2
    assert {r.evaluations for r in folder_of(tmp_path).load().values()} == {4}


def test_a_run_that_fails_is_recorded_and_the_others_go_on(tmp_path, here):
    plan = small_plan(1, 3, unlucky=unlucky, steps=steps)
    assert run(plan, tmp_path) == 2
    runs = folder_of(tmp_path).load()
    failed = runs[Job("slope", "unlucky", 0)]
    assert failed.failed
    assert failed.message == "ArithmeticError: out of luck"
    assert len(failed.steps) == 3
    assert not runs[Job("slope", "steps", 0)].failed
    assert run(plan, tmp_path) == 0
    assert run(plan, tmp_path, retry=True) == 1


def test_runs_can_be_chosen(tmp_path, here):
    run(small_plan(1, 3, optimistic=optimistic, steps=steps), tmp_path)
    runs = folder_of(tmp_path).load().values()
    assert len(make_runs.runs_of(runs, ["slope"], ["steps", "optimistic"])) == 2
    assert [r.job.strategy for r in make_runs.runs_of(runs, ["slope"], ["steps"])] == ["steps"]
    assert make_runs.runs_of(runs, ["limited"], ["steps"]) == []


def test_runs_are_made_in_other_processes(tmp_path, capsys):
    assert run(small_plan(2, 2), tmp_path) == 2
    runs = folder_of(tmp_path).load()
    assert [r.steps[-1].regret for r in runs.values()] == pytest.approx([1 / 6, 2 / 6])
    assert "2 of 2 runs" in capsys.readouterr().out

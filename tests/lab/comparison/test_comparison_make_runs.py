"""Runs of a comparison: none is made twice, and none is lost."""

from __future__ import annotations

import os
import threading

import pytest

import grisaille as gs
from grisaille.lab.comparison import comparison
from grisaille.lab.comparison.plan import Job
from tests.lab.comparison.comparison_helpers import (
    Steps,
    folder_of,
    optimistic,
    small_plan,
    steps,
    unlucky,
)


def run(plan, folder, workers=None, **options):
    return comparison.make_missing_runs(folder_of(folder), plan, workers=workers, **options)


def test_what_is_there_is_not_made_again(tmp_path, made):
    assert run(small_plan(2), tmp_path) == 2
    before = folder_of(tmp_path).load()
    assert run(small_plan(3), tmp_path) == 1
    assert made == [Job("slope", "steps", seed) for seed in (0, 1, 2)]
    after = folder_of(tmp_path).load()
    assert all(after[job] == before[job] for job in before)


def test_a_comparison_that_was_interrupted_goes_on(tmp_path, made, monkeypatch):
    before = comparison.make_run

    def stopped(settings, maker, factory):
        if settings["seed"] == 1:
            raise KeyboardInterrupt
        return before(settings, maker, factory)

    with monkeypatch.context() as patched:
        patched.setattr(comparison, "make_run", stopped)
        with pytest.raises(KeyboardInterrupt):
            run(small_plan(3), tmp_path)
    assert made == [Job("slope", "steps", 0)]
    assert run(small_plan(3), tmp_path) == 2
    assert made == [Job("slope", "steps", seed) for seed in (0, 1, 2)]


def test_a_torn_draft_is_no_run(tmp_path, made):
    run(small_plan(1), tmp_path)
    (tmp_path / "runs/slope/steps/1.draft").write_text('{"settings": {')
    assert len(folder_of(tmp_path).load()) == 1
    assert run(small_plan(2), tmp_path) == 1


def test_a_run_made_in_another_way_is_not_mixed_in(tmp_path, made):
    run(small_plan(2), tmp_path)
    with pytest.raises(
        gs.ModelError,
        match=r"2 of the runs.*steps on slope, seed 0 \(evaluations was 3 and is 4 now\).*--repl",
    ):
        run(small_plan(2, 4), tmp_path)
    assert run(small_plan(2, 4), tmp_path, replace=True) == 2
    assert {r.evaluations for r in folder_of(tmp_path).load().values()} == {4}


def test_a_run_that_fails_is_recorded_and_the_others_go_on(tmp_path, made):
    plan = small_plan(1, 3, unlucky=unlucky, steps=steps)
    assert run(plan, tmp_path) == 2
    runs = folder_of(tmp_path).load()
    failed = runs[Job("slope", "unlucky", 0)]
    assert failed.failed
    assert failed.message.startswith("strategy Steps raised ArithmeticError: out of luck (")
    assert len(failed.steps) == 3
    assert not runs[Job("slope", "steps", 0)].failed
    assert run(plan, tmp_path) == 0
    assert run(plan, tmp_path, retry=True) == 1


def test_runs_can_be_chosen(tmp_path, made):
    run(small_plan(1, 3, optimistic=optimistic, steps=steps), tmp_path)
    runs = folder_of(tmp_path).load().values()
    assert len(comparison.runs_of(runs, ["slope"], ["steps", "optimistic"])) == 2
    assert [r.job.strategy for r in comparison.runs_of(runs, ["slope"], ["steps"])] == ["steps"]
    assert comparison.runs_of(runs, ["limited"], ["steps"]) == []


@pytest.mark.slow
def test_runs_are_made_in_other_processes_and_one_that_dies_is_recorded(tmp_path, capsys):
    def deadly(_initial):
        class Deadly(Steps):
            def suggest(self, situation):
                os._exit(3)

        return Deadly()

    assert run(small_plan(2, 2, steps=steps, deadly=deadly), tmp_path, workers=2) == 4
    runs = folder_of(tmp_path).load()
    whole = [runs[Job("slope", "steps", seed)].steps[-1].regret for seed in (0, 1)]
    assert whole == pytest.approx([1 / 6, 2 / 6])
    dead = runs[Job("slope", "deadly", 0)]
    assert dead.failed
    assert "its process" in dead.message
    assert dead.structure == "one layer"
    assert "4 of 4 runs" in capsys.readouterr().out


def test_what_cannot_be_sent_to_another_process_is_told_before_anything_runs(tmp_path):
    lock = threading.Lock()

    def locked(_initial):
        with lock:
            return Steps()

    with pytest.raises(gs.EvaluationError, match=r"locked on slope cannot be sent.*workers= out"):
        run(small_plan(1, 2, locked=locked), tmp_path, workers=1)
    assert run(small_plan(1, 2, locked=locked), tmp_path) == 1

"""Runs of a comparison: what is measured, and that nothing is made twice or lost."""

from __future__ import annotations

import json

import numpy as np
import pytest
from benchmarks.comparison.compare import compare
from benchmarks.comparison.contestants import DEFAULT, YARDSTICK, contestants
from benchmarks.comparison.plan import Job, make_plan
from benchmarks.comparison.run import Task, make_run
from benchmarks.comparison.start import SameStart
from benchmarks.comparison.storage import Folder, chosen

import grisaille as gs
from benchmarks.comparison import compare as comparing
from grisaille.problems import KnownProblem, Structure, catalogue
from tests.benchmarks.comparison.comparison_helpers import (
    INITIAL,
    limited,
    optimistic,
    slope,
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

    monkeypatch.setattr(comparing, "run_jobs", run_jobs)
    return made


def run(plan, folder, **options):
    return compare(Folder(folder), plan, processes=1, command="grisaille compare", **options)


# --- one run -------------------------------------------------------------------------------------
def test_the_regret_is_that_of_the_best_feasible_point_so_far():
    plan = make_plan({"limited": limited}, {"optimistic": optimistic}, 1, 3)
    (settings,) = plan.settings.values()
    made = make_run(Task.of(settings, limited, optimistic))
    assert not made.failed
    assert [step.number for step in made.steps] == list(range(1, INITIAL + 4))
    best = np.inf
    for step in made.steps:
        (x,) = step.x
        assert step.objective == x
        assert step.violation == pytest.approx(max(x - 0.7, 0.0))
        if step.violation == 0:
            best = min(best, 0.7 - x)
        assert step.regret == best
        assert step.suggesting > 0


def noisy(seed: int) -> KnownProblem:
    generator = np.random.default_rng(seed)
    x = gs.Variable("x", lower=0, upper=1)
    box = gs.BlackBox(lambda x: x + generator.normal(0, 0.5), name="noisy", noise=0.5)

    def truth(x):
        return float(x[0]), 0.0

    problem = gs.Problem(minimize=box(x))
    zero = np.zeros(1)
    return KnownProblem("noisy", problem, 0.0, zero, "made up", Structure.ONE_LAYER, truth)


def test_with_noise_the_regret_is_the_true_one_of_what_is_recommended():
    plan = make_plan({"noisy": noisy}, {"optimistic": optimistic}, 1, 2)
    (settings,) = plan.settings.values()
    made = make_run(Task.of(settings, noisy, optimistic))
    assert not made.failed, made.message
    tried = [step.x[0] for step in made.steps]
    for number, step in enumerate(made.steps, 1):
        assert step.regret in tried[:number]
        assert step.objective == step.x[0]
    known = noisy(0)
    study = gs.Study(known.problem, strategy=optimistic(4), evaluation="chained", seed=0)
    study.run(6, progress=False)
    best = study.incumbent()
    assert made.steps[-1].regret == study.history.trials[best.position].x[0]


def test_the_same_settings_give_the_same_numbers():
    plan = small_plan(1, 3, optimistic=optimistic)
    (settings,) = plan.settings.values()
    first, second = (make_run(Task.of(settings, slope, optimistic)) for _ in range(2))
    assert [(s.x, s.regret) for s in first.steps] == [(s.x, s.regret) for s in second.steps]


def test_every_contestant_starts_from_the_same_points():
    factories = contestants()
    assert DEFAULT in factories
    assert YARDSTICK in factories
    known = catalogue()["sum_of_squares"](0)
    starts = set()
    for name in ("Optimistic", "EIFN", "LogEI", "RandomSearch"):
        strategy = factories[name](3)
        assert isinstance(strategy, SameStart)
        history = known.problem.solve(3, strategy=strategy, seed=5, progress=False).history
        starts.add(tuple(tuple(trial.x) for trial in history))
    assert len(starts) == 1


def test_an_equal_start_leaves_the_decisions_to_the_strategy():
    known = slope(0)
    started = SameStart(optimistic(3), 3)
    results = [
        known.problem.solve(6, strategy=s, evaluation="chained", seed=1, progress=False)
        for s in (optimistic(3), started)
    ]
    first, second = ([tuple(t.x) for t in result.history] for result in results)
    assert first == second
    assert started.learned(known.problem) == ["slope"]


# --- the plan ------------------------------------------------------------------------------------
def test_a_strategy_that_does_not_apply_is_left_out_with_its_sentence():
    plan = make_plan({"slope": slope, "limited": limited}, {"steps": steps}, 2, 3)
    assert list(plan.settings) == [Job("slope", "steps", 0), Job("slope", "steps", 1)]
    (case,) = plan.left_out
    assert (case.problem, case.strategy) == ("limited", "steps")
    assert "knows no constraints" in case.reason


def test_the_initial_design_has_two_points_per_variable_and_two_more():
    plan = small_plan(1)
    assert next(iter(plan.settings.values()))["initial"] == INITIAL


# --- the folder ----------------------------------------------------------------------------------
def test_what_is_there_is_not_made_again(tmp_path, here):
    assert run(small_plan(2), tmp_path) == 2
    before = Folder(tmp_path).load()
    assert run(small_plan(3), tmp_path) == 1
    assert here == [Job("slope", "steps", seed) for seed in (0, 1, 2)]
    after = Folder(tmp_path).load()
    assert all(after[job] == before[job] for job in before)


def test_a_comparison_that_was_interrupted_goes_on(tmp_path, here, monkeypatch):
    def stopped(task):
        if task.settings["seed"] == 1:
            raise KeyboardInterrupt
        return make_run(task)

    with monkeypatch.context() as patched:
        patched.setattr(comparing, "make_run", stopped)
        with pytest.raises(KeyboardInterrupt):
            run(small_plan(3), tmp_path)
    assert here == [Job("slope", "steps", 0)]
    assert run(small_plan(3), tmp_path) == 2
    assert here == [Job("slope", "steps", seed) for seed in (0, 1, 2)]


def test_a_torn_draft_is_no_run(tmp_path, here):
    run(small_plan(1), tmp_path)
    (tmp_path / "runs/slope/steps/1.draft").write_text('{"settings": {')
    assert len(Folder(tmp_path).load()) == 1
    assert run(small_plan(2), tmp_path) == 1


def test_what_is_stored_is_what_is_loaded(tmp_path, here):
    run(make_plan({"limited": limited}, {"optimistic": optimistic}, 1, 1), tmp_path)
    (file,) = tmp_path.glob("runs/*/*/*.json")
    data = json.loads(file.read_text())
    assert data["command"] == "grisaille compare"
    assert data["settings"]["versions"]["grisaille"]
    (loaded,) = Folder(tmp_path).load().values()
    Folder(tmp_path).add(loaded, "grisaille compare")
    assert json.loads(file.read_text()) == data
    assert [step.x[0] for step in loaded.steps] == [step["x"][0] for step in data["steps"]]


def test_a_run_made_in_another_way_is_not_mixed_in(tmp_path, here):
    run(small_plan(2), tmp_path)
    with pytest.raises(
        gs.ModelError,
        match=r"2 of the runs.*steps on slope, seed 0 \(evaluations was 3 and is 4 now\).*--repl",
    ):
        run(small_plan(2, 4), tmp_path)
    assert run(small_plan(2, 4), tmp_path, replace=True) == 2
    assert {r.evaluations for r in Folder(tmp_path).load().values()} == {4}


def test_a_run_that_fails_is_recorded_and_the_others_go_on(tmp_path, here):
    plan = small_plan(1, 3, unlucky=unlucky, steps=steps)
    assert run(plan, tmp_path) == 2
    runs = Folder(tmp_path).load()
    failed = runs[Job("slope", "unlucky", 0)]
    assert failed.failed
    assert failed.message == "ArithmeticError: out of luck"
    assert len(failed.steps) == 3
    assert not runs[Job("slope", "steps", 0)].failed
    assert run(plan, tmp_path) == 0
    assert run(plan, tmp_path, retry=True) == 1


def test_runs_can_be_chosen(tmp_path, here):
    run(small_plan(1, 3, optimistic=optimistic, steps=steps), tmp_path)
    runs = Folder(tmp_path).load().values()
    assert len(chosen(runs, None, None)) == 2
    assert [r.job.strategy for r in chosen(runs, ["slope"], ["steps"])] == ["steps"]
    assert chosen(runs, ["limited"], None) == []


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(gs.ModelError, match="is a file: name a folder"):
        Folder(tmp_path / "file")


def test_runs_are_made_in_other_processes(tmp_path, capsys):
    assert run(small_plan(2, 2), tmp_path) == 2
    runs = Folder(tmp_path).load()
    assert [r.steps[-1].regret for r in runs.values()] == pytest.approx([1 / 6, 2 / 6])
    assert "2 of 2 runs" in capsys.readouterr().out


def test_a_damaged_run_is_named(tmp_path):
    file = tmp_path / "runs" / "slope" / "Optimistic" / "0.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"settings": ')
    with pytest.raises(gs.ModelError, match=r"0.json' holds no run that can be read"):
        Folder(tmp_path).load()

"""Strategies side by side on own problems: resumable, in parallel, honest about failures."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import grisaille as gs
from grisaille.lab.comparison import comparison
from tests.lab.comparison.comparison_helpers import limited, slope


class Corner(gs.Strategy):
    """Always the lower corner; breaks on demand."""

    def __init__(self, breaks: bool = False) -> None:
        self.breaks = breaks

    def check(self, problem: gs.Problem) -> None:
        if problem.constraints:
            raise gs.ModelError("Corner knows no constraints: use gs.Optimistic()")

    def suggest(self, situation: gs.Situation) -> object:
        if self.breaks:
            raise ArithmeticError("out of luck")
        return situation.lower


def bowl(center: float = 0.2) -> gs.Problem:
    x = gs.Variable("x", 2, lower=0, upper=1)
    box = gs.BlackBox(lambda x: np.sum((x - center) ** 2), name="bowl", noise=0)
    return gs.Problem(minimize=box(x))


def capped() -> gs.Problem:
    x = gs.Variable("x", lower=0, upper=1)
    box = gs.BlackBox(lambda x: 1 - x, name="room", noise=0)
    return gs.Problem(maximize=x, subject_to=[box(x) >= 0.3])


PROBLEMS = {"bowl": bowl(), "capped": capped()}
STRATEGIES = {"random": gs.RandomSearch(), "corner": Corner()}
QUICK = {"seeds": 2, "trials": 6, "progress": False}


def compared(folder=None, **options):
    options = {"problems": PROBLEMS, "strategies": STRATEGIES, **QUICK, **options}
    return gs.compare(folder=folder, **options)


def test_every_run_is_a_row_with_what_it_came_to():
    runs = compared().runs
    assert len(runs) == 2 * 2 + 2  # Corner is not for capped
    rows = runs.set_index(["problem", "strategy", "seed"]).sort_index()
    row = rows.loc["bowl", "random", 1]
    # Two initial points, then those of random search, which depend on seed and trial alone.
    first, second = (
        bowl().solve(6, strategy=s, seed=1, progress=False).history.trials
        for s in (gs.SobolSearch(), gs.RandomSearch())
    )
    points = [trial.objective for trial in (*first[:2], *second[2:])]
    assert row["value"] == pytest.approx(min(points))
    assert row["feasible"]
    assert row["initial"] + row["evaluations"] == 6
    best = rows.loc["capped"]["value"].max()
    found = rows.loc["capped", "random", 0]["optimum"]  # by anybody, with any seed
    assert found == pytest.approx(best, abs=1e-8)
    gap = best - rows.loc["capped", "random", 0]["value"]
    assert rows.loc["capped", "random", 0]["regret_final"] == pytest.approx(gap, abs=1e-6)


def test_all_strategies_start_from_the_same_points():
    runs = compared().results.of("bowl")
    starts = {}
    for run in runs:
        starts.setdefault(run.job.seed, set()).add(tuple(s.x for s in run.steps[: run.initial]))
    assert [len(points) for points in starts.values()] == [1, 1]
    assert starts[0] != starts[1]


def test_the_table_says_what_it_compares_with_and_what_was_left_out():
    table = compared(optimum={"bowl": 0.0}).table()
    assert "### bowl (one layer), 2 seeds, 2 initial points and 4 more" in table
    assert "optimum of bowl" not in table
    assert "The optimum of capped is not known: regret is against the best value that any" in table
    assert "corner was left out on capped: Corner knows no constraints" in table
    (line,) = [line for line in table.splitlines() if line.startswith("| corner")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[1] == "2"
    assert cells[5] == "100%"


def test_an_optimum_that_a_run_beats_is_told():
    table = compared(problems={"bowl": bowl()}, optimum={"bowl": 5.0}).table()
    assert "better than the optimum 5 that was given: correct it" in table


def test_known_problems_bring_their_optimum_and_may_be_drawn_for_each_seed():
    found = gs.compare([limited(0)], [gs.RandomSearch()], **QUICK)
    assert found.results.runs[0].optimum == 0.7
    drawn = gs.compare({"slope": slope}, [gs.RandomSearch(), Corner()], **QUICK)
    assert drawn.strategies == ("RandomSearch", "Corner")
    for run in drawn.results.runs:
        best = min(1 - step.x[0] for step in run.steps)
        assert run.steps[-1].regret == pytest.approx((1 + run.job.seed) * best)


def test_what_is_in_the_folder_is_not_made_again(tmp_path, made):
    compared(tmp_path)
    assert len(made) == 6
    (tmp_path / "runs/bowl/corner/1.json").unlink()
    (tmp_path / "runs/bowl/corner/1.draft").write_text('{"settings": ')
    found = compared(tmp_path, seeds=[0, 1, 5])
    assert [str(job) for job in made[6:]] == [
        "corner on bowl, seed 1",
        *(f"{who}, seed 5" for who in ("random on bowl", "corner on bowl", "random on capped")),
    ]
    assert found.complete
    (tmp_path / "runs/bowl/corner/1.json").write_text('{"settings": ')
    with pytest.raises(gs.ModelError, match=r"1.json' holds no run .*: remove it, and the run is"):
        compared(tmp_path)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"trials": 7}, "evaluations was 4 and is 5 now"),
        ({"problems": {"bowl": bowl(), "capped": bowl()}}, "problem_digest was"),
        ({"strategies": {**STRATEGIES, "corner": Corner(breaks=True)}}, r"options was SameStart"),
        ({"strategies": {**STRATEGIES, "corner": gs.SobolSearch()}}, "strategy_code was"),
    ],
)
def test_runs_that_were_made_in_another_way_are_not_mixed_in(tmp_path, made, changed, message):
    compared(tmp_path)
    with pytest.raises(gs.ModelError, match=f"(?s){message}.*another folder=, or pass replace="):
        compared(tmp_path, **changed)
    made.clear()
    compared(tmp_path, **changed, replace=True)
    assert made
    made.clear()
    compared(tmp_path, **changed)
    assert not made


def test_a_run_that_fails_is_listed_with_its_reason_and_the_others_go_on(tmp_path, made):
    strategies = {"broken": Corner(breaks=True), "random": gs.RandomSearch()}
    found = compared(tmp_path, problems={"bowl": bowl()}, strategies=strategies)
    failed = found.runs.query("strategy == 'broken'")
    assert set(failed["ended"]) == {"failed"}
    assert failed["value"].isna().all()
    assert failed["message"].str.contains("strategy Corner raised ArithmeticError").all()
    assert "| broken | 0, 2 failed |" in found.table()
    assert "Failed: broken on bowl, seed 0: strategy Corner raised" in found.table()
    found.save()
    assert (tmp_path / "regret.png").exists()
    compared(tmp_path, problems={"bowl": bowl()}, strategies=strategies, retry=True)
    assert len(made) == 6
    alone = compared(problems={"bowl": bowl()}, strategies={"broken": Corner(breaks=True)})
    with pytest.raises(gs.ModelError, match="every run failed, so there is nothing to draw"):
        alone.plot(tmp_path / "nothing.png")


def test_ctrl_c_keeps_what_is_finished(tmp_path, monkeypatch):
    before = comparison.make_run

    def stopped(settings, maker, factory):
        if settings["seed"] == 1:
            raise KeyboardInterrupt
        return before(settings, maker, factory)

    with monkeypatch.context() as patched:
        patched.setattr(comparison, "make_run", stopped)
        found = compared(tmp_path)
        with pytest.raises(KeyboardInterrupt):  # there is nothing to return
            compared(tmp_path / "other", seeds=[1])
    assert not found.complete
    assert "Interrupted: 3 of 6 runs were made." in found.table()
    assert compared(tmp_path).complete


@pytest.mark.slow
def test_a_script_without_a_guard_is_compared_in_child_processes(tmp_path):
    script = tmp_path / "own.py"
    script.write_text(
        "import grisaille as gs\n"
        "x = gs.Variable('x', lower=0, upper=1)\n"
        "problem = gs.Problem(minimize=gs.BlackBox(lambda x: x**2, name='f', noise=0)(x))\n"
        "class Mine(gs.Strategy):\n"
        "    def suggest(self, situation):\n"
        "        return situation.generator.uniform(situation.lower, situation.upper)\n"
        "found = gs.compare({'f': problem}, [Mine(), gs.RandomSearch()], 2, trials=3, workers=2)\n"
        "values = found.runs.pivot(index='seed', columns='strategy', values='value')\n"
        "assert (values['Mine'] == values['RandomSearch']).all()\n"
        "print(found)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "4 of 4 runs" in done.stdout
    assert "| **Mine** | 2 |" in done.stdout


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"problems": [bowl()]}, "has no name: pass a dictionary such as {'plant': problem}"),
        ({"problems": {}}, "there is nothing to compare"),
        ({"problems": {"a": 3}}, "'a' is 3: pass a gs.Problem"),
        ({"problems": {"a": lambda seed: 3}}, "the function 'a' returned 3"),
        ({"problems": {"": bowl()}}, "needs a name"),
        ({"strategies": [Corner(), Corner(True)]}, "two of them are called 'Corner': pass a dict"),
        ({"strategies": {"a": gs.Optimistic}}, "pass a strategy object such as"),
        ({"seeds": [1, 1]}, "pass how many seeds, or different whole numbers"),
        ({"trials": 1}, "trials=1.*at least 2"),
        ({"optimum": {"plant": 1.0}}, "no problem 'plant': there are 'bowl', 'capped'"),
        ({"optimum": {"bowl": np.nan}}, "that of 'bowl' is nan: pass a finite number"),
        ({"folder": 3}, "pass the name of a folder"),
        (
            {"problems": {"capped": capped()}, "strategies": [Corner()]},
            "no strategy applies to any of the problems: Corner on capped: Corner knows",
        ),
    ],
)
def test_mistakes_in_the_call_are_sentences(wrong, message):
    with pytest.raises(gs.ModelError, match=message):
        compared(**wrong)

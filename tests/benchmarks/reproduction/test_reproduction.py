"""The paper's experiment: what is run, that it resumes, and that its page tells the truth."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.reproduction.__main__ import main
from benchmarks.reproduction.experiment import STEPS, Curve, Job, Method, Setting
from benchmarks.reproduction.report import MEASURES
from benchmarks.reproduction.run import reproduce
from benchmarks.reproduction.storage import Folder

import grisaille as gs
from benchmarks.reproduction import experiment, report
from grisaille.problems.paper import KERNEL, lp_with_embedded_gp
from grisaille.records import Suggestion, TrialKind
from grisaille.study.chain import evaluated

ROOT = Path(__file__).parents[3]
STORED = ROOT / "benchmarks/results/reproduction"


def made_up(seed: int) -> Curve:
    generator = np.random.default_rng(seed)
    return Curve(generator.random(STEPS).round(6), generator.random((STEPS, 2)).round(6))


def filled(path: Path, instances: int) -> Folder:
    folder = Folder(path)
    folder.open()
    for i in range(instances):
        for number, method in enumerate(Method):
            folder.add(Job(Setting.EXACT, i, method), made_up(2 * i + number))
    return folder


# --- the runs ------------------------------------------------------------------------------------
@pytest.mark.parametrize("setting", Setting)
@pytest.mark.parametrize("method", Method)
def test_a_run_is_measured_by_the_true_functions(monkeypatch, setting, method):
    monkeypatch.setattr(experiment, "STEPS", 3)
    curve = experiment.run(Job(setting, 0, method))
    known = lp_with_embedded_gp(0)
    result = lp_with_embedded_gp(
        0,
        learn=setting is Setting.LEARNED,
        noise=0.05 if setting is Setting.NOISY else 0.0,
    ).problem.solve(
        3, strategy=experiment.strategy(Job(setting, 0, method)), seed=0, progress=False
    )
    for t, trial in enumerate(result.history):
        suggestion = Suggestion(TrialKind.OPTIMISTIC, trial.x)
        truth = evaluated(known.problem, suggestion, 1)  # the same instance without noise
        assert curve.positive_regret[t] == pytest.approx(max(truth.objective - known.optimum, 0))
        assert curve.violations[t] == pytest.approx(np.maximum(truth.constraints, 0))


def test_both_methods_differ_in_nothing_but_what_they_know():
    ours = experiment.strategy(Job(Setting.EXACT, 0, Method.OURS))
    config = experiment.strategy(Job(Setting.EXACT, 0, Method.CONFIG))
    for name in ("beta", "solver", "initial", "exploit"):
        assert getattr(ours, name) == getattr(config, name)
    assert config.kernel == KERNEL
    learned = experiment.strategy(Job(Setting.LEARNED, 0, Method.CONFIG))
    assert learned.kernel is None


# --- storage -------------------------------------------------------------------------------------
def test_what_is_stored_is_what_is_loaded(tmp_path):
    folder = filled(tmp_path, 3)
    loaded = folder.load()
    assert len(loaded) == 6
    for i in range(3):
        for number, method in enumerate(Method):
            curve = loaded[Job(Setting.EXACT, i, method)]
            assert (
                curve.positive_regret.tolist() == made_up(2 * i + number).positive_regret.tolist()
            )
            assert curve.violations.tolist() == made_up(2 * i + number).violations.tolist()


@pytest.mark.parametrize("torn", [1, 3, 30, 200])
def test_a_run_that_was_killed_while_writing_is_made_again(tmp_path, torn):
    filled(tmp_path, 2)
    file = tmp_path / "exact.csv"
    file.write_text(file.read_text()[:-torn])
    folder = Folder(tmp_path)
    folder.open()
    left = folder.load()
    assert len(left) == 3
    assert Job(Setting.EXACT, 1, Method.CONFIG) not in left
    folder.add(Job(Setting.EXACT, 1, Method.CONFIG), made_up(3))
    assert len(folder.load()) == 4


def test_a_first_write_that_was_torn_is_forgotten(tmp_path):
    filled(tmp_path, 0)
    (tmp_path / "exact.csv").write_text("instance,method,step,positive_regret,vio")
    folder = Folder(tmp_path)
    folder.open()
    folder.add(Job(Setting.EXACT, 0, Method.OURS), made_up(0))
    assert len(folder.load()) == 1


def test_runs_made_in_another_way_are_not_mixed(tmp_path):
    filled(tmp_path, 1)
    file = tmp_path / "settings.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, "beta": 9.0}))
    with pytest.raises(gs.ModelError, match=r"beta was 9\.0 and is 1\.5 now.*another --output"):
        Folder(tmp_path).open()


def test_complete_runs_are_not_made_again(tmp_path, capsys):
    filled(tmp_path, 2)
    files = reproduce(tmp_path, 2, [Setting.EXACT], 1)
    assert [f.name for f in files] == ["table.md", *(f"{m.name}.png" for m in MEASURES)]
    assert all(f.stat().st_size for f in files)
    assert capsys.readouterr().out == ""


def test_the_command_makes_missing_runs_and_prints_the_table(tmp_path, capsys):
    filled(tmp_path, 1)
    assert main(["--output", str(tmp_path), "--instances", "2"]) == 0
    out = capsys.readouterr().out
    assert "| exact | 2 | constrained regret |" in out
    assert len(Folder(tmp_path).load()) == 4
    assert main(["--output", str(tmp_path), "--instances", "0"]) == 2
    assert main(["--output", str(tmp_path / "exact.csv")]) == 2


# --- the report ----------------------------------------------------------------------------------
def test_final_values_ratios_and_intervals(tmp_path):
    runs = filled(tmp_path, 40).load()
    lines = report.summarize(runs)
    assert [line.measure for line in lines] == list(MEASURES)
    for line in lines:
        ours, config = report.paired_curves(runs, Setting.EXACT, line.measure)
        assert ours.shape == (40, STEPS)
        assert line.ours[0] == pytest.approx(ours[:, -1].mean())
        assert line.ratio[0] == pytest.approx(ours[:, -1].mean() / config[:, -1].mean())
        for value, low, high in (line.ours, line.config, line.ratio):
            assert low < value < high
        error = ours[:, -1].std() / np.sqrt(40)
        assert line.ours[2] - line.ours[1] == pytest.approx(2 * 1.96 * error, rel=0.1)


def test_only_instances_that_both_methods_have_run_count(tmp_path):
    folder = filled(tmp_path, 3)
    folder.add(Job(Setting.EXACT, 7, Method.OURS), made_up(99))
    assert all(line.instances == 3 for line in report.summarize(folder.load()))


def test_the_papers_own_figures_are_there():
    for measure in MEASURES:
        curves = report.paper_curves(measure)
        last = STEPS - 1 + measure.first_step
        assert curves["step"].tolist() == list(range(last + 1))
        assert curves["ours"][-1] == pytest.approx(measure.bar, rel=0.01)
        assert (curves["ours_low"] <= curves["ours"] + 1e-9).all()
        assert (curves["ours"] <= curves["ours_high"] + 1e-9).all()


def test_the_page_shows_the_table_of_the_stored_runs():
    page = (ROOT / "docs/reproduction.md").read_text(encoding="utf-8")
    assert report.table(Folder(STORED).load()) in page


def test_the_stored_runs_meet_the_bars_that_the_page_says_they_meet():
    lines = [s for s in report.summarize(Folder(STORED).load()) if s.setting is Setting.EXACT]
    assert all(line.instances >= 100 for line in lines)
    for line in lines:
        assert line.ours[0] <= line.measure.bar
        assert line.ratio[0] <= line.measure.ratio_bar

"""The table of the experiment, and that its page tells the truth."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.reproduction.experiment import STEPS, Job, Method, Setting
from benchmarks.reproduction.report import MEASURES

from benchmarks.reproduction import report
from tests.benchmarks.reproduction.reproduction_helpers import ROOT, STORED, filled, made_up

pytestmark = pytest.mark.slow


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
    assert report.table(STORED.load()) in page


def test_the_stored_runs_meet_the_bars_that_the_page_says_they_meet():
    lines = [s for s in report.summarize(STORED.load()) if s.setting is Setting.EXACT]
    assert all(line.instances >= 100 for line in lines)
    for line in lines:
        assert line.ours[0] <= line.measure.bar
        assert line.ratio[0] <= line.measure.ratio_bar

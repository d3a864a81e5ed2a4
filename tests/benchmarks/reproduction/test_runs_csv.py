"""Runs of the experiment as CSV files."""

from __future__ import annotations

import pytest
from benchmarks.reproduction.experiment import Job, Method, Setting
from benchmarks.reproduction.runs_csv import RunsCsv

from tests.benchmarks.reproduction.reproduction_helpers import STORED, filled, folder_of, made_up

pytestmark = pytest.mark.slow


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
    folder = folder_of(tmp_path)
    left = folder.load()
    assert len(left) == 3
    assert Job(Setting.EXACT, 1, Method.OURS) not in left
    folder.add(Job(Setting.EXACT, 1, Method.OURS), made_up(2))
    assert len(folder.load()) == 4


def test_a_first_write_that_was_torn_is_forgotten(tmp_path):
    filled(tmp_path, 0)
    (tmp_path / "exact.csv").write_text("instance,method,step,positive_regret,vio")
    folder = folder_of(tmp_path)
    folder.add(Job(Setting.EXACT, 0, Method.OURS), made_up(0))
    assert len(folder.load()) == 1


@pytest.mark.parametrize("setting", Setting)
def test_the_stored_runs_are_written_as_they_were(setting):
    file = STORED.path / f"{setting}.csv"
    text = file.read_text(encoding="utf-8")
    runs = RunsCsv().decode(file, text)
    assert RunsCsv().encode(runs) == text

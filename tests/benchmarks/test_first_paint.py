"""Both pages get the same study, and the ratio is of medians."""

from __future__ import annotations

import sqlite3

import optuna
import pytest
from benchmarks.first_paint import OURS, STUDY, THEIRS, Visit, lines, store_study, summarize

pytestmark = pytest.mark.slow


def test_both_studies_have_the_same_complete_trials(tmp_path):
    store_study(tmp_path, 5)
    shown = optuna.load_study(study_name=STUDY, storage=f"sqlite:///{tmp_path}/optuna.db")
    with sqlite3.connect(tmp_path / "study.db") as connection:
        (names,) = zip(*connection.execute("SELECT name FROM grisaille_studies"), strict=True)
    connection.close()
    assert names == (STUDY,)
    assert [trial.state.name for trial in shown.trials] == ["COMPLETE"] * 5
    # Optuna's page of the study is addressed by this number.
    assert shown._study_id == 1


def test_the_ratio_is_that_of_the_medians():
    visits = {
        OURS: [Visit(10, 40), Visit(1000, 60), Visit(20, 50)],
        THEIRS: [Visit(80, 500), Visit(100, 400), Visit(5, 100)],
    }
    summary = summarize(visits)
    assert summary["median_milliseconds"][OURS] == {"first_paint": 20, "plot": 50}
    (ratio,) = summary["ratio"].values()
    assert ratio == pytest.approx({"first_paint": 0.25, "plot": 0.125})
    assert lines(summary) == [
        "grisaille: first contentful paint 20 ms, convergence plot 50 ms",
        "optuna-dashboard: first contentful paint 80 ms, convergence plot 400 ms",
        "grisaille / optuna-dashboard: first contentful paint 0.25, convergence plot 0.125",
    ]


def test_one_site_alone_has_no_ratio():
    assert "ratio" not in summarize({THEIRS: [Visit(1, 2)]})

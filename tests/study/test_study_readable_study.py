"""A study as a notebook shows it."""

from __future__ import annotations

import pytest

import grisaille as gs
from tests.study.study_helpers import parabola

pytestmark = pytest.mark.slow


def test_a_study_shows_its_trials_answers_and_what_is_pending():
    study = gs.Study(parabola(), strategy=gs.RandomSearch())
    assert "0 complete, of 0 begun" in study._repr_html_()
    study.run(2, progress=False)
    (query,) = study.ask()
    shown = study._repr_html_()
    assert "2 complete, of 3 begun" in shown
    assert "f 2" in shown
    assert query.id in shown
    best = min(trial.objective for trial in study.history)
    assert f"objective {best:.6g}" in shown


def test_a_study_shows_its_last_failure_escaped():
    def broken(x: float) -> float:
        if x > 0.5:
            raise ValueError("<script>")
        return x

    x = gs.Variable("x", lower=0, upper=1)
    problem = gs.Problem(minimize=gs.BlackBox(broken, noise=0)(x))
    study = gs.Study(problem, strategy=gs.RandomSearch(), retries=0)
    study.run(4, progress=False)
    assert study.failures
    shown = study._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown

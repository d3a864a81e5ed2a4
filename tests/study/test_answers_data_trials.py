"""Rows observed elsewhere that together answer a whole chain are trials."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

import numpy as np
import pytest

import grisaille as gs
from grisaille.study import answers, writer
from grisaille.study.state import StudyState
from tests.study.study_helpers import nested, parabola

pytestmark = pytest.mark.slow


CHANCE = gs.RandomSearch()


def test_the_best_row_of_the_data_can_be_the_answer():
    study = gs.Study(parabola(), strategy=CHANCE)
    study.observe("f", [[0.0], [1.0], [2.5]], [1.0, 0.0, 2.25])
    result = study.run(1, progress=False)
    assert (result.x.tolist(), result.fun) == ([1.0], 0.5)
    assert result.history.trials[1].suggestion.kind is gs.TrialKind.DATA


def test_data_count_for_no_limit_and_cost_nothing():
    study = gs.Study(parabola(), strategy=CHANCE)
    study.observe("f", [[0.0], [1.0], [2.5]], [1.0, 0.0, 2.25])
    assert study.cost == 0
    assert study.run(2, progress=False).nit == 5
    assert study.cost == 2


def test_rows_of_a_nested_chain_are_joined_by_their_values():
    problem = nested(noise=0)
    first, second = problem.boxes
    points = np.array([[0.5, 0.5], [-0.25, 1.0], [0.0, 0.0]])
    middle = np.array([first.fn(x) for x in points])
    study = gs.Study(problem, strategy=CHANCE)
    study.observe("second", middle[:2], [second.fn(y) for y in middle[:2]])
    assert not len(study.history)
    study.observe("first", points, middle)
    assert [t.x.tolist() for t in study.history] == points[:2].tolist()
    assert [t.objective for t in study.history] == [second.fn(y) for y in middle[:2]]
    # The answer of the third point is kept, and the trial appears when its chain is complete.
    study.observe("second", middle[2:], [second.fn(middle[2])])
    assert [t.x.tolist() for t in study.history] == points.tolist()


def test_rows_of_boxes_that_share_a_variable_are_joined():
    x, y = gs.Variable("x", lower=0, upper=1), gs.Variable("y", lower=0, upper=1)
    f, g = gs.BlackBox(None, name="f", noise=0), gs.BlackBox(None, name="g", noise=0)
    study = gs.Study(gs.Problem(minimize=f(x) + g(x, y)), strategy=CHANCE)
    study.observe("f", [[0.5], [0.25]], [1.0, 2.0])
    study.observe("g", [[0.25, 0.75]], [4.0])
    (trial,) = study.history
    assert (trial.x.tolist(), trial.objective) == ([0.25, 0.75], 6.0)


def test_rows_of_boxes_that_share_nothing_are_not_joined():
    x, y = gs.Variable("x", lower=0, upper=1), gs.Variable("y", lower=0, upper=1)
    f, g = gs.BlackBox(None, name="f", noise=0), gs.BlackBox(None, name="g", noise=0)
    study = gs.Study(gs.Problem(minimize=f(x) + g(y)), strategy=CHANCE)
    study.observe("f", [[0.5]], [1.0])
    study.observe("g", [[0.75]], [4.0])
    assert not len(study.history)
    assert len(study.history.loose) == 2


def test_rows_outside_the_bounds_teach_but_are_no_trials():
    study = gs.Study(parabola(), strategy=CHANCE)
    with pytest.warns(gs.GrisailleWarning, match=r"1 row outside .*in row 2, x = 5 is not in \["):
        study.observe("f", [[0.0], [5.0]], [1.0, 16.0])
    assert [t.x.tolist() for t in study.history] == [[0.0]]
    assert [o.inputs.tolist() for o in study.history.loose] == [[5.0]]


def test_a_copied_row_is_told_of_and_can_be_removed():
    study = gs.Study(parabola(), strategy=CHANCE)
    with pytest.warns(gs.GrisailleWarning, match=r"row 3 is row 1 again"):
        study.observe("f", [[0.0], [1.0], [0.0]], [1.0, 0.0, 1.0])
    with pytest.warns(gs.GrisailleWarning, match=r"row 1 is row 2/2 again"):
        study.observe("f", [[1.0]], [0.0])
    study.retract("2/3")
    study.retract("4")
    assert [t.x.tolist() for t in study.history] == [[0.0], [1.0]]
    assert study.answers()["id"].tolist() == ["2/1", "2/2"]


def test_exact_rows_that_contradict_each_other_are_told_of():
    study = gs.Study(parabola(), strategy=CHANCE)
    with pytest.warns(gs.GrisailleWarning, match=r"rows 1 and 2 contradict each other"):
        study.observe("f", [[0.0], [0.0]], [1.0, 2.0])


def test_an_observed_row_is_corrected_like_an_answer():
    study = gs.Study(parabola(), strategy=CHANCE)
    study.observe("f", [[0.0], [1.0]], [1.0, 55.0])
    study.correct("2/2", 0.0)
    assert sorted(t.objective for t in study.history) == [0.5, 1.5]
    study.correct("2/1", 4.0, inputs=[-1.0])
    assert sorted(t.x[0] for t in study.history) == [-1.0, 1.0]


def test_a_white_box_without_a_value_makes_no_trial():
    @gs.white_box
    def root(y):
        if y < 0:
            raise ValueError("negative")
        return np.sqrt(y)

    x = gs.Variable("x", lower=-1, upper=1)
    f = gs.BlackBox(None, name="f", noise=0)
    study = gs.Study(gs.Problem(minimize=root(f(x))), strategy=CHANCE)
    study.observe("f", [[0.5], [-0.5]], [4.0, -4.0])
    assert [t.objective for t in study.history] == [2.0]


def test_data_trials_survive_in_a_stored_study(tmp_path):
    options = {"name": "s", "storage": f"sqlite:///{tmp_path}/s.db", "strategy": CHANCE}
    with gs.Study(parabola(), **options) as study:
        study.observe("f", [[0.0], [1.0]], [1.0, 0.0])
    with gs.Study(parabola(), **options) as study:
        assert [t.objective for t in study.history] == [1.5, 0.5]
        assert study.run(1, progress=False).fun == 0.5


ROWS, ANSWERS = [[0.0], [1.0], [2.5]], [1.0, 0.0, 2.25]


def while_assembling(monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> None:
    """Let something happen whenever the trials that rows make are worked out."""
    outcomes = answers._outcomes

    def patched(*args):
        do()
        return outcomes(*args)

    monkeypatch.setattr(answers, "_outcomes", patched)


def stored(tmp_path, name: str = "s") -> gs.Study:
    return gs.Study(parabola(), strategy=CHANCE, storage=f"sqlite:///{tmp_path}/s.db", name=name)


def is_locked(tmp_path) -> bool:
    """Whether nobody else can write now."""
    with closing(sqlite3.connect(tmp_path / "s.db", timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        connection.execute("ROLLBACK")
        return False


def test_nobody_waits_while_rows_become_trials(tmp_path, monkeypatch):
    study, locked = stored(tmp_path), []
    while_assembling(monkeypatch, lambda: locked.append(is_locked(tmp_path)))
    study.observe("f", ROWS, ANSWERS)
    assert locked == [False]
    assert [t.objective for t in study.history] == [1.5, 0.5, 2.75]
    study.close()


def test_ctrl_c_while_rows_become_trials_leaves_nothing_behind(tmp_path, monkeypatch):
    study, interrupts = stored(tmp_path), [KeyboardInterrupt]

    def interrupt():
        while interrupts:
            raise interrupts.pop()

    while_assembling(monkeypatch, interrupt)
    with pytest.raises(KeyboardInterrupt):
        study.observe("f", ROWS, ANSWERS)
    assert not len(study.answers())
    study.observe("f", ROWS, ANSWERS)
    assert len(study.history) == 3
    study.close()


@pytest.mark.parametrize("times", [1, 100])
@pytest.mark.parametrize("what", ["a question", "a setting", "rows"])
def test_rows_become_trials_whatever_others_record_meanwhile(tmp_path, monkeypatch, times, what):
    study, other, recorded = stored(tmp_path), stored(tmp_path), []
    is_recording, does = (
        [],
        {
            "a question": other.ask,
            "a setting": lambda: other.record_settings(trials=len(recorded)),
            "rows": lambda: other.observe("f", [[-len(recorded) / 100]], [4.0]),
        },
    )

    def record():
        if len(recorded) < times and not is_recording and not is_locked(tmp_path):
            recorded.append(True)
            is_recording.append(True)  # its rows become trials, too
            does[what]()
            is_recording.clear()

    while_assembling(monkeypatch, record)
    study.observe("f", ROWS, ANSWERS)
    assert recorded
    # Only rows make it begin again; at last, nobody else can record anything.
    assert len(recorded) == 1 if what != "rows" else len(recorded) < 10
    assert [t.objective for t in study.history][-3:] == [1.5, 0.5, 2.75]
    again = StudyState(study.events())
    assert list(again.rows()) == list(study.state.rows()) == list(other.state.rows())
    assert not again.free_rows()
    (event,) = [e.number for e in study.events() if len(e.data.get("inputs", ())) == 3]
    made = [trial.rows for trial in study.state.trials.values() if trial.is_data]
    assert made[-3:] == [(f"{event}/{row}",) for row in (1, 2, 3)]
    study.close()
    other.close()


def test_rows_that_are_retracted_together_are_looked_through_once(monkeypatch):
    study, calls = gs.Study(nested(noise=0), strategy=CHANCE), []
    study.observe("first", [[0.5, 0.5], [-0.25, 1.0], [0.0, 0.0]], [[0.75, 0.25]] * 3)
    study.observe("first", [[0.1, 0.5]], [[0.35, 0.25]])
    assembled = writer.assembled
    monkeypatch.setattr(writer, "assembled", lambda *args: calls.append(True) or assembled(*args))
    study.retract("2")
    assert list(study.answers()["id"]) == ["3/1"]
    assert len(calls) == 1

"""Tables and JSON of a study."""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import pytest

import grisaille as gs
from grisaille.adapters.export import export_csv, export_json, export_observations_csv
from grisaille.study.state import StudyState
from tests.adapters.adapter_helpers import QUICK, tank, tank_study

pytestmark = pytest.mark.slow


def table(text: str) -> pandas.DataFrame:
    # The default parser of pandas before 3 may be wrong in the last bit.
    return pandas.read_csv(io.StringIO(text), engine="python")


@pytest.fixture(scope="module")
def study() -> gs.Study:
    """Four complete trials, a broken one, one under way, two answers made elsewhere."""
    study = tank_study(4, retries=0)
    (query,) = study.ask()
    study.fail(query, "the pump, of all things, leaks")
    (query,) = study.ask()
    study.observe("gain", [0.25, 0.75], [2.4375, 2.9375])
    return study


def test_the_table_of_trials_reads_back_to_the_last_bit(study):
    frame = table(export_csv(study.state))
    assert frame["trial"].tolist() == [1, 2, 3, 4, 5, 6]
    assert frame["state"].tolist() == ["complete"] * 4 + ["broken", "pending"]
    for row, trial in zip(frame.to_dict("records"), study.history, strict=False):
        assert [row["flow[0]"], row["flow[1]"]] == trial.x.tolist()
        assert row["objective"] == -trial.objective
        assert row["violation"] == trial.violation
        labels = study.problem.constraint_names
        assert [row[label] for label in labels] == trial.constraints.tolist()
        assert (row["seconds suggesting"], row["seconds evaluating"]) == trial.seconds


def test_the_table_of_trials_agrees_with_the_results_own(study):
    frame = table(export_csv(study.state))
    own = study.result().to_dataframe()
    shared = [c for c in own.columns if not c.startswith("constraint[")]
    assert len(shared) == 12
    pandas.testing.assert_frame_equal(frame[shared][:4], own[shared], check_exact=True)


def test_a_trial_without_an_outcome_has_empty_cells_and_its_reason(study):
    frame = table(export_csv(study.state))
    broken, pending = frame.iloc[4], frame.iloc[5]
    assert math.isnan(broken["objective"])
    assert broken["reason"] == "5-1: the pump, of all things, leaks"
    assert isinstance(pending["ended"], float)
    assert not math.isnan(pending["flow[0]"])


def test_trials_end_after_they_start_in_utc(study):
    frame = table(export_csv(study.state))
    started, ended = (pandas.to_datetime(frame[c]) for c in ("started", "ended"))
    assert str(started.dt.tz) == "UTC"
    assert (ended[:5] >= started[:5]).all()
    assert started.is_monotonic_increasing


def test_a_name_that_is_a_column_of_ours_gets_a_number():
    kind = gs.Variable("kind", lower=0, upper=1)
    y = gs.BlackBox(lambda k: k, name="f", noise=0)(kind)
    twice = [y <= 0.9, y <= 0.9]
    study = gs.Study(gs.Problem(minimize=y, subject_to=twice), strategy=QUICK)
    study.run(1, progress=False)
    frame = table(export_csv(study.state))
    assert frame["kind"].tolist() == ["initial"]
    assert frame["kind (2)"].tolist() == study.history.trials[0].x.tolist()
    assert len(set(frame.columns)) == len(frame.columns)
    assert sum("0.9" in column for column in frame.columns) == 2


@pytest.mark.parametrize("start", ["=", "+", "-", "@"])
def test_no_text_is_run_by_a_spreadsheet_and_numbers_stay_numbers(start):
    x = gs.Variable("x", lower=-2, upper=-1)
    box = gs.BlackBox(None, name=f"{start}1+1", noise=0)
    study = gs.Study(gs.Problem(minimize=box(x), subject_to=[-x <= 3]), strategy=QUICK, retries=0)
    (query,) = study.ask()
    study.tell(query, -1.5)
    (query,) = study.ask()
    study.fail(query, "broken")
    answers = table(export_observations_csv(study.state))
    assert answers["box"].tolist() == [f"'{start}1+1"]
    assert answers["output[0]"].tolist() == [-1.5]
    assert answers["input[0]"].tolist() == study.history.trials[0].x.tolist()
    trials = export_csv(study.state)
    assert ",'-x <= 3," in trials
    assert table(trials)["objective"].tolist()[0] == -1.5


def test_every_answer_is_a_row_with_its_source(study):
    frame = table(export_observations_csv(study.state))
    assert len(frame) == sum(study.history.counts().values())
    assert frame["source"].value_counts()["elsewhere"] == 2
    assert {"chain", "probe"} <= set(frame["source"])
    first = study.history.trials[0].observations[0]
    assert frame.loc[0, ["input[0]", "input[1]"]].tolist() == first.inputs.tolist()
    assert frame.loc[0, ["output[0]", "output[1]"]].tolist() == first.outputs.tolist()
    gains = frame[frame["box"] == "gain"]
    assert gains["input[1]"].isna().all()
    assert not gains["output[0]"].isna().any()
    assert frame["query"].tolist()[0] == "1-1"


def test_json_is_strictly_valid_and_holds_every_number(study):
    data = json.loads(json.dumps(export_json(study.state), allow_nan=False))
    assert data["sense"] == "maximize"
    assert data["variables"][1] == {"name": "flow[1]", "lower": 0.0, "upper": 2.0}
    assert data["boxes"][0]["output_names"] == ["heat", "acid"]
    assert data["boxes"][1]["output_names"] is None
    states = [trial["state"] for trial in data["trials"]]
    assert states == ["complete"] * 4 + ["broken", "pending"]
    for plain, trial in zip(data["trials"], study.history, strict=False):
        assert plain["objective"] == -trial.objective
        assert plain["x"] == trial.x.tolist()
        assert plain["constraints"] == trial.constraints.tolist()
        told = [q["outputs"] for q in plain["queries"] if q["state"] == "told"]
        assert sorted(told) == sorted(o.outputs.tolist() for o in trial.observations)
    assert data["trials"][4]["queries"][0]["reason"] == "the pump, of all things, leaks"
    assert [o["outputs"] for o in data["observations"]] == [[2.4375], [2.9375]]


def test_numbers_that_are_not_finite_are_words():
    x = gs.Variable("x", lower=0, upper=1)
    y = gs.BlackBox(lambda x: 1.0, name="f", noise=0)(x)
    study = gs.Study(gs.Problem(minimize=y + np.exp(800 * y)), strategy=QUICK)
    study.run(1, progress=False)
    state = study.state
    data = json.loads(json.dumps(export_json(state), allow_nan=False))
    assert data["trials"][0]["objective"] == "inf"
    assert table(export_csv(state))["objective"].tolist() == [math.inf]


def test_a_study_that_lost_a_variable_and_a_box_can_still_be_exported(tmp_path):
    place = {"name": "tank", "storage": f"sqlite:///{tmp_path}/study.db", "strategy": QUICK}
    with gs.Study(tank(), **place) as study:
        study.run(2, progress=False)
    level = gs.Variable("level", lower=0, upper=2)
    gain = gs.BlackBox(lambda h: 3 - (h - 1) ** 2, name="gain", noise=0)
    with gs.Study(gs.Problem(maximize=gain(level)), **place, allow_changes=True) as study:
        state = study.state
        frame = table(export_csv(state))
        assert frame["level"].isna().all()
        assert frame["evaluations mix"].tolist() == [1, 1]
        assert set(table(export_observations_csv(state))["box"]) == {"mix", "gain"}
        json.dumps(export_json(state), allow_nan=False)


def test_a_log_without_a_study_is_refused_in_a_sentence():
    for export in (export_csv, export_observations_csv, export_json):
        with pytest.raises(gs.ProtocolError, match=r"make it with gs\.Study"):
            export(StudyState())


def test_json_names_steps_and_logarithms_of_variables_that_have_them():
    t = gs.Variable("t", lower=0, upper=1, step=0.3)
    k = gs.Variable("k", lower=1e-3, upper=1e3, log=True)
    x = gs.Variable("x", lower=0, upper=1)
    f = gs.BlackBox(lambda t, k, x: t + k + x, name="f", noise=0)
    study = gs.Study(gs.Problem(minimize=f(t, k, x)), strategy=gs.SobolSearch())
    assert export_json(study.state)["variables"] == [
        {"name": "t", "lower": 0.0, "upper": 1.0, "step": 0.3},
        {"name": "k", "lower": 1e-3, "upper": 1e3, "log": True},
        {"name": "x", "lower": 0.0, "upper": 1.0},
    ]


def steps_of(work: Callable[[], Any]) -> int:
    """How many functions and generators some work enters."""
    steps = 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal steps
        steps += event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return steps


@pytest.mark.parametrize("export", [export_csv, export_json, export_observations_csv])
def test_each_further_trial_takes_as_long_as_the_one_before(export):
    x = gs.Variable("x", lower=0, upper=1)
    box = gs.BlackBox(None, name="f", noise=0)
    study = gs.Study(gs.Problem(minimize=box(x)), strategy=gs.RandomSearch())
    taken = []
    for _ in range(3):
        study.enqueue(np.linspace(0, 1, 40)[:, None])
        for query in study.ask(40):
            study.tell(query, 1.0)
        export(study.state)  # what is worked out once does not count
        taken.append(steps_of(lambda: export(study.state)))
    first, second = np.diff(taken)
    assert second <= 1.1 * first

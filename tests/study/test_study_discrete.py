"""Labels and whole numbers are what users read and write, everywhere in a study."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import grisaille as gs
from grisaille.adapters.export import export_csv, export_json, export_observations_csv

pytestmark = pytest.mark.slow


LABELS = ["A", "B", "C"]


def problem_of(labels: list[str] = LABELS, in_box: bool = True) -> gs.Problem:
    catalyst = gs.Choice("catalyst", labels)
    stages = gs.Integer("stages", lower=3, upper=12)
    heat = gs.Variable("heat", lower=0, upper=1)

    def both(n, c, t):
        return 0.02 * (n - 7) ** 2 + {"A": 1.0, "B": 0.0}.get(c, 0.5) + (t - 0.3) ** 2

    def without(n, t):
        return both(n, "B", t)

    box = gs.BlackBox(both if in_box else without, name="h", noise=0)
    value = box(stages, catalyst, heat) if in_box else box(stages, heat)
    return gs.Problem(minimize=value + 0.3 * (catalyst == "B"))


def test_a_result_speaks_of_labels_and_whole_numbers():
    problem = problem_of()
    stages, catalyst, _ = problem.variables
    start = {"catalyst": "B", "stages": 7, "heat": 0.25}
    result = problem.solve(2, x0=start, strategy=gs.RandomSearch(), progress=False)
    assert result[catalyst] == "B"
    assert result[stages] == 7
    assert isinstance(result[stages], int)
    np.testing.assert_array_equal(result.x, [7, 1, 0.25])
    text = str(result)
    assert "catalyst     B\n" in text
    assert "stages       7\n" in text
    table = result.to_dataframe()
    assert table["catalyst"][0] == "B"
    assert table["stages"].dtype.kind == "i"


@pytest.mark.parametrize(
    ("point", "sentence"),
    [
        (
            {"catalyst": "D", "stages": 7, "heat": 0.3},
            "enqueue: choice 'catalyst' has no label 'D'",
        ),
        ({"catalyst": 1, "stages": 7, "heat": 0.3}, "'catalyst' has no label 1"),
        ({"catalyst": "B", "stages": 7.5, "heat": 0.3}, "stages is 7.5: it is a whole number"),
        ({"catalyst": "B", "stages": 13, "heat": 0.3}, r"stages = 13 is not in \[3, 12\]"),
        ([7, 1.5, 0.3], "catalyst is 1.5"),
        ([7, "D", 0.3], "has no label 'D'"),
    ],
)
def test_a_point_that_is_none_is_answered_with_a_sentence(point, sentence):
    with pytest.raises(gs.ModelError, match=sentence):
        gs.Study(problem_of()).enqueue(point)


@pytest.mark.parametrize(
    "points",
    [
        {"catalyst": "B", "stages": 7, "heat": 0.3},
        [7, "B", 0.3],
        [7, 1, 0.3],
        pd.DataFrame({"heat": [0.3], "catalyst": ["B"], "stages": [7]}),
        [{"catalyst": "B", "stages": 7, "heat": 0.3}],
    ],
    ids=["names", "flat", "positions", "table", "list"],
)
def test_points_are_taken_with_labels(points):
    study = gs.Study(problem_of())
    study.enqueue(points)
    (query,) = study.ask()
    assert query.arguments == (7, "B", 0.3)
    np.testing.assert_array_equal(query.inputs, [7, 0, 1, 0, 0.3])


def test_an_initial_design_may_hold_labels():
    rows = pd.DataFrame({"catalyst": ["C", "A"], "stages": [4, 5], "heat": [0.1, 0.2]})
    strategy = gs.Optimistic(initial=rows)
    result = problem_of().solve(2, strategy=strategy, progress=False)
    assert result.to_dataframe()["catalyst"].tolist() == ["C", "A"]
    with pytest.raises(gs.ModelError, match="has no label 'Z'"):
        problem_of().solve(2, strategy=gs.Optimistic(initial=[[4, "Z", 0.1]]), progress=False)


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        (pd.DataFrame({"n": [4], "c": ["B"], "t": [0.2], "h": [0.19]}), None),
        (pd.DataFrame({"stages": [4], "catalyst": ["B"], "heat": [0.2]}), [0.19]),
        ([[4, "B", 0.2]], [0.19]),
        ([4, "B", 0.2], [0.19]),
        ([[4, 0, 1, 0, 0.2]], [0.19]),
    ],
    ids=["arguments", "variables", "rows", "row", "numbers"],
)
def test_data_with_labels_becomes_trials(inputs, outputs):
    study = gs.Study(problem_of())
    assert study.observe("h", inputs, outputs) == 1
    np.testing.assert_array_equal(study.history.trials[0].x, [4, 1, 0.2])
    row = study.answers().iloc[0]
    assert (row["catalyst"], row["stages"]) == ("B", 4)


def test_data_with_mistakes_is_refused_with_a_sentence():
    study = gs.Study(problem_of())
    with pytest.raises(gs.ModelError, match="observe\\('h'\\): choice 'catalyst' has no label 'Q'"):
        study.observe("h", [[4, "Q", 0.2]], [0.1])
    with pytest.raises(gs.ModelError, match=r"stages is 4.5: it is a whole number"):
        study.observe("h", [[4.5, "A", 0.2]], [0.1])
    with pytest.raises(gs.ModelError, match="one number per label"):
        study.observe("h", [[4, 1, 1, 0, 0.2]], [0.1])
    with pytest.raises(gs.ModelError, match=r"has 3 inputs"):
        study.observe("h", [[4, 0.2]], [0.1])


def test_what_was_really_done_is_said_with_labels():
    study = gs.Study(problem_of())
    study.enqueue(catalyst="B", stages=7, heat=0.3)
    (query,) = study.ask()
    with pytest.raises(gs.ModelError, match="has no label 'Z'"):
        study.tell(query, 1.0, inputs={"catalyst": "Z"})
    with pytest.raises(gs.ModelError, match=r"stages is 4.5: it is a whole number"):
        study.tell(query, 1.0, inputs={"stages": 4.5})
    trial = study.tell(query, 1.0, inputs=[8, "C", 0.3])
    np.testing.assert_array_equal(trial.x, [8, 2, 0.3])
    study.correct(query, 2.0, inputs={"catalyst": "A"})
    assert study.answers().iloc[0]["catalyst"] == "A"


def test_sheets_hold_labels_and_read_them_back():
    study = gs.Study(problem_of())
    study.enqueue([[7, "B", 0.3], [8, "C", 0.4]])
    sheet = study.ask_sheet(2)
    assert sheet["catalyst"].tolist() == ["B", "C"]
    assert sheet["stages"].tolist() == [7, 8]
    sheet["h"] = [0.0, 0.5]
    sheet.loc[1, "catalyst"] = "nothing"
    outcome = study.tell_sheet(sheet)
    assert outcome["outcome"].tolist() == ["recorded", "refused"]
    assert "choice 'catalyst' has no label 'nothing'" in outcome["message"][1]
    sheet.loc[1, "catalyst"] = "A"
    again = study.tell_sheet(sheet)
    assert again["outcome"].tolist() == ["known", "recorded"]
    assert "catalyst = A instead of C" in again["message"][1]
    assert study.history.trials[1].x[1] == 0


def test_predictions_and_models_take_labels():
    study = gs.Study(problem_of())
    study.observe("h", [[4, "A", 0.2], [7, "B", 0.3], [9, "C", 0.9]], [1.2, 0.0, 0.9])
    points = pd.DataFrame({"catalyst": ["A", "B"], "stages": [4, 7], "heat": [0.2, 0.3]})
    found = study.predict(points)
    np.testing.assert_allclose(found["objective"], [1.2, 0.3], atol=1e-6)
    model = study.model("h")
    assert model.predict({"n": 7, "c": "B", "t": 0.3})["h mean"][0] == pytest.approx(0, abs=1e-6)
    assert list(model.lengthscales.columns) == ["n", "c=A", "c=B", "c=C", "t"]
    assert model.data["c"].tolist() == LABELS
    with pytest.raises(gs.ModelError, match="has no label 'X'"):
        study.predict({"catalyst": "X", "stages": 4, "heat": 0.2})


def test_exports_write_labels():
    study = gs.Study(problem_of())
    study.observe("h", [[4, "C", 0.25]], [0.7])
    study.enqueue(catalyst="B", stages=7, heat=0.5)
    assert ",complete,data,4,C,0.25," in export_csv(study.state)
    assert "h,elsewhere,,,4,C,0.25,0.7," in export_observations_csv(study.state)
    plain = json.loads(json.dumps(export_json(study.state)))
    assert plain["variables"][1]["labels"] == LABELS
    assert plain["variables"][0]["whole"] is True
    assert plain["trials"][0]["x"] == [4, "C", 0.25]
    assert plain["trials"][1]["queries"][0]["inputs"] == [7, "B", 0.5]
    assert plain["observations"][0]["inputs"] == [4, "C", 0.25]


def test_a_stored_study_goes_on_and_is_replayed(tmp_path: Path):
    url = f"sqlite:///{tmp_path / 'studies.db'}"
    first = gs.Study(problem_of(), storage=url, name="s", seed=3)
    first.run(trials=4, progress=False)
    again = gs.Study(problem_of(), storage=url, name="s")
    points = [trial.x for trial in again.history]
    np.testing.assert_array_equal(points, [trial.x for trial in first.history])
    again.run(trials=6, progress=False)
    for trial in again.history:
        np.testing.assert_array_equal(again.replay(trial.number).x, trial.x)


def test_other_labels_are_another_problem(tmp_path: Path):
    url = f"sqlite:///{tmp_path / 'studies.db'}"
    gs.Study(problem_of(), storage=url, name="s").run(trials=1, progress=False)
    with pytest.raises(gs.ProtocolError, match=r"labels \[A, B, C\] -> \[A, B, C, D\]"):
        gs.Study(problem_of([*LABELS, "D"]), storage=url, name="s", allow_changes=True)
    with pytest.raises(gs.ProtocolError, match="Give the black box or the study another name"):
        gs.Study(problem_of(["B", "A", "C"]), storage=url, name="s", allow_changes=True)


def test_labels_that_no_black_box_reads_may_be_added_but_not_moved(tmp_path: Path):
    url = f"sqlite:///{tmp_path / 'studies.db'}"
    gs.Study(problem_of(in_box=False), storage=url, name="s").run(trials=2, progress=False)
    with pytest.raises(gs.ProtocolError, match="allow_changes=True"):
        gs.Study(problem_of([*LABELS, "D"], in_box=False), storage=url, name="s")
    moved = problem_of(["B", "A", "C"], in_box=False)
    with pytest.raises(gs.ProtocolError, match="trials with other labels of 'catalyst'"):
        gs.Study(moved, storage=url, name="s", allow_changes=True)
    more = gs.Study(
        problem_of([*LABELS, "D"], in_box=False), storage=url, name="s", allow_changes=True
    )
    assert len(more.history) == 2

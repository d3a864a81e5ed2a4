"""Labels on the command line: typed without quotes, and shown as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from grisaille.views.cli import main

pytestmark = pytest.mark.slow


MODEL = """
import grisaille as gs
catalyst = gs.Choice("catalyst", ["A", "B", "C"])
stages = gs.Integer("stages", lower=3, upper=12)
box = gs.BlackBox(None, name="h", noise=0)
problem = gs.Problem(minimize=box(catalyst, stages))
"""


@pytest.fixture
def call(tmp_path: Path, monkeypatch, capsys):
    """Runs a command on study `lab`; gives exit code and output."""
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL)
    assert main(["create", "model.py", "--study", "lab", "--trials", "3"]) == 0

    def run(command: str, *arguments: str):
        capsys.readouterr()
        code = main([command, "lab", *arguments])
        return code, capsys.readouterr()

    return run


def test_labels_are_typed_asked_told_and_shown(call):
    assert call("enqueue", "catalyst=B", "stages=7")[0] == 0
    code, output = call("ask")
    assert code == 0
    assert json.loads(output.out)[0]["arguments"] == ["B", 7]
    assert "[B, 7]" in call("show")[1].out
    assert call("tell", "1-1", "0.5", "--inputs", '{"catalyst": "C"}')[0] == 0
    shown = call("show")[1].out
    assert "catalyst in {A, B, C}, stages in {3, ..., 12}" in shown
    assert "catalyst = C" in shown
    assert "C         7" in call("show", "--table")[1].out
    assert json.loads(call("show", "--json")[1].out)["best_trial"]["x"] == {
        "catalyst": "C",
        "stages": 7,
    }
    assert "C         7" in call("answers")[1].out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("catalyst=D", "stages=7"), "choice 'catalyst' has no label 'D'"),
        (("catalyst=B", "stages=7.5"), "stages is 7.5: it is a whole number"),
    ],
)
def test_mistakes_are_answered_with_a_sentence(call, words, sentence):
    code, output = call("enqueue", *words)
    assert code == 2
    assert sentence in output.err


def test_a_file_of_questions_holds_labels(call):
    pd.DataFrame({"catalyst": ["B", "A"], "stages": [7, 4]}).to_csv("points.csv", index=False)
    assert call("enqueue", "--csv", "points.csv")[0] == 0
    assert call("ask", "-n", "2", "--csv", "sheet.csv")[0] == 0
    sheet = pd.read_csv("sheet.csv", dtype=str)
    assert sheet["catalyst"].tolist() == ["B", "A"]
    assert sheet["stages"].tolist() == ["7", "4"]
    sheet["h"] = ["0.5", "0.7"]
    sheet.to_csv("sheet.csv", index=False)
    code, output = call("tell", "--csv", "sheet.csv")
    assert code == 0, output.err
    assert "2" in output.out

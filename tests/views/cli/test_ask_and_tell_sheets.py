"""ask --csv and tell --csv."""

from __future__ import annotations

from pathlib import Path

import pandas
import pytest

from grisaille.views.cli import main

pytestmark = pytest.mark.slow


RECIPE = """
import grisaille as gs

recipe = gs.Variable("recipe", 2, lower=[20, 0.5], upper=[80, 4.0])
synthesis = gs.BlackBox(None, name="synthesis", outputs=["product", "acid"])
purification = gs.BlackBox(None, name="purification")
batch = synthesis(recipe)
problem = gs.Problem(maximize=batch["product"] - purification(batch["acid"]))
strategy = gs.RandomSearch()
"""


@pytest.fixture
def call(tmp_path: Path, monkeypatch, capsys):
    """Runs a command on study `lab` in a folder of its own; gives exit code and output."""
    monkeypatch.chdir(tmp_path)
    Path("recipe.py").write_text(RECIPE)
    assert main(["create", "recipe.py", "--study", "lab", "--evaluation", "chained"]) == 0

    def run(command: str, *arguments: str):
        capsys.readouterr()
        code = main([command, "lab", *arguments])
        return code, capsys.readouterr()

    return run


def fill(*answers: str, path: str = "sheet.csv") -> None:
    """Write answers into the empty cells of a sheet, one text per line."""
    first, *lines = Path(path).read_text().splitlines()
    cut = [line.rstrip(",") for line in lines]
    Path(path).write_text("\n".join([first, *map(",".join, zip(cut, answers, strict=True))]) + "\n")


def answers(call) -> pandas.DataFrame:
    assert call("answers", "--csv", "answers.csv")[0] in (0, 1)
    return pandas.read_csv("answers.csv")


def test_a_sheet_goes_out_and_comes_back(call):
    code, output = call("ask", "--csv", "sheet.csv", "-n", "2")
    assert code == 0
    assert "sheet.csv: 2 questions (synthesis 2)" in output.out
    assert "grisaille tell lab --csv sheet.csv" in output.out
    first, *lines = Path("sheet.csv").read_text().splitlines()
    assert first == "id,trial,box,recipe[0],recipe[1],product,acid,failed"
    assert lines[0].startswith("query 1-1,1,synthesis,")  # no date for a spreadsheet
    fill("0.5,0.25,", ",,the pump stopped")
    code, output = call("tell", "--csv", "sheet.csv")
    assert code == 0
    assert "line 2: query 1-1 is answered" in output.out
    assert "line 3: query 2-1 failed, and will be asked again" in output.out
    assert "1 recorded, 1 failed: sheet.csv" in output.out
    assert answers(call)[["id", "product", "acid"]].values.tolist() == [["query 1-1", 0.5, 0.25]]


def test_lines_that_do_not_fit_are_named_and_the_rest_counts(call):
    call("ask", "--csv", "sheet.csv", "-n", "3")
    fill("0.5,,", "0,5,0,25,", "0.5,0.25,")
    code, output = call("tell", "--csv", "sheet.csv")
    assert code == 2
    assert "grisaille: line 2: query 1-1 has no number in column 'acid'" in output.err
    assert "grisaille: line 3 has 10 cells, but there are 8 columns: write decimals" in output.err
    assert "line 4: query 3-1 is answered" in output.out
    assert "1 recorded" in output.out
    assert "2 refused" in output.out


def test_another_answer_names_the_command_that_corrects_it(call):
    call("ask", "--csv", "sheet.csv")
    fill("0.5,0.25,")
    assert call("tell", "--csv", "sheet.csv")[0] == 0
    assert "line 2: query 1-1 is recorded already" in call("tell", "--csv", "sheet.csv")[1].out
    Path("sheet.csv").write_text(Path("sheet.csv").read_text().replace("0.25", "0.26"))
    code, output = call("tell", "--csv", "sheet.csv")
    assert code == 2
    assert "grisaille correct lab 1-1 VALUE records it" in output.err


@pytest.mark.parametrize(
    ("encoding", "separator"), [("utf-8-sig", ";"), ("utf-16", "\t"), ("cp1252", ";")]
)
def test_sheets_of_european_spreadsheets_are_read(call, encoding, separator):
    assert call("ask", "--csv", "sheet.csv", "-n", "2", "--semicolons")[0] == 0
    lines = Path("sheet.csv").read_text().splitlines()
    assert lines[0].count(";") == 7
    whole, part = lines[1].split(";")[3].split(",")
    text = "\r\n".join([lines[0] + ";Größe", lines[1].rstrip(";") + ";0,5;2,5e-1;;ü", "", ";" * 8])
    Path("sheet.csv").write_text(text.replace(";", separator), encoding=encoding, newline="")
    code, output = call("tell", "--csv", "sheet.csv")
    assert code == 0, output.err
    assert "1 column of the sheet not read: 'Größe'" in output.err
    row = answers(call).iloc[0]
    assert row[["recipe[0]", "product", "acid"]].tolist() == [float(f"{whole}.{part}"), 0.5, 0.25]


def test_a_sheet_with_answers_that_are_not_recorded_is_not_replaced(call):
    call("ask", "--csv", "sheet.csv", "-n", "2")
    code, output = call("ask", "--csv", "sheet.csv")
    assert code == 2
    assert "questions that are still open (1-1, 2-1): add --pending" in output.err
    fill("0.5,0.25,", ",,")
    code, output = call("ask", "--csv", "sheet.csv", "--pending")
    assert code == 2
    assert "answers that are not recorded, in line 2: grisaille tell lab --csv" in output.err
    assert call("tell", "--csv", "sheet.csv")[0] == 0
    assert call("ask", "--csv", "sheet.csv", "--pending")[0] == 0
    sheet = pandas.read_csv("sheet.csv")
    assert sheet["id"].tolist() == ["query 2-1", "query 1-2"]
    assert sheet["purification.acid"].tolist() == ["-", "0.25"]
    code, output = call("ask", "--csv", "recipe.py")
    assert code == 2
    assert "recipe.py is no sheet of questions" in output.err


def test_questions_that_cannot_be_written_are_given_back(call):
    code, output = call("ask", "--csv", "nowhere/sheet.csv", "-n", "2")
    assert code == 2
    assert "nowhere/sheet.csv: No such file" in output.err
    assert call("ask", "--csv", "sheet.csv", "-n", "2")[0] == 0
    assert pandas.read_csv("sheet.csv")["id"].tolist() == ["query 1-1", "query 2-1"]


def test_nothing_to_ask_writes_no_sheet(call):
    call("ask", "-n", "1", "--trials", "1")
    code, output = call("ask", "--csv", "sheet.csv", "--trials", "1")
    assert code == 1
    assert "nothing to ask now: 1-1 is still open, and --pending writes it again" in output.out
    assert not Path("sheet.csv").exists()


def test_an_answer_far_from_what_is_known_is_remarked_as_a_sentence(call):
    rows = [f"{20 + 5 * k},{0.5 + 0.3 * k},{0.5 + 0.01 * k},{0.1 + 0.01 * k}" for k in range(10)]
    Path("old.csv").write_text("\n".join(["recipe[0],recipe[1],product,acid", *rows]))
    assert call("observe", "synthesis", "old.csv")[0] == 0
    call("ask", "--csv", "sheet.csv")
    fill("55,0.25,")
    code, output = call("tell", "--csv", "sheet.csv")
    assert code == 0
    (line,) = [text for text in output.err.splitlines() if "deviations" in text]
    assert line.startswith("grisaille: query 1-1: 55 of 'product' is ")
    assert "grisaille correct lab 1-1 VALUE mends it" in line
    assert "Warning" not in output.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ask", "--pending"), "--pending is about a sheet"),
        (("ask", "--semicolons"), "--semicolons is about a sheet"),
        (("tell", "1-1", "0.5", "--csv", "sheet.csv"), "from the file: leave others out"),
        (("tell", "--csv", "recipe.py"), "its first row has no column 'id'"),
    ],
)
def test_options_about_sheets_are_checked(call, words, message):
    code, output = call(*words)
    assert code == 2
    assert message in output.err

"""create, ask, tell, fail, release and observe."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from grisaille.views.cli import main

pytestmark = pytest.mark.slow


@pytest.fixture
def call(place: str, capsys):
    """Runs a command on study `lab`; gives exit code and output."""

    def run(command: str, *arguments: str):
        code = main([command, "lab", "--storage", place, *arguments])
        return code, capsys.readouterr()

    return run


@pytest.fixture
def lab(model, place: str, capsys) -> Path:
    """An empty study of a problem whose black box is evaluated elsewhere."""
    file = Path(model())
    text = file.read_text().replace("BlackBox(simulate", "BlackBox(None")
    file.write_text(text + 'print("not JSON")\n')
    assert main(["create", str(file), "--study", "lab", "--storage", place, "--trials", "3"]) == 0
    assert "made, and empty" in capsys.readouterr().out
    return file


def ask(call, *arguments: str):
    code, output = call("ask", *arguments)
    return code, json.loads(output.out)


def test_a_study_is_solved_by_ask_and_tell_alone(lab, call):
    told = 0
    while True:
        code, queries = ask(call)
        if not queries:
            break
        assert code == 0
        assert set(queries[0]) == {"id", "box", "arguments", "inputs", "trial"}
        (x,) = queries[0]["arguments"]
        code, output = call("tell", queries[0]["id"], json.dumps((x - 0.5) ** 2), "--seconds", "9")
        assert code == 0
        assert "is answered" in output.out
        told += 1
    assert code == 1
    assert told >= 3
    _, output = call("show", "--json")
    shown = json.loads(output.out)
    assert shown["trials"]["complete"] == 3
    assert shown["last_trials"][0]["seconds"]["evaluating"] == 9


def test_create_refuses_a_name_that_is_taken(lab, place, capsys):
    assert main(["create", str(lab), "--study", "lab", "--storage", place]) == 2
    assert "there is a study 'lab' already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "recorded"),
    [("-0.25", -0.25), ("-1e-3", -1e-3), ("[0.5]", 0.5), ('{"f": 0.5}', 0.5), ("7", 7.0)],
)
def test_an_answer_is_json_also_when_it_is_negative(lab, call, state, value, recorded):
    (query,) = ask(call)[1]
    code, output = call("tell", query["id"], value)
    assert code == 0, output.err
    assert state("lab").queries[query["id"]].outputs.tolist() == [recorded]


def test_an_answer_under_another_name_is_refused(lab, call, state):
    (query,) = ask(call)[1]
    code, output = call("tell", query["id"], '{"g": 0.5}')
    assert code == 3
    assert "g" in output.err
    assert state("lab").queries[query["id"]].outputs is None


def test_a_wrong_answer_is_refused_and_the_right_one_counts_once(lab, call):
    (query,) = ask(call)[1]
    code, output = call("tell", query["id"], "half")
    assert code == 2
    assert "is not JSON" in output.err
    assert call("tell", query["id"])[0] == 2
    assert call("tell", query["id"], "[1, 2]")[0] == 3
    assert call("tell", query["id"], "NaN")[0] == 3
    assert call("tell", query["id"], "0.5")[0] == 0
    code, output = call("tell", query["id"], "0.6")
    assert code == 2
    assert "has an answer already" in output.err


@pytest.mark.parametrize("lines", [True, False])
def test_many_answers_come_by_standard_input_and_a_bad_one_spoils_no_other(
    lab, call, state, monkeypatch, lines
):
    queries = ask(call, "-n", "2")[1]
    answers = [
        {"id": queries[0]["id"], "value": 0.5, "seconds": 3},
        {"id": "9-9", "value": 1},
        {"id": queries[1]["id"], "failed": "the oven is cold"},
    ]
    text = "\n".join(map(json.dumps, answers)) if lines else json.dumps(answers)
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    code, output = call("tell", "-")
    assert code == 2
    assert "no query '9-9'" in output.err
    assert "will be asked again" in output.out
    assert state("lab").queries[queries[0]["id"]].seconds == 3
    assert state("lab").queries[queries[1]["id"]].reason == "the oven is cold"


@pytest.mark.parametrize(
    "text",
    ['{"id": "1-1"}', '[{"id": 1, "value": 2}]', "[3]", '{"id": "1-1", "vlaue": 2}', "{"],
)
def test_answers_of_the_wrong_form_are_refused_as_a_whole(lab, call, monkeypatch, text):
    ask(call)
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    code, output = call("tell", "-")
    assert code == 2
    assert "write" in output.err


def test_one_answer_can_be_piped(lab, call, monkeypatch):
    (query,) = ask(call)[1]
    monkeypatch.setattr(sys, "stdin", io.StringIO("0.5\n"))
    assert call("tell", query["id"], "-")[0] == 0


def test_a_query_that_failed_twice_is_given_up(lab, call, state):
    (query,) = ask(call)[1]
    assert "will be asked again" in call("fail", query["id"], "power cut")[1].out
    assert ask(call)[1] == [query]
    assert "is given up" in call("fail", query["id"], "power cut")[1].out
    assert [f.reason for f in state("lab").history().failures] == ["power cut"]
    assert call("fail", query["id"], "power cut")[0] == 2


def test_a_released_query_goes_to_the_next_who_asks(lab, call):
    (query,) = ask(call)[1]
    assert ask(call)[1] != [query]
    assert call("release", query["id"])[0] == 0
    assert ask(call)[1] == [query]


def test_show_lists_queries_with_their_holders(lab, call):
    ask(call)
    ask(call, "--lease", "3600")
    _, output = call("show")
    assert "who asked" in output.out
    assert ", until " in output.out
    _, output = call("show", "--json")
    first, second = json.loads(output.out)["pending"]
    assert first["state"] == "asked"
    assert first["until"] is None
    assert second["until"] > second["since"]


def test_answers_made_elsewhere_come_from_a_csv_file(lab, call, state, tmp_path: Path):
    table = tmp_path / "answers.csv"
    table.write_text("f,x\n0.16,0.1\n0.09,0.2\n")
    code, output = call("observe", "f", str(table))
    assert code == 0
    assert "2 answers of f" in output.out
    assert state("lab").history().counts() == {"f": 2}
    table.write_text("0.1,0.16\n0.2,0.09\n")
    code, output = call("observe", "f", str(table))
    assert code == 2
    assert "begins with numbers" in output.err
    assert call("observe", "f", "nowhere.csv")[0] == 2
    table.write_text("a,b,c\n1,2,3\n")
    assert "knows none of the names 'a', 'b', 'c'" in call("observe", "f", str(table))[1].err
    assert "no black box 'g'" in call("observe", "g", str(table))[1].err


def test_a_box_without_a_function_cannot_be_worked_on(lab, call):
    code, output = call("worker")
    assert code == 2
    assert "has no function" in output.err
    assert f"running {lab}" in output.err


def test_every_wrong_answer_of_a_list_is_told_of_and_the_right_one_counts(lab, call, monkeypatch):
    (query,) = ask(call)[1]
    lines = [
        {"id": "98-1", "value": 1.0},
        {"id": query["id"], "value": 0.5},
        {"id": "99-1", "value": 1.0},
    ]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(map(json.dumps, lines))))
    code, output = call("tell", "-")
    assert code == 2
    assert "98-1" in output.err
    assert "99-1" in output.err
    assert f"query {query['id']} is answered" in output.out


def test_true_is_no_number(lab, call):
    (query,) = ask(call)[1]
    code, output = call("tell", query["id"], "[true]")
    assert code == 2
    assert "true or false" in output.err


def test_the_result_of_a_laboratory_can_be_seen_before_its_end(lab, call):
    (query,) = ask(call)[1]
    assert call("result")[0] == 1  # nothing feasible yet
    assert call("tell", query["id"], "0.25")[0] == 0
    code, output = call("result")
    assert code == 0
    assert "1 trials complete" in output.out or "1 trial complete" in output.out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,f\n9,0.1,0.16\n", "line 2 has 3 cells, but there are 2 columns"),
        ("x, x,f\n0.1,0.1,0.2\n", "two columns 'x'"),
        ("\n", "is empty: write a row of names"),
        (",x,f\n0,0.1,0.2\n", "'' is not"),
    ],
)
def test_a_table_whose_columns_are_not_sure_is_refused(lab, call, state, tmp_path, text, message):
    table = tmp_path / "answers.csv"
    table.write_text(text)
    code, output = call("observe", "f", str(table))
    assert code == 2
    assert message in output.err
    assert not state("lab").history().counts()


def test_numbers_of_a_table_are_read_to_the_last_bit(lab, call, state, tmp_path: Path):
    table, number = tmp_path / "answers.csv", 0.1 + 0.2
    table.write_text(f"f;x\n{number!r};0,{str(number)[2:]}\n", encoding="utf-16")
    assert call("observe", "f", str(table))[0] == 0
    (seen,) = state("lab").history().observations()
    assert (*seen.inputs, *seen.outputs) == (number, number)

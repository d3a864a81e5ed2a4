"""answers, correct, retract and enqueue."""

from __future__ import annotations

from pathlib import Path

import pytest

from grisaille.views.cli import main
from tests.views.cli.test_ask_and_tell_sheets import RECIPE, answers

pytestmark = pytest.mark.slow


@pytest.fixture
def call(tmp_path: Path, monkeypatch, capsys):
    """Runs a command on study `lab`, which has one open question; gives exit code and output."""
    monkeypatch.chdir(tmp_path)
    Path("recipe.py").write_text(RECIPE)
    way = ["--evaluation", "chained", "--trials", "3"]
    assert main(["create", "recipe.py", "--study", "lab", *way]) == 0
    assert main(["ask", "lab"]) == 0

    def run(command: str, *arguments: str):
        capsys.readouterr()
        code = main([command, "lab", *arguments])
        return code, capsys.readouterr()

    return run


def test_a_typing_error_is_listed_and_corrected(call):
    assert call("answers")[0] == 1
    call("tell", "1-1", "[9.3, 0.25]")
    code, output = call("answers", "--box", "synthesis")
    assert code == 0
    assert "1-1  synthesis  1      chain" in output.out
    assert "9.3" in output.out
    code, output = call("correct", "1-1", "[0.93, 0.25]")
    assert code == 0
    assert "1-1 is corrected: [9.3, 0.25] was recorded, [0.93, 0.25] counts" in output.out
    assert "trial 1 waits for 1-2 (purification)" in output.out
    assert "trial 1 complete: objective 0.83" in call("tell", "1-2", "0.1")[1].out
    code, output = call("correct", "1-2", "-1e-1")
    assert code == 0
    assert "trial 1: objective 1.03" in output.out
    code, output = call("correct", "1-2", "0.1", "--inputs", '{"acid": 0.251}')
    assert "[0.1] at [0.251] counts" in output.out
    assert answers(call)["acid"].tolist() == [0.25, 0.251]


def test_an_answer_is_retracted_with_a_reason(call):
    call("tell", "1-1", "[9.3, 0.25]")
    code, output = call("retract", "1-1", "the wrong bottle")
    assert code == 0
    assert "trial 1 has no objective any more" in output.out
    code, output = call("tell", "1-1", "[0.93, 0.25]")
    assert code == 2
    assert "was retracted (the wrong bottle)" in output.err


def test_what_was_really_done_is_told(call):
    code, _ = call("tell", "1-1", "[0.5, 0.25]", "--inputs", '{"recipe[0]": 50}')
    assert code == 0
    assert answers(call)["recipe[0]"].tolist() == [50.0]
    code, output = call("ask")
    code, output = call("tell", "1-2", "0.5", "--inputs", '{"acidity": 50}')
    assert code == 2
    assert "knows none of the names 'acidity' (did you mean 'acid' by 'acidity'?)" in output.err


@pytest.mark.parametrize("command", ["correct", "retract"])
def test_an_id_without_an_answer_is_refused_with_the_command_that_lists_them(call, command):
    value = ["1"] if command == "correct" else []
    code, output = call(command, "9-9", *value)
    assert code == 2
    assert "grisaille answers lab lists them" in output.err
    assert "it is asked; use tell" in call(command, "1-1", *value)[1].err


def test_points_of_ones_own_come_first(call):
    code, output = call("enqueue", "recipe=[50,2]")
    assert code == 0
    assert "1 point of your own, trial 2" in output.out
    Path("points.csv").write_text("recipe[1];recipe[0]\n2,5;50\n3;60\n")
    code, output = call("enqueue", "--csv", "points.csv")
    assert code == 0
    assert "2 points of your own, trials 3 to 4" in output.out
    assert "to have 3 trials: ask with --trials 4" in output.out
    assert '"inputs": [50.0, 2.0]' in call("ask")[1].out
    assert '"inputs": [50.0, 2.5]' in call("ask")[1].out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["recipe"], "'recipe' is not NAME=VALUE, such as T=350"),
        (["recipe=[50,9]"], "recipe[1] = 9 is not in [0.5, 4]"),
        (["recipe[0]=50"], "no value for recipe[1]"),
        (["recipe[0]=50", "recipe[0]=60"], "has two values"),
        (["recipe[0]=[50,60]", "recipe[1]=2"], "has several values, but recipe[0] is one"),
        (["recipe=[50,2]", "--csv", "p.csv"], "or --csv FILE, not both"),
    ],
)
def test_a_point_that_does_not_fit_is_refused(call, words, message):
    code, output = call("enqueue", *words)
    assert code == 2
    assert message in output.err


def test_observed_rows_say_which_columns_they_took_and_how_many_trials_they_are(call):
    Path("old.csv").write_text("celsius,hours,acid,product\n50,2,0.25,0.5\n")
    code, output = call("observe", "synthesis", "old.csv")
    assert code == 2
    assert "'acid', 'product' are names that black box 'synthesis' knows, 'celsius'" in output.err
    Path("old.csv").write_text("recipe[1],input[0],acid,product\n2,50,0.25,0.5\n2,90,0.3,0.6\n")
    code, output = call("observe", "synthesis", "old.csv")
    assert code == 0
    assert "inputs   recipe[0] from 'input[0]', recipe[1]\n" in output.out
    assert "outputs  product, acid" in output.out
    assert "trials   0 made of them" in output.out
    assert "grisaille: 1 row outside the bounds of the variables" in output.err
    Path("loss.csv").write_text("output[0],acid\n0.1,0.25\n")
    code, output = call("observe", "purification", "loss.csv")
    assert "outputs  purification from 'output[0]'" in output.out
    assert "trials   1 made of them, and the best of them can be the best point" in output.out


def test_a_changed_problem_is_opened_by_every_command_that_allows_it(call):
    call("tell", "1-1", "[0.5, 0.25]")
    call("ask")
    call("tell", "1-2", "0.1")
    changed = RECIPE.replace(
        'maximize=batch["product"] - purification(batch["acid"])',
        'maximize=batch["product"] - purification(batch["acid"]), '
        'subject_to=[gs.BlackBox(None, name="colour")(recipe) <= 1]',
    )
    Path("recipe.py").write_text(changed)
    code, output = call("ask", "--csv", "sheet.csv")
    assert code == 2
    assert "go on all the same with --allow-changes" in output.err
    code, output = call("ask", "--csv", "sheet.csv", "--allow-changes")
    assert code == 0
    assert "grisaille: the problem was changed: all answers are kept" in output.err
    assert "colour 1" in output.out

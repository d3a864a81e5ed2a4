"""solve --study, resume, status, show, export and delete."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from grisaille.cli import main
from grisaille.cli.arguments import DEFAULT_STORAGE


def solved(model: str, place: str, name: str = "toy", trials: int = 3, *more: str) -> int:
    where = ["--study", name, "--storage", place]
    return main(["solve", model, *where, "--trials", str(trials), "--quiet", *more])


def test_the_same_command_again_resumes_and_more_trials_go_on(model, place, state, capsys):
    file = model()
    assert solved(file, place) == 0
    first = state("toy").history().trials
    assert solved(file, place) == 0
    assert len(state("toy").trials) == 3
    assert solved(file, place, trials=4) == 0
    assert [t.x.tolist() for t in state("toy").history()][:3] == [t.x.tolist() for t in first]
    assert len(state("toy").trials) == 4
    assert "minimum" in capsys.readouterr().out


def test_resume_knows_the_file_the_trials_and_the_strategy(model, place, state, capsys):
    assert solved(model(), place, "toy", 4, "--timeout", "0") == 1
    assert len(state("toy").trials) == 0
    assert main(["resume", "toy", "--storage", place, "--quiet"]) == 0
    assert len(state("toy").trials) == 4
    assert "samples=128" in state("toy").settings["strategy"]
    assert main(["resume", "toy", "--storage", place, "--quiet", "--trials", "5"]) == 0
    assert state("toy").settings["trials"] == 5
    call = ["solve", model(), "--study", "toy", "--storage", place, "--quiet"]
    assert main(call) == 0
    assert len(state("toy").trials) == 5


def test_the_cost_is_remembered_too(model, place, state):
    file = model()
    call = ["solve", file, "--study", "toy", "--storage", place, "--max-cost", "2", "--quiet"]
    assert main(call) == 0
    assert state("toy").history().counts() == {"f": 2}
    assert main(["resume", "toy", "--storage", place, "--quiet"]) == 0
    assert state("toy").history().counts() == {"f": 2}
    assert "trials" not in state("toy").settings


def test_a_file_that_moved_can_be_named(model, place, tmp_path: Path, capsys):
    solved(model(), place)
    moved = (tmp_path / "model.py").rename(tmp_path / "moved.py")
    call = ["resume", "toy", "--storage", place, "--trials", "4", "--quiet"]
    assert main(call) == 2
    assert "not on this machine: pass the file" in capsys.readouterr().err
    assert main([*call, "--file", str(moved)]) == 0
    assert main(call) == 0


def test_a_changed_problem_is_refused_with_the_flag_that_allows_it(model, place, state, capsys):
    solved(model(), place)
    file = model(goal="maximize=f(x)")
    assert solved(file, place, trials=4) == 2
    assert "grisaille resume --allow-changes" in capsys.readouterr().err
    assert main(["resume", "toy", "--storage", place, "--quiet", "--allow-changes"]) == 0
    assert state("toy").settings["sense"] == -1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("strategy = gs.Optimistic", "which is no strategy"),
        ("y = undefined", "line 14, raised NameError: name 'undefined'"),
        ("y = (", "raised SyntaxError"),
    ],
)
def test_a_mistake_in_the_file_is_a_sentence(model, tmp_path: Path, capsys, text, message):
    file = Path(model())
    file.write_text(file.read_text() + text + "\n")
    assert main(["solve", str(file)]) == 2
    assert message in capsys.readouterr().err


def test_options_of_a_recorded_study_need_its_name(model, capsys):
    assert main(["solve", model(), "--storage", "sqlite:///a.db"]) == 2
    assert "name it with --study" in capsys.readouterr().err


def test_neighbours_of_the_file_are_there_while_it_evaluates_in_children(
    model, place, tmp_path: Path
):
    name = f"neighbour_of_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text("shift = 1.0\n")
    before = list(sys.path)
    assert solved(model(work=f"import {name}"), place, "toy", 2, "--workers", "2") == 0
    assert sys.path == before


def test_status_tells_values_in_the_users_sense(model, place, capsys):
    solved(model("up.py", goal="maximize=-f(x)"), place, "up", 5)
    solved(model("hard.py", goal="minimize=f(x)", least=1.9), place, "hard", 1)
    capsys.readouterr()
    assert main(["status", "--storage", place, "--json"]) == 0
    up, hard = json.loads(capsys.readouterr().out)
    assert up["name"] == "up"
    assert up["trials"] == {
        "complete": 5,
        "partial": 0,
        "pending": 0,
        "broken": 0,
        "wanted": 5,
    }
    assert -1 < up["best"] <= 0
    assert up["bound"] >= up["best"]
    assert up["gap"] == pytest.approx(up["bound"] - up["best"], abs=1e-12)
    assert up["certified"] is False
    assert up["evaluations"]["f"] >= 5
    assert hard["best"] is None
    assert hard["gap"] is None
    assert main(["status", "--storage", place]) == 0
    table = capsys.readouterr().out
    assert "5 of 5" in table
    assert "estimated" in table
    assert main(["status", "up", "--storage", place]) == 0
    assert "hard" not in capsys.readouterr().out


def test_status_and_show_need_neither_the_problem_nor_the_right_to_write(
    model, place, tmp_path: Path, capsys, monkeypatch
):
    solved(model(), place)
    (tmp_path / "model.py").unlink()
    (tmp_path / "studies.db").chmod(0o444)
    tmp_path.chmod(0o555)
    if os.geteuid() == 0:  # who may write anywhere
        monkeypatch.setattr(os, "access", lambda *_: False)
    before = sorted(tmp_path.iterdir())
    try:
        assert main(["status", "--storage", place]) == 0
        assert "toy" in capsys.readouterr().out
        assert main(["show", "toy", "--storage", place]) == 0
        assert f"toy in {place}" in capsys.readouterr().out
        assert sorted(tmp_path.iterdir()) == before
    finally:
        tmp_path.chmod(0o755)


def test_a_storage_without_studies_gets_a_friendly_sentence(place, tmp_path: Path, capsys):
    assert main(["status", "--storage", place]) == 0
    assert "There are no studies in sqlite" in capsys.readouterr().out
    assert main(["status", "--storage", place, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert not list(tmp_path.iterdir())


def test_an_unknown_study_names_those_that_exist(model, place, capsys):
    for command in ("show", "resume", "delete"):
        assert main([command, "toy", "--storage", place]) == 2
        assert "grisaille create FILE --study toy" in capsys.readouterr().err
    solved(model(), place, "toy", 1)
    assert main(["show", "toi", "--storage", place]) == 2
    error = capsys.readouterr().err
    assert "no study 'toi' in" in error
    assert "has 'toy'; did you mean 'toy'?" in error


def test_show_tells_the_best_point_and_the_last_trials(model, place, state, capsys):
    solved(model(), place, "toy", 4)
    capsys.readouterr()
    best = min(state("toy").history(), key=lambda t: t.objective)
    assert main(["show", "toy", "--storage", place, "--json", "--last", "2"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["best_trial"]["x"] == {"x": best.x[0]}
    assert shown["best_trial"]["objective"] == best.objective == shown["best"]
    assert [t["trial"] for t in shown["last_trials"]] == [3, 4]
    assert shown["settings"]["file"].endswith("model.py")
    assert main(["show", "toy", "--storage", place]) == 0
    text = capsys.readouterr().out
    assert f"observed in trial {best.number}" in text
    assert "minimize over x in [-1, 2]" in text


def test_show_says_that_nothing_is_feasible_and_why_boxes_failed(model, place, capsys):
    work = "if x < 1.9: raise RuntimeError('the oven is cold')"
    assert solved(model(work=work, least=1.9), place, "cold", 2) == 1
    capsys.readouterr()
    assert main(["show", "cold", "--storage", place]) == 0
    text = capsys.readouterr().out
    assert "no feasible point so far" in text
    assert "raised RuntimeError: the oven is cold" in text


def test_export_writes_every_trial(model, place, tmp_path: Path, capsys):
    solved(model(), place)
    capsys.readouterr()
    assert main(["export", "toy", "--storage", place]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert main(["export", "toy", "--storage", place, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "toy"
    file = tmp_path / "toy.csv"
    assert main(["export", "toy", "--storage", place, "--output", str(file)]) == 0
    assert file.read_text().startswith("trial,")
    assert main(["export", "toy", "--storage", place, "--output", str(tmp_path)]) == 2
    assert "Is a directory" in capsys.readouterr().err


def test_export_makes_an_optuna_study(model, place, tmp_path: Path):
    optuna = pytest.importorskip("optuna")
    solved(model(), place)
    url = f"sqlite:///{tmp_path}/optuna.db"
    assert main(["export", "toy", "--storage", place, "--optuna", url]) == 0
    assert len(optuna.load_study(study_name="toy", storage=url).trials) == 3
    assert main(["export", "toy", "--storage", place, "--optuna", url, "--format", "csv"]) == 2


def test_delete_wants_a_yes(model, place, state, capsys, monkeypatch):
    solved(model(), place, "toy", 1)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    assert main(["delete", "toy", "--storage", place]) == 2
    assert "pass --yes" in capsys.readouterr().err
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: "n")
    assert main(["delete", "toy", "--storage", place]) == 0
    assert state("toy") is not None
    monkeypatch.setattr("builtins.input", lambda _: "y")
    assert main(["delete", "toy", "--storage", place]) == 0
    assert state("toy") is None


def test_a_storage_that_is_none_exits_with_3(tmp_path: Path, capsys):
    assert main(["status", "--storage", "nonsense"]) == 3
    assert "is no database address" in capsys.readouterr().err
    (tmp_path / "text.db").write_text("no database, but a text that is long enough\n" * 50)
    assert main(["status", "--storage", f"sqlite:///{tmp_path}/text.db"]) == 3
    assert "not a SQLite file" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["0", "-3", "many", "1.5"])
def test_a_number_of_trials_that_is_none_is_refused(model, capsys, value):
    with pytest.raises(SystemExit) as stopped:
        main(["solve", model(), "--trials", value])
    assert stopped.value.code == 2
    assert "pass a whole number of at least 1" in capsys.readouterr().err


def test_the_default_storage_is_that_of_a_study():
    from grisaille.study import study

    assert study.DEFAULT_STORAGE == DEFAULT_STORAGE

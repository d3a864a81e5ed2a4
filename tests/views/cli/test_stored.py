"""What is told of recorded studies."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import grisaille as gs
from grisaille.views.cli import main
from grisaille.views.cli.arguments import DEFAULT_STORAGE
from tests.views.cli.cli_helpers import solved

pytestmark = pytest.mark.slow


def test_status_tells_values_in_the_users_sense(model, place, capsys):
    solved(model("up.py", goal="maximize=-f(x)"), place, "up", 6)
    solved(model("hard.py", least=6.8, limited="x**3"), place, "hard", 1)  # designs keep x >= 1.9
    capsys.readouterr()
    assert main(["status", "--storage", place, "--json"]) == 0
    up, hard = json.loads(capsys.readouterr().out)
    assert up["name"] == "up"
    assert up["trials"] == {
        "complete": 6,
        "elsewhere": 0,
        "partial": 0,
        "pending": 0,
        "broken": 0,
        "wanted": 6,
    }
    assert -1 < up["best"] <= 0
    assert up["bound"] >= up["best"]
    assert up["gap"] == pytest.approx(up["bound"] - up["best"], abs=1e-12)
    assert up["certified"] is False
    assert up["untested"] == {"box": "f", "predicted": 4}
    assert up["evaluations"]["f"] >= 6
    assert hard["best"] is None
    assert hard["gap"] is None
    assert main(["status", "--storage", place]) == 0
    table = capsys.readouterr().out
    assert "6 of 6" in table
    assert "untested:4/5" in table  # of six trials, two are initial
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
    assert solved(model(work=work, least=6.8, limited="x**3"), place, "cold", 2) == 1
    capsys.readouterr()
    assert main(["show", "cold", "--storage", place]) == 0
    text = capsys.readouterr().out
    assert "no feasible point so far" in text
    assert "raised RuntimeError: the oven is cold" in text


def test_a_storage_that_is_none_exits_with_3(tmp_path: Path, capsys):
    assert main(["status", "--storage", "nonsense"]) == 3
    assert "is no database address" in capsys.readouterr().err
    (tmp_path / "text.db").write_text("no database, but a text that is long enough\n" * 50)
    assert main(["status", "--storage", f"sqlite:///{tmp_path}/text.db"]) == 3
    assert "not a SQLite file" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:Query string argument")  # SQLite has no password
def test_a_refused_address_prints_no_password(model, place, capsys):
    storage = f"{place}?password=s3cret"  # a SQLite address takes no options
    for call in (["status"], ["show", "toy"], ["create", model(), "--study", "toy"]):
        assert main([*call, "--storage", storage]) == 3
        printed = "".join(capsys.readouterr())
        assert "takes no options" in printed
        assert "?password=***" in printed
        assert "s3cret" not in printed


def test_status_prints_no_password_of_a_server(empty_postgres, capsys):
    address = f"{empty_postgres}&password=s3cret"
    assert main(["status", "--storage", address]) == 0
    assert "password=***" in capsys.readouterr().out
    assert main(["status", "--storage", address, "--json"]) == 0
    for call in (["show", "toy"], ["delete", "toy"]):
        assert main([*call, "--storage", address]) == 2
        error = capsys.readouterr().err
        assert "password=***" in error
        assert "s3cret" not in error


def test_the_default_storage_is_that_of_a_study():
    from grisaille.study import study

    assert study.DEFAULT_STORAGE == DEFAULT_STORAGE


def test_a_terminal_does_not_obey_the_reason_of_a_failure(model, place, capsys):
    assert main(["create", model(), "--study", "toy", "--storage", place]) == 0
    for _ in range(2):  # it is tried again once
        assert main(["ask", "toy", "--storage", place]) == 0
        assert main(["fail", "toy", "1-1", "\x1b[2Jgone", "--storage", place]) == 0
    capsys.readouterr()
    assert main(["show", "toy", "--storage", place]) == 0
    assert "\\x1b[2Jgone" in capsys.readouterr().out


def test_show_table_lists_all_trials_with_their_constraints(model, place, state, capsys):
    solved(model(least=0.5), place, "toy", 12)
    capsys.readouterr()
    assert main(["show", "toy", "--storage", place, "--table"]) == 0
    header, *rows = capsys.readouterr().out.rstrip().splitlines()
    assert header.split() == ["trial", "kind", "x", "objective", "violation", "constraint[0]"]
    assert rows[-1] == f"constraint[0]: {state('toy').settings['constraints'][0]}"
    trials = state("toy").history().trials
    assert [int(row.split()[0]) for row in rows[: len(trials)]] == list(range(1, 13))
    shown = [float(row.split()[-1]) for row in rows[: len(trials)]]
    assert shown == pytest.approx([t.constraints[0] for t in trials], rel=1e-5)
    assert main(["show", "toy", "--storage", place, "--table", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["last_trials"]) == 12
    with pytest.raises(SystemExit):
        main(["show", "toy", "--storage", place, "--table", "--last", "3"])
    assert "not allowed with argument" in capsys.readouterr().err


MODEL = """
import grisaille as gs

x = gs.Variable("x", lower=0, upper=2, unit="kg/s")
y = gs.BlackBox(lambda x: x * x, name="f", noise=0, unit="kW")(x)
problem = gs.Problem(
    minimize=gs.named("cost", 3 * y, unit="$/s"),
    subject_to={"heating": y >= 0.5},
    feasibility_tol=0.125,
)
"""


def test_show_tells_names_units_and_tolerances(place, tmp_path: Path, capsys):
    (tmp_path / "named.py").write_text(MODEL)
    solved(str(tmp_path / "named.py"), place, "named", 3)
    capsys.readouterr()
    assert main(["show", "named", "--storage", place]) == 0
    out = capsys.readouterr().out
    assert "minimize cost [$/s] over x in [0, 2] kg/s\n" in out
    assert "subject to   heating: f(x) >= 0.5 (tolerance 0.125)\n" in out
    assert "x [kg/s]" in out
    assert "cost [$/s]" in out
    assert main(["show", "named", "--storage", place, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["settings"]["labels"]["objective_unit"] == "$/s"
    assert shown["last_trials"][0]["constraints"][0]["constraint"] == "heating"
    assert main(["export", "named", "--storage", place]) == 0
    assert ",x,objective,heating,violation," in capsys.readouterr().out
    assert main(["export", "named", "--storage", place, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["labels"]["tolerances"] == [0.125]


def test_show_names_steps_and_logarithms_beside_the_bounds(place, capsys):
    t = gs.Variable("t", lower=300, upper=400, step=0.5)
    k = gs.Variable("k", lower=1e-3, upper=1e3, log=True)
    problem = gs.Problem(minimize=gs.BlackBox(None, name="f", noise=0)(t, k))
    gs.Study(problem, name="grid", storage=place).close()
    assert main(["show", "grid", "--storage", place]) == 0
    text = capsys.readouterr().out
    assert "over t in [300, 400] in steps of 0.5, k in [0.001, 1000] in the logarithm" in text


def test_a_finished_study_is_not_called_running(model, place, capsys):
    file = model()
    solved(file, place, "toy", 2)
    capsys.readouterr()
    assert main(["status", "--storage", place]) == 0
    assert "toy    finished  2 of 2" in capsys.readouterr().out
    assert main(["show", "toy", "--storage", place]) == 0
    assert "2 of 2 complete, 0 pending, 0 broken: finished" in capsys.readouterr().out
    assert main(["result", "toy", "--storage", place]) == 0
    assert "status       max_trials: all trials were made" in capsys.readouterr().out
    assert main(["resume", "toy", "--storage", place, "--trials", "3", "--timeout", "0"]) == 0
    capsys.readouterr()
    assert main(["status", "--storage", place]) == 0
    assert "toy    open   2 of 3" in capsys.readouterr().out
    assert main(["result", "toy", "--storage", place]) == 0
    assert "status       running: as recorded: 2 trials complete" in capsys.readouterr().out


def test_attempts_that_a_retry_cured_are_counted(model, place, tmp_path: Path, capsys):
    mark = tmp_path / "mark"
    work = f"assert os.path.exists({str(mark)!r}) or open({str(mark)!r}, 'w').close()"
    assert solved(model(work=work), place, "toy", 2) == 0
    capsys.readouterr()
    assert main(["status", "--storage", place, "--json"]) == 0
    (line,) = json.loads(capsys.readouterr().out)
    assert (line["failures"], line["cured"]) == (0, 1)
    assert main(["status", "--storage", place]) == 0
    assert "0, 1 cured" in capsys.readouterr().out
    assert main(["show", "toy", "--storage", place]) == 0
    assert "; 1 attempt failed and succeeded when tried again" in capsys.readouterr().out

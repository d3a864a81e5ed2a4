"""Studies that are solved in steps."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from grisaille.views.cli import main
from tests.views.cli.cli_helpers import solved

pytestmark = pytest.mark.slow


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


def test_a_changed_problem_is_refused_with_the_flag_that_allows_it(model, place, state, capsys):
    solved(model(), place)
    file = model(goal="maximize=f(x)")
    assert solved(file, place, trials=4) == 2
    assert "go on all the same with --allow-changes" in capsys.readouterr().err
    assert main(["resume", "toy", "--storage", place, "--quiet", "--allow-changes"]) == 0
    assert state("toy").settings["sense"] == -1


def test_resume_remembers_how_many_evaluate_at_once(model, place, state, monkeypatch):
    from grisaille.study.study import Study

    seen = []
    run = Study.run
    monkeypatch.setattr(
        Study, "run", lambda s, **ways: seen.append(ways["workers"]) or run(s, **ways)
    )
    solved(model(), place, "toy", 1)
    assert "workers" not in state("toy").settings
    for more in (["--workers", "2", "--timeout", "0"], ["--timeout", "0"]):
        main(["resume", "toy", "--storage", place, "--trials", "2", "--quiet", *more])
    assert seen == [None, 2, 2]
    assert state("toy").settings["workers"] == 2


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


@pytest.mark.parametrize("value", ["0", "-3", "many", "1.5"])
def test_a_number_of_trials_that_is_none_is_refused(model, capsys, value):
    with pytest.raises(SystemExit) as stopped:
        main(["solve", model(), "--trials", value])
    assert stopped.value.code == 2
    assert "pass a whole number of at least 1" in capsys.readouterr().err

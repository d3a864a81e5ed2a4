"""A database does not choose what is run."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from pathlib import Path

import pytest

from grisaille.views.cli import main
from grisaille.views.cli.open_studies import remember, remembered

pytestmark = pytest.mark.slow


COMMANDS = {
    "result": [],
    "resume": ["--quiet"],
    "worker": [],
    "ask": [],
    "tell": ["1-1", "0.5"],
    "fail": ["1-1", "the pump stopped"],
    "release": ["1-1"],
    "observe": ["f", "answers.csv"],
}


@pytest.fixture
def configuration(tmp_path: Path, monkeypatch) -> Path:
    """The configuration folder of a user who has named no file yet."""
    folder = tmp_path / "configuration"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    return folder


@pytest.fixture
def made_elsewhere(model, place, tmp_path: Path, monkeypatch, capsys) -> Path:
    """A study that somebody else has made, whose file leaves a mark when it is run."""
    file = Path(model())
    file.write_text(f"open({str(tmp_path / 'mark')!r}, 'a').close()\n{file.read_text()}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "theirs"))
    assert main(["create", str(file), "--study", "toy", "--storage", place, "--trials", "2"]) == 0
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "ours"))
    (tmp_path / "mark").unlink()
    (tmp_path / "answers.csv").write_text("x,y\n1,2\n")
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    return file


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_only_the_database_names_is_not_run(
    made_elsewhere, place, tmp_path: Path, capsys, command
):
    assert main([command, "toy", *COMMANDS[command], "--storage", place]) == 2
    error = capsys.readouterr().err
    assert f"says that '{made_elsewhere}' defines its problem" in error
    assert "pass a file that you trust with --file" in error
    assert not (tmp_path / "mark").exists()


def test_a_database_that_names_itself_as_the_file_does_not_run_its_archive(
    model, place, tmp_path: Path, capsys, monkeypatch
):
    database, file = tmp_path / "studies.db", model()
    assert main(["create", file, "--study", "toy", "--storage", place, "--trials", "2"]) == 0
    with sqlite3.connect(database) as connection:
        ((number, text),) = connection.execute(
            "SELECT number, data FROM grisaille_events WHERE data LIKE '%\"file\"%'"
        )
        data = json.dumps({**json.loads(text), "file": str(database)})
        # Whoever writes the database can leave the checksum out, or compute it.
        connection.execute(
            "UPDATE grisaille_events SET data=?, checksum=NULL WHERE number=?", (data, number)
        )
    connection.close()  # which also brings the journal into the file
    with zipfile.ZipFile(database, "a") as archive:
        archive.writestr("__main__.py", f"open({str(tmp_path / 'mark')!r}, 'w').close()\n")
    assert main(["show", "toy", "--storage", place]) == 0
    assert f"file         {database}" in capsys.readouterr().out
    # Who made the study goes on with the file they named.
    assert main(["resume", "toy", "--storage", place, "--quiet"]) == 0
    # Others are asked for one, and the database cannot be it.
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "other"))
    assert main(["result", "toy", "--storage", place]) == 2
    assert "pass a file that you trust with --file" in capsys.readouterr().err
    assert main(["result", "toy", "--storage", place, "--file", str(database)]) == 2
    assert "whose name ends in .py" in capsys.readouterr().err
    assert not (tmp_path / "mark").exists()


def test_a_file_that_was_passed_once_is_remembered_for_this_study_only(
    made_elsewhere, model, place, tmp_path: Path, capsys
):
    assert main(["ask", "toy", "--storage", place, "--file", str(made_elsewhere)]) == 0
    assert main(["ask", "toy", "--storage", place]) == 0
    assert f"grisaille: running {made_elsewhere}" in capsys.readouterr().err
    lines = (tmp_path / "ours/grisaille/problem_files.jsonl").read_text().splitlines()
    (line,) = map(json.loads, lines)
    assert line["study"] == "toy"
    assert line["storage"] == place
    assert line["file"] == str(made_elsewhere)
    assert remembered(place, "another") is None
    assert remembered(f"sqlite:///{tmp_path}/another.db", "toy") is None


def test_the_file_passed_last_counts_and_relative_addresses_mean_this_folder(
    configuration, tmp_path: Path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for name in ("first.py", "second.py", "second.py"):
        remember("sqlite:///study.db", "toy", Path(name))
    assert remembered(f"sqlite:///{tmp_path}/study.db", "toy") == tmp_path / "second.py"
    assert len((configuration / "grisaille/problem_files.jsonl").read_text().splitlines()) == 2
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert remembered("sqlite:///study.db", "toy") is None


def test_a_file_remembered_on_another_machine_with_the_same_home_is_not_run(
    configuration, monkeypatch
):
    remember("sqlite:///study.db", "toy", Path("model.py"))
    monkeypatch.setattr("socket.gethostname", lambda: "another")
    assert remembered("sqlite:///study.db", "toy") is None


def test_no_password_is_remembered(configuration):
    address = "postgresql+psycopg://lab:s3cret@host/x?password=s3cret"
    remember(address, "toy", Path("model.py"))
    assert remembered(address, "toy") == Path("model.py").resolve()
    assert "s3cret" not in (configuration / "grisaille/problem_files.jsonl").read_text()


def test_a_spoiled_line_hides_no_other(configuration):
    remember("sqlite:///study.db", "toy", Path("model.py"))
    with (configuration / "grisaille/problem_files.jsonl").open("a") as stream:
        stream.write('{"machine": \n[1]\n"text"\n')
    assert remembered("sqlite:///study.db", "toy") == Path("model.py").resolve()


def test_a_relative_configuration_folder_is_not_used(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    remember("sqlite:///study.db", "toy", Path("model.py"))
    assert not (tmp_path / "here").exists()
    assert (tmp_path / "home/.config/grisaille/problem_files.jsonl").is_file()


def test_a_study_goes_on_where_nothing_can_be_remembered(
    configuration, model, place, capsys, state
):
    configuration.write_text("not a folder")
    call = ["create", model(), "--study", "toy", "--storage", place]
    assert main(call) == 0
    error = capsys.readouterr().err
    assert "model.py cannot be remembered for study 'toy'" in error
    assert "pass --file next time" in error
    assert state("toy") is not None

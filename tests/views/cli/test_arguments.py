"""Arguments that commands share."""

from __future__ import annotations

import pytest

from grisaille.views.cli import main
from tests.views.cli.cli_helpers import solved

pytestmark = pytest.mark.slow


def test_the_environment_names_the_storage_unless_the_call_does(
    model, place, state, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRISAILLE_STORAGE", place)
    file = model()
    assert main(["create", file, "--study", "made"]) == 0
    assert main(["solve", file, "--study", "solved", "--trials", "1", "--quiet"]) == 0
    assert state("made") is not None
    assert state("solved") is not None
    assert main(["status"]) == 0
    assert "solved" in capsys.readouterr().out
    assert solved(file, "sqlite:///other.db", "elsewhere", 1) == 0
    assert state("elsewhere") is None
    assert (tmp_path / "other.db").exists()
    assert not (tmp_path / "study.db").exists()


def test_a_file_is_solved_without_a_record_also_if_the_environment_names_a_storage(
    model, place, tmp_path, monkeypatch
):
    monkeypatch.setenv("GRISAILLE_STORAGE", place)
    assert main(["solve", model(), "--trials", "1", "--quiet"]) == 0
    assert not (tmp_path / "studies.db").exists()


@pytest.mark.parametrize("command", ["solve", "status", "worker"])
def test_the_help_names_the_variable_and_not_the_password_in_it(monkeypatch, capsys, command):
    monkeypatch.setenv("GRISAILLE_STORAGE", "postgresql+psycopg://lab:s3cret@host/x")
    with pytest.raises(SystemExit):
        main([command, "--help"])
    text = capsys.readouterr().out
    assert "GRISAILLE_STORAGE" in text
    assert "s3cret" not in text

"""Studies that are exported or deleted."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from grisaille.views.cli import main
from tests.views.cli.cli_helpers import solved

pytestmark = pytest.mark.slow


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

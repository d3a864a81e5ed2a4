"""Results: rows and numbers are stored with the command and the versions."""

from __future__ import annotations

import json
import sys

import pytest
from benchmarks.results_folder import write_result, write_rows
from benchmarks.versions import versions

from benchmarks import results_folder

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(results_folder, "RESULTS", tmp_path / "results")
    return tmp_path / "results"


def test_a_result_says_by_which_command_and_with_which_versions(folder, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["convergence.py", "--only", "chain"])
    write_result("convergence_chain", {"name": "Matérn"}, module="convergence")
    text = (folder / "convergence_chain.json").read_text(encoding="utf-8")
    assert "Matérn" in text
    assert json.loads(text) == {
        "command": "python -m benchmarks.convergence --only chain",
        "versions": versions(),
        "name": "Matérn",
    }


def test_rows_are_stored_under_the_names_of_their_columns(folder):
    write_rows("table", [{"seed": 0, "regret": 0.5}, {"seed": 1, "regret": 0.25}])
    assert (folder / "table.csv").read_bytes() == b"seed,regret\n0,0.5\n1,0.25\n"

"""The command of the reproduction."""

from __future__ import annotations

import pytest
from benchmarks.reproduction.__main__ import main

from tests.benchmarks.reproduction.reproduction_helpers import filled, folder_of

pytestmark = pytest.mark.slow


def test_the_command_makes_missing_runs_and_prints_the_table(tmp_path, capsys):
    filled(tmp_path, 1)
    assert main(["--output", str(tmp_path), "--instances", "2"]) == 0
    out = capsys.readouterr().out
    assert "| exact | 2 | constrained regret |" in out
    assert len(folder_of(tmp_path).load()) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--instances", "0"], "--instances: '0': pass a whole number of at least 1"),
        (["--setting", "easy"], "invalid choice: 'easy'"),
        (["--output", __file__], "is a file: name a folder"),
    ],
)
def test_mistakes_in_the_call_are_told(arguments, message, tmp_path, capsys):
    assert main(["--output", str(tmp_path), *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())

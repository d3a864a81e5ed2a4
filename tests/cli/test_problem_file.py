"""The file that defines a problem."""

from __future__ import annotations

from pathlib import Path

import pytest

from grisaille.cli import main
from tests.cli.cli_helpers import solved


def test_a_file_that_moved_can_be_named(model, place, tmp_path: Path, capsys):
    solved(model(), place)
    moved = (tmp_path / "model.py").rename(tmp_path / "moved.py")
    call = ["resume", "toy", "--storage", place, "--trials", "4", "--quiet"]
    assert main(call) == 2
    assert "not on this machine: pass the file" in capsys.readouterr().err
    assert main([*call, "--file", str(moved)]) == 0
    assert main(call) == 0


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

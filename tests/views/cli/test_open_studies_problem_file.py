"""The file that defines a problem."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

from grisaille.views.cli import main
from tests.views.cli.cli_helpers import solved

pytestmark = pytest.mark.slow


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
        ("strategy = gs.Optimistic", "pass a strategy object such as gs.Optimistic"),
        ("y = undefined", "line 14, raised NameError: name 'undefined'"),
        ("y = (", "raised SyntaxError"),
    ],
)
def test_a_mistake_in_the_file_is_a_sentence(model, tmp_path: Path, capsys, text, message):
    file = Path(model())
    file.write_text(file.read_text() + text + "\n")
    assert main(["solve", str(file)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "call", [["solve", "--trials", "1", "--quiet"], ["diagram"], ["create", "--study", "toy"]]
)
def test_commands_say_which_file_they_run(model, place, capsys, call):
    more = ["--storage", place] if "--study" in call else []
    file = model()
    assert main([*call, file, *more]) == 0
    assert f"grisaille: running {file}\n" in capsys.readouterr().err


def test_an_archive_is_not_run_whatever_its_name(tmp_path: Path, capsys):
    mark = tmp_path / "mark"
    for name, message in (("model.zip", "whose name ends in .py"), ("model.py", "null bytes")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("__main__.py", f"open({str(mark)!r}, 'w').close()\n")
        assert main(["solve", str(tmp_path / name)]) == 2
        assert message in capsys.readouterr().err
        assert not mark.exists()


def test_a_file_may_define_dataclasses_and_use_annotations_as_values(model, capsys):
    file = Path(model())
    file.write_text(
        f"from __future__ import annotations\nfrom dataclasses import dataclass\n{file.read_text()}"
        "\n@dataclass\nclass Settings:\n    steps: int = 3\n"
    )
    assert main(["diagram", str(file)]) == 0
    file = Path(model())
    file.write_text(
        f"{file.read_text()}\ndef g(x: 3): pass\nassert g.__annotations__ == {{'x': 3}}\n"
    )
    assert main(["diagram", str(file)]) == 0
    assert "grisaille_problem" not in sys.modules

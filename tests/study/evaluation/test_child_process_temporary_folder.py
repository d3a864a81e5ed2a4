"""Folders of killed processes are removed by the next process that needs one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from grisaille.study.evaluation.child_process import Child, TemporaryFolder
from grisaille.study.evaluation.command import command

pytestmark = pytest.mark.slow


KILLED = """
import os, signal, tempfile
tempfile.tempdir = {place!r}
{work}
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch) -> Path:
    """Where temporary folders are made."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def leave_behind(place: Path, work: str) -> list[Path]:
    """The folders that a killed process leaves."""
    code = KILLED.format(place=str(place), work=work)
    assert subprocess.run([sys.executable, "-c", code]).returncode == -9
    return list(place.iterdir())


def test_a_folder_is_there_until_it_is_removed(place):
    folder = TemporaryFolder()
    Path(folder.path, "file").write_text("kept")
    with TemporaryFolder() as other:  # of the same process, and it does not touch the first one
        assert Path(folder.path, "file").read_text() == "kept"
        assert other != folder.path
    assert [str(path) for path in place.iterdir()] == [folder.path]
    folder.remove()
    folder.remove()  # a second time does no harm
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    "work",
    [
        "from grisaille.study.evaluation.child_process import Child; Child()",
        "from grisaille.study.evaluation.child_process import TemporaryFolder as T\na = T(), T()",
    ],
)
def test_folders_of_a_killed_process_are_removed_by_the_next_one(place, work):
    assert leave_behind(place, work)
    child = Child()
    assert len(list(place.iterdir())) == 1
    child.close()
    assert list(place.iterdir()) == []


def test_the_folder_of_a_killed_command_is_removed_by_the_next_one(place):
    work = "from grisaille.study.evaluation.child_process import TemporaryFolder as T; t = T()"
    assert leave_behind(place, work)
    assert command("echo 4.5")() == 4.5
    assert list(place.iterdir()) == []


def test_folders_that_others_made_are_left_alone(place):
    (place / "grisaille-mine").mkdir()
    (place / "grisaille-elsewhere").symlink_to("/")
    TemporaryFolder().remove()
    assert sorted(path.name for path in place.iterdir()) == [
        "grisaille-elsewhere",
        "grisaille-mine",
    ]

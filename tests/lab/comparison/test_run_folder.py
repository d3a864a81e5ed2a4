"""A folder of runs: nothing is lost when a run is added, and damage is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import grisaille as gs
from grisaille.lab.comparison.run_folder import RunFolder, differences, write_whole


class EvenAndOdd:
    """Runs are numbers; those of even jobs share a file, and so do those of odd jobs."""

    def files(self, folder: Path) -> list[Path]:
        return sorted(folder.glob("*.txt"))

    def file_of(self, job: int) -> Path:
        return Path(f"{job % 2}.txt")

    def decode(self, file: Path, text: str) -> dict[int, int]:
        return {int(job): run for job, run in json.loads(text).items()}

    def encode(self, runs) -> str:
        return json.dumps(runs)


def folder_of(path: Path) -> RunFolder[int, int]:
    return RunFolder(path, EvenAndOdd(), "--folder")


def test_runs_are_kept_beside_those_in_the_same_file(tmp_path):
    folder = folder_of(tmp_path / "new")
    assert folder.load() == {}
    for job in (1, 2, 3):
        folder.add(job, 10 * job)
    folder.add(1, 11)
    assert folder_of(tmp_path / "new").load() == {1: 11, 2: 20, 3: 30}


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(gs.ModelError, match=r"--folder .* is a file: name a folder"):
        folder_of(tmp_path / "file")


def test_a_damaged_file_is_named_and_not_overwritten(tmp_path):
    (tmp_path / "1.txt").write_text('{"1": ')
    for use in (folder_of(tmp_path).load, lambda: folder_of(tmp_path).add(3, 30)):
        with pytest.raises(gs.ModelError, match=r"1.txt' holds no run that can be read"):
            use()
    assert (tmp_path / "1.txt").read_text() == '{"1": '


def test_runs_with_other_settings_are_refused(tmp_path):
    folder = folder_of(tmp_path)
    folder.require_settings({"beta": 2.0, "steps": 20})
    folder.require_settings({"beta": 2.0, "steps": 20})
    with pytest.raises(
        gs.ModelError, match=r"\(beta was 2.0 and is 3.0 now\): use another --folder"
    ):
        folder.require_settings({"beta": 3.0, "steps": 20})


def test_differences_name_what_has_changed_and_what_is_new():
    assert differences({"a": 1, "b": 2}, {"a": 1, "b": 2}) == ""
    changes = differences({"a": 1, "b": 2}, {"a": 3, "b": 2, "c": 4})
    assert changes == "a was 1 and is 3 now; c was None and is 4 now"


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path):
    file = tmp_path / "file.txt"
    write_whole(file, "before")
    with pytest.raises(UnicodeEncodeError):
        write_whole(file, "after \ud800")
    assert file.read_text() == "before"

"""The model of a disk keeps what was synced, and only that for sure."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from benchmarks.watched_files import Call, Disk, read_calls

pytestmark = pytest.mark.slow


def outcomes(*calls: Call) -> set[tuple[tuple[str, bytes], ...]]:
    """The folders that a power loss after some calls may leave."""
    disk = Disk()
    for call in calls:
        disk.apply(call)
    losses = (disk.after_power_loss(random.Random(seed)) for seed in range(200))
    return {tuple(sorted(files.items())) for files in losses}


def write(content: bytes, place: int = 0) -> Call:
    return Call("W", "a", place, content)


SYNC, SYNC_FOLDER = Call("S", "a", 0, b""), Call("S", ".", 0, b"")


def test_what_was_synced_is_always_there():
    assert outcomes(write(b"old"), SYNC, SYNC_FOLDER) == {(("a", b"old"),)}


def test_a_write_without_a_sync_may_be_there_or_not():
    found = outcomes(write(b"old"), SYNC, SYNC_FOLDER, write(b"new"))
    assert found == {(("a", b"old"),), (("a", b"new"),)}


def test_a_new_file_may_be_gone_until_its_folder_is_synced():
    assert outcomes(write(b"old"), SYNC) == {(), (("a", b"old"),)}


def test_a_removed_file_may_be_back_until_its_folder_is_synced():
    removed = (write(b"old"), SYNC, SYNC_FOLDER, Call("U", "a", 0, b""))
    assert outcomes(*removed) == {(), (("a", b"old"),)}
    assert outcomes(*removed, SYNC_FOLDER) == {()}


def test_a_long_write_may_be_torn_between_sectors():
    found = outcomes(write(bytes(1024)), SYNC, SYNC_FOLDER, write(b"n" * 1024))
    contents = {dict(files)["a"] for files in found}
    assert b"n" * 512 + bytes(512) in contents
    assert bytes(512) + b"n" * 512 in contents
    assert len(contents) == 4


def test_a_log_is_read_as_it_was_written(tmp_path: Path):
    log = tmp_path / "log"
    log.write_bytes(b"W 7 3 a b\nx\nyW 0 1 s-shm\nzA 12 0 .\n")
    assert list(read_calls(log)) == [Call("W", "a b", 7, b"x\ny"), Call("A", ".", 12, b"")]

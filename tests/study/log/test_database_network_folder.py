"""Folders on a network file system are known by how they are mounted."""

from __future__ import annotations

import os

import pytest

import grisaille as gs
from grisaille.study.log import database
from grisaille.study.log.database import network_file_system
from tests.study.study_helpers import parabola

pytestmark = pytest.mark.slow


@pytest.fixture
def mount_as(tmp_path, monkeypatch):
    """Pretend that the temporary folder is mounted as a kind of file system, beside others."""

    def pretend(kind: str) -> None:
        device = tmp_path.stat().st_dev
        here = f"{os.major(device)}:{os.minor(device)}"
        (tmp_path / "mounts").write_text(
            "21 1 999:1 / /elsewhere rw - nfs server:/elsewhere rw\n"
            f"22 1 {here} / /a\\040folder rw,relatime shared:1 - {kind} server:/data rw\n"
        )
        monkeypatch.setattr(database, "_MOUNTS", tmp_path / "mounts")

    return pretend


@pytest.mark.parametrize(
    ("kind", "found"), [("nfs4", "nfs4"), ("fuse.sshfs", "fuse.sshfs"), ("ext4", None)]
)
def test_only_network_file_systems_are_found(kind, found, tmp_path, mount_as):
    mount_as(kind)
    assert network_file_system(tmp_path) == found


def test_where_mounts_cannot_be_read_nothing_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "_MOUNTS", tmp_path / "missing")
    assert network_file_system(tmp_path) is None


@pytest.mark.parametrize(("kind", "warns"), [("nfs", True), ("ext4", False)])
def test_opening_a_study_on_a_network_file_system_warns_that_answers_may_be_lost(
    kind, warns, tmp_path, mount_as, caplog
):
    mount_as(kind)
    gs.Study(parabola(), name="s", storage=f"sqlite:///{tmp_path}/s.db").close()
    assert ("is on a network file system (nfs), where two machines" in caplog.text) is warns

"""Folders on a network file system, where SQLite works for the processes of one machine only."""

from __future__ import annotations

import os
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = {
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "fuse.ceph",
    "fuse.glusterfs",
    "fuse.sshfs",
    "gpfs",
    "lustre",
    "nfs",
    "nfs4",
    "smb3",
}


def network_file_system(folder: Path) -> str | None:
    """The kind of network file system that a folder is on; None if it is local, or not known."""
    try:
        device = folder.stat().st_dev
        mounts = _MOUNTS.read_text().splitlines()
    except OSError:  # not Linux
        return None
    number = f"{os.major(device)}:{os.minor(device)}"
    for mount in mounts:
        # Number, parent and device; after a dash the kind of file system.
        place, _, source = mount.partition(" - ")
        if place.split()[2] == number and source.split()[0] in _NETWORK:
            return source.split()[0]
    return None

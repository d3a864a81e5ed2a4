"""Temporary folders that are removed even if their process was killed: by the next one."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_PREFIX = "grisaille-"
# Each folder has a file that its process keeps locked as long as it lives. A process number would
# not do: containers that share a folder for temporary files count their processes apart.
_OWNER = ".owner"


class TemporaryFolder:
    """A new folder for temporary files; makes way for it by removing abandoned ones."""

    def __init__(self) -> None:
        _remove_abandoned(Path(tempfile.gettempdir()))
        # Under another name until it is locked: so far it looks abandoned.
        hidden = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}"))
        self._lock = os.open(hidden / _OWNER, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = str(hidden.rename(hidden.with_name(hidden.name.removeprefix("."))))

    def remove(self) -> None:
        """Remove the folder. A process that is being killed may still be writing there."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


def _remove_abandoned(place: Path) -> None:
    """Remove this user's folders whose process is gone."""
    for folder in place.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another user's, another program's, or just removed
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            lock = os.open(folder / _OWNER, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)

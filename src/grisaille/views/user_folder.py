"""The folder where Grisaille keeps what it remembers for a user of this machine."""

from __future__ import annotations

import os
from pathlib import Path


def user_folder() -> Path:
    """The folder, which may not exist yet; raises RuntimeError if the user has no home."""
    folder = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    if not folder.is_absolute():  # the standard says to ignore it: anybody may own the other one
        folder = Path.home() / ".config"
    return folder / "grisaille"

"""What tests of storages share."""

from __future__ import annotations

from grisaille.study.log.database import Database
from grisaille.study.log.event_log import Log, MemoryLog


def log_of(storage: str, name: str = "s") -> Log:
    """The log of a study in a storage, made if it is not there."""
    return MemoryLog() if storage == "memory" else Database(storage).create(name)

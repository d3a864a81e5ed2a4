"""What tests of storages share."""

from __future__ import annotations

from grisaille.storage.database import Database
from grisaille.storage.event_log import Log
from grisaille.storage.memory import MemoryLog


def log_of(storage: str, name: str = "s") -> Log:
    """The log of a study in a storage, made if it is not there."""
    return MemoryLog() if storage == "memory" else Database(storage).create(name)

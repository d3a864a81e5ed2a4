"""The process that records the heartbeats of a worker; run as a script.

A thread of the worker cannot do it: C code that holds the interpreter lock stops all threads.
"""

from __future__ import annotations

import json
import os
import select
import sys
from pathlib import Path
from typing import Any

# Seconds after which a heartbeat that could not be recorded is tried again: a small part of the
# half lease, 30 s, that workers are given after a lock.
_AGAIN = 1.0


def main() -> None:
    """Record heartbeats as standard input says, until it closes.

    Standard input is a pipe from the worker. It closes when the worker ends, for whatever reason,
    unless a process that the worker forked holds it open: so the parent is checked, too.
    """
    request = json.loads(sys.stdin.buffer.readline())
    sys.path[:] = request["path"]
    worker, lease = request["worker"], request["lease"]
    pause = lease / 4
    while not select.select([0], [], [], pause)[0] and os.getppid() == worker["process"]:
        pause = lease / 4
        if not is_stopped(worker["process"]) and not _beat(request["address"], worker, lease):
            pause = min(_AGAIN, pause)


def is_stopped(process: int) -> bool:
    """Whether a process is stopped, by SIGSTOP or Ctrl-Z (Linux; False elsewhere)."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except OSError:
        return False


def _beat(address: str, worker: dict[str, Any], lease: float) -> bool:
    """Record a heartbeat; False if the database cannot be reached or is locked for long."""
    # Imported when it is needed: many workers end before their second heartbeat is due.
    from grisaille.errors import StorageError
    from grisaille.study.log.database import Database
    from grisaille.study.log.event_log import Worker

    try:
        database = Database(address)
        try:
            database.beat(Worker(**worker), lease)
        finally:
            database.close()  # between heartbeats nobody has to wait for this process
    except StorageError:  # the worker's next write reports it, if there is one
        return False
    return True


if __name__ == "__main__":
    main()

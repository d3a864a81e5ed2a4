"""Who this process is, and its heartbeat."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
from pathlib import Path

from grisaille.errors import StorageError
from grisaille.storage.log import Log, Worker

# A worker that has not been heard of for this long is taken to be dead, in seconds.
LEASE = 60.0


def this_worker() -> Worker:
    """A new worker: this process."""
    process = os.getpid()
    name = f"{socket.gethostname()}-{process}-{secrets.token_hex(3)}"
    return Worker(name, this_host(), process, beginning_of(process) or "")


def this_host() -> str:
    """A name for where process numbers mean the same: machine, boot and container."""
    parts = [socket.gethostname()]
    try:
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip()[-12:])
        parts.append(os.readlink("/proc/self/ns/pid"))
    except OSError:  # not Linux
        pass
    return " ".join(parts)


def beginning_of(process: int) -> str | None:
    """When a process of this machine began, in whatever words; None if it does not run."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    try:
        # The name in brackets may hold anything; after it come the state and further numbers.
        facts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # not Linux: the number must do
        return ""
    return None if facts[0] == "Z" else facts[19]


class Heartbeat:
    """Says now and then that a worker is alive, until it is stopped.

    Args:
        log: Where.
        worker: Who.
        lease: Seconds after which silence means death.
    """

    def __init__(self, log: Log, worker: Worker, lease: float = LEASE) -> None:
        self._log = log
        self._worker = worker
        self._lease = lease
        self._stopped = threading.Event()
        log.beat(worker, lease)
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Fall silent."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._lease / 4):
            try:
                self._log.beat(self._worker, self._lease)
            except StorageError as error:  # whoever writes next will complain, or it is over
                logging.getLogger("grisaille").warning("no heartbeat: %s", error)

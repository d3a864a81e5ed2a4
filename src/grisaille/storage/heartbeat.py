"""The identity of this process among the workers, and its heartbeat."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
from pathlib import Path

from grisaille.errors import StorageError
from grisaille.storage.event_log import Log, Worker

# A worker counts as dead after this many seconds without a heartbeat.
LEASE = 60.0


def this_worker() -> Worker:
    """This process as a new worker."""
    process = os.getpid()
    name = f"{socket.gethostname()}-{process}-{secrets.token_hex(3)}"
    return Worker(name, this_host(), process, beginning_of(process) or "")


def this_host() -> str:
    """A name for the scope of process numbers: machine, boot and container."""
    parts = [socket.gethostname()]
    try:
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip()[-12:])
        parts.append(os.readlink("/proc/self/ns/pid"))
    except OSError:  # not Linux
        pass
    return " ".join(parts)


def beginning_of(process: int) -> str | None:
    """When a process of this machine began, in any notation; None if it does not run."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    try:
        # The name in brackets may hold anything; after it come the state and further numbers.
        facts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # not Linux: only the process number is known
        return ""
    return None if facts[0] == "Z" else facts[19]


class Heartbeat:
    """Records regularly that a worker is alive, until it is stopped.

    Args:
        log: The log to record it in.
        worker: The worker.
        lease: Seconds without a heartbeat after which the worker counts as dead.
    """

    def __init__(self, log: Log, worker: Worker, lease: float = LEASE) -> None:
        self._log = log
        self._worker = worker
        self._lease = lease
        self._stopped = threading.Event()
        log.beat(worker, lease)
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop recording soon."""
        self._stopped.set()

    def stop(self) -> None:
        """Stop recording; returns when that is done."""
        self.end()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._lease / 4):
            try:
                self._log.beat(self._worker, self._lease)
            except StorageError as error:  # the next write reports it, if there is one
                logging.getLogger("grisaille").warning("no heartbeat: %s", error)

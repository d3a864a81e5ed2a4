"""The identity of this process among the workers, and its heartbeat."""

from __future__ import annotations

import json
import logging
import os
import secrets
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, cast

from grisaille.errors import StorageError
from grisaille.study.log import heartbeat_script
from grisaille.study.log.event_log import Log, Worker


@dataclass(frozen=True, slots=True)
class HeartbeatConstants:
    """The constants of heartbeats, in seconds.

    Attributes:
        lease: Time without a heartbeat after which a worker counts as lost. A choice of patience.
        wait: Time that stopping waits for a heartbeat that is being recorded. A choice of patience.
    """

    lease: float = 60.0
    wait: float = 0.5


HEARTBEAT = HeartbeatConstants()


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

    A process does so: C code that holds the interpreter lock stops all threads of this one. If that
    process cannot start or dies, a thread takes over.

    Args:
        log: The log to record it in.
        worker: The worker.
        lease: Seconds without a heartbeat after which the worker counts as dead.
    """

    def __init__(self, log: Log, worker: Worker, lease: float = HEARTBEAT.lease) -> None:
        self._log = log
        self._worker = worker
        self._lease = lease
        self._stopped = threading.Event()
        log.beat(worker, lease)
        self._process = _start_process(log.address, worker, lease)
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop recording, except in a fork: the heartbeat belongs to the other process."""
        if os.getpid() != self._worker.process:
            return
        self._stopped.set()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            cast(IO[bytes], self._process.stdin).close()
        # The thread may be waiting for a storage that is away. It ends by itself then.
        self._thread.join(HEARTBEAT.wait)

    def _run(self) -> None:
        while not self._stopped.wait(self._lease / 4):
            if self._process is not None and self._process.poll() is None:
                continue
            if self._stopped.is_set():
                return
            try:
                self._log.beat(self._worker, self._lease)
            except StorageError as error:  # the next write reports it, if there is one
                logging.getLogger("grisaille").warning("no heartbeat: %s", error)


def _start_process(
    address: str | None, worker: Worker, lease: float
) -> subprocess.Popen[bytes] | None:
    """Start a process that records heartbeats; None if it cannot be started."""
    if address is None:
        return None
    request = {"address": address, "worker": asdict(worker), "lease": lease, "path": sys.path}
    try:
        # A session of its own: Ctrl-C and signals for the whole group are the worker's business.
        process = subprocess.Popen(
            [sys.executable or "", "-I", "-S", heartbeat_script.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
    except OSError as error:
        logging.getLogger("grisaille").warning("heartbeats come from a thread: %s", error)
        return None
    # The address may hold a password, which everybody could read on a command line.
    with suppress(OSError):  # it died: the thread takes over
        cast(IO[bytes], process.stdin).write(json.dumps(request, default=str).encode() + b"\n")
    return process

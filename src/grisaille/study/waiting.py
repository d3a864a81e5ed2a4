"""Saying whom a process waits for, once that takes long."""

from __future__ import annotations

import logging
import time

from grisaille.storage.heartbeat import LEASE

# Seconds without anything new in the log after which waiting is worth a line.
_LONG = 10.0


class Waiting:
    """Logs one line each time this process has waited long for another one."""

    def __init__(self) -> None:
        self._what: tuple[str, int] | None = None
        self._since = 0.0
        self._said = False

    def continues(self, worker: str, does: str, position: int) -> None:
        """Note that this process still waits.

        Args:
            worker: The worker it waits for.
            does: What that one is to do, in words.
            position: Number of the last event of the study.
        """
        what = (f"waiting for worker {worker}, which {does}", position)
        if what != self._what:
            self._what, self._since, self._said = what, time.monotonic(), False
        if not self._said and time.monotonic() - self._since >= _LONG:
            self._said = True
            logging.getLogger("grisaille").warning(
                "%s; if it is stopped or gone, others take over %g s after its last heartbeat",
                what[0],
                LEASE,
            )

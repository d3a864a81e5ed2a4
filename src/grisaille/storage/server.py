"""A PostgreSQL server, which may be away: after an interrupt nobody waits for it."""

from __future__ import annotations

import _thread
import os
import socket
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import sqlalchemy as sa

from grisaille.interrupts import Uninterrupted, interruptible

# How long a transaction may take when somebody waits for it to end, in seconds.
_IMPATIENCE = 0.5


class Server:
    """The connections of an engine to a PostgreSQL server.

    A driver waits for an answer as long as the connection stands, and asks the server before it
    gives up. So the connections are cut when a transaction takes long and somebody waits.

    Args:
        engine: The engine.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._connections: weakref.WeakSet[Any] = weakref.WeakSet()
        self._thread = threading.local()
        sa.event.listen(engine, "do_connect", self._connect)

    @contextmanager
    def transaction(self, patient: bool) -> Iterator[None]:
        """A context that ends soon after an interrupt, which is delivered then.

        Args:
            patient: Whether it may take long, and may connect to the server, if there is no
                interrupt.
        """
        hurried, ended = False, _thread.allocate_lock()
        ended.acquire()

        def cut_soon() -> None:
            if ended.acquire(timeout=_IMPATIENCE):
                ended.release()
            else:
                self._cut()

        def hurry() -> None:
            nonlocal hurried
            if not hurried:
                hurried = True
                # Not `threading`, which an interrupt may find while it holds its lock.
                _thread.start_new_thread(cut_soon, ())

        with Uninterrupted(hurry):
            self._thread.patient = patient
            if not patient:
                hurry()
            try:
                yield
            finally:
                ended.release()

    def _connect(self, dialect: Any, _record: Any, arguments: Any, options: Any) -> Any:
        if not self._thread.patient:
            raise dialect.loaded_dbapi.OperationalError("there is no connection any more")
        connection = interruptible(lambda: dialect.connect(*arguments, **options))
        self._connections.add(connection)
        return connection

    def _cut(self) -> None:
        """End all connections at once, whatever waits for them."""
        for connection in list(self._connections):
            # One that is closed has no number. The driver still owns the number of the others.
            with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as ours:
                ours.shutdown(socket.SHUT_RDWR)

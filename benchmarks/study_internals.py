"""The only place where benchmarks use parts of a study that are not public."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import grisaille as gs
from grisaille.study import session
from grisaille.study.log import database, heartbeat
from grisaille.study.log.database import DatabaseLog
from grisaille.study.state import Limits
from grisaille.study.writer import Decision


def take_query(study: gs.Study) -> gs.Query | None:
    """Take an open query of the study; None if it has none."""
    return study._session.take()


def start_trial(study: gs.Study) -> None:
    """Let the strategy suggest a point, and record the suggestion."""
    decision = study._session.decide(Limits())
    assert isinstance(decision, Decision)
    study._session.start(decision)


def announce_writes(study: gs.Study, announce: Callable[[str], None]) -> None:
    """Call `announce` with "writing" before the study writes, and with "wrote" after."""
    write = study._session.write

    def announced(record):  # type: ignore[no-untyped-def]
        announce("writing")
        value = write(record)
        announce("wrote")
        return value

    study._session.write = announced  # type: ignore[method-assign]


def after_each_write(study: gs.Study, do: Callable[[], None]) -> None:
    """Call `do` after each write of the study has returned."""
    write = study._session.write

    def followed(record):  # type: ignore[no-untyped-def]
        value = write(record)
        do()
        return value

    study._session.write = followed  # type: ignore[method-assign]


def shorten_leases(lease: float, from_thread: bool) -> None:
    """Let the studies of this process have shorter leases, as if it were alone on its machine.

    Args:
        lease: Seconds without a heartbeat after which its worker counts as dead.
        from_thread: Whether a thread gives the heartbeats, not a process.
    """
    session.Heartbeat = partial(heartbeat.Heartbeat, lease=lease)  # type: ignore[assignment, misc]
    session.SESSION = replace(session.SESSION, look_every=lease / 10)
    # Others cannot look for its process: only heartbeats count.
    database.this_host = lambda: f"elsewhere, beside {os.getpid()}"
    if from_thread:
        heartbeat._start_process = lambda *_: None


@contextmanager
def timed_turns() -> Iterator[list[tuple[float, float]]]:
    """Note when each turn to write in this process ended, and the CPU time that it took."""
    found: list[tuple[float, float]] = []
    turn = DatabaseLog.turn

    @contextmanager
    def timed(*arguments: Any) -> Iterator[Any]:
        with ExitStack() as stack:
            entered = stack.enter_context(turn(*arguments))
            began = time.thread_time()
            yield entered
            stack.close()
            found.append((time.time(), time.thread_time() - began))

    DatabaseLog.turn = timed  # type: ignore[assignment, method-assign]
    try:
        yield found
    finally:
        DatabaseLog.turn = turn  # type: ignore[method-assign]

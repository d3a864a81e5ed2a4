"""The only place where benchmarks use parts of a study that are not public."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

import grisaille as gs
from grisaille.storage import heartbeat, worker_table
from grisaille.study import session
from grisaille.study.budget import Limits
from grisaille.study.event_writer import Decision


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
    session._LOOK_EVERY = lease / 10
    # Others cannot look for its process: only heartbeats count.
    worker_table.this_host = lambda: f"elsewhere, beside {os.getpid()}"
    if from_thread:
        heartbeat._start_process = lambda *_: None

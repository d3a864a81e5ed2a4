"""The workers of a database that are alive, by their heartbeats."""

from __future__ import annotations

import time
from dataclasses import asdict

import sqlalchemy as sa

from grisaille.study.log.event_log import Worker
from grisaille.study.log.heartbeat import beginning_of, this_host
from grisaille.study.log.schema import WORKERS

# A lock of this many seconds may have delayed heartbeats. A turn of a study with 2,000 rows of six
# outputs takes 0.015 s, and a lease is 60 s: shorter locks make no heartbeat late.
_LONG_LOCK = 1.0


def record_beat(
    connection: sa.Connection, worker: Worker, lease: float, waited: float = 0.0
) -> None:
    """Record that a worker is alive, and will report again within `lease` seconds.

    Args:
        connection: A transaction that writes.
        worker: The worker.
        lease: How long the heartbeat counts, in seconds.
        waited: How long it had to wait for the database, in seconds.
    """
    values = {"seen": now(connection), "lease": lease}
    known = WORKERS.c.name == worker.name
    if not connection.execute(sa.update(WORKERS).where(known).values(values)).rowcount:
        connection.execute(sa.insert(WORKERS).values(**asdict(worker), **values))
        if not was_locked(connection, waited):
            _forget_gone(connection, values["seen"])
    excuse(connection, waited)


def was_locked(connection: sa.Connection, seconds: float) -> bool:
    """True if a transaction that took so long, or waited so long, kept heartbeats out."""
    # Servers lock rows, and nobody locks those of other workers.
    return connection.dialect.name == "sqlite" and seconds >= _LONG_LOCK


def excuse(connection: sa.Connection, seconds: float) -> None:
    """Give workers half a lease more if a lock kept their heartbeats out.

    Workers that were late before the lock began are not excused, and nobody is excused twice
    without a heartbeat between two locks: a dead worker is found even if many locks are long.

    Args:
        connection: A transaction that writes.
        seconds: How long it has waited and lasted.
    """
    if not was_locked(connection, seconds):
        return
    moment = now(connection)
    late = moment - WORKERS.c.lease / 2
    kept_out = (WORKERS.c.seen < late) & (WORKERS.c.seen + WORKERS.c.lease / 2 > moment - seconds)
    connection.execute(sa.update(WORKERS).where(kept_out).values(seen=late))


def _forget_gone(connection: sa.Connection, moment: float) -> None:
    """Remove the workers whose lease is over: a worker without a row counts as gone, too.

    One that was only stopped is recorded again with its next heartbeat.
    """
    over = sa.select(WORKERS.c.name).where(WORKERS.c.seen + WORKERS.c.lease < moment)
    # Two workers that begin at once do not wait for one another.
    names = over.with_for_update(skip_locked=True)
    connection.execute(sa.delete(WORKERS).where(WORKERS.c.name.in_(names)))


def is_alive(connection: sa.Connection, worker: str, waited: float = 0.0) -> bool:
    """Whether a worker runs: it reported within its lease, and its process is there.

    Only processes of this machine can be looked for. A process that is there may be stopped, so the
    heartbeat counts in any case, unless the database was locked until now: then it may be late, and
    the next look tells.

    Args:
        connection: A transaction.
        worker: Name of the worker.
        waited: How long the transaction had to wait for the database, in seconds.
    """
    row = connection.execute(sa.select(WORKERS).where(WORKERS.c.name == worker)).one_or_none()
    if row is None or not all(
        isinstance(n, int | float) for n in (row.process, row.seen, row.lease)
    ):
        return False  # nobody beats a damaged row
    if row.host == this_host() and beginning_of(row.process) != row.began:
        return False
    return was_locked(connection, waited) or bool(row.seen + row.lease >= now(connection))


def now(connection: sa.Connection) -> float:
    """The time by the database's clock, which all workers share."""
    if connection.dialect.name == "postgresql":
        clock = sa.text("SELECT extract(epoch FROM clock_timestamp())")
        return float(connection.execute(clock).scalar_one())
    return time.time()

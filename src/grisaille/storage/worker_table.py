"""Which workers of a database are alive, by their heartbeats."""

from __future__ import annotations

import time
from dataclasses import asdict

import sqlalchemy as sa

from grisaille.storage.event_log import Worker
from grisaille.storage.heartbeat import beginning_of, this_host
from grisaille.storage.schema import WORKERS


def record_beat(connection: sa.Connection, worker: Worker, lease: float) -> None:
    """Record that a worker is alive, and will report again within `lease` seconds."""
    values = {"seen": now(connection), "lease": lease}
    known = WORKERS.c.name == worker.name
    if not connection.execute(sa.update(WORKERS).where(known).values(values)).rowcount:
        connection.execute(sa.insert(WORKERS).values(**asdict(worker), **values))
        _forget_gone(connection, values["seen"])


def _forget_gone(connection: sa.Connection, moment: float) -> None:
    """Remove the workers whose lease is over: a worker without a row counts as gone, too.

    One that was only stopped is recorded again with its next heartbeat.
    """
    over = sa.select(WORKERS.c.name).where(WORKERS.c.seen + WORKERS.c.lease < moment)
    # Two workers that begin at once do not wait for one another.
    names = over.with_for_update(skip_locked=True)
    connection.execute(sa.delete(WORKERS).where(WORKERS.c.name.in_(names)))


def is_alive(connection: sa.Connection, worker: str) -> bool:
    """Whether a worker runs: it reported within its lease, and its process is there.

    Only processes of this machine can be looked for. A process that is there may be stopped, so the
    heartbeat counts in any case.
    """
    row = connection.execute(sa.select(WORKERS).where(WORKERS.c.name == worker)).one_or_none()
    if row is None or not all(
        isinstance(n, int | float) for n in (row.process, row.seen, row.lease)
    ):
        return False  # nobody beats a damaged row
    if row.host == this_host() and beginning_of(row.process) != row.began:
        return False
    return bool(row.seen + row.lease >= now(connection))


def now(connection: sa.Connection) -> float:
    """The time by the database's clock, which all workers share."""
    if connection.dialect.name == "postgresql":
        clock = sa.text("SELECT extract(epoch FROM clock_timestamp())")
        return float(connection.execute(clock).scalar_one())
    return time.time()

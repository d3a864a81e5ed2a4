"""The log of a study in a database: rows with checksums, and turns to write to it."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from grisaille.errors import StorageError
from grisaille.study.log.event_log import (
    LAST_MOMENT,
    ConnectionLostError,
    DamagedError,
    Data,
    Event,
    ThisThread,
    Worker,
    text_of,
)
from grisaille.study.log.schema import EVENTS, STUDIES
from grisaille.study.log.worker_table import excuse, is_alive, now

if TYPE_CHECKING:
    from grisaille.study.log.database import Database


# --- event rows -----------------------------------------------------------------------------------
# Events as rows of a table, each with a checksum that tells whether it is what was recorded.


@dataclass(frozen=True, slots=True)
class Damage:
    """Something that is not what was recorded.

    Attributes:
        number: Number of the event.
        complaint: What is wrong with it, such as "has another checksum than was recorded".
    """

    number: int
    complaint: str


def row_of(event: Event, study: int, batch: str, text: str | None = None) -> dict[str, Any]:
    """An event as a row of the table of events; `text` is that of its data, if it is known."""
    row = {
        "study": study,
        "number": event.number,
        "kind": event.kind,
        "time": event.time,
        "data": text_of(event.data) if text is None else text,
        "batch": batch,
    }
    return {**row, "checksum": _checksum(row)}


def select_rows(study: int, after: int, with_checksums: bool) -> sa.Select[tuple[Any, ...]]:
    """The rows of a study whose number is larger than `after`, in order.

    Args:
        study: Number of the study.
        after: The last number that is not wanted.
        with_checksums: Whether the table has them; an older one, which is only read, does not.
    """
    names = ["number", "kind", "data", "time", "batch", *["checksum"] * with_checksums]
    # As the database holds them: a damaged value may not be of its column's type.
    columns: list[Any] = [
        sa.type_coerce(EVENTS.c[name], sa.types.NullType).label(name) for name in names
    ]
    mine = (EVENTS.c.study == study) & (EVENTS.c.number > after)
    return sa.select(*columns).where(mine).order_by(EVENTS.c.number)


def read_row(row: Mapping[str, Any], study: int) -> Event | Damage:
    """The event in a row, or what is wrong with it. A row without a checksum is taken as it is."""
    number, time = row["number"], row["time"]
    if not isinstance(number, int):
        return Damage(0, f"has the number {number!r}")
    if row.get("checksum") not in (None, _checksum({**row, "study": study})):
        return Damage(number, "is not what was recorded: its checksum differs")
    if not isinstance(row["kind"], str):
        return Damage(number, f"is of an unknown kind, {row['kind']!r}")
    if not (isinstance(time, int | float) and 0 <= time <= LAST_MOMENT):
        return Damage(number, f"has no time, but {time!r}")
    try:
        data = json.loads(row["data"])
    except (TypeError, ValueError, RecursionError) as error:
        return Damage(number, f"holds no JSON ({error})")
    if not isinstance(data, dict):
        return Damage(number, "holds no JSON object")
    return Event(number, row["kind"], data, float(time))


def read_rows(rows: Iterable[Any], study: int, after: int) -> Iterator[Event | Damage]:
    """The events in rows; one that is missing before another is damage, too."""
    expected = after + 1
    for row in rows:
        read = read_row(row, study)
        if isinstance(read, Event):
            if read.number < expected:
                read = Damage(read.number, "is recorded twice")
            while expected < read.number:
                yield Damage(expected, "is missing")
                expected += 1
        expected = max(expected, read.number + 1)
        yield read


def _checksum(row: Mapping[str, Any]) -> str:
    parts = [row[name] for name in ("study", "number", "kind", "data", "batch")]
    time = row["time"]
    # To the last bit, however a database writes it.
    parts.append(float(time).hex() if isinstance(time, int | float) else time)
    text = "\n".join(map(str, parts)).encode("utf-8", "backslashreplace")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


# --- database log ---------------------------------------------------------------------------------
# The log of a study in a database, and turns to write to it.


class DatabaseLog:
    """The events of one study in a database."""

    def __init__(self, database: Database, study: int, name: str) -> None:
        self.this_thread = ThisThread()
        self._database = database
        self._study = study
        self._name = name
        self._has_checksums = database.has_checksums
        self.address: str | None = database.address

    def read(self, after: int) -> list[Event]:
        """The events whose number is larger than `after`."""
        with self._database.reading(self.this_thread.patient) as connection:
            counted = None
            if after == 0 and self._has_checksums:
                # Before the events: others may record more of them meanwhile.
                mine = STUDIES.c.id == self._study
                counted = connection.execute(sa.select(STUDIES.c.events).where(mine)).scalar()
            events = self._events(connection, after)
            self._check_count(after + len(events), counted)
            return events

    def _events(self, connection: sa.Connection, after: int) -> list[Event]:
        rows = connection.execute(select_rows(self._study, after, self._has_checksums))
        events: list[Event] = []
        for read in read_rows(rows.mappings(), self._study, after):
            if isinstance(read, Damage):
                raise DamagedError(self._name, read.number, read.complaint)
            events.append(read)
        return events

    def holds(self, event: Event) -> bool:
        """True if the study still holds an event; False after it was deleted or replaced."""
        with self._database.reading(self.this_thread.patient) as connection:
            mine = (EVENTS.c.study == self._study) & (EVENTS.c.number == event.number)
            # The next study that is made may get the number of one that was deleted.
            return connection.execute(sa.select(EVENTS.c.time).where(mine)).scalar() == event.time

    def examine(self) -> tuple[list[Event | Damage], int]:
        """All events, damaged ones included, and how many of them have no checksum."""
        try:
            with self._database.reading() as connection:
                rows = self._rows(connection, select_rows(self._study, 0, self._has_checksums))
                last = self._last_number(connection)
        except ConnectionLostError:
            raise
        except StorageError:  # a damaged page: the others may still be read
            rows, last = self._readable_rows()
        found = list(read_rows(rows, self._study, 0))
        there = max((read.number for read in found), default=0)
        found += [Damage(number, "is missing") for number in range(there + 1, last + 1)]
        return found, sum(row.get("checksum") is None for row in rows)

    def _readable_rows(self) -> tuple[list[dict[str, Any]], int]:
        """The rows that can be read one by one, and how many were recorded, as far as is known."""
        last, rows = 0, []
        with suppress(StorageError), self._database.reading() as connection:
            last = self._last_number(connection)
        number = 0
        while number < last:
            number += 1
            one = select_rows(self._study, number - 1, self._has_checksums)
            with suppress(StorageError), self._database.reading() as connection:
                rows += self._rows(connection, one.where(EVENTS.c.number == number))
        return rows, last

    def _rows(self, connection: sa.Connection, query: sa.Select[Any]) -> list[dict[str, Any]]:
        return [dict(row) for row in connection.execute(query).mappings()]

    def _last_number(self, connection: sa.Connection) -> int:
        """The number of the last event that was recorded, as far as is known."""
        mine = EVENTS.c.study == self._study
        last: Any = connection.execute(sa.select(sa.func.max(EVENTS.c.number)).where(mine)).scalar()
        counted: Any = None
        if self._has_checksums:
            study = STUDIES.c.id == self._study
            counted = connection.execute(sa.select(STUDIES.c.events).where(study)).scalar()
        return max((n for n in (last, counted) if isinstance(n, int)), default=0)

    def _check_count(self, there: int, counted: object) -> None:
        if isinstance(counted, int) and there < counted:
            raise DamagedError(
                self._name, there + 1, f"is missing, of {counted} that were recorded"
            )

    @contextmanager
    def turn(self, after: int, batch: str = "") -> Iterator[DatabaseTurn]:
        """Wait for a turn to write. At its end all appended events are recorded, or none."""
        began = time.monotonic()
        with self._database.exclusive(self.this_thread.patient) as connection:
            waited = time.monotonic() - began
            # In PostgreSQL the writers of a study wait for this row.
            row = connection.execute(
                sa.select(STUDIES.c.decider, STUDIES.c.events)
                .where(STUDIES.c.id == self._study)
                .with_for_update()
            ).one_or_none()
            if row is None:
                raise StorageError(
                    f"the study is no longer in {self._database.where}: somebody deleted it"
                )
            news = self._events(connection, after)
            self._check_count(after + len(news), row.events)
            turn = DatabaseTurn(connection, self._study, after, news, row.decider, batch, waited)
            yield turn
            turn.finish()
            excuse(connection, time.monotonic() - began)

    def beat(self, worker: Worker, lease: float) -> None:
        """Record that a worker is alive, and will report again within `lease` seconds."""
        self._database.beat(worker, lease)

    def close(self) -> None:
        """Close all connections."""
        self._database.close()


class DatabaseTurn:
    """A turn to write to a log in a database: an open transaction."""

    def __init__(
        self,
        connection: sa.Connection,
        study: int,
        after: int,
        news: Sequence[Event],
        decider: str | None,
        batch: str,
        waited: float,
    ) -> None:
        self._connection = connection
        self._study = study
        self._batch = batch
        self._waited = waited
        self._before = decider
        self.decider = decider
        self.news = news
        self._length = after + len(news)
        last = sa.select(sa.func.max(EVENTS.c.number)).where(EVENTS.c.study == study)
        if (connection.execute(last).scalar() or 0) != self._length:
            raise StorageError(
                "the study no longer holds what was read of it: somebody deleted or replaced it"
            )
        self.appended: list[Event] = []
        self._texts: dict[int, str] = {}

    def append(self, kind: str, data: Data, text: str | None = None) -> Event:
        """Record one more event."""
        number = self._length + len(self.appended) + 1
        if text is not None:
            self._texts[number] = text
        self.appended.append(Event(number, kind, data, self.now()))
        return self.appended[-1]

    def arrived(self) -> bool:
        """Whether this batch is recorded already, by an attempt whose confirmation was lost."""
        mine = (EVENTS.c.study == self._study) & (EVENTS.c.batch == self._batch)
        found = self._connection.execute(sa.select(EVENTS.c.number).where(mine).limit(1))
        return found.scalar() is not None

    def alive(self, worker: str) -> bool:
        """Whether a worker still runs, by its heartbeat and, on this machine, its process."""
        return is_alive(self._connection, worker, self._waited)

    def now(self) -> float:
        """The time by the database's clock, which all workers share."""
        return now(self._connection)

    def finish(self) -> None:
        """Write what was appended."""
        changes: dict[str, Any] = {}
        if self.appended:
            rows = [
                row_of(event, self._study, self._batch, self._texts.get(event.number))
                for event in self.appended
            ]
            self._connection.execute(sa.insert(EVENTS), rows)
            changes["events"] = self.appended[-1].number
        if self.decider != self._before:
            changes["decider"] = self.decider
        if changes:
            mine = STUDIES.c.id == self._study
            self._connection.execute(sa.update(STUDIES).where(mine).values(changes))

"""Events as rows of a table, each with a checksum that tells whether it is what was recorded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from grisaille.storage.event_log import Event, Kind, text_of
from grisaille.storage.schema import EVENTS

# The last second of the year 9999, which ends what dates can show.
_LAST_MOMENT = 253402300799.0


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
        "kind": str(event.kind),
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
    if row["kind"] not in list(Kind):
        return Damage(number, f"is of an unknown kind, {row['kind']!r}")
    if not (isinstance(time, int | float) and 0 <= time <= _LAST_MOMENT):
        return Damage(number, f"has no time, but {time!r}")
    try:
        data = json.loads(row["data"])
    except (TypeError, ValueError, RecursionError) as error:
        return Damage(number, f"holds no JSON ({error})")
    if not isinstance(data, dict):
        return Damage(number, "holds no JSON object")
    return Event(number, Kind(row["kind"]), data, float(time))


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

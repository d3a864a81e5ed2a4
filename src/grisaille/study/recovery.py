"""The whole part of a damaged study."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from grisaille.study.events import Abandoned, Changed, Observed, Suggested, Told, is_newer
from grisaille.study.log.database import Damage
from grisaille.study.log.event_log import DamagedError, Data, Event
from grisaille.study.state import StudyState, TrialState


@dataclass(slots=True)
class Recovery:
    """Everything that can be kept of the events of a study, in their order.

    An event that is damaged, or that does not fit without a damaged one, is left out. Its answer is
    kept as an observation if the question is known. Recovery ends at an event of a newer version:
    without its effect, later events cannot be checked.

    Attributes:
        events: What is kept, numbered without gaps.
        left_out: What is not, by its former number.
        state: The study that the kept events make.
        newer: The first event that a newer version recorded; the study must not be saved then.
    """

    events: list[Event] = field(default_factory=list)
    left_out: list[Damage] = field(default_factory=list)
    state: StudyState = field(default_factory=StudyState)
    newer: Event | None = None

    def keep(self, kind: str, data: Data, time: float) -> None:
        """Keep an event; raises DamagedError if it does not fit."""
        event = Event(len(self.events) + 1, kind, data, time)
        self.state.apply([event])
        self.events.append(event)


def recover(found: Iterable[Event | Damage]) -> Recovery:
    """Keep what fits of all events of a study."""
    found = list(found)
    recovery = Recovery()
    asked = _questions(found)
    kept_until: dict[int, int] = {}  # by former number, how many events are kept
    for read in found:
        if isinstance(read, Damage):
            recovery.left_out.append(read)
        elif recovery.newer is None and is_newer(read):
            recovery.newer = read
        elif recovery.newer is None:
            _take(recovery, read, asked, kept_until)
        kept_until[read.number] = len(recovery.events)
    if recovery.left_out and recovery.events and recovery.newer is None:
        _close(recovery)
    return recovery


def _take(
    recovery: Recovery, event: Event, asked: dict[str, Data], kept_until: dict[int, int]
) -> None:
    data = event.data
    if event.kind == Suggested.kind and isinstance(data.get("known"), int):
        data = {**data, "known": kept_until.get(data["known"], 0)}
    try:
        recovery.keep(event.kind, data, event.time)
    except DamagedError as error:
        recovery.left_out.append(Damage(event.number, error.complaint))
    else:
        return
    if event.kind == Told.kind and (query := asked.get(str(data.get("query")))) is not None:
        answer: dict[str, Any] = {"inputs": [query["inputs"]], "outputs": [data.get("outputs")]}
        try:
            recovery.keep(Observed.kind, {"box": query["box"], **answer}, event.time)
        except DamagedError:
            return
        recovery.left_out[-1] = replace(
            recovery.left_out[-1],
            complaint=f"{recovery.left_out[-1].complaint}; its answer is kept as an observation",
        )


def _questions(found: Iterable[Event | Damage]) -> dict[str, Data]:
    """Box and inputs of all queries that are known, by id."""
    queries = (
        query
        for event in found
        if isinstance(event, Event)
        for key in ("queries", "ready")
        if isinstance(event.data.get(key), list)
        for query in event.data[key]
    )
    return {
        str(q["id"]): q for q in queries if isinstance(q, dict) and {"id", "box", "inputs"} <= {*q}
    }


def _close(recovery: Recovery) -> None:
    """Let the study go on: end trials that nothing else would end, and refuse wrong replays."""
    time = recovery.events[-1].time
    for trial in list(recovery.state.trials.values()):
        if trial.state is TrialState.PENDING and not any(query.is_open for query in trial.queries):
            lost = "its outcome was lost with a damaged database"
            recovery.keep(Abandoned.kind, Abandoned(trial.number, lost).plain(), time)
    # Decisions were made from more than is left, so none of them can be derived again.
    recovery.keep(Changed.kind, dict(recovery.state.settings), time)

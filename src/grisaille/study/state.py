"""What a log says: the trials of a study, its queries and their answers.

A ledger is built from events alone. It needs no problem, so a study can be listed, shown and
exported by whoever has the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from grisaille.records import NO_BOUND, Failure, History, Observation, Pending, Suggestion, Trial
from grisaille.storage.log import Data, Event
from grisaille.study.encoding import from_plain, suggestion_from_plain

Array = NDArray[np.float64]


class QueryState(StrEnum):
    """How far a query is."""

    WAITING = "waiting"
    ASKED = "asked"
    TOLD = "told"
    FAILED = "failed"
    DROPPED = "dropped"


@dataclass(slots=True)
class QueryEntry:
    """One evaluation of one black box that a trial needs.

    Attributes:
        id: Trial and place, such as `12-1`.
        trial: Number of the trial.
        box: Name of the black box.
        inputs: Flat inputs.
        calls: The calls of the chain that its answer serves; none for a probe.
        state: How far it is.
        holder: Name of the worker that has it, if one has.
        until: When it may be given to another, if it was lent for a time.
        asked: When it was handed out last.
        attempts: How often it failed.
        losses: How often its worker was lost.
        outputs: Its answer.
        seconds: What the answer took.
        reason: Why it failed last.
    """

    id: str
    trial: int
    box: str
    inputs: Array
    calls: tuple[int, ...]
    state: QueryState = QueryState.WAITING
    holder: str | None = None
    until: float | None = None
    asked: float = 0.0
    attempts: int = 0
    losses: int = 0
    outputs: Array | None = None
    seconds: float = 0.0
    reason: str = ""

    @property
    def is_open(self) -> bool:
        """Whether an answer is still to come."""
        return self.state in (QueryState.WAITING, QueryState.ASKED)


class TrialState(StrEnum):
    """How far a trial is."""

    PENDING = "pending"
    COMPLETE = "complete"
    PARTIAL = "partial"
    BROKEN = "broken"


@dataclass(slots=True)
class TrialEntry:
    """A trial, from its suggestion to its end.

    Attributes:
        number: Counts from 1.
        suggestion: What was asked.
        remaining: Trials that were left when it was decided, itself included.
        budget: Cost that was left.
        known: Number of the last event that the decision could know of.
        seconds: What the decision took.
        queries: Its queries, in the order they became ready.
        told: Those that are answered, in the order of their answers.
        state: How far it is.
        record: The trial with all that it taught, once it is complete.
        reason: Why it broke off, if it did.
        started: When it was suggested, in seconds since 1970.
        ended: When it came to its end, whatever that was; None while it is under way.
    """

    number: int
    suggestion: Suggestion
    remaining: int | None
    budget: float | None
    known: int
    seconds: float
    queries: list[QueryEntry] = field(default_factory=list)
    told: list[QueryEntry] = field(default_factory=list)
    state: TrialState = TrialState.PENDING
    record: Trial | None = None
    reason: str = ""
    started: float = 0.0
    ended: float | None = None

    def answers(self) -> dict[int, Array]:
        """Outputs of those calls of the chain that are answered, by call."""
        return {c: q.outputs for q in self.told for c in q.calls if q.outputs is not None}

    def query_for(self, call: int) -> QueryEntry | None:
        """The query whose answer serves a call of the chain, if there is one yet."""
        return next((q for q in self.queries if call in q.calls), None)


class Ledger:
    """The state of a study after some of its events.

    Attributes:
        position: Number of the last event it includes.
        settings: What the study was created with, as changed since.
        trials: All trials by number.
        queries: All queries by id.
        changed: Number of the event that last changed problem or strategy; 0 if none did.
        failed_attempts: How many attempts failed or were lost, by black box.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.position = 0
        self.settings: Data = {}
        self.changed = 0
        self.trials: dict[int, TrialEntry] = {}
        self.queries: dict[str, QueryEntry] = {}
        self.failed_attempts: dict[str, int] = {}
        self._complete: list[Trial] = []
        # Answers by query, or by event for those made elsewhere, until their trial is complete.
        self._loose: dict[str, Observation] = {}
        self._failures: list[Failure] = []
        self.apply(events)

    def apply(self, events: Iterable[Event]) -> None:
        """Include more events; those it has seen are passed over."""
        for event in events:
            if event.number > self.position:
                getattr(self, f"_{event.kind}")(event)
                self.position = event.number

    def history(self) -> History:
        """Everything observed."""
        return History(tuple(self._complete), tuple(self._loose.values()), tuple(self._failures))

    def pending(self) -> tuple[Pending, ...]:
        """Trials under way."""
        return tuple(
            Pending(
                entry.suggestion,
                entry.answers(),
                tuple(
                    entry.suggestion.probes[probe]
                    for q in entry.queries
                    if (probe := probe_of(q)) is not None and q.is_open
                ),
            )
            for entry in self.trials.values()
            if entry.state is TrialState.PENDING
        )

    def elsewhere(self) -> list[Observation]:
        """The answers that were made elsewhere, and belong to no query."""
        return [seen for key, seen in self._loose.items() if key not in self.queries]

    def count(self, *states: TrialState) -> int:
        """How many trials are in one of some states."""
        return sum(entry.state in states for entry in self.trials.values())

    def waiting(self) -> Iterator[QueryEntry]:
        """Queries that nobody has, the oldest trial's first, its chain before its probes."""
        ready = (
            q
            for entry in self.trials.values()
            if entry.state is TrialState.PENDING
            for q in sorted(entry.queries, key=_order)
        )
        return (q for q in ready if q.state is QueryState.WAITING)

    def asked(self) -> list[QueryEntry]:
        """Queries that somebody has."""
        return [q for q in self.queries.values() if q.state is QueryState.ASKED]

    def _created(self, event: Event) -> None:
        self.settings = event.data

    def _changed(self, event: Event) -> None:
        # Answers of boxes that the problem no longer has are still there.
        boxes = {**self.settings["boxes"], **event.data.get("boxes", {})}
        self.settings = {**self.settings, **event.data, "boxes": boxes}
        if "problem" not in event.data:
            return
        self.changed = event.number
        for entry in self.trials.values():  # what was promised was about something else
            entry.suggestion = _without_promises(entry.suggestion)
            if entry.record is not None:
                place = self._place_of(entry.record)
                entry.record = replace(entry.record, suggestion=entry.suggestion)
                self._complete[place] = entry.record

    def _suggested(self, event: Event) -> None:
        data = event.data
        entry = TrialEntry(
            data["trial"],
            suggestion_from_plain(data["suggestion"]),
            data["remaining"],
            data["budget"],
            data["known"],
            data["seconds"],
            started=event.time,
        )
        self.trials[entry.number] = entry
        self._make_ready(entry, data["queries"])

    def _make_ready(self, entry: TrialEntry, queries: Iterable[Data]) -> None:
        for data in queries:
            known = self.queries.get(data["id"])
            calls = tuple(data["calls"])
            if known is not None:  # the same inputs serve another call too
                known.calls = (*known.calls, *calls)
                continue
            query = QueryEntry(
                data["id"], entry.number, data["box"], from_plain(data["inputs"]), calls
            )
            self.queries[query.id] = query
            entry.queries.append(query)

    def _asked(self, event: Event) -> None:
        query = self.queries[event.data["query"]]
        query.state = QueryState.ASKED
        query.holder, query.until = event.data["holder"], event.data["until"]
        query.asked = event.time

    def _told(self, event: Event) -> None:
        query = self.queries[event.data["query"]]
        entry = self.trials[query.trial]
        query.state, query.holder = QueryState.TOLD, None
        query.outputs = from_plain(event.data["outputs"])
        query.seconds = event.data["seconds"]
        entry.told.append(query)
        self._loose[query.id] = Observation(query.box, query.inputs, query.outputs)
        self._make_ready(entry, event.data["ready"])

    def _ready(self, event: Event) -> None:
        self._make_ready(self.trials[event.data["trial"]], event.data["ready"])

    def _failed(self, event: Event) -> None:
        data = event.data
        query = self.queries[data["query"]]
        query.holder = None
        query.reason = data["reason"]
        query.attempts += not data["lost"]
        query.losses += data["lost"]
        self.failed_attempts[query.box] = self.failed_attempts.get(query.box, 0) + 1
        query.state = QueryState.FAILED if data["final"] else QueryState.WAITING
        if data["counts"]:
            x = self.trials[query.trial].suggestion.x
            self._failures.append(Failure(query.box, query.inputs, query.reason, query.trial, x))

    def _released(self, event: Event) -> None:
        query = self.queries[event.data["query"]]
        query.state, query.holder, query.until = QueryState.WAITING, None, None

    def _observed(self, event: Event) -> None:
        data = event.data
        for row, (inputs, outputs) in enumerate(zip(data["inputs"], data["outputs"], strict=True)):
            observation = Observation(data["box"], from_plain(inputs), from_plain(outputs))
            self._loose[f"{event.number}/{row}"] = observation

    def _completed(self, event: Event) -> None:
        data = event.data
        entry = self.trials[data["trial"]]
        self._retract(entry)
        if entry.ended is None:  # under a changed problem it is completed once more
            entry.ended = event.time
        if data["objective"] is None:
            entry.state = TrialState.PARTIAL
            return
        entry.state = TrialState.COMPLETE
        seen = [
            Observation(q.box, q.inputs, q.outputs) for q in entry.told if q.outputs is not None
        ]
        entry.record = Trial(
            entry.number,
            entry.suggestion,
            float(from_plain([data["objective"]])[0]),
            from_plain(data["constraints"]),
            from_plain(data["chain"]),
            tuple(seen),
            (entry.seconds, sum(q.seconds for q in entry.told)),
        )
        self._complete.append(entry.record)
        for query in entry.told:
            self._loose.pop(query.id, None)

    def _retract(self, entry: TrialEntry) -> None:
        """Forget what a trial came to: under a changed problem it comes to something else."""
        if entry.record is None:
            return
        del self._complete[self._place_of(entry.record)]
        entry.record = None
        for query in entry.told:
            assert query.outputs is not None
            self._loose[query.id] = Observation(query.box, query.inputs, query.outputs)

    def _place_of(self, record: Trial) -> int:
        return next(i for i, trial in enumerate(self._complete) if trial is record)

    def _abandoned(self, event: Event) -> None:
        entry = self.trials[event.data["trial"]]
        entry.state = TrialState.BROKEN
        entry.reason = event.data["reason"]
        entry.ended = event.time
        for query in entry.queries:
            if query.state is QueryState.WAITING:
                query.state = QueryState.DROPPED


def _without_promises(suggestion: Suggestion) -> Suggestion:
    return replace(suggestion, bound=NO_BOUND, optimum=None)


def query_id(trial: int, call: int | None = None, probe: int | None = None) -> str:
    """The name of a query: `12-1` for the first call of trial 12's chain, `12-p1` for a probe."""
    return f"{trial}-{call + 1}" if call is not None else f"{trial}-p{(probe or 0) + 1}"


def probe_of(query: QueryEntry) -> int | None:
    """Which of its suggestion's probes a query is; None for a call of the chain."""
    place = query.id.rsplit("-", 1)[1]
    return int(place[1:]) - 1 if place.startswith("p") else None


def _order(query: QueryEntry) -> tuple[bool, int]:
    """Calls of the chain in their order, then probes in theirs."""
    probe = probe_of(query)
    return probe is not None, min(query.calls, default=0) if probe is None else probe

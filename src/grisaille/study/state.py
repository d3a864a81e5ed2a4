"""The state of a study, computed from its log: trials, queries and their answers.

It is built from events alone and needs no problem: whoever has the database can list, show and
export a study.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from grisaille.array_types import Array
from grisaille.errors import printable
from grisaille.language.value_kinds import Value, kinds_from_plain, readable_inputs
from grisaille.records import (
    NO_BOUND,
    Failure,
    History,
    Observation,
    Pending,
    Suggestion,
    TrialKind,
    first_tested,
)
from grisaille.reporting.trial_data import TrialData, trial_data
from grisaille.storage.event_log import Data, Event, Kind
from grisaille.study.encoding import from_plain, suggestion_from_plain
from grisaille.study.event_checks import check_event
from grisaille.study.event_fields import LAST_MOMENT
from grisaille.study.identity import learned_of
from grisaille.study.trial_outcomes import TrialOutcomes, observation
from grisaille.study.trials_and_queries import (
    QueryEntry,
    QueryState,
    TrialEntry,
    TrialState,
    asking_order,
    probe_of,
)

# Events after which a result is the same.
_TEACH_NOTHING = (Kind.SUGGESTED, Kind.ASKED, Kind.RELEASED, Kind.READY)
# What changes which trials the rows make that were observed elsewhere; a changed problem does, too.
_CHANGES_OF_ROWS = {Kind.OBSERVED, Kind.ASSEMBLED, Kind.CORRECTED, Kind.RETRACTED}


class StudyState:
    """The state of a study after some of its events.

    Attributes:
        position: Number of the last event it includes.
        settings: What the study was created with, as changed since.
        trials, queries: All trials by number, all queries by id.
        changed: Number of the event that last changed problem or strategy; 0 if none did.
        learned: Number of the last event that a result depends on.
        believed: What the latest decision believed of the best trial; None if it was observed
            without noise.
        rows_changed: Number of the event that last changed answers made elsewhere or their trials.
        failed_attempts: How many attempts failed or were lost, by black box.
        last_seen: When each worker last took or answered a query, in seconds since 1970.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.position = 0
        self.settings: Data = {}
        self.changed = 0
        self.learned = 0
        self.believed: Data | None = None
        self.rows_changed = 0
        self.trials: dict[int, TrialEntry] = {}
        self.queries: dict[str, QueryEntry] = {}
        self.failed_attempts: dict[str, int] = {}
        self.last_seen: dict[str, float] = {}
        self._outcomes = TrialOutcomes(self.trials, self.queries)
        self._failures: list[Failure] = []
        self._history: History | None = None
        self._tested: tuple[History, float] | None = None
        self.apply(events)

    def apply(self, events: Iterable[Event]) -> None:
        """Include more events; skips those that are included already.

        Raises:
            DamagedError: An event does not fit the others; those before it are included.
        """
        for event in events:
            if event.number > self.position:
                check_event(self, event)
                self._apply(event)
                self.position = event.number
                if event.kind in _CHANGES_OF_ROWS:
                    self.rows_changed = event.number
                if event.kind is Kind.CHANGED and "problem" not in event.data:
                    continue  # names and limits change nothing that was observed
                self._history = None
                if event.kind not in _TEACH_NOTHING:
                    self.learned = event.number

    def history(self) -> History:
        """Everything observed; the same object until another event is included."""
        if self._history is None:
            trials, loose = (
                tuple(self._outcomes.complete.values()),
                tuple(self._outcomes.loose.values()),
            )
            self._history = History(trials, loose, tuple(self._failures))
        return self._history

    def pending(self) -> tuple[Pending, ...]:
        """The pending trials."""
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

    def answer(self, name: str) -> Observation | None:
        """The answer to a query, or an observed row, by its name; None if there is none."""
        return self._outcomes.answer(name)

    def rows(self) -> dict[str, Observation]:
        """All rows that were observed elsewhere, by their names, such as `12/1`."""
        return self._outcomes.rows()

    def has_row(self, name: str) -> bool:
        """Return whether a name is one of `rows`."""
        return self._outcomes.has_row(name)

    def free_rows(self) -> dict[str, Observation]:
        """Those of `rows` that belong to no trial: each of them can begin one."""
        return self._outcomes.free_rows()

    def elsewhere(self) -> list[Observation]:
        """The answers that were made elsewhere and belong to no query."""
        return list(self.rows().values())

    def box_names(self) -> list[str]:
        """The black boxes of the problem, then those it had before it was changed."""
        return list(self.settings["boxes"])

    def trial_data(self, trial: TrialEntry) -> TrialData:
        """A trial in the user's sense and names."""
        record = trial.record
        seen: Iterable[QueryEntry | Observation] = (
            trial.told if record is None else record.observations
        )
        return trial_data(
            trial.suggestion,
            record,
            [answer.box for answer in seen],
            sense=int(self.settings["sense"]),
            entries=self.settings["entries"],
            kinds=kinds_from_plain(self.settings.get("kinds"), len(self.settings["entries"])),
            boxes=self.box_names(),
            tested=trial.number >= self._tested_since(),
        )

    def _tested_since(self) -> float:
        """The number of the trial after which bands are tested; worked out once for a history."""
        history = self.history()
        if self._tested is None or self._tested[0] is not history:
            self._tested = history, first_tested(learned_of(self.settings), history)
        return self._tested[1]

    def readable_inputs(self, box: str, inputs: Array) -> list[Value]:
        """Inputs of a black box as people read them: with labels and whole numbers."""
        kinds = self.settings["boxes"].get(box, {}).get("kinds")
        return readable_inputs(kinds_from_plain(kinds, inputs.size), inputs)

    def count(self, *states: TrialState) -> int:
        """How many trials are in one of some states."""
        return sum(entry.state in states for entry in self.trials.values())

    def made(self) -> int:
        """How many trials were made here; others were made elsewhere, and count for no limit."""
        return sum(not entry.is_data for entry in self.trials.values())

    def waiting(self, most: int | None = None) -> Iterator[QueryEntry]:
        """Queries that nobody has, the oldest trial's first, its chain before its probes.

        Args:
            most: Of so many trials only, the first ones made here; None for all.
        """
        made = [number for number, entry in self.trials.items() if not entry.is_data]
        later = set() if most is None else set(made[most:])
        pending = [
            entry
            for number, entry in self.trials.items()
            if entry.state is TrialState.PENDING and number not in later
        ]
        pending.sort(key=lambda entry: (entry.rank is None, entry.rank))
        ready = (q for entry in pending for q in sorted(entry.queries, key=asking_order))
        return (q for q in ready if q.state is QueryState.WAITING)

    def asked(self) -> list[QueryEntry]:
        """Queries that somebody has."""
        return [q for q in self.queries.values() if q.state is QueryState.ASKED]

    def others_at_work(self, worker: str, since: float) -> int:
        """How many other workers hold a query, or took or answered one since a moment."""
        holders = {query.holder for query in self.asked()}
        recent = {name for name, moment in self.last_seen.items() if moment >= since}
        return len((holders | recent) - {worker, None})

    def _apply(self, event: Event) -> None:
        data = event.data
        match event.kind:
            case Kind.CREATED:
                self.settings = data
            case Kind.CHANGED:
                self._changed(event)
            case Kind.SUGGESTED:
                self._suggested(event)
            case Kind.ASKED:
                query = self.queries[data["query"]]
                query.state, query.asked = QueryState.ASKED, event.time
                query.holder, until = data["holder"], data["until"]
                self._see(query.holder, event)
                query.until = None if until is None else min(until, LAST_MOMENT)
            case Kind.TOLD:
                self._told(event)
            case Kind.READY:
                self._make_ready(self.trials[data["trial"]], data["ready"])
            case Kind.FAILED:
                self._failed(data)
            case Kind.RELEASED:
                query = self.queries[data["query"]]
                query.state, query.holder, query.until = QueryState.WAITING, None, None
            case Kind.OBSERVED:
                self._observed(event)
            case Kind.COMPLETED:
                self._completed(event)
            case Kind.ABANDONED:
                self._abandoned(event)
            case Kind.MOVED:
                self._outcomes.move(data)
            case Kind.CORRECTED:
                self.believed = None  # it rests on what was wrong
                self._outcomes.correct(data)
            case Kind.RETRACTED:
                self.believed = None
                self._outcomes.retract(data)
            case Kind.REOPENED:
                self._reopened(data)
            case Kind.ASSEMBLED:
                self._assembled(event)

    def _see(self, worker: str | None, event: Event) -> None:
        if worker is not None:
            self.last_seen[worker] = event.time

    def _changed(self, event: Event) -> None:
        # Answers of boxes that the problem no longer has are kept.
        boxes = {**self.settings["boxes"], **event.data.get("boxes", {})}
        self.settings = {**self.settings, **event.data, "boxes": boxes}
        if "problem" not in event.data:
            return
        self.changed = self.rows_changed = event.number
        self.believed = None
        for entry in self.trials.values():  # their bounds were for another problem
            suggestion = replace(entry.suggestion, bound=NO_BOUND, optimum=None)
            self._outcomes.with_suggestion(entry, suggestion)

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
            gap_tol=data.get("gap_tol"),  # version 0.1 did not record it
            made_on=data.get("made_on"),  # nor did version 0.2 this
        )
        self.trials[entry.number] = entry
        if entry.suggestion.kind.is_chosen:
            self.believed = data.get("believed")
        self._make_ready(entry, data["queries"])

    def _make_ready(self, entry: TrialEntry, queries: Iterable[Data]) -> None:
        for data in queries:
            known = self.queries.get(data["id"])
            calls = tuple(data["calls"])
            if known is not None:  # another call has the same inputs
                known.calls = (*known.calls, *calls)
                continue
            inputs = from_plain(data["inputs"])
            query = QueryEntry(data["id"], entry.number, data["box"], inputs, inputs, calls)
            self.queries[query.id] = query
            entry.queries.append(query)

    def _told(self, event: Event) -> None:
        data, query = event.data, self.queries[event.data["query"]]
        entry = self.trials[query.trial]
        self._see(query.holder, event)
        query.state, query.holder = QueryState.TOLD, None
        query.outputs, query.recorded = from_plain(data["outputs"]), event.number
        query.seconds = data["seconds"]
        if "inputs" in data:  # what was really done
            query.inputs = from_plain(data["inputs"])
        entry.told.append(query)
        self._outcomes.loose[query.id] = observation(query)
        self._make_ready(entry, data["ready"])

    def _failed(self, data: Data) -> None:
        query = self.queries[data["query"]]
        query.holder = None
        query.reason = printable(data["reason"])
        query.attempts += not data["lost"]
        query.losses += data["lost"]
        self.failed_attempts[query.box] = self.failed_attempts.get(query.box, 0) + 1
        query.state = QueryState.FAILED if data["final"] else QueryState.WAITING
        if data["counts"]:
            x = self.trials[query.trial].suggestion.x
            self._failures.append(Failure(query.box, query.inputs, query.reason, query.trial, x))

    def _observed(self, event: Event) -> None:
        box, rows = event.data["box"], zip(event.data["inputs"], event.data["outputs"], strict=True)
        for row, (inputs, outputs) in enumerate(rows):
            seen = Observation(box, from_plain(inputs), from_plain(outputs), event.number)
            self._outcomes.loose[f"{event.number}/{row + 1}"] = seen

    def _completed(self, event: Event) -> None:
        data = event.data
        entry = self.trials[data["trial"]]
        self._outcomes.forget(entry)
        entry.ended = entry.ended or event.time  # a changed problem completes it again
        if data["objective"] is None:
            entry.state = TrialState.PARTIAL
            return
        self._outcomes.finish(entry, data)

    def _abandoned(self, event: Event) -> None:
        entry = self.trials[event.data["trial"]]
        entry.state = TrialState.BROKEN
        entry.reason = printable(event.data["reason"])
        entry.ended = event.time
        for query in entry.queries:
            if query.state is QueryState.WAITING:
                query.state = QueryState.DROPPED

    def _reopened(self, data: Data) -> None:
        """Let a trial be pending again: its answers serve these calls, others are asked for."""
        entry = self.trials[data["trial"]]
        self._outcomes.forget(entry)
        entry.state, entry.ended, entry.rank = TrialState.PENDING, None, data["rank"]
        entry.given = {int(call): from_plain(outputs) for call, outputs in data["given"].items()}
        for query in entry.queries:
            query.calls = tuple(data["calls"].get(query.id, ()))
            if query.is_open and not query.calls and probe_of(query) is None:
                query.state, query.holder = QueryState.DROPPED, None
        self._make_ready(entry, data["ready"])

    def _assembled(self, event: Event) -> None:
        """Add trials that were made elsewhere, from rows that were observed."""
        for data in event.data["trials"]:
            suggestion = Suggestion(TrialKind.DATA, from_plain(data["x"]))
            number, time = len(self.trials) + 1, event.time
            entry = TrialEntry(number, suggestion, None, None, event.number, 0.0)
            entry.started = entry.ended = time
            entry.rows = tuple(data["rows"])
            self.trials[number] = entry
            self._outcomes.finish(entry, data)

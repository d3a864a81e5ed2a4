"""The state of a study, computed from its log: trials, queries and their answers.

It is built from events alone and needs no problem: whoever has the database can list, show and
export a study.

The trials and the cost that a study has left.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from msgspec import UNSET

from grisaille.array_types import Array
from grisaille.errors import printable
from grisaille.language.problem import Problem
from grisaille.language.values import Value, kinds_from_plain, readable_inputs
from grisaille.records import (
    NO_BOUND,
    Failure,
    History,
    Observation,
    Pending,
    Suggestion,
    Trial,
    TrialKind,
    first_tested,
)
from grisaille.study.events import (
    Abandoned,
    Asked,
    Assembled,
    Believed,
    Changed,
    Completed,
    Corrected,
    Created,
    Details,
    Failed,
    Moved,
    Observed,
    Outcome,
    Ready,
    ReadyQuery,
    Released,
    Reopened,
    Retracted,
    Suggested,
    Told,
    checked_details,
    from_plain,
    number_from_plain,
)
from grisaille.study.identity import learned_of
from grisaille.study.log.event_log import LAST_MOMENT, Data, Event
from grisaille.study.trial_tables import TrialData, trial_data

# --- trials and queries ---------------------------------------------------------------------------
# A trial and its queries, as the log tells of them.


class QueryState(StrEnum):
    """How far a query is."""

    WAITING = "waiting"
    ASKED = "asked"
    TOLD = "told"
    FAILED = "failed"
    DROPPED = "dropped"
    RETRACTED = "retracted"


@dataclass(slots=True)
class QueryEntry:
    """One evaluation of one black box that a trial needs.

    Attributes:
        id: Trial and place, such as `12-1`.
        trial: Number of the trial.
        box: Name of the black box.
        inputs: Flat inputs: those that the answer is for.
        wanted: Flat inputs that were asked for; what was really done may differ from them.
        calls: The calls of the chain that use its answer; none for a probe.
        state: How far it is.
        holder: Name of the worker that has it, if one has.
        until: When it may be given to somebody else, if it has a lease.
        asked: When it was handed out last.
        attempts: How often it failed.
        losses: How often its worker was lost.
        outputs: Its answer.
        recorded: Number of the event that recorded it.
        seconds, reason: How long the answer took; why it failed last.
    """

    id: str
    trial: int
    box: str
    inputs: Array
    wanted: Array
    calls: tuple[int, ...]
    state: QueryState = QueryState.WAITING
    holder: str | None = None
    until: float | None = None
    asked: float = 0.0
    attempts: int = 0
    losses: int = 0
    outputs: Array | None = None
    recorded: int = 0
    seconds: float = 0.0
    reason: str = ""

    @property
    def is_open(self) -> bool:
        """Whether an answer is still to come."""
        return self.state in (QueryState.WAITING, QueryState.ASKED)

    @property
    def may_have_answer(self) -> bool:
        """Whether it has an answer, or one is still to come."""
        return self.is_open or self.state is QueryState.TOLD


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
        suggestion: What was asked; at the point that was really tried, if that is another one.
        remaining, budget: Trials that were left when it was decided, itself included; and cost.
        known: Number of the last event that the decision included.
        seconds: How long the decision took.
        queries: Its queries, in the order they became ready.
        told: The answered ones, in the order of their answers.
        state: How far it is.
        record: The trial with all its observations, once it is complete.
        reason: Why it broke off, if it did.
        started, ended: When it was suggested, and completed or broke off, in seconds since 1970.
        gap_tol: The gap at which its run was to stop.
        made_on: Processor, kernels and versions with which it was decided; None if that is not
            recorded.
        asked_x: The design point that was asked for.
        given: Outputs of calls that were answered elsewhere, by call.
        rows: Names of the observed rows that it is made of, if it was tried elsewhere.
        rank: Its place among the trials that a changed problem asks more of; None for others.
        visited: Where it was before it moved, such as the rounds of a loop before the latest one.
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
    gap_tol: float | None = None
    made_on: Mapping[str, str] | None = None
    given: dict[int, Array] = field(default_factory=dict)
    rows: tuple[str, ...] = ()
    rank: int | None = None
    visited: list[Array] = field(default_factory=list)
    asked_x: Array = field(init=False)

    def __post_init__(self) -> None:
        self.asked_x = self.suggestion.x

    def answers(self) -> dict[int, Array]:
        """Outputs of the answered calls of the chain, by call."""
        told = {c: q.outputs for q in self.told for c in q.calls if q.outputs is not None}
        return {**self.given, **told}

    @property
    def is_data(self) -> bool:
        """Whether it was tried elsewhere, and its answers were added to the study."""
        return self.suggestion.kind is TrialKind.DATA

    @property
    def seconds_evaluating(self) -> float:
        """How long all its answers took together."""
        return float(sum(query.seconds for query in self.told))

    @property
    def failure(self) -> str:
        """Why evaluations failed for good, if some did."""
        failed = [query for query in self.queries if query.state is QueryState.FAILED]
        return "; ".join(f"{query.id}: {query.reason}" for query in failed)

    def open_calls(self) -> list[QueryEntry]:
        """Queries of the chain that still need an answer, in the order of the chain."""
        return sorted((q for q in self.queries if q.is_open and q.calls), key=lambda q: q.calls[0])

    def query_for(self, call: int) -> QueryEntry | None:
        """The query whose answer a call of the chain uses, if there is one yet."""
        for query in self.queries:
            if call in query.calls:
                return query
        return None


def query_id(trial: int, call: int, taken: Container[str]) -> str:
    """A name for a query of the chain: `12-1` for the first call of trial 12, if that is free.

    It is taken if the call was asked before, at inputs that are no longer right.
    """
    place = call + 1
    while f"{trial}-{place}" in taken:
        place += 1
    return f"{trial}-{place}"


def probe_id(trial: int, probe: int) -> str:
    """The name of a query besides the chain: `12-p1` for the first probe of trial 12."""
    return f"{trial}-p{probe + 1}"


def probe_of(query: QueryEntry) -> int | None:
    """Which of its suggestion's probes a query is; None for a call of the chain."""
    place = query.id.rsplit("-", 1)[1]
    return int(place[1:]) - 1 if place.startswith("p") else None


def asking_order(query: QueryEntry) -> tuple[bool, int]:
    """Sorts queries of a trial: calls of the chain in their order, then probes in theirs."""
    probe = probe_of(query)
    return probe is not None, min(query.calls, default=0) if probe is None else probe


# --- query ----------------------------------------------------------------------------------------
# A query as a user sees it.


@dataclass(frozen=True, slots=True)
class Query:
    """One evaluation of one black box that a study wants.

    Attributes:
        id: Its name within the study, such as `12-1`.
        box: Name of the black box.
        arguments: What to call it with: a float for a scalar, an `int` for an integer, a label for
            a choice, else an array.
        inputs: The same as numbers in a row: for a choice, one per label, 1 for the chosen one.
        trial: Number of the trial it belongs to.
    """

    id: str
    box: str
    arguments: tuple[Any, ...]
    inputs: Array
    trial: int


# --- trial outcomes -------------------------------------------------------------------------------
# Answers by trial: complete trials, loose answers, and corrections.


@dataclass(slots=True)
class TrialOutcomes:
    """The complete trials, and the answers that belong to none of them.

    Attributes:
        trials, queries: All trials by number, all queries by id.
        complete: The complete trials by number, in the order of their completion.
        loose: Answers that belong to no complete trial, by query; `12/1` if made elsewhere.
        made: The trials that were ever made of an observed row, by its name.
    """

    trials: dict[int, TrialEntry]
    queries: dict[str, QueryEntry]
    complete: dict[int, Trial] = field(default_factory=dict)
    loose: dict[str, Observation] = field(default_factory=dict)
    made: dict[str, list[TrialEntry]] = field(default_factory=dict)

    def answer(self, name: str) -> Observation | None:
        """The answer to a query, or an observed row, by its name; None if there is none."""
        query = self.queries.get(name)
        if query is not None:
            return None if query.outputs is None else observation(query)
        entry = self.made_of(name)
        if entry is None or entry.record is None:
            return self.loose.get(name)
        return entry.record.observations[len(entry.told) + entry.rows.index(name)]

    def has_row(self, name: str) -> bool:
        """Return whether a row of this name was observed elsewhere, and is still believed."""
        if name in self.loose:
            return name not in self.queries
        entry = self.made_of(name)
        return entry is not None and entry.record is not None

    def free_rows(self) -> dict[str, Observation]:
        """The rows that were observed elsewhere and belong to no trial, by their names."""
        found = {
            name: seen
            for name, seen in self.loose.items()
            if name not in self.queries and self.made_of(name) is None
        }
        return _in_order(found)

    def rows(self) -> dict[str, Observation]:
        """All rows that were observed elsewhere, by their names, such as `12/1`."""
        found = {name: seen for name, seen in self.loose.items() if name not in self.queries}
        for entry in self.trials.values():
            if entry.record is not None:
                elsewhere = entry.record.observations[len(entry.told) :]
                found.update(zip(entry.rows, elsewhere, strict=True))
        return _in_order(found)

    def finish(self, entry: TrialEntry, outcome: Outcome) -> None:
        """Let a trial be complete, with its own answers and the rows that it is made of."""
        entry.state = TrialState.COMPLETE
        assert outcome.objective is not None  # the event was checked
        assert outcome.constraints is not UNSET
        assert outcome.chain is not UNSET
        seen = [observation(query) for query in entry.told]
        entry.rows = tuple(row for row in entry.rows if row in self.loose)
        for row in entry.rows:
            self.made.setdefault(row, []).append(entry)
        seen += [self.loose.pop(row) for row in entry.rows]
        entry.record = Trial(
            entry.number,
            entry.suggestion,
            float(outcome.objective),
            from_plain(outcome.constraints),
            from_plain(outcome.chain),
            tuple(seen),
            (entry.seconds, entry.seconds_evaluating),
            entry.known,
            None if outcome.allowed is UNSET else from_plain(outcome.allowed),
            None if outcome.lenient is UNSET else from_plain(outcome.lenient),
        )
        self.complete[entry.number] = entry.record
        for query in entry.told:
            self.loose.pop(query.id, None)

    def forget(self, entry: TrialEntry) -> None:
        """Take the outcome of a trial back: it has another one now, or none."""
        if entry.record is None:
            return
        del self.complete[entry.number]
        self.loose.update({query.id: observation(query) for query in entry.told})
        elsewhere = entry.record.observations[len(entry.told) :]
        self.loose.update(zip(entry.rows, elsewhere, strict=True))
        entry.record = None

    def with_suggestion(self, entry: TrialEntry, suggestion: Suggestion) -> None:
        """Let a trial have another suggestion, and its record, too."""
        entry.suggestion = suggestion
        if entry.record is not None:
            entry.record = replace(entry.record, suggestion=suggestion)
            self.complete[entry.number] = entry.record

    def move(self, moved: Moved) -> None:
        """Let a trial be at the point that was really tried; open queries follow."""
        entry = self.trials[moved.trial]
        entry.visited.append(entry.suggestion.x)
        entry.suggestion = replace(entry.suggestion, x=from_plain(moved.x))
        for name, inputs in moved.queries.items():
            query = self.queries[name]
            query.inputs = query.wanted = from_plain(inputs)
            if query.outputs is not None and query.id in self.loose:
                self.loose[query.id] = observation(query)

    def correct(self, correction: Corrected) -> None:
        """Put the right answer in place of a wrong one; a trial that uses it has no outcome then.

        Answers beside the chain, and those of earlier rounds of a loop, change no outcome.
        """
        name = correction.answer
        inputs, outputs = from_plain(correction.inputs), from_plain(correction.outputs)
        if name not in self.queries:  # a row that was observed elsewhere
            entry = self.made_of(name)
            if entry is not None:
                self.forget(entry)
                entry.state, entry.rows = TrialState.PARTIAL, ()
            self.loose[name] = replace(self.loose[name], inputs=inputs, outputs=outputs)
            return
        query = self.queries[name]
        entry = self.trials[query.trial]
        if query.calls:
            self.forget(entry)
        query.inputs, query.outputs = inputs, outputs
        if entry.record is None:
            self.loose[name] = observation(query)
        else:
            self._see_again(entry, len(entry.told))

    def retract(self, retracted: Retracted) -> None:
        """Take an answer back; a trial that uses it has no outcome then."""
        name, reason = retracted.answer, printable(retracted.reason)
        query = self.queries.get(name)
        entry = self.made_of(name) if query is None else self.trials[query.trial]
        is_complete = entry is not None and entry.record is not None
        if query is not None and entry is not None and is_complete and not query.calls:
            before = len(entry.told)
            self._take_back(entry, query, reason)
            self._see_again(entry, before)
            return
        if entry is not None:
            self.forget(entry)
            if entry.state is TrialState.COMPLETE:
                entry.state = TrialState.PARTIAL
            entry.rows = tuple(row for row in entry.rows if row != name)
        if query is not None and entry is not None:
            self._take_back(entry, query, reason)
        del self.loose[name]

    def _take_back(self, entry: TrialEntry, query: QueryEntry, reason: str) -> None:
        entry.told.remove(query)
        query.state, query.outputs, query.reason = QueryState.RETRACTED, None, reason

    def _see_again(self, entry: TrialEntry, before: int) -> None:
        """Let a complete trial have the answers that it has now; it had so many of its own."""
        assert entry.record is not None
        own = [observation(query) for query in entry.told]
        seen = (*own, *entry.record.observations[before:])
        entry.record = replace(entry.record, observations=seen)
        self.complete[entry.number] = entry.record

    def made_of(self, row: str) -> TrialEntry | None:
        """The trial that an observed row belongs to, if it belongs to one."""
        made = [entry for entry in self.made.get(row, ()) if row in entry.rows]
        return min(made, key=lambda entry: entry.number, default=None)


def _in_order(rows: Mapping[str, Observation]) -> dict[str, Observation]:
    """Rows in the order in which they were recorded, which their names tell."""
    return dict(sorted(rows.items(), key=lambda row: tuple(map(int, row[0].split("/")))))


def observation(query: QueryEntry) -> Observation:
    """The answer to a query, as a record."""
    assert query.outputs is not None  # it is answered
    return Observation(query.box, query.inputs, query.outputs, query.recorded)


# --- state ----------------------------------------------------------------------------------------


class StudyState:
    """The state of a study after some of its events.

    Attributes:
        position: Number of the last event it includes.
        settings: What the study was created with, as changed since.
        trials, queries: All trials by number, all queries by id.
        changed: Number of the event that last changed problem or strategy; 0 if none did.
        taken_back: Number of the event that last corrected or retracted an answer, or changed the
            problem; 0 if none did. Decisions made before it rest on what is no longer true.
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
        self.taken_back = 0
        self.learned = 0
        self.believed: Believed | None = None
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
                details = checked_details(self, event)
                self._apply(event, details)
                self.position = event.number
                if details.changes_rows:
                    self.rows_changed = event.number
                if isinstance(details, Changed) and "problem" not in details.settings:
                    continue  # names and limits change nothing that was observed
                if details.teaches:
                    self.learned = event.number
                    self._history = None

    def history(self) -> History:
        """Return everything observed; the same object until something else was learned."""
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
        made, pending = 0, []
        for entry in self.trials.values():
            made += not entry.is_data
            is_later = most is not None and made > most and not entry.is_data
            if entry.state is TrialState.PENDING and not is_later:
                pending.append(entry)
        pending.sort(key=lambda entry: (entry.rank is None, entry.rank))
        for entry in pending:
            for query in sorted(entry.queries, key=asking_order):
                if query.state is QueryState.WAITING:
                    yield query

    def asked(self) -> list[QueryEntry]:
        """Queries that somebody has."""
        return [q for q in self.queries.values() if q.state is QueryState.ASKED]

    def others_at_work(self, worker: str, since: float) -> int:
        """How many other workers hold a query, or took or answered one since a moment."""
        holders = {query.holder for query in self.asked()}
        recent = {name for name, moment in self.last_seen.items() if moment >= since}
        return len((holders | recent) - {worker, None})

    def _apply(self, event: Event, details: Details) -> None:
        match details:
            case Changed():
                self._changed(event, details)
            case Created():
                self.settings = details.settings
            case Suggested():
                self._suggested(event, details)
            case Asked():
                query = self.queries[details.query]
                query.state, query.asked = QueryState.ASKED, event.time
                query.holder, until = details.holder, details.until
                self._see(query.holder, event)
                query.until = None if until is None else min(until, LAST_MOMENT)
            case Told():
                self._told(event, details)
            case Ready():
                self._make_ready(self.trials[details.trial], details.ready)
            case Failed():
                self._failed(details)
            case Released():
                query = self.queries[details.query]
                query.state, query.holder, query.until = QueryState.WAITING, None, None
            case Observed():
                self._observed(event, details)
            case Completed():
                self._completed(event, details)
            case Abandoned():
                self._abandoned(event, details)
            case Moved():
                self._outcomes.move(details)
            case Corrected():
                self._take_back(event)
                self._outcomes.correct(details)
            case Retracted():
                self._take_back(event)
                self._outcomes.retract(details)
            case Reopened():
                self._reopened(details)
            case Assembled():
                self._assembled(event, details)

    def _take_back(self, event: Event) -> None:
        """Forget what was believed: it rests on what is no longer true."""
        self.believed, self.taken_back = None, event.number

    def _see(self, worker: str | None, event: Event) -> None:
        if worker is not None:
            self.last_seen[worker] = event.time

    def _changed(self, event: Event, changed: Changed) -> None:
        # Answers of boxes that the problem no longer has are kept.
        boxes = {**self.settings["boxes"], **changed.settings.get("boxes", {})}
        self.settings = {**self.settings, **changed.settings, "boxes": boxes}
        if "problem" not in changed.settings:
            return
        self.changed = self.rows_changed = event.number
        self._take_back(event)
        for entry in self.trials.values():  # their bounds were for another problem
            suggestion = replace(entry.suggestion, bound=NO_BOUND, optimum=None)
            self._outcomes.with_suggestion(entry, suggestion)

    def _suggested(self, event: Event, suggested: Suggested) -> None:
        entry = TrialEntry(
            suggested.trial,
            suggested.suggestion.restored(),
            suggested.remaining,
            number_from_plain(suggested.budget),
            suggested.known,
            suggested.seconds,
            started=event.time,
            gap_tol=number_from_plain(suggested.gap_tol),
            made_on=suggested.made_on,
        )
        self.trials[entry.number] = entry
        if entry.suggestion.kind.is_chosen:
            self.believed = suggested.believed or None
        self._make_ready(entry, suggested.queries)

    def _make_ready(self, entry: TrialEntry, queries: Iterable[ReadyQuery]) -> None:
        for ready in queries:
            known = self.queries.get(ready.id)
            calls = tuple(ready.calls)
            if known is not None:  # another call has the same inputs
                known.calls = (*known.calls, *calls)
                continue
            inputs = from_plain(ready.inputs)
            query = QueryEntry(ready.id, entry.number, ready.box, inputs, inputs, calls)
            self.queries[query.id] = query
            entry.queries.append(query)

    def _told(self, event: Event, told: Told) -> None:
        query = self.queries[told.query]
        entry = self.trials[query.trial]
        self._see(query.holder, event)
        query.state, query.holder = QueryState.TOLD, None
        query.outputs, query.recorded = from_plain(told.outputs), event.number
        query.seconds = told.seconds
        if told.inputs is not UNSET:  # what was really done
            query.inputs = from_plain(told.inputs)
        entry.told.append(query)
        self._outcomes.loose[query.id] = observation(query)
        self._make_ready(entry, told.ready)

    def _failed(self, failed: Failed) -> None:
        query = self.queries[failed.query]
        query.holder = None
        query.reason = printable(failed.reason)
        query.attempts += not failed.lost
        query.losses += failed.lost
        self.failed_attempts[query.box] = self.failed_attempts.get(query.box, 0) + 1
        query.state = QueryState.FAILED if failed.final else QueryState.WAITING
        if failed.counts:
            x = self.trials[query.trial].suggestion.x
            self._failures.append(Failure(query.box, query.inputs, query.reason, query.trial, x))

    def _observed(self, event: Event, observed: Observed) -> None:
        rows = zip(observed.inputs, observed.outputs, strict=True)
        for row, (inputs, outputs) in enumerate(rows, 1):
            seen = Observation(observed.box, from_plain(inputs), from_plain(outputs), event.number)
            self._outcomes.loose[f"{event.number}/{row}"] = seen

    def _completed(self, event: Event, completed: Completed) -> None:
        entry = self.trials[completed.trial]
        self._outcomes.forget(entry)
        entry.ended = entry.ended or event.time  # a changed problem completes it again
        if completed.objective is None:
            entry.state = TrialState.PARTIAL
            return
        self._outcomes.finish(entry, completed)

    def _abandoned(self, event: Event, abandoned: Abandoned) -> None:
        entry = self.trials[abandoned.trial]
        entry.state = TrialState.BROKEN
        entry.reason = printable(abandoned.reason)
        entry.ended = event.time
        for query in entry.queries:
            if query.state is QueryState.WAITING:
                query.state = QueryState.DROPPED

    def _reopened(self, reopened: Reopened) -> None:
        entry = self.trials[reopened.trial]
        self._outcomes.forget(entry)
        entry.state, entry.ended, entry.rank = TrialState.PENDING, None, reopened.rank
        entry.given = {int(call): from_plain(outputs) for call, outputs in reopened.given.items()}
        for query in entry.queries:
            query.calls = tuple(reopened.calls.get(query.id, ()))
            if query.is_open and not query.calls and probe_of(query) is None:
                query.state, query.holder = QueryState.DROPPED, None
        self._make_ready(entry, reopened.ready)

    def _assembled(self, event: Event, assembled: Assembled) -> None:
        for made in assembled.trials:
            suggestion = Suggestion(TrialKind.DATA, from_plain(made.x))
            number, time = len(self.trials) + 1, event.time
            entry = TrialEntry(number, suggestion, None, None, event.number, 0.0)
            entry.started = entry.ended = time
            entry.rows = tuple(made.rows)
            self.trials[number] = entry
            self._outcomes.finish(entry, made)


# --- budget ---------------------------------------------------------------------------------------

DEFAULT_TRIALS = 50
"""How many trials a run makes if it is given no limit."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a study may go on.

    Attributes:
        trials: Most trials in all; None for no limit.
        cost: Most cost of all evaluations together; None for no limit.
        gap_tol: Best value and bound may be so close that it stops; None for no such limit.
    """

    trials: int | None = None
    cost: float | None = None
    gap_tol: float | None = None

    def __post_init__(self) -> None:
        # They may be NumPy's numbers, and events are plain data.
        plain = {"trials": int, "cost": float, "gap_tol": float}
        for name, make in plain.items():
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, make(value))


def left(problem: Problem, state: StudyState, limits: Limits) -> tuple[int | None, float | None]:
    """Trials and cost that are left; None where there is no limit."""
    remaining = None
    if limits.trials is not None:
        remaining = max(limits.trials - state.made(), 0)
    if limits.cost is None:
        return remaining, None
    budget = limits.cost - spent(state) - _committed(problem, state)
    affordable = int((budget + 1e-9 * limits.cost) // problem.chain_cost)
    return affordable if remaining is None else min(remaining, affordable), budget


def spent(state: StudyState) -> float:
    """The cost of all evaluations so far, failed ones included."""
    costs = _costs(state)
    told = sum(costs[q.box] for q in state.queries.values() if q.state is QueryState.TOLD)
    failed = state.failed_attempts
    return float(told + sum(costs[name] * count for name, count in failed.items()))


def _committed(problem: Problem, state: StudyState) -> float:
    """The cost that pending trials will still have."""
    costs = _costs(state)
    cost = 0.0
    for trial in state.trials.values():
        if trial.state is TrialState.PENDING:
            cost += sum(costs[q.box] for q in trial.queries if q.is_open)
            if trial.suggestion.chain:
                calls = enumerate(problem.program.calls)
                cost += sum(c.box.cost for i, c in calls if trial.query_for(i) is None)
    return cost


def _costs(state: StudyState) -> dict[str, float]:
    """The cost of each black box, with those that a changed problem no longer has."""
    return {name: box["cost"] for name, box in state.settings.get("boxes", {}).items()}

"""A trial and its queries, as the log tells of them."""

from __future__ import annotations

import itertools
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from grisaille.array_types import Array
from grisaille.records import Suggestion, Trial, TrialKind


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
        return next((q for q in self.queries if call in q.calls), None)


def query_id(trial: int, call: int, taken: Container[str]) -> str:
    """A name for a query of the chain: `12-1` for the first call of trial 12, if that is free.

    It is taken if the call was asked before, at inputs that are no longer right.
    """
    names = (f"{trial}-{place}" for place in itertools.count(call + 1))
    return next(name for name in names if name not in taken)


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

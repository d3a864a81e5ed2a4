"""Questions that are open, and answers that were given, as rows of a page."""

from __future__ import annotations

import time
from dataclasses import dataclass

from grisaille.array_types import Array
from grisaille.pages.facts import StudyFacts, number, shown
from grisaille.study.state import StudyState
from grisaille.study.trials_and_queries import QueryEntry, QueryState, TrialState

# More answers than this are left to exports.
MOST_ANSWERS = 200


@dataclass(frozen=True, slots=True)
class Question:
    """A question that is open.

    Attributes:
        id: Its id.
        box: The black box.
        trial: Number of its trial.
        inputs: What to evaluate at: names and values.
        outputs: Names of the numbers that are asked for.
        holder: Who has it; empty if nobody does.
        age: How long ago it was asked, in words; empty if it was not.
        failed: Why the last attempt failed; empty if none did.
    """

    id: str
    box: str
    trial: int
    inputs: list[tuple[str, str]]
    outputs: list[str]
    holder: str
    age: str
    failed: str


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that was given.

    Attributes:
        id: Its id, or the name of an observed row.
        box: The black box.
        trial: Number of its trial; None for a row that belongs to no query.
        inputs: What was evaluated: names and values.
        outputs: What came out: names and values.
        exact: The values with all their digits, for a form that corrects one of them.
    """

    id: str
    box: str
    trial: int | None
    inputs: list[tuple[str, str]]
    outputs: list[tuple[str, str]]
    exact: list[str]


def questions(facts: StudyFacts, state: StudyState) -> list[Question]:
    """The questions that are open, oldest trial first."""
    return [
        Question(
            query.id,
            query.box,
            query.trial,
            _inputs(facts, state, query.box, query.inputs),
            output_names(facts, query.box),
            _holder(query),
            ago(query.asked) if query.state is QueryState.ASKED else "",
            query.reason or "",
        )
        for query in state.queries.values()
        if query.is_open and state.trials[query.trial].state is TrialState.PENDING
    ]


def answers(facts: StudyFacts, state: StudyState) -> list[Answer]:
    """The latest answers first, rows that were observed among them."""
    told = [q for q in state.queries.values() if q.state is QueryState.TOLD]
    told.sort(key=lambda query: query.recorded or 0, reverse=True)
    found = [
        Answer(
            query.id,
            query.box,
            query.trial,
            _inputs(facts, state, query.box, query.inputs),
            _outputs(facts, query.box, query.outputs),
            _exact(query.outputs),
        )
        for query in told[:MOST_ANSWERS]
    ]
    rows = list(state.rows().items())[::-1][: MOST_ANSWERS - len(found)]
    return found + [
        Answer(
            name,
            seen.box,
            None,
            _inputs(facts, state, seen.box, seen.inputs),
            _outputs(facts, seen.box, seen.outputs),
            _exact(seen.outputs),
        )
        for name, seen in rows
    ]


def output_names(facts: StudyFacts, box: str) -> list[str]:
    """A name for each output of a black box."""
    outputs = facts.boxes.get(box, {}).get("outputs", 1)
    if isinstance(outputs, list):
        return [str(name) for name in outputs]
    return [box] if outputs == 1 else [f"{box}[{k}]" for k in range(outputs)]


def ago(moment: float | None) -> str:
    """How long ago a moment was, in words."""
    if not moment:
        return ""
    seconds = max(0.0, time.time() - moment)
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {unit}{'s' * (count != 1)} ago"
    return "just now"


def _inputs(facts: StudyFacts, state: StudyState, box: str, inputs: Array) -> list[tuple[str, str]]:
    values = state.readable_inputs(box, inputs)
    names = (facts.settings.get("input_names") or {}).get(box, [])
    if len(names) != len(values):
        names = [f"input {k + 1}" if len(values) > 1 else "input" for k in range(len(values))]
    return [(name, shown(value, 8)) for name, value in zip(names, values, strict=True)]


def _outputs(facts: StudyFacts, box: str, outputs: Array | None) -> list[tuple[str, str]]:
    names = output_names(facts, box)
    values = [] if outputs is None else outputs.tolist()
    if len(names) != len(values):
        names = [f"output {k + 1}" for k in range(len(values))]
    return [(name, number(value, 8)) for name, value in zip(names, values, strict=True)]


def _exact(outputs: Array | None) -> list[str]:
    return [] if outputs is None else [repr(value).removesuffix(".0") for value in outputs.tolist()]


def _holder(query: QueryEntry) -> str:
    if query.state is not QueryState.ASKED:
        return ""
    return query.holder or "asked by a person"

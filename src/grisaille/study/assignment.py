"""Which recorded answers serve the calls of a chain, and what is left to ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from grisaille.array_types import Array
from grisaille.confidence.beliefs import input_range
from grisaille.errors import EvaluationError
from grisaille.language.problem import Problem
from grisaille.records import Observation
from grisaille.study.declared_ranges import refusal
from grisaille.study.evaluation_chain import Chain
from grisaille.study.trials_and_queries import QueryEntry

# Inputs are the same if they differ by no more than rounding does.
_ROUNDING = 1e-9
# What was really done may differ so far from what was wanted, in ranges of each input, for the
# answer to count as that of the chain.
_NEAR = 0.01

Serves = Callable[[int, QueryEntry, Array], bool]
"""`(call, query, inputs)`: whether the answer to a query serves a call at some inputs."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What is known of the chain at a point, and what is to be asked next.

    Attributes:
        own: The trial's own query whose answer serves a call, by call.
        given: Outputs that are known from elsewhere, by call.
        missing: Inputs of the calls that could be evaluated next, by call.
    """

    own: dict[int, QueryEntry] = field(default_factory=dict)
    given: dict[int, Array] = field(default_factory=dict)
    missing: dict[int, Array] = field(default_factory=dict)

    @property
    def answers(self) -> dict[int, Array]:
        """Outputs of all calls that have an answer, by call."""
        told = {call: query.outputs for call, query in self.own.items()}
        return {**self.given, **{c: outputs for c, outputs in told.items() if outputs is not None}}

    def calls(self) -> dict[str, list[int]]:
        """The calls that each of the trial's own queries serves, by its id."""
        served: dict[str, list[int]] = {}
        for call, query in sorted(self.own.items()):
            served.setdefault(query.id, []).append(call)
        return served


class KnownAnswers:
    """Answers by black box and inputs, of which the first counts."""

    def __init__(self, seen: Iterable[Observation]) -> None:
        self._outputs: dict[tuple[str, bytes], Array] = {}
        for answer in seen:
            self._outputs.setdefault((answer.box, answer.inputs.tobytes()), answer.outputs)

    def find(self, box: str, inputs: Array) -> Array | None:
        """The answer of a black box at exactly these inputs; None if there is none."""
        return self._outputs.get((box, inputs.tobytes()))


def assign(
    problem: Problem,
    chain: Chain,
    x: Array,
    own: Iterable[QueryEntry],
    serves: Serves,
    known: KnownAnswers | None = None,
) -> Assignment:
    """Find an answer for each call of the chain at a point.

    Args:
        problem: The problem.
        chain: Its chain.
        x: The design point, flat.
        own: The queries of the trial that have an answer.
        serves: Which of them serve a call.
        known: Answers from elsewhere, for calls that none of them serves.

    Raises:
        EvaluationError: A known part has no value there, or a black box does not accept its inputs.
    """
    queries = list(own)
    found = Assignment()
    while True:
        ready = chain.ready(x, found.answers)
        before = len(found.answers)
        found.missing.clear()
        for call, inputs in ready.items():
            box = problem.program.calls[call].box
            if reason := refusal(box, inputs):
                raise EvaluationError(reason)
            query = next((q for q in queries if serves(call, q, inputs)), None)
            outputs = None if known is None else known.find(box.name, inputs)
            if query is not None:
                found.own[call] = query
            elif outputs is not None:
                found.given[call] = outputs
            else:
                found.missing[call] = inputs
        if len(found.answers) == before:
            return found


def same_inputs(problem: Problem) -> Serves:
    """Answers serve calls of their black box at the inputs that were wanted."""

    def serves(call: int, query: QueryEntry, inputs: Array) -> bool:
        box = problem.program.calls[call].box
        return query.box == box.name and are_same(query.wanted, inputs)

    return serves


def near_inputs(problem: Problem, seen: Mapping[str, Array]) -> Serves:
    """Answers serve the calls they were made for, if what was done is near to what is wanted.

    Args:
        problem: The problem.
        seen: Inputs (n, d) of all answers of each black box.
    """

    def serves(call: int, query: QueryEntry, inputs: Array) -> bool:
        return call in query.calls and is_near(problem, query.box, query.inputs, inputs, seen)

    return serves


def is_near(
    problem: Problem, box: str, done: Array, wanted: Array, seen: Mapping[str, Array]
) -> bool:
    """Whether inputs are so near to the wanted ones that the answer counts as theirs."""
    program = problem.program
    black_box = next(b for b in program.boxes if b.name == box)
    rows = np.vstack([*seen.get(box, wanted[None]), done, wanted])
    lower, upper = input_range(program, black_box, rows)
    return are_same(done, wanted) or bool((np.abs(done - wanted) <= _NEAR * (upper - lower)).all())


def are_same(first: Array, second: Array) -> bool:
    """Whether inputs differ by rounding only."""
    return first.shape == second.shape and bool(
        (np.abs(first - second) <= _ROUNDING * (1 + np.abs(second))).all()
    )

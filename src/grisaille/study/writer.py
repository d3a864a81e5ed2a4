"""Writing to a study: each change as events, with everything that follows from it.

Points of users are trials that are recorded as suggested at once, so that asking, evaluating and
resuming need nothing new for them. Trials from observed rows are recorded as assembled, and count
for no limit. An answer counts for what the chain needs if its inputs differ by at most 1 % of their
range: laboratories miss inputs by a little, and beyond that a trial would have an objective of no
point.

A correction is an event, and its consequences are further events: a trial is reopened with the
answers that still serve its calls, and asks for the others. A changed problem does the same. The
log keeps what was wrong, so that decisions before it can still be replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from msgspec import UNSET
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.incumbent import Incumbent
from grisaille.belief.learning import input_range
from grisaille.errors import EvaluationError, ModelError, ProtocolError, counted, shortened
from grisaille.language.black_box import BlackBox, input_kinds, shown_inputs
from grisaille.language.problem import Problem
from grisaille.language.program import BoxCall, Program, Resolve, split_outputs
from grisaille.language.unknowns import LOOPS, Loops
from grisaille.language.values import Value, condensed
from grisaille.records import Observation, Situation, Suggestion, Trial
from grisaille.strategies.initial_design import usual_points
from grisaille.study.answers import ANSWERS, NewRows, assembled, direct_entries, inside_bounds
from grisaille.study.argument_checks import check_range, refusal
from grisaille.study.events import (
    Abandoned,
    Assembled,
    Believed,
    Completed,
    Corrected,
    Details,
    Failed,
    Moved,
    Observed,
    Ready,
    ReadyQuery,
    Released,
    Reopened,
    Retracted,
    StoredSuggestion,
    Suggested,
    Told,
    outcome_fields,
    to_plain,
)
from grisaille.study.identity import has_box, this_machine
from grisaille.study.log.event_log import DamagedError, Turn
from grisaille.study.state import (
    QueryEntry,
    QueryState,
    StudyState,
    TrialEntry,
    TrialState,
    probe_id,
    probe_of,
    query_id,
)
from grisaille.study.trial_tables import design_names

# --- evaluation chain -----------------------------------------------------------------------------
# The real chain of black boxes at a design point, as far as it is answered.

Answers = Mapping[int, Array]
"""Outputs of calls, by their position among the calls of the program."""


class Chain:
    """Computes the known parts of a problem between the answers of its black boxes.

    Attributes:
        loops: Its unknowns, and how they follow from the answers.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._position = {call.key: i for i, call in enumerate(problem.program.calls)}
        self._inputs: dict[int, Program] = {}
        self.loops = Loops(problem)

    def check(self, evaluation: str | None) -> None:
        """Raise ModelError if the problem cannot be evaluated this way."""
        self.loops.check(evaluation)

    def ready(self, x: Array, answers: Answers) -> dict[int, Array]:
        """Inputs of the calls that can be evaluated next, by call.

        Raises:
            EvaluationError: A known part has no value there.
        """
        found: dict[int, Array] = {}
        for number, call in enumerate(self._problem.program.calls):
            if number in answers or not call.upstream <= answers.keys():
                continue
            if number not in self._inputs:
                self._inputs[number] = Program(call.arguments, self._problem.variables)
            parts = self._run(self._inputs[number], x, answers)
            inputs = np.concatenate([np.zeros(0), *(p[0].numpy().ravel() for p in parts)])
            if not np.isfinite(inputs).all():
                raise EvaluationError(
                    f"the known part before black box {call.box.name!r} gives "
                    f"{call.box.describe(inputs)}, so it cannot be evaluated"
                )
            found[number] = inputs
        return found

    def outcome(
        self, x: Array, answers: Answers
    ) -> tuple[float, Array, Array, Array | None, Array | None]:
        """Minimized objective, constraints and all outputs along a chain that is answered.

        Last, how far each constraint may be violated (`Trial.allowed` and `Trial.lenient`).

        Raises:
            EvaluationError: A white box failed.
        """
        program = self._problem.program
        objective, constraints = split_outputs(self._run(program, x, answers))
        along = [answers[i] for i in range(len(program.calls))]
        chain = np.concatenate(along) if along else np.zeros(0)
        bodies = constraints.numpy().copy()
        point = torch.tensor(x).unsqueeze(0)
        allowances = self._problem.allowances
        (allowed,) = allowances.needed(point, self._resolve(answers), bodies)
        lenient = allowances.lenient(bodies[0], allowed)
        return float(objective[0]), bodies[0], chain, allowed, lenient

    def _run(self, program: Program, x: Array, answers: Answers) -> list[Tensor]:
        with torch.no_grad():
            return program.run(torch.tensor(x).unsqueeze(0), self._resolve(answers))

    def _resolve(self, answers: Answers) -> Resolve:
        def resolve(call: BoxCall, _states: Tensor) -> Tensor:
            return torch.tensor(answers[self._position[call.key]]).unsqueeze(0)

        return resolve


def evaluated(problem: Problem, suggestion: Suggestion, number: int) -> Trial:
    """Evaluate a suggestion at once, outside any study.

    Raises:
        EvaluationError: A black box failed.
    """
    chain = Chain(problem)
    answers: dict[int, Array] = {}
    seen: list[Observation] = []

    def ask(call: int, inputs: Array) -> Array:
        box = problem.program.calls[call].box
        seen.append(Observation(box.name, inputs, box.evaluate(inputs)))
        return seen[-1].outputs

    while ready := chain.ready(suggestion.x, answers):
        answers |= {call: ask(call, inputs) for call, inputs in ready.items()}
    for probe in suggestion.probes:
        ask(probe.call, probe.inputs)
    objective, constraints, along, allowed, lenient = chain.outcome(suggestion.x, answers)
    return Trial(
        number,
        suggestion,
        objective,
        constraints,
        along,
        tuple(seen),
        allowed=allowed,
        lenient=lenient,
    )


# --- assignment -----------------------------------------------------------------------------------
# Recorded answers that serve the calls of a chain, and the calls that are left to ask.


@dataclass(frozen=True, slots=True)
class WriterConstants:
    """The constants of a writer.

    Attributes:
        near: Ranges of an input by which what was done may differ from what was wanted. A choice.
        losses: Lost workers after which a query counts as failed. A choice of patience.
    """

    near: float = 0.01
    losses: int = 3


WRITER = WriterConstants()


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
    return are_same(done, wanted) or bool(
        (np.abs(done - wanted) <= WRITER.near * (upper - lower)).all()
    )


def are_same(first: Array, second: Array) -> bool:
    """Whether inputs differ by rounding only."""
    return first.shape == second.shape and bool(
        (np.abs(first - second) <= ANSWERS.rounding * (1 + np.abs(second))).all()
    )


# --- reopening ------------------------------------------------------------------------------------
# Letting a trial be pending again: its answers serve other calls, and others are asked for.


def reopen(writer: Writer, trial: TrialEntry, found: Assignment, rank: int | None = None) -> None:
    """Write which answers serve a trial now, and ask for what is missing."""
    calls = found.calls()
    missing = dict(found.missing)
    for query in trial.queries:  # what is being evaluated for these inputs goes on
        for call, inputs in list(missing.items()):
            box = writer.problem.program.calls[call].box.name
            if query.is_open and query.box == box and are_same(query.wanted, inputs):
                calls.setdefault(query.id, []).append(call)
                del missing[call]
    given = {str(call): to_plain(outputs) for call, outputs in found.given.items()}
    ready = writer.queries_for(trial, missing, set(calls))
    writer.append(Reopened(trial.number, calls, given, ready, rank))


# --- loop rounds ----------------------------------------------------------------------------------
# Going around the loops of a trial, round by round.


def is_closed(writer: Writer, trial: TrialEntry, answers: Mapping[int, Array]) -> bool:
    """Whether the loops of a trial are closed; if not, go around them once more, or give up.

    Under separate evaluation nothing is iterated: what a loop misses is a violation.
    """
    loops = writer.chain.loops
    x = loops.solved(trial.suggestion.x, answers)
    missed, equation = 0.0, None
    if writer.state.settings["evaluation"] == "chained" and len(loops.torn):
        missed, equation = loops.mismatch(x, answers)
    if equation is None:
        if not np.array_equal(x, trial.suggestion.x):
            _move(writer, trial, x)
        return True
    rounds = len(trial.visited) + 1
    reason = (
        f"the loop does not converge: after {rounds} rounds, equation {equation!r} still "
        f"misses its tolerance of {equation.tolerance:g} by {missed:.3g}; widen the bounds of "
        "its unknowns, raise feasibility_tol, or use evaluation='separate'"
    )
    found: Assignment | None = None
    if rounds < LOOPS.rounds:
        points, serves = [*trial.visited, x], same_inputs(writer.problem)
        try:
            earlier = [
                assign(writer.problem, writer.chain, point, trial.told, serves).answers
                for point in trial.visited
            ]
            gone = next((i for i, seen in enumerate(earlier, 1) if len(seen) < len(answers)), 0)
            if gone:
                raise EvaluationError(
                    f"the loop cannot go on: round {gone} has no answer at the point that was "
                    "asked for, because it was evaluated elsewhere or taken back, and equation "
                    f"{equation!r} misses its tolerance of {equation.tolerance:g} by {missed:.3g}; "
                    "the answers are kept, but the trial has no objective: enqueue its point "
                    "again, or raise feasibility_tol"
                )
            images = [loops.image(p, a) for p, a in zip(points, [*earlier, answers], strict=True)]
            following = loops.next_point(points, images)
            found = assign(writer.problem, writer.chain, following, trial.told, serves)
        except EvaluationError as error:
            reason = str(error)
    if found is None or not found.missing:  # it went where it was before
        writer.append(Abandoned(trial.number, reason))
        return False
    _move(writer, trial, following)
    reopen(writer, trial, found)
    return False


def _move(writer: Writer, trial: TrialEntry, x: Array) -> None:
    """Let a trial be at another point, with the answers that it has."""
    writer.append(Moved(trial.number, to_plain(x), {}))


# --- really done ----------------------------------------------------------------------------------
# Actual inputs, where a laboratory could not set those it was asked for.


def really_tried(
    problem: Problem, chain: Chain, state: StudyState, trial: TrialEntry, told: QueryEntry
) -> Moved | None:
    """Where a trial was really made, as an event; None if that is where it was to be.

    Args:
        problem: The problem.
        chain: Its chain.
        state: The state of the study, with the answer.
        trial: The trial.
        told: Its query that was answered for other inputs than it was asked for.

    Raises:
        EvaluationError: The answers of the trial belong to different points, or to one outside the
            bounds of the variables. They teach, but they have no common objective.
    """
    x = _moved(problem, chain, trial, told)
    seen = _inputs_seen(problem, state)
    if x is None:
        wanted = told.wanted
        if is_near(problem, told.box, told.inputs, wanted, seen):
            return None
        raise EvaluationError(
            f"black box {told.box!r} was evaluated at {_shown(problem, told)}, too far from the "
            f"{_shown(problem, told, wanted)} that its trial needs: the answer is kept, but the "
            "trial has no objective"
        )
    if not inside_bounds(problem.program, x[None])[0]:
        raise EvaluationError(_outside(problem, x))
    answers = trial.answers()
    serves = near_inputs(problem, seen)
    for query in trial.told:
        for call in query.calls:
            others = {c: outputs for c, outputs in answers.items() if c != call}
            inputs = chain.ready(x, others).get(call)
            if query is not told and inputs is not None and not serves(call, query, inputs):
                raise EvaluationError(
                    f"black boxes {told.box!r} and {query.box!r} were evaluated at different "
                    f"points ({_shown(problem, told)} and {_shown(problem, query)}): their answers "
                    "are kept, but the trial has no objective"
                )
    ready = chain.ready(x, answers)
    follow = {told.id: to_plain(told.inputs)}
    for query in trial.queries:
        if query.is_open and query.calls and query.calls[0] in ready:
            follow[query.id] = to_plain(ready[query.calls[0]])
    return Moved(trial.number, to_plain(x), follow)


def _moved(problem: Problem, chain: Chain, trial: TrialEntry, told: QueryEntry) -> Array | None:
    """The design point that inputs say; None if decisions cannot be read off them.

    Unknowns can also be found from inputs that are computed from them: a plant that converges by
    itself has its recycle where it settles.
    """
    x = trial.suggestion.x.copy()
    for call in told.calls:
        made = problem.program.calls[call]
        values = condensed(input_kinds(made.box), told.inputs)
        entries = direct_entries(problem.program, made)
        for entry, value in zip(entries, values, strict=True):
            if entry is not None:
                x[entry] = value
        if None in entries:
            found = chain.loops.reached(x, made, told.inputs, trial.answers())
            if found is None:
                return None
            x = found
    return x


def _shown(problem: Problem, query: QueryEntry, inputs: Array | None = None) -> list[Value]:
    """The inputs of a query, or others, as people read them."""
    box = next(box for box in problem.boxes if box.name == query.box)
    return shown_inputs(box, query.inputs if inputs is None else inputs)


def _inputs_seen(problem: Problem, state: StudyState) -> dict[str, Array]:
    """Inputs (n, d) of all answers of each black box."""
    history = state.history()
    return {b.name: history.data(b.name, b.inputs, b.outputs)[0] for b in problem.boxes}


def _outside(problem: Problem, x: Array) -> str:
    program = problem.program
    place = int(np.argmax(np.maximum(program.lower - x, x - program.upper)))
    name = design_names(problem)[place]
    return (
        f"it was made at {name} = {x[place]:g}, outside the bounds [{program.lower[place]:g}, "
        f"{program.upper[place]:g}]: the answer is kept, but the trial does not count"
    )


# --- event writer ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Decision:
    """What a strategy decided, and from what.

    Attributes:
        suggestion: What to try next, or the proof that no point is feasible.
        situation: What the decision was made from.
        known: Number of the last event that the situation includes.
        seconds: What the decision took.
        made_on: The machine that decided. Looking at it takes up to 0.5 s, once in a process.
        believed: The best trial as the strategy judges; None if it was observed without noise.
    """

    suggestion: Suggestion
    situation: Situation
    known: int
    seconds: float
    made_on: Mapping[str, str] = field(default_factory=lambda: this_machine())
    believed: Incumbent | None = None


@dataclass(frozen=True, slots=True)
class ChainAnswers:
    """What the black boxes answered along the chain of one trial.

    Attributes:
        trial: Number of the trial.
        answers: Outputs by call.
        missing: Why there is no answer, by call, for all other calls.
    """

    trial: int
    answers: Mapping[int, Array]
    missing: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes events during one turn, and keeps the state up to date with them.

    Attributes:
        turn: The turn: exclusive access to the log.
        state: The state of the study.
        problem: The problem.
        chain: Its chain.
        retries: How often a failed evaluation is tried again.
        makes_trials: Whether observed rows that answer a whole chain become trials.
    """

    turn: Turn
    state: StudyState
    problem: Problem
    chain: Chain
    retries: int
    makes_trials: bool

    def append(self, details: Details) -> None:
        """Write one event."""
        try:
            self.state.apply([self.turn.append(details.kind, details.plain())])
        except DamagedError as error:  # what is recorded is whole
            raise ModelError(
                f"event {error.event} is not recorded, because it {error.complaint}"
            ) from error

    def append_long(self, details: Details, text: str) -> None:
        """Write a long event last in a turn: the state includes it once the turn has ended."""
        self.turn.append(details.kind, details.plain(), text)

    def start(self, decision: Decision) -> int:
        """Write a decision as the next trial; returns its number."""
        suggestion, situation = decision.suggestion, decision.situation
        number = len(self.state.trials) + 1
        reason = ""
        queries: list[ReadyQuery] = []
        try:
            queries = self._first_queries(number, suggestion)
        except EvaluationError as error:
            reason = str(error)
        believed = decision.believed
        suggested = Suggested(
            trial=number,
            suggestion=StoredSuggestion.of(suggestion),
            remaining=situation.remaining,
            budget=situation.budget,
            gap_tol=situation.gap_tol,
            known=decision.known,
            seconds=decision.seconds,
            queries=queries,
            made_on=dict(decision.made_on),
            believed=UNSET if believed is None else Believed.of(believed, situation.history),
        )
        self.append(suggested)
        if reason:
            self.append(Abandoned(number, reason))
        self._fail_refused(self.state.trials[number])
        return number

    def find_lost(self, me: str) -> None:
        """Release the queries of workers that are gone."""
        alive: dict[str, bool] = {me: True}
        for entry in self.state.asked():
            holder = entry.holder
            if holder is not None:
                if holder not in alive:
                    alive[holder] = self.turn.alive(holder)
                if not alive[holder]:
                    self.fail(entry, f"its worker {holder} is gone", lost=True)
            elif entry.until is not None and entry.until < self.turn.now():
                self.release(entry)

    def release(self, entry: QueryEntry) -> None:
        """Give a query back, unanswered, if somebody has it."""
        if entry.state is QueryState.ASKED:
            self.append(Released(entry.id))

    def release_all(self, worker: str) -> None:
        """Give back every query that a worker has, and let others decide."""
        self.stop_deciding(worker)
        for entry in self.state.asked():
            if entry.holder == worker:
                self.release(entry)

    def stop_deciding(self, worker: str) -> None:
        """Let others decide, if a worker does."""
        if self.turn.decider == worker:
            self.turn.decider = None

    def open_entry(self, name: str) -> QueryEntry:
        """A query that may still be answered."""
        entry = self.state.queries.get(name)
        if entry is None:
            trials = len(self.state.trials)
            raise ProtocolError(
                f"the study has no query {shortened(name)}: it has {trials} trials, and ids look "
                "like '12-1' or '12-p1'"
            )
        if entry.state is QueryState.TOLD:
            assert entry.outputs is not None
            raise ProtocolError(
                f"query {name} has an answer already, {entry.outputs.tolist()}: use correct to "
                "change it, or observe to add another observation of the same inputs"
            )
        if entry.state is QueryState.RETRACTED:
            raise ProtocolError(
                f"the answer to query {name} was retracted ({entry.reason}): enqueue its point "
                "again, or use observe to add an answer"
            )
        if entry.state is QueryState.FAILED:
            raise ProtocolError(
                f"query {name} has failed for good ({entry.reason}): use observe to add an answer "
                "after all"
            )
        return entry

    def tell(
        self, entry: QueryEntry, outputs: Array, seconds: float, inputs: Array | None = None
    ) -> Trial | None:
        """Write an answer and the queries that it makes ready; returns the trial it completes.

        Args:
            entry: Its query.
            outputs: The answer.
            seconds: How long it took.
            inputs: What was really done, if that is not what was asked for.
        """
        trial = self.state.trials[entry.trial]
        if inputs is not None and not np.array_equal(inputs, entry.wanted):
            self.append(
                Told(
                    entry.id,
                    outputs=to_plain(outputs),
                    seconds=seconds,
                    inputs=to_plain(inputs),
                    ready=[],
                )
            )
            return self.follow(trial, entry)
        answers = {**trial.answers(), **dict.fromkeys(entry.calls, outputs)}
        ready: list[ReadyQuery] = []
        reason = ""
        if trial.state is TrialState.PENDING and trial.suggestion.chain:
            try:
                found = self.chain.ready(trial.suggestion.x, answers)
            except EvaluationError as error:
                reason, found = str(error), {}
            ready = self.new_queries(trial, found)
        self.append(Told(entry.id, outputs=to_plain(outputs), seconds=seconds, ready=ready))
        if reason:
            self.append(Abandoned(trial.number, reason))
            return None
        self._fail_refused(trial)
        # A new query may have the inputs of one that is answered: then more may be ready.
        if any(c not in answers for q in trial.told for c in q.calls):
            return self.continue_chain(trial)
        return self.finish(trial)

    def keep(
        self, entry: QueryEntry, outputs: Array, seconds: float, changed: bool
    ) -> tuple[Trial | None, bool]:
        """Write an answer: somebody paid for it, so it is kept even if it comes too late.

        Args:
            entry: Its query.
            outputs: The answer.
            seconds: How long it took.
            changed: Whether another process has changed the problem: then it is an observation.

        Returns:
            The trial that it completes, if it does, and whether it was in time for its trial.
        """
        if entry.is_open and not changed:
            return self.tell(entry, outputs, seconds), True
        if has_box(self.state.settings, entry.box, len(entry.inputs), len(outputs)):
            self.observe(entry.box, [entry.inputs], [outputs])
        return None, False

    def observe(self, box: str, inputs: Iterable[Array], outputs: Iterable[Array]) -> None:
        """Write answers that belong to no query, one row each: made elsewhere, or too late."""
        self.append(Observed(box, list(map(to_plain, inputs)), list(map(to_plain, outputs))))

    def tell_chain(self, told: ChainAnswers) -> None:
        """Write the answers along the chain of a trial.

        Raises:
            AssumptionError: An answer contradicts what was declared.
            ProtocolError: The trial has ended.
        """
        trial = self.state.trials[told.trial]
        if trial.state is not TrialState.PENDING:
            raise ProtocolError(
                f"trial {trial.number} has its answers already: it is {trial.state}"
            )
        asked = [query.asked for query in trial.queries if query.state is QueryState.ASKED]
        # The chain was evaluated as a whole: its calls share the time that took.
        took = max(self.turn.now() - min(asked), 0.0) if asked else 0.0
        calls = self.problem.program.calls
        while ready := [q for q in trial.open_calls() if q.calls[0] in told.answers]:
            query, call = ready[0], ready[0].calls[0]
            history = self.state.history()
            check_range(calls[call].box, query.inputs, told.answers[call], history)
            self.tell(query, told.answers[call], took / len(calls))
        for query in trial.open_calls():
            self.fail(query, told.missing[query.calls[0]])

    def follow(self, trial: TrialEntry, told: QueryEntry) -> Trial | None:
        """Continue a trial whose black box was evaluated at other inputs than it was asked for.

        Inputs that are variables move the trial to where it was really made. Others are taken for
        those of the chain if they are near. Else the trial breaks off, and its answers are kept.
        """
        if trial.state is not TrialState.PENDING or not told.calls:
            return self.finish(trial)
        try:
            moved = really_tried(self.problem, self.chain, self.state, trial, told)
        except EvaluationError as error:
            self.append(Abandoned(trial.number, str(error)))
            return None
        if moved is not None:
            self.append(moved)
        return self.continue_chain(trial)

    def continue_chain(self, trial: TrialEntry) -> Trial | None:
        """Continue a trial after an answer turned out to serve a further call."""
        try:
            found = self.chain.ready(trial.suggestion.x, trial.answers())
        except EvaluationError as error:
            self.append(Abandoned(trial.number, str(error)))
            return None
        ready = self.new_queries(trial, found)
        if not ready:
            return self.finish(trial)
        self.append(Ready(trial.number, ready))
        self._fail_refused(trial)
        if any(self.state.queries[r.id].state is QueryState.TOLD for r in ready):
            return self.continue_chain(trial)
        return None

    def _fail_refused(self, trial: TrialEntry) -> None:
        """Fail a trial whose chain reaches inputs that a black box does not accept."""
        if trial.state is not TrialState.PENDING:
            return
        for query in trial.open_calls():
            box = self.problem.program.calls[query.calls[0]].box
            if trial.state is TrialState.PENDING and (reason := refusal(box, query.inputs)):
                self.fail(query, reason, may_retry=False)

    def new_queries(self, trial: TrialEntry, ready: Mapping[int, Array]) -> list[ReadyQuery]:
        """Queries for calls that are ready and have none yet."""
        return self.queries_for(
            trial, {c: inputs for c, inputs in ready.items() if trial.query_for(c) is None}
        )

    def queries_for(
        self, trial: TrialEntry, ready: Mapping[int, Array], besides: Container[str] = ()
    ) -> list[ReadyQuery]:
        """Queries for calls; equal inputs of a black box within a trial share one.

        Args:
            trial: The trial.
            ready: Inputs by call.
            besides: Ids of queries that serve other calls already, and are not to be shared.
        """
        made: list[ReadyQuery] = []
        taken = {query.id for query in trial.queries}
        for call, inputs in ready.items():
            box = self.problem.program.calls[call].box.name
            same = [
                (q.id, q.wanted)
                for q in trial.queries
                if q.box == box and q.may_have_answer and q.id not in besides
            ]
            same += [(m.id, np.array(m.inputs)) for m in made if m.box == box]
            known = next((name for name, seen in same if np.array_equal(seen, inputs)), None)
            name = known or query_id(trial.number, call, taken | {m.id for m in made})
            made.append(ReadyQuery(name, box, to_plain(inputs), [call]))
        return made

    def _first_queries(self, number: int, suggestion: Suggestion) -> list[ReadyQuery]:
        trial = TrialEntry(number, suggestion, None, None, 0, 0.0)
        made: list[ReadyQuery] = []
        if suggestion.chain:
            made = self.new_queries(trial, self.chain.ready(suggestion.x, {}))
        for place, probe in enumerate(suggestion.probes):
            box = self.problem.program.calls[probe.call].box.name
            inputs = to_plain(probe.inputs)
            if any(m.box == box and m.inputs == inputs for m in made):
                continue
            name = probe_id(number, place)
            made.append(ReadyQuery(name, box, inputs, []))
        return made

    def fail(
        self, entry: QueryEntry, reason: str, lost: bool = False, may_retry: bool = True
    ) -> bool:
        """Write a failed attempt; returns whether there will be another."""
        trial = self.state.trials[entry.trial]
        again = entry.losses + 1 < WRITER.losses if lost else entry.attempts < self.retries
        again = again and may_retry and trial.state is TrialState.PENDING
        if not again and probe_of(entry) is not None and not entry.calls:
            reason += (
                "; this input is an optimistic guess, which the real chain may never reach: "
                f"declare input_lower= and input_upper= of {entry.box!r}, or separable=False, or "
                "use evaluation='chained'"
            )
        # A lost worker says little about the input, unless every worker is lost there.
        counts = not again and (not lost or entry.losses + 1 >= WRITER.losses)
        self.append(Failed(entry.id, reason, lost, final=not again, counts=counts))
        if again:
            return True
        if entry.calls and trial.state is TrialState.PENDING:
            self.append(Abandoned(trial.number, reason))
        else:
            self.finish(trial)
        return False

    def finish(self, trial: TrialEntry) -> Trial | None:
        """Complete a trial if all its answers are there, and its loops are closed."""
        if trial.state is not TrialState.PENDING or any(q.is_open for q in trial.queries):
            return None
        completed = Completed(trial.number, None)
        if trial.suggestion.chain:
            answers = trial.answers()
            if len(answers) < len(self.problem.program.calls):
                return None
            if self.chain.loops and not is_closed(self, trial, answers):
                return None
            try:
                outcome = self.chain.outcome(trial.suggestion.x, answers)
            except EvaluationError as error:
                self.append(Abandoned(trial.number, str(error)))
                return None
            completed = Completed(trial.number, **outcome_fields(*outcome))
        self.append(completed)
        return trial.record


# --- corrections ----------------------------------------------------------------------------------
# Answers that were wrong: corrected or taken back, and what follows from that.


def correct(writer: Writer, name: str, outputs: Array, inputs: Array | None) -> Trial | None:
    """Write the right answer in place of a wrong one; returns the trial that is complete by it.

    A trial that used the answer is computed again. Black boxes further down its chain were
    evaluated for the wrong answer: with separate evaluation they are asked again; along a real
    chain they were given what really came out, so their inputs follow the correction.
    """
    seen = writer.state.answer(name)
    if seen is None:
        raise no_answer(writer, name)
    done = seen.inputs if inputs is None else inputs
    writer.append(Corrected(name, to_plain(done), to_plain(outputs)))
    query = writer.state.queries.get(name)
    if query is None:
        assemble(writer)
        return None
    trial = writer.state.trials[query.trial]
    if trial.state is TrialState.BROKEN or not (query.calls and trial.suggestion.chain):
        return writer.finish(trial)
    try:
        if not np.array_equal(done, seen.inputs):
            moved = really_tried(writer.problem, writer.chain, writer.state, trial, query)
            if moved is not None:
                writer.append(moved)
        _let_chain_follow(writer, trial)
        reopen(writer, trial, _assignment(writer, trial))
    except EvaluationError as error:
        writer.append(Abandoned(trial.number, str(error)))
        return None
    return writer.finish(trial)


def retract(writer: Writer, names: Iterable[str], reason: str) -> None:
    """Take answers back: nothing is learned from them, and no objective rests on them."""
    for name in names:
        if writer.state.answer(name) is None:
            raise no_answer(writer, name)
        query = writer.state.queries.get(name)
        writer.append(Retracted(name, reason))
        trial = None if query is None else writer.state.trials[query.trial]
        if query is not None and trial is not None and trial.state is TrialState.PENDING:
            if query.calls:
                why = f"the answer to query {name} was retracted: {reason}"
                writer.append(Abandoned(trial.number, why))
            else:
                writer.finish(trial)
    assemble(writer)


def assemble(writer: Writer) -> int:
    """Write the trials that observed rows make by now; returns how many there are."""
    free = writer.state.free_rows() if writer.makes_trials else {}
    trials = assembled(writer.problem, writer.state.rows(), free) if free else []
    if trials:
        writer.append(Assembled(trials))
    return len(trials)


def observe(writer: Writer, new: NewRows, *, at_all_costs: bool) -> bool:
    """Write rows that were observed elsewhere, and the trials that they make.

    Args:
        writer: Writes to the study.
        new: The rows, with the trials as they were worked out before this turn.
        at_all_costs: Whether to work the trials out in this turn if other rows came meanwhile.

    Returns:
        Whether the rows are recorded: they are not if the trials must be worked out again.
    """
    state = writer.state
    if state.rows_changed <= new.known:
        new.rename(state.position + 1)
        writer.append_long(new.observed, new.text)
        if new.assembled.trials:
            writer.append_long(new.assembled, new.text_of_trials)
        return True
    if at_all_costs:
        writer.append(new.observed)
        assemble(writer)
    return at_all_costs


def no_answer(writer: Writer, name: str) -> ProtocolError:
    """The error for a name under which no answer is recorded."""
    query = writer.state.queries.get(name)
    if query is not None:
        return ProtocolError(f"query {name} has no answer yet: it is {query.state}; use tell")
    return ProtocolError(
        f"the study has no answer {shortened(name)}: ids look like '12-1', '12-p1', or '12/1' for "
        "a row that was observed; study.answers() lists them"
    )


def _assignment(writer: Writer, trial: TrialEntry) -> Assignment:
    known = KnownAnswers(writer.state.history().observations()) if trial.given else None
    serves = same_inputs(writer.problem)
    return assign(writer.problem, writer.chain, trial.suggestion.x, trial.told, serves, known)


def _let_chain_follow(writer: Writer, trial: TrialEntry) -> None:
    """Move the inputs of black boxes that only the real chain can reach to where it went."""
    answers: dict[int, Array] = dict(trial.given)
    moved: dict[str, list[float]] = {}
    while ready := writer.chain.ready(trial.suggestion.x, answers):
        before = len(answers)
        for call, inputs in ready.items():
            query = trial.query_for(call)
            if query is None or query.outputs is None:
                continue
            answers[call] = query.outputs
            if _is_chained(writer, query) and not are_same(query.wanted, inputs):
                moved[query.id] = to_plain(inputs)
        if len(answers) == before:
            break
    if moved:
        writer.append(Moved(trial.number, to_plain(trial.suggestion.x), moved))


def _is_chained(writer: Writer, query: QueryEntry) -> bool:
    boxes: dict[str, BlackBox] = {box.name: box for box in writer.problem.boxes}
    return writer.state.settings["evaluation"] == "chained" or not boxes[query.box].separable


# --- problem changes ------------------------------------------------------------------------------
# The trials of a study whose problem was changed, computed again from the recorded answers.

# Points that are no farther apart, in ranges of the variables, count as one.
_NEAR = 0.01


def recompute(writer: Writer) -> str:
    """Compute all trials again from the recorded answers; returns what became of them, in words.

    A trial that lacks answers, of a new black box say, is asked for just these, if it is among the
    trials that matter most: as many as an initial design would have. The others keep their answers.
    """
    state, problem = writer.state, writer.problem
    before = _best(state.history().trials)
    records = {n: entry.record for n, entry in state.trials.items()}
    known = KnownAnswers(state.history().observations())
    outside, asking = 0, dict[int, Assignment]()
    for number, trial in list(state.trials.items()):
        if trial.state is TrialState.BROKEN:
            continue
        is_inside = _is_inside(problem, trial)
        outside += not is_inside and records[number] is not None
        found = _changed_assignment(writer, trial, known) if is_inside else None
        if found is not None and found.missing:
            asking[number] = found
        elif found is not None:
            reopen(writer, trial, found)
            writer.finish(trial)
        else:
            writer.append(Completed(number, None))
    chosen = _chosen(problem, state.trials, records, list(asking))
    for number, found in asking.items():
        if number in chosen:
            reopen(writer, state.trials[number], found, rank=chosen.index(number))
        else:
            writer.append(Completed(number, None))
    assemble(writer)
    lacking = {problem.program.calls[c].box.name for f in asking.values() for c in f.missing}
    after = _best(state.history().trials)
    return _summary(problem, records, outside, len(asking), len(chosen), lacking, before, after)


def _is_inside(problem: Problem, trial: TrialEntry) -> bool:
    x, program = trial.suggestion.x, problem.program
    return x.shape == program.lower.shape and bool(inside_bounds(program, x[None])[0])


def _changed_assignment(
    writer: Writer, trial: TrialEntry, known: KnownAnswers
) -> Assignment | None:
    """The answers that serve a trial of the changed problem; None if it cannot have a chain."""
    if not trial.suggestion.chain:
        return None
    problem, serves = writer.problem, same_inputs(writer.problem)
    try:
        return assign(problem, writer.chain, trial.suggestion.x, trial.told, serves, known)
    except EvaluationError:
        return None


def _chosen(
    problem: Problem,
    trials: dict[int, TrialEntry],
    records: dict[int, Trial | None],
    lacking: list[int],
) -> list[int]:
    """The trials to ask more of, in the order in which they matter.

    Pending ones; then in turn the best one by the former problem, and the one that is farthest from
    all chosen so far, because a new black box must be learned everywhere. An optimizer tries the
    best point again and again: one answer there is enough.
    """
    chosen = [number for number in lacking if records[number] is None]
    scale = problem.program.upper - problem.program.lower
    by_merit = sorted((n for n in lacking if n not in chosen), key=lambda n: _merit(records[n]))
    while by_merit and len(chosen) < usual_points(problem.program.size):
        points = [trials[number].suggestion.x / scale for number in chosen]
        far = len(chosen) % 2 == 1
        number = max(by_merit, key=lambda n: _distance(trials[n].suggestion.x / scale, points))
        chosen.append(number if far else by_merit[0])
        last = trials[chosen[-1]].suggestion.x / scale
        by_merit = [
            n for n in by_merit if _distance(trials[n].suggestion.x / scale, [last]) > _NEAR
        ]
    return chosen


def _merit(trial: Trial | None) -> tuple[float, float]:
    assert trial is not None  # it was complete
    return trial.violation, trial.objective


def _distance(x: Array, others: Sequence[Array]) -> float:
    return min((float(np.abs(x - other).max()) for other in others), default=np.inf)


def _best(trials: Sequence[Trial]) -> Trial | None:
    feasible = [t for t in trials if t.violation <= 0 and np.isfinite(t.objective)]
    return min(feasible, key=lambda t: t.objective, default=None)


def _summary(
    problem: Problem,
    records: dict[int, Trial | None],
    outside: int,
    lacking: int,
    asked: int,
    boxes: set[str],
    before: Trial | None,
    after: Trial | None,
) -> str:
    """What a changed problem makes of the trials so far, in sentences."""
    complete = sum(record is not None for record in records.values())
    parts = [f"the problem was changed: all answers are kept, and {complete} trials are computed"]
    parts[0] += " again from them; bounds of earlier trials no longer count"
    if outside:
        parts.append(
            f"{counted(outside, 'trial')} outside the bounds now: kept as answers, not as trials"
        )
    if lacking:
        names = ", ".join(map(repr, sorted(boxes)))
        parts.append(
            f"{counted(lacking, 'trial')} without an answer of {names}: it is asked at "
            f"{asked} of these points first, those that matter most"
        )
    parts.append(
        f"best feasible value before: {_shown_answer(problem, before)}, "
        f"now: {_shown_answer(problem, after)}"
    )
    return "; ".join(parts)


def _shown_answer(problem: Problem, trial: Trial | None) -> str:
    if trial is None:
        return "none"
    return f"{problem.sense * trial.objective:.8g} (trial {trial.number})"

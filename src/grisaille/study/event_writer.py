"""Writing to a study: each change as events, with everything that follows from it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grisaille.array_types import Array
from grisaille.confidence.incumbent import Incumbent
from grisaille.errors import EvaluationError, ModelError, ProtocolError, shortened
from grisaille.language.problem import Problem
from grisaille.records import Situation, Suggestion, Trial
from grisaille.storage.event_log import DamagedError, Kind, Turn
from grisaille.study.declared_ranges import check_range, refusal
from grisaille.study.encoding import (
    believed_to_plain,
    outcome_to_plain,
    suggestion_to_plain,
    to_plain,
)
from grisaille.study.evaluation_chain import Chain
from grisaille.study.identity import has_box
from grisaille.study.loop_rounds import is_closed
from grisaille.study.machine import this_machine
from grisaille.study.really_done import really_tried
from grisaille.study.state import StudyState
from grisaille.study.trials_and_queries import (
    QueryEntry,
    QueryState,
    TrialEntry,
    TrialState,
    probe_id,
    probe_of,
    query_id,
)

# A query counts as failed when this many workers were lost with it: machines are switched off.
_MOST_LOSSES = 3


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

    def append(self, kind: Kind, data: dict[str, Any]) -> None:
        """Write one event."""
        try:
            self.state.apply([self.turn.append(kind, data)])
        except DamagedError as error:  # what is recorded is whole
            raise ModelError(
                f"event {error.event} is not recorded, because it {error.complaint}"
            ) from error

    def append_long(self, kind: Kind, data: dict[str, Any], text: str) -> None:
        """Write a long event last in a turn: the state includes it once the turn has ended."""
        self.turn.append(kind, data, text)

    def start(self, decision: Decision) -> int:
        """Write a decision as the next trial; returns its number."""
        suggestion, situation = decision.suggestion, decision.situation
        number = len(self.state.trials) + 1
        reason = ""
        queries: list[dict[str, Any]] = []
        try:
            queries = self._first_queries(number, suggestion)
        except EvaluationError as error:
            reason = str(error)
        data = {
            "trial": number,
            "suggestion": suggestion_to_plain(suggestion),
            "remaining": situation.remaining,
            "budget": situation.budget,
            "gap_tol": situation.gap_tol,
            "known": decision.known,
            "seconds": decision.seconds,
            "queries": queries,
            "made_on": decision.made_on,
        }
        if decision.believed is not None:
            data["believed"] = believed_to_plain(decision.believed, situation.history)
        self.append(Kind.SUGGESTED, data)
        if reason:
            self.append(Kind.ABANDONED, {"trial": number, "reason": reason})
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
            self.append(Kind.RELEASED, {"query": entry.id})

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
            done = {"query": entry.id, "outputs": to_plain(outputs), "seconds": seconds}
            self.append(Kind.TOLD, {**done, "inputs": to_plain(inputs), "ready": []})
            return self.follow(trial, entry)
        answers = {**trial.answers(), **dict.fromkeys(entry.calls, outputs)}
        ready: list[dict[str, Any]] = []
        reason = ""
        if trial.state is TrialState.PENDING and trial.suggestion.chain:
            try:
                found = self.chain.ready(trial.suggestion.x, answers)
            except EvaluationError as error:
                reason, found = str(error), {}
            ready = self.new_queries(trial, found)
        told = {"query": entry.id, "outputs": to_plain(outputs), "seconds": seconds, "ready": ready}
        self.append(Kind.TOLD, told)
        if reason:
            self.append(Kind.ABANDONED, {"trial": trial.number, "reason": reason})
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
        rows = {"inputs": list(map(to_plain, inputs)), "outputs": list(map(to_plain, outputs))}
        self.append(Kind.OBSERVED, {"box": box, **rows})

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
            self.append(Kind.ABANDONED, {"trial": trial.number, "reason": str(error)})
            return None
        if moved is not None:
            self.append(Kind.MOVED, moved)
        return self.continue_chain(trial)

    def continue_chain(self, trial: TrialEntry) -> Trial | None:
        """Continue a trial after an answer turned out to serve a further call."""
        try:
            found = self.chain.ready(trial.suggestion.x, trial.answers())
        except EvaluationError as error:
            self.append(Kind.ABANDONED, {"trial": trial.number, "reason": str(error)})
            return None
        ready = self.new_queries(trial, found)
        if not ready:
            return self.finish(trial)
        self.append(Kind.READY, {"trial": trial.number, "ready": ready})
        self._fail_refused(trial)
        if any(self.state.queries[r["id"]].state is QueryState.TOLD for r in ready):
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

    def new_queries(self, trial: TrialEntry, ready: Mapping[int, Array]) -> list[dict[str, Any]]:
        """Queries for calls that are ready and have none yet."""
        return self.queries_for(
            trial, {c: inputs for c, inputs in ready.items() if trial.query_for(c) is None}
        )

    def queries_for(
        self, trial: TrialEntry, ready: Mapping[int, Array], besides: Container[str] = ()
    ) -> list[dict[str, Any]]:
        """Queries for calls; equal inputs of a black box within a trial share one.

        Args:
            trial: The trial.
            ready: Inputs by call.
            besides: Ids of queries that serve other calls already, and are not to be shared.
        """
        made: list[dict[str, Any]] = []
        taken = {query.id for query in trial.queries}
        for call, inputs in ready.items():
            box = self.problem.program.calls[call].box.name
            same = [
                (q.id, q.wanted)
                for q in trial.queries
                if q.box == box and q.may_have_answer and q.id not in besides
            ]
            same += [(m["id"], np.array(m["inputs"])) for m in made if m["box"] == box]
            known = next((name for name, seen in same if np.array_equal(seen, inputs)), None)
            name = known or query_id(trial.number, call, taken | {m["id"] for m in made})
            made.append({"id": name, "box": box, "inputs": to_plain(inputs), "calls": [call]})
        return made

    def _first_queries(self, number: int, suggestion: Suggestion) -> list[dict[str, Any]]:
        trial = TrialEntry(number, suggestion, None, None, 0, 0.0)
        made: list[dict[str, Any]] = []
        if suggestion.chain:
            made = self.new_queries(trial, self.chain.ready(suggestion.x, {}))
        for place, probe in enumerate(suggestion.probes):
            box = self.problem.program.calls[probe.call].box.name
            inputs = to_plain(probe.inputs)
            if any(m["box"] == box and m["inputs"] == inputs for m in made):
                continue
            name = probe_id(number, place)
            made.append({"id": name, "box": box, "inputs": inputs, "calls": []})
        return made

    def fail(
        self, entry: QueryEntry, reason: str, lost: bool = False, may_retry: bool = True
    ) -> bool:
        """Write a failed attempt; returns whether there will be another."""
        trial = self.state.trials[entry.trial]
        again = entry.losses + 1 < _MOST_LOSSES if lost else entry.attempts < self.retries
        again = again and may_retry and trial.state is TrialState.PENDING
        if not again and probe_of(entry) is not None and not entry.calls:
            reason += (
                "; this input is an optimistic guess, which the real chain may never reach: "
                f"declare input_lower= and input_upper= of {entry.box!r}, or separable=False, or "
                "use evaluation='chained'"
            )
        # A lost worker says little about the input, unless every worker is lost there.
        counts = not again and (not lost or entry.losses + 1 >= _MOST_LOSSES)
        data = {"query": entry.id, "reason": reason, "lost": lost, "final": not again}
        self.append(Kind.FAILED, {**data, "counts": counts})
        if again:
            return True
        if entry.calls and trial.state is TrialState.PENDING:
            self.append(Kind.ABANDONED, {"trial": trial.number, "reason": reason})
        else:
            self.finish(trial)
        return False

    def finish(self, trial: TrialEntry) -> Trial | None:
        """Complete a trial if all its answers are there, and its loops are closed."""
        if trial.state is not TrialState.PENDING or any(q.is_open for q in trial.queries):
            return None
        data: dict[str, Any] = {"trial": trial.number, "objective": None}
        if trial.suggestion.chain:
            answers = trial.answers()
            if len(answers) < len(self.problem.program.calls):
                return None
            if self.chain.loops and not is_closed(self, trial, answers):
                return None
            try:
                outcome = self.chain.outcome(trial.suggestion.x, answers)
            except EvaluationError as error:
                self.append(Kind.ABANDONED, {"trial": trial.number, "reason": str(error)})
                return None
            data |= outcome_to_plain(*outcome)
        self.append(Kind.COMPLETED, data)
        return trial.record

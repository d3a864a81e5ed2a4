"""Answers that were wrong: corrected or taken back, and what follows from that."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from grisaille.array_types import Array
from grisaille.errors import EvaluationError, ProtocolError, shortened
from grisaille.language.black_box import BlackBox
from grisaille.records import Trial
from grisaille.storage.event_log import Kind
from grisaille.study.assignment import Assignment, KnownAnswers, are_same, assign, same_inputs
from grisaille.study.data_trials import NewRows, assembled
from grisaille.study.encoding import to_plain
from grisaille.study.event_writer import Writer
from grisaille.study.really_done import really_tried
from grisaille.study.reopening import reopen
from grisaille.study.trials_and_queries import QueryEntry, TrialEntry, TrialState


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
    correction = {"answer": name, "inputs": to_plain(done), "outputs": to_plain(outputs)}
    writer.append(Kind.CORRECTED, correction)
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
                writer.append(Kind.MOVED, moved)
        _let_chain_follow(writer, trial)
        reopen(writer, trial, _assignment(writer, trial))
    except EvaluationError as error:
        writer.append(Kind.ABANDONED, {"trial": trial.number, "reason": str(error)})
        return None
    return writer.finish(trial)


def retract(writer: Writer, names: Iterable[str], reason: str) -> None:
    """Take answers back: nothing is learned from them, and no objective rests on them."""
    for name in names:
        if writer.state.answer(name) is None:
            raise no_answer(writer, name)
        query = writer.state.queries.get(name)
        writer.append(Kind.RETRACTED, {"answer": name, "reason": reason})
        trial = None if query is None else writer.state.trials[query.trial]
        if query is not None and trial is not None and trial.state is TrialState.PENDING:
            if query.calls:
                why = f"the answer to query {name} was retracted: {reason}"
                writer.append(Kind.ABANDONED, {"trial": trial.number, "reason": why})
            else:
                writer.finish(trial)
    assemble(writer)


def assemble(writer: Writer) -> int:
    """Write the trials that observed rows make by now; returns how many there are."""
    free = writer.state.free_rows() if writer.makes_trials else {}
    trials = assembled(writer.problem, writer.state.rows(), free) if free else []
    if trials:
        writer.append(Kind.ASSEMBLED, {"trials": trials})
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
        writer.append_long(Kind.OBSERVED, new.data, new.text)
        if new.trials["trials"]:
            writer.append_long(Kind.ASSEMBLED, new.trials, new.text_of_trials)
        return True
    if at_all_costs:
        writer.append(Kind.OBSERVED, new.data)
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
    moved: dict[str, Any] = {}
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
        x = to_plain(trial.suggestion.x)
        writer.append(Kind.MOVED, {"trial": trial.number, "x": x, "queries": moved})


def _is_chained(writer: Writer, query: QueryEntry) -> bool:
    boxes: dict[str, BlackBox] = {box.name: box for box in writer.problem.boxes}
    return writer.state.settings["evaluation"] == "chained" or not boxes[query.box].separable

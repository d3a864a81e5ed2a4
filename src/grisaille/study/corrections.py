"""Changes of the past: corrected and retracted answers, and changed problems.

A correction is an event, and its consequences are further events: a trial is reopened with the
answers that still serve its calls, and asks for the others. A changed problem does the same. The
log keeps what was wrong, so that decisions before it can still be replayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from grisaille.array_types import Array
from grisaille.errors import EvaluationError, ProtocolError, counted, shortened
from grisaille.language.black_box import BlackBox
from grisaille.language.problem import Problem
from grisaille.records import Trial
from grisaille.strategies.initial_design import usual_points
from grisaille.study.answers import NewRows, assembled, inside_bounds
from grisaille.study.events import (
    Abandoned,
    Assembled,
    Completed,
    Corrected,
    Moved,
    Retracted,
    to_plain,
)
from grisaille.study.state import QueryEntry, TrialEntry, TrialState
from grisaille.study.writer import (
    Assignment,
    KnownAnswers,
    Writer,
    are_same,
    assign,
    really_tried,
    reopen,
    same_inputs,
)

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
        f"best feasible value before: {_shown(problem, before)}, now: {_shown(problem, after)}"
    )
    return "; ".join(parts)


def _shown(problem: Problem, trial: Trial | None) -> str:
    if trial is None:
        return "none"
    return f"{problem.sense * trial.objective:.8g} (trial {trial.number})"

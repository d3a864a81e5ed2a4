"""What becomes of the trials of a study whose problem was changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grisaille.array_types import Array
from grisaille.errors import EvaluationError, counted
from grisaille.language.problem import Problem
from grisaille.records import Trial
from grisaille.storage.event_log import Kind
from grisaille.strategies.initial_design import usual_points
from grisaille.study.assignment import Assignment, KnownAnswers, assign, same_inputs
from grisaille.study.corrections import assemble
from grisaille.study.data_trials import inside_bounds
from grisaille.study.event_writer import Writer
from grisaille.study.reopening import reopen
from grisaille.study.trials_and_queries import TrialEntry, TrialState

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
        found = _assignment(writer, trial, known) if is_inside else None
        if found is not None and found.missing:
            asking[number] = found
        elif found is not None:
            reopen(writer, trial, found)
            writer.finish(trial)
        else:
            writer.append(Kind.COMPLETED, {"trial": number, "objective": None})
    chosen = _chosen(problem, state.trials, records, list(asking))
    for number, found in asking.items():
        if number in chosen:
            reopen(writer, state.trials[number], found, rank=chosen.index(number))
        else:
            writer.append(Kind.COMPLETED, {"trial": number, "objective": None})
    assemble(writer)
    lacking = {problem.program.calls[c].box.name for f in asking.values() for c in f.missing}
    after = _best(state.history().trials)
    return _summary(problem, records, outside, len(asking), len(chosen), lacking, before, after)


def _is_inside(problem: Problem, trial: TrialEntry) -> bool:
    x, program = trial.suggestion.x, problem.program
    return x.shape == program.lower.shape and bool(inside_bounds(program, x[None])[0])


def _assignment(writer: Writer, trial: TrialEntry, known: KnownAnswers) -> Assignment | None:
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

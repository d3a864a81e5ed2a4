"""What was really done, where a laboratory could not set the inputs it was asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from grisaille.array_types import Array
from grisaille.errors import EvaluationError
from grisaille.language.box_inputs import input_kinds, shown_inputs
from grisaille.language.problem import Problem
from grisaille.language.value_kinds import Value, condensed
from grisaille.reporting.tables import design_names
from grisaille.study.assignment import is_near, near_inputs
from grisaille.study.data_trials import direct_entries, inside_bounds
from grisaille.study.encoding import to_plain
from grisaille.study.evaluation_chain import Chain
from grisaille.study.state import StudyState
from grisaille.study.trials_and_queries import QueryEntry, TrialEntry


def really_tried(
    problem: Problem, chain: Chain, state: StudyState, trial: TrialEntry, told: QueryEntry
) -> dict[str, Any] | None:
    """Where a trial was really made, as data of an event; None if that is where it was to be.

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
    return {"trial": trial.number, "x": to_plain(x), "queries": follow}


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

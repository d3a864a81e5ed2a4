"""Going around the loops of a trial, round by round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from grisaille.array_types import Array
from grisaille.errors import EvaluationError
from grisaille.language.loops import MOST_ROUNDS
from grisaille.storage.event_log import Kind
from grisaille.study.assignment import Assignment, assign, same_inputs
from grisaille.study.encoding import to_plain
from grisaille.study.reopening import reopen
from grisaille.study.trials_and_queries import TrialEntry

if TYPE_CHECKING:
    from grisaille.study.event_writer import Writer


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
    if rounds < MOST_ROUNDS:
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
        writer.append(Kind.ABANDONED, {"trial": trial.number, "reason": reason})
        return False
    _move(writer, trial, following)
    reopen(writer, trial, found)
    return False


def _move(writer: Writer, trial: TrialEntry, x: Array) -> None:
    """Let a trial be at another point, with the answers that it has."""
    writer.append(Kind.MOVED, {"trial": trial.number, "x": to_plain(x), "queries": {}})

"""Whether what a strategy suggests can be tried."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grisaille.errors import ModelError, counted, shortened
from grisaille.language.problem import Problem
from grisaille.records import Suggestion, TrialKind


def checked_suggestion(strategy: object, suggestion: object, problem: Problem) -> Suggestion:
    """A suggestion with its design point on the steps of the variables.

    Raises:
        ModelError: A strategy, perhaps a user's own, suggests what cannot be tried.
    """
    what = f"strategy {type(strategy).__name__} suggested"
    if not isinstance(suggestion, Suggestion) or not isinstance(suggestion.kind, TrialKind):
        raise ModelError(
            f"{what} {shortened(suggestion)}: its suggest() must return a Suggestion of "
            "grisaille.records, whose kind is a gs.TrialKind"
        )
    program, x = problem.program, suggestion.x
    if not (isinstance(x, np.ndarray) and x.shape == (program.size,) and np.isfinite(x).all()):
        raise ModelError(
            f"{what} x={shortened(x)}: it must be an array of {counted(program.size, 'number')}"
        )
    reach = 1e-9 * (program.upper - program.lower)  # rounding
    if ((x < program.lower - reach) | (x > program.upper + reach)).any():
        raise ModelError(f"{what} x={shortened(x)}, which is outside the bounds of the variables")
    if not program.space.has_steps:
        return suggestion
    return replace(suggestion, x=program.space.on_steps(x))

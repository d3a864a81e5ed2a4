"""Questions to a strategy, asked of the problem that it sees.

What comes back is checked, also for a user's own strategy, and lifted to the problem as written.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from grisaille.array_types import Array
from grisaille.belief.incumbent import Incumbent, find_incumbent
from grisaille.checks import is_count, real_numbers
from grisaille.errors import GrisailleError, ModelError, counted, place_of, raised, shortened
from grisaille.language.design_points import names_of_entries
from grisaille.language.problem import Problem
from grisaille.records import Bound, Probe, Situation, Suggestion, TrialKind
from grisaille.reductions.reduction import border
from grisaille.strategies.strategy import Strategy


def suggestion_of(strategy: Strategy, situation: Situation) -> Suggestion:
    """Return what a strategy suggests, on the steps of the variables.

    A design point becomes a suggestion.

    Raises:
        ModelError: It suggests what cannot be tried.
        GrisailleError: A user's own strategy raised an exception, which is chained.
    """
    reductions = border(situation.problem)
    seen = reductions.down(situation)
    try:
        found: object = strategy.suggest(seen)
    except GrisailleError:
        raise
    except Exception as error:
        if type(strategy).__module__.startswith("grisaille."):
            raise
        raise GrisailleError(
            f"strategy {type(strategy).__name__} raised {raised(error)}{place_of(error)} when it "
            f"was asked for trial {situation.started + 1}"
        ) from error
    what = f"strategy {type(strategy).__name__} suggested"
    if isinstance(found, Suggestion):
        suggestion = found
    else:
        point = _point(what, found)
        suggestion = Suggestion(TrialKind.ACQUIRED, point, pending=len(situation.pending))
    _check(what, suggestion, seen.problem)
    x = seen.problem.program.space.on_steps(suggestion.x)
    return reductions.up(replace(suggestion, x=x))


def bound_of(strategy: Strategy, situation: Situation) -> Bound:
    """Return what a strategy can say of the optimum."""
    return strategy.bound(border(situation.problem).down(situation))


def incumbent_of(strategy: Strategy, situation: Situation) -> Incumbent | None:
    """Return the best point tried, as a strategy judges; None before the first trial."""
    seen = border(situation.problem).down(situation)
    found = strategy.incumbent(seen)
    if seen is situation:
        return found
    if found is None:  # the reduced problem has no trial
        return find_incumbent(situation.history, None, situation.is_answer)
    numbers = [trial.number for trial in situation.history]
    return replace(found, position=numbers.index(seen.history.trials[found.position].number))


def _point(what: str, found: Any) -> Array:
    """What a strategy returned in place of a `Suggestion`, as a design point."""
    try:
        return np.atleast_1d(real_numbers(found))
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"{what} {shortened(found)}: its suggest() must return a Suggestion, or a design point "
            "as an array"
        ) from error


def _check(what: str, suggestion: Suggestion, problem: Problem) -> None:
    """Raise ModelError if a suggestion cannot be tried."""
    program, x = problem.program, suggestion.x
    if not isinstance(suggestion.kind, TrialKind):
        raise ModelError(
            f"{what} {shortened(suggestion)}: its suggest() must return a Suggestion whose kind is "
            "a gs.TrialKind, such as gs.TrialKind.ACQUIRED"
        )
    if not (isinstance(x, np.ndarray) and x.shape == (program.size,) and np.isfinite(x).all()):
        without = ""
        if problem.origin is not None:
            names = ", ".join(names_of_entries(problem.variables))
            without = f" ({names}: the linear equalities give the others)"
        raise ModelError(
            f"{what} x={shortened(x)}: it must be an array of {counted(program.size, 'number')}"
            + without
        )
    reach = 1e-9 * (program.upper - program.lower)  # rounding
    if ((x < program.lower - reach) | (x > program.upper + reach)).any():
        raise ModelError(
            f"{what} x={shortened(x)}, which is outside the bounds of the variables: they go from "
            f"{shortened(program.lower)} to {shortened(program.upper)}"
        )
    if not isinstance(suggestion.bound, Bound):
        raise ModelError(f"{what} bound={shortened(suggestion.bound)}: it must be a gs.Bound")
    for probe in suggestion.probes:
        if not isinstance(probe, Probe):
            raise ModelError(f"{what} the probe {shortened(probe)}: it must be a gs.Probe")
        if not is_count(probe.call, 0) or probe.call >= len(program.calls):
            raise ModelError(
                f"{what} a probe of call {shortened(probe.call)}, but the problem has calls 0 to "
                f"{len(program.calls) - 1}"
            )
        box = program.calls[probe.call].box
        inputs = probe.inputs
        fits = isinstance(inputs, np.ndarray) and inputs.shape == (box.inputs,)
        if not fits or not np.isfinite(inputs).all():
            raise ModelError(
                f"{what} a probe of {box.name!r} at {shortened(inputs)}: it must be an array of "
                f"{counted(box.inputs, 'number')}"
            )

"""A situation without the linear equalities of its problem, and suggestions on the way back.

Strategies see the reduced problem (`language/reductions/linear_equalities.py`), so that every point
they suggest meets the equalities. The study and its user see the problem as it was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from grisaille.array_types import Array
from grisaille.belief.incumbent import Incumbent, find_incumbent
from grisaille.language.program import Program
from grisaille.language.reductions.linear_equalities import Elimination
from grisaille.records import Bound, Failure, History, Pending, Probe, Situation, Suggestion, Trial
from grisaille.strategies.strategy import Strategy


def reduced(situation: Situation) -> Situation:
    """The situation of the reduced problem; the same one if nothing is eliminated.

    Trials that break an equality by more than its tolerance, such as some that were made elsewhere,
    are no trials of the reduced problem. Their answers still count.
    """
    elimination = situation.problem.elimination
    if elimination is None:
        return situation
    history = _reduced_history(elimination, situation.history)
    return replace(
        situation,
        problem=elimination.problem,
        history=history,
        pending=tuple(_reduced_pending(elimination, p) for p in situation.pending),
        incomplete=situation.incomplete + len(situation.history) - len(history),
    )


def expanded(suggestion: Suggestion, situation: Situation) -> Suggestion:
    """A suggestion for the reduced problem as one for the problem of a situation."""
    elimination = situation.problem.elimination
    if elimination is None:
        return suggestion
    optimum = suggestion.optimum
    if optimum is not None:
        outputs = _with_all_calls(elimination, optimum[1])
        optimum = (elimination.expanded(optimum[0]), outputs)
    probes = tuple(
        Probe(elimination.calls.index(probe.call), probe.inputs) for probe in suggestion.probes
    )
    return replace(suggestion, x=elimination.expanded(suggestion.x), probes=probes, optimum=optimum)


def incumbent_of(strategy: Strategy, situation: Situation) -> Incumbent | None:
    """The best point tried, as a strategy judges; None before the first trial."""
    found = strategy.incumbent(reduced(situation))
    elimination = situation.problem.elimination
    if elimination is None:
        return found
    if found is None:  # no trial meets the equalities
        return find_incumbent(situation.history, None, situation.is_answer)
    met = [i for i, trial in enumerate(situation.history) if elimination.is_met(trial.x)]
    return replace(found, position=met[found.position])


def bound_of(strategy: Strategy, situation: Situation) -> Bound:
    """What a strategy can say of the optimum."""
    return strategy.bound(reduced(situation))


# A decision, the line of a table and a result ask about one history, and what is learned from it is
# kept by what it is.
@lru_cache(maxsize=4)
def _reduced_history(elimination: Elimination, history: History) -> History:
    met = [elimination.is_met(trial.x) for trial in history]
    pairs = list(zip(history, met, strict=True))
    others = tuple(seen for trial, fits in pairs if not fits for seen in trial.observations)
    return History(
        tuple(_reduced_trial(elimination, trial) for trial, fits in pairs if fits),
        (*others, *history.loose),
        tuple(_reduced_failure(elimination, failure) for failure in history.failures),
    )


def _reduced_trial(elimination: Elimination, trial: Trial) -> Trial:
    return replace(
        trial,
        suggestion=_reduced_suggestion(elimination, trial.suggestion),
        constraints=elimination.constraints_at(trial.x, trial.constraints),
        chain=_with_fewer_calls(elimination, trial.chain),
        allowed=elimination.allowed_at(trial.x, trial.allowed),
        lenient=None if trial.lenient is None else elimination.allowed_at(trial.x, trial.lenient),
    )


def _reduced_suggestion(elimination: Elimination, suggestion: Suggestion) -> Suggestion:
    optimum = suggestion.optimum
    if optimum is not None:
        outputs = _with_fewer_calls(elimination, optimum[1])
        optimum = (elimination.reduced(optimum[0]), outputs)
    probes = tuple(Probe(elimination.calls[p.call], p.inputs) for p in suggestion.probes)
    x = elimination.reduced(suggestion.x)
    return replace(suggestion, x=x, probes=probes, optimum=optimum)


def _reduced_pending(elimination: Elimination, pending: Pending) -> Pending:
    answers: Mapping[int, Array] = {
        elimination.calls[call]: outputs for call, outputs in pending.answers.items()
    }
    probes = tuple(Probe(elimination.calls[p.call], p.inputs) for p in pending.probes)
    return Pending(_reduced_suggestion(elimination, pending.suggestion), answers, probes)


def _reduced_failure(elimination: Elimination, failure: Failure) -> Failure:
    if len(failure.x) != elimination.original.program.size:
        return failure  # the problem was changed since
    return replace(failure, x=elimination.reduced(failure.x))


def _with_fewer_calls(elimination: Elimination, outputs: Array) -> Array:
    """Outputs of all calls of the original as those of the reduced problem."""
    before, after = elimination.original.program, elimination.problem.program
    if len(before.calls) == len(after.calls):
        return outputs
    first = [elimination.calls.index(number) for number in range(len(after.calls))]
    return _picked(before, outputs, first)


def _with_all_calls(elimination: Elimination, outputs: Array) -> Array:
    """Outputs of all calls of the reduced problem as those of the original."""
    after = elimination.problem.program
    if len(elimination.calls) == len(after.calls):
        return outputs
    return _picked(after, outputs, elimination.calls)


def _picked(program: Program, outputs: Array, calls: list[int] | tuple[int, ...]) -> Array:
    parts = [outputs[program.calls[number].columns] for number in calls]
    return np.concatenate([np.zeros(0), *parts])

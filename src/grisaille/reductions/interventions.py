"""A problem over interventions under one set of them: the causal model that is left."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from grisaille.array_types import Array
from grisaille.language.causal.model import SYSTEM, CausalModel
from grisaille.language.problem import Problem
from grisaille.records import Failure, History, Observation, Pending, Situation, Suggestion, Trial


@dataclass(frozen=True, slots=True)
class Interventions:
    """The reduction of a problem over interventions to its causal model under one set.

    A causal strategy adds it, one for each set that it compares.

    Attributes:
        original: The problem over interventions.
        causal: Its causal model.
        number: The set.
    """

    original: Problem
    causal: CausalModel
    number: int

    @property
    def problem(self) -> Problem:
        """The causal model under the set."""
        return self.causal.intervened(self.number)

    def down(self, situation: Situation) -> Situation:
        """Write a situation of the original as one of the model under the set.

        Trials of other sets are left out. All runs of all sets, and observational data, are answers
        of the mechanisms.
        """
        history, pending = situation.history, situation.pending
        failures = (f for f in system_failures(self.causal, history) if self._is_here(f.x))
        inside = replace(
            mechanism_history(self.causal, history),
            trials=tuple(self._trial_down(t) for t in history if self._is_here(t.x)),
            failures=tuple(replace(f, x=self._read(f.x)) for f in failures),
        )
        here = (p.suggestion for p in pending if self._is_here(p.suggestion.x))
        waiting = tuple(Pending(self._suggestion_down(suggestion)) for suggestion in here)
        return replace(situation, problem=self.problem, history=inside, pending=waiting)

    def up(self, suggestion: Suggestion) -> Suggestion:
        """Write a suggestion for the set as one for the original."""
        return replace(suggestion, x=self.causal.design(self.number, suggestion.x))

    def _is_here(self, x: Array) -> bool:
        return self.causal.read(x)[0] == self.number

    def _read(self, x: Array) -> Array:
        return self.causal.under(self.number, x)

    def _trial_down(self, trial: Trial) -> Trial:
        runs = self.causal.runs_of(trial.chain)
        chain = np.array([runs[call.box.name].mean() for call in self.problem.program.calls])
        suggestion = self._suggestion_down(trial.suggestion)
        return replace(trial, suggestion=suggestion, chain=chain, observations=())

    def _suggestion_down(self, suggestion: Suggestion) -> Suggestion:
        return replace(suggestion, x=self._read(suggestion.x), probes=(), optimum=None)


def system_failures(causal: CausalModel, history: History) -> list[Failure]:
    """Return where the system failed."""
    size = sum(variable.size for variable in causal.variables)
    # The problem may have been changed since a failure.
    return [f for f in history.failures if f.box == SYSTEM and len(f.x) == size]


@lru_cache(maxsize=4)
def mechanism_history(causal: CausalModel, history: History) -> History:
    """Write a history as answers of the mechanisms: observational rows first, then all runs.

    Args:
        causal: What the problem over interventions is about.
        history: The trials of that problem.
    """
    data = list(causal.observed())
    for answer in history.observations():
        if answer.box == SYSTEM:
            number, _ = causal.read(answer.inputs)
            data += causal.mechanism_data(number, causal.rows(answer.inputs, answer.outputs))
    return History(
        loose=tuple(
            Observation(name, row, value)
            for name, inputs, outputs in data
            for row, value in zip(inputs, outputs, strict=True)
        )
    )

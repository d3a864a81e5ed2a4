"""What trials over interventions say: of the mechanisms, and of where the system gives nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grisaille.confidence.failures import LEAST_DISTANCE, nearest, too_near
from grisaille.language.causal.model import SYSTEM, CausalModel
from grisaille.records import History, Observation
from grisaille.solvers.search_problem import SearchProblem

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Points by which the farthest place from all failures is judged.
_PLACES = 256


def mechanism_history(causal: CausalModel, history: History) -> History:
    """The history as answers of the mechanisms: observational rows first, then all runs.

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


def failed_points(causal: CausalModel, history: History) -> list[Array]:
    """Design points that the system failed at."""
    size = sum(variable.size for variable in causal.variables)
    # The problem may have been changed since a failure.
    return [f.x for f in history.failures if f.box == SYSTEM and len(f.x) == size]


class FailedInterventions:
    """Where the system failed under each set, and where it answered.

    Values x of a set are avoided by the rule of `too_near`, among the answers and failures f of the
    same set and in ranges of what is set. While a set has no answer, |x - f| must be half of what
    it can be at most: steps as large as that soon leave a region in which everything fails.

    Args:
        causal: What the problem over interventions is about.
        history: What was tried.
        useless: (n,), which of the n trials count as failures though the system answered.
    """

    def __init__(self, causal: CausalModel, history: History, useless: Flags | None = None) -> None:
        failed = failed_points(causal, history)
        answered: list[Array] = []
        for number, trial in enumerate(history):
            (failed if useless is not None and useless[number] else answered).append(trial.x)
        self._causal = causal
        self._failed, self._answered = _by_set(causal, failed), _by_set(causal, answered)
        self._reach = {number: _reach(tried) for number, tried in self._failed.items()}

    def excess(self, number: int, values: Tensor) -> Tensor:
        """How much too near to a failure values (batch, d) are, (batch,), met when <= 0."""
        if number not in self._failed:
            return values.new_zeros(len(values))
        unit = _unit(self._causal, number, values)
        failed = self._failed[number]
        if number not in self._answered:
            return max(self._reach[number] / 2, LEAST_DISTANCE) - nearest(unit, failed)
        return too_near(unit, self._answered[number], failed)

    def avoided_in(self, problem: SearchProblem, number: int) -> SearchProblem:
        """A search of a set, whose points start with its values, that avoids failures."""
        if number not in self._failed:
            return problem
        size = self._causal.intervened(number).program.size

        def evaluate(points: Tensor) -> tuple[Tensor, Tensor]:
            objective, constraints = problem.evaluate(points)
            excess = self.excess(number, points[:, :size])
            return objective, torch.cat([constraints, excess.unsqueeze(1)], 1)

        return replace(problem, evaluate=evaluate, relax=None)


def _by_set(causal: CausalModel, points: list[Array]) -> dict[int, Tensor]:
    """Design points as parts of the ranges of their sets, (n, d) by set."""
    found: dict[int, list[Array]] = {}
    for number, values in map(causal.read, points):
        found.setdefault(number, []).append(values)
    return {n: _unit(causal, n, torch.tensor(np.array(rows))) for n, rows in found.items()}


def _unit(causal: CausalModel, number: int, values: Tensor) -> Tensor:
    program = causal.intervened(number).program
    lower, upper = torch.tensor(program.lower), torch.tensor(program.upper)
    return (values - lower) / (upper - lower)


def _reach(failed: Tensor) -> float:
    """How far from all failures (n, d) a point of the unit box can be, about."""
    d = failed.shape[1]
    if not d:
        return 0.0
    engine = torch.quasirandom.SobolEngine(d, scramble=True, seed=0)
    return float(nearest(engine.draw(_PLACES, dtype=torch.float64), failed).max())

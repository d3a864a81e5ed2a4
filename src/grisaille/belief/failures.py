"""Avoidance of failures: inputs near those that a black box failed at.

A failure teaches a surrogate nothing, so the auxiliary problem would suggest the same point again
and again. An input is avoided unless an answer is much nearer than any failure. Far from all
answers this leaves out whole regions; near a boundary, every answer moves it closer.

Avoidance is a constraint on the choice of a point, not on the bound: the bound stays one of the
whole problem.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.belief.learning import InputMeasure, accepted, input_range
from grisaille.belief.plausible_set import PlausibleSet
from grisaille.language.program import BoxCall, Program
from grisaille.records import History
from grisaille.search.search_problem import SearchProblem

# How many times nearer an answer must be than a failure.
_NEARER = 2.0
LEAST_DISTANCE = 0.01
"""How near to a failure is too near in any case, in ranges of the inputs: a boundary is not worth
more trials than that."""
# Points by which the farthest place from all failures is judged.
_PLACES = 256


class FailedInputs:
    """Where the black boxes of a program failed, and where they answered.

    Args:
        program: The problem's.
        history: What was tried.
    """

    def __init__(self, program: Program, history: History) -> None:
        self._tried: dict[str, tuple[Tensor, Tensor, Tensor]] = {}
        self._measures = {box.name: InputMeasure(program, box) for box in program.boxes}
        for box in program.boxes:
            failed = np.array([f.inputs for f in history.failures if f.box == box.name])
            answered, _ = history.data(box.name, box.inputs, box.outputs)
            if len(failed) and len(answered):
                ends = input_range(program, box, np.concatenate([answered, failed]))
                measure, where = self._measures[box.name], torch.tensor(failed)
                scale = torch.tensor(measure.widths(*ends))
                where = where[(accepted(box, where) == where).all(1)]
                known = measure.of(torch.tensor(answered))
                self._tried[box.name] = scale, known, measure.of(where)

    def __bool__(self) -> bool:
        return bool(self._tried)

    def excess(self, plausible: PlausibleSet, points: Tensor) -> Tensor:
        """How much too near to a failure each call's state is, met when <= 0.

        Args:
            plausible: What the points belong to.
            points: (batch, n + outputs), or (batch, n) for predicted states.

        Returns:
            (batch, calls of boxes that failed), in ranges of the inputs.
        """
        found: list[Tensor] = []

        def look(call: BoxCall, states: Tensor) -> None:
            if call.box.name in self._tried:
                scale, answered, failed = self._tried[call.box.name]
                measure = self._measures[call.box.name]
                inside = measure.of(accepted(call.box, states))
                states = measure.of(states)
                # A chain that leaves the accepted range fails, which says nothing of its inside.
                excess = ((states - inside) / scale).abs().amax(1)
                if len(failed):
                    near = too_near(inside / scale, answered / scale, failed / scale)
                    excess = torch.maximum(excess, near)
                found.append(excess)

        plausible.visit(points, look)
        return torch.stack(found, 1)

    def avoided_in(self, problem: SearchProblem, plausible: PlausibleSet) -> SearchProblem:
        """A search of the plausible set, or of the design space alone, that avoids failures."""

        def evaluate(points: Tensor) -> tuple[Tensor, Tensor]:
            objective, constraints = problem.evaluate(points)
            return objective, torch.cat([constraints, self.excess(plausible, points)], 1)

        return replace(problem, evaluate=evaluate, relax=None)


class FailedInterventions:
    """Where the system failed under a set of interventions, and where it answered.

    Values x are avoided by the rule of `too_near`, among the answers and failures f of the same set
    and in ranges of what is set. While a set has no answer, |x - f| must be half of what it can be
    at most: steps as large as that soon leave a region in which everything fails.

    Args:
        program: The system under the set.
        history: What was tried under it.
        useless: Numbers of the trials that count as failures though the system answered.
    """

    def __init__(self, program: Program, history: History, useless: Collection[int] = ()) -> None:
        self._size = program.size
        self._lower, self._width = torch.tensor(program.lower), torch.tensor(program.upper)
        self._width = self._width - self._lower
        failed = [failure.x for failure in history.failures]
        answered: list[Array] = []
        for trial in history:
            (failed if trial.number in useless else answered).append(trial.x)
        self._failed, self._answered = self._unit(failed), self._unit(answered)
        self._reach = _reach(self._failed) if len(failed) else 0.0

    def excess(self, values: Tensor) -> Tensor:
        """How much too near to a failure values (batch, d) are, (batch,), met when <= 0."""
        if not len(self._failed):
            return values.new_zeros(len(values))
        unit = (values - self._lower) / self._width
        if not len(self._answered):
            return max(self._reach / 2, LEAST_DISTANCE) - nearest(unit, self._failed)
        return too_near(unit, self._answered, self._failed)

    def avoided_in(self, problem: SearchProblem) -> SearchProblem:
        """A search of the set, whose points start with its values, that avoids failures."""
        if not len(self._failed):
            return problem

        def evaluate(points: Tensor) -> tuple[Tensor, Tensor]:
            objective, constraints = problem.evaluate(points)
            excess = self.excess(points[:, : self._size])
            return objective, torch.cat([constraints, excess.unsqueeze(1)], 1)

        return replace(problem, evaluate=evaluate, relax=None)

    def _unit(self, points: list[Array]) -> Tensor:
        values = torch.tensor(np.array(points, dtype=float).reshape(-1, self._size))
        return (values - self._lower) / self._width


def _reach(failed: Tensor) -> float:
    """How far from all failures (n, d) a point of the unit box can be, about."""
    d = failed.shape[1]
    if not d:
        return 0.0
    engine = torch.quasirandom.SobolEngine(d, scramble=True, seed=0)
    return float(nearest(engine.draw(_PLACES, dtype=torch.float64), failed).max())


def too_near(inputs: Tensor, answered: Tensor, failed: Tensor) -> Tensor:
    """How much too near to a failure inputs (batch, d) are, (batch,): met when <= 0.

    An input s is avoided unless 2 |s - a| <= |s - f| and |s - f| >= 0.01 for the nearest answer a
    and the nearest failure f.
    """
    return (_NEARER * nearest(inputs, answered)).clamp_min(LEAST_DISTANCE) - nearest(inputs, failed)


def nearest(inputs: Tensor, tried: Tensor) -> Tensor:
    """Distance from each input to the nearest one tried."""
    squares = (inputs.unsqueeze(1) - tried).square().sum(2)
    return (squares.min(1).values + 1e-18).sqrt()  # the root stays differentiable at an input

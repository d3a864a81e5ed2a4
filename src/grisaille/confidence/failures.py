"""Where failures are avoided: inputs near those that a black box failed at.

A failure teaches a surrogate nothing, so the auxiliary problem would suggest the same point again
and again. An input is avoided unless an answer is much nearer than any failure. Far from all
answers this leaves out whole regions; near a boundary, every answer moves it closer.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from grisaille.confidence.beliefs import input_range
from grisaille.confidence.declared_ranges import accepted
from grisaille.confidence.plausible_set import PlausibleSet
from grisaille.language.program import BoxCall, Program
from grisaille.records import History
from grisaille.solvers.search_problem import SearchProblem

# How many times nearer an answer must be than a failure.
_NEARER = 2.0
LEAST_DISTANCE = 0.01
"""How near to a failure is too near in any case, in ranges of the inputs: a boundary is not worth
more trials than that."""


class FailedInputs:
    """Where the black boxes of a program failed, and where they answered.

    Args:
        program: The problem's.
        history: What was tried.
    """

    def __init__(self, program: Program, history: History) -> None:
        self._tried: dict[str, tuple[Tensor, Tensor, Tensor]] = {}
        for box in program.boxes:
            failed = np.array([f.inputs for f in history.failures if f.box == box.name])
            answered, _ = history.data(box.name, box.inputs, box.outputs)
            if len(failed) and len(answered):
                low, high = input_range(program, box, np.concatenate([answered, failed]))
                scale = torch.tensor(high - low)
                self._tried[box.name] = scale, torch.tensor(answered), torch.tensor(failed)

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
                scaled = accepted(call.box, states) / scale
                found.append(too_near(scaled, answered / scale, failed / scale))

        plausible.visit(points, look)
        return torch.stack(found, 1)

    def avoided_in(self, problem: SearchProblem, plausible: PlausibleSet) -> SearchProblem:
        """A search of the plausible set, or of the design space alone, that avoids failures."""

        def evaluate(points: Tensor) -> tuple[Tensor, Tensor]:
            objective, constraints = problem.evaluate(points)
            return objective, torch.cat([constraints, self.excess(plausible, points)], 1)

        return SearchProblem(problem.lower, problem.upper, evaluate, problem.continuous)


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

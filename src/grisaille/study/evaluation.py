"""Evaluating a suggestion: the real chain, and the queries beside it."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from grisaille.errors import AssumptionError, EvaluationError
from grisaille.modeling.black_box import BlackBox
from grisaille.modeling.problem import Problem
from grisaille.modeling.program import BoxCall, split_outputs
from grisaille.records import Observation, Suggestion, Trial

Array = NDArray[np.float64]


class Evaluator:
    """Evaluates one suggestion; what it saw stays in `observations` whatever happens.

    Args:
        problem: The problem.
        suggestion: What to evaluate.
    """

    def __init__(self, problem: Problem, suggestion: Suggestion) -> None:
        self.problem = problem
        self.suggestion = suggestion
        self.observations: list[Observation] = []

    def run(self, number: int) -> Trial:
        """Evaluate the chain at x, then each query that the chain did not answer.

        Raises:
            EvaluationError: A black box failed.
            AssumptionError: An answer lies outside the range its black box was declared with.
        """
        chain: list[Array] = []

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            answer = self._ask(call.box, states[0].numpy().copy())
            chain.append(answer)
            return torch.tensor(answer).unsqueeze(0)

        program = self.problem.program
        x = torch.tensor(self.suggestion.x).unsqueeze(0)
        with torch.no_grad():
            objective, constraints = split_outputs(program.run(x, resolve))
        for probe in self.suggestion.probes:
            box = program.calls[probe.call].box
            try:
                self._ask(box, probe.inputs)
            except EvaluationError as error:
                raise EvaluationError(
                    f"{error}; this input is an optimistic guess, which the real chain may never "
                    f"reach: declare input_lower= and input_upper= of {box.name!r}, or "
                    "separable=False, or solve with evaluation='chained'"
                ) from error
        return Trial(
            number,
            self.suggestion,
            float(objective[0]),
            constraints[0].numpy().copy(),
            np.concatenate(chain) if chain else np.zeros(0),
            tuple(self.observations),
        )

    def _ask(self, box: BlackBox, inputs: Array) -> Array:
        for seen in self.observations:
            if seen.box == box.name and np.array_equal(seen.inputs, inputs):
                return seen.outputs
        outputs = box.evaluate(inputs)
        self.observations.append(Observation(box.name, inputs, outputs))
        _check_range(box, inputs, outputs)
        return outputs


def _check_range(box: BlackBox, inputs: Array, outputs: Array) -> None:
    if box.noise is not None and box.noise.any():
        return  # noise may carry an observation out of the range of the function itself
    low = -np.inf if box.lower is None else box.lower
    high = np.inf if box.upper is None else box.upper
    if (outputs < low).any() or (outputs > high).any():
        raise AssumptionError(
            f"black box {box.name!r} at {box.describe(inputs)} returned {outputs.tolist()}, "
            f"outside the range [{np.min(low):g}, {np.max(high):g}] it was declared "
            "with: widen lower= or upper=, or leave them out"
        )

"""The real chain of black boxes at a design point, as far as it is answered."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.errors import EvaluationError
from grisaille.language.loops import Loops
from grisaille.language.problem import Problem
from grisaille.language.program import BoxCall, Program, Resolve, split_outputs
from grisaille.records import Observation, Suggestion, Trial

Answers = Mapping[int, Array]
"""Outputs of calls, by their position among the calls of the program."""


class Chain:
    """Computes the known parts of a problem between the answers of its black boxes.

    Attributes:
        loops: Its unknowns, and how they follow from the answers.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._position = {call.key: i for i, call in enumerate(problem.program.calls)}
        self._inputs: dict[int, Program] = {}
        self.loops = Loops(problem)

    def ready(self, x: Array, answers: Answers) -> dict[int, Array]:
        """Inputs of the calls that can be evaluated next, by call.

        Raises:
            EvaluationError: A known part has no value there.
        """
        found: dict[int, Array] = {}
        for number, call in enumerate(self._problem.program.calls):
            if number in answers or not call.upstream <= answers.keys():
                continue
            if number not in self._inputs:
                self._inputs[number] = Program(call.arguments, self._problem.variables)
            parts = self._run(self._inputs[number], x, answers)
            inputs = np.concatenate([np.zeros(0), *(p[0].numpy().ravel() for p in parts)])
            if not np.isfinite(inputs).all():
                raise EvaluationError(
                    f"the known part before black box {call.box.name!r} gives "
                    f"{call.box.describe(inputs)}, so it cannot be evaluated"
                )
            found[number] = inputs
        return found

    def outcome(
        self, x: Array, answers: Answers
    ) -> tuple[float, Array, Array, Array | None, Array | None]:
        """Minimized objective, constraints and all outputs along a chain that is answered.

        Last, how far each constraint may be violated (`Trial.allowed` and `Trial.lenient`).

        Raises:
            EvaluationError: A white box failed.
        """
        program = self._problem.program
        objective, constraints = split_outputs(self._run(program, x, answers))
        along = [answers[i] for i in range(len(program.calls))]
        chain = np.concatenate(along) if along else np.zeros(0)
        bodies = constraints.numpy().copy()
        point = torch.tensor(x).unsqueeze(0)
        allowances = self._problem.allowances
        (allowed,) = allowances.needed(point, self._resolve(answers), bodies)
        lenient = allowances.lenient(bodies[0], allowed)
        return float(objective[0]), bodies[0], chain, allowed, lenient

    def _run(self, program: Program, x: Array, answers: Answers) -> list[Tensor]:
        with torch.no_grad():
            return program.run(torch.tensor(x).unsqueeze(0), self._resolve(answers))

    def _resolve(self, answers: Answers) -> Resolve:
        def resolve(call: BoxCall, _states: Tensor) -> Tensor:
            return torch.tensor(answers[self._position[call.key]]).unsqueeze(0)

        return resolve


def evaluated(problem: Problem, suggestion: Suggestion, number: int) -> Trial:
    """Evaluate a suggestion at once, outside any study.

    Raises:
        EvaluationError: A black box failed.
    """
    chain = Chain(problem)
    answers: dict[int, Array] = {}
    seen: list[Observation] = []

    def ask(call: int, inputs: Array) -> Array:
        box = problem.program.calls[call].box
        seen.append(Observation(box.name, inputs, box.evaluate(inputs)))
        return seen[-1].outputs

    while ready := chain.ready(suggestion.x, answers):
        answers |= {call: ask(call, inputs) for call, inputs in ready.items()}
    for probe in suggestion.probes:
        ask(probe.call, probe.inputs)
    objective, constraints, along, allowed, lenient = chain.outcome(suggestion.x, answers)
    return Trial(
        number,
        suggestion,
        objective,
        constraints,
        along,
        tuple(seen),
        allowed=allowed,
        lenient=lenient,
    )

"""What the bands say about any expression of a problem: its value at a point, and an interval.

The interval of an expression at a design point x holds the values that it takes over the plausible
set at x, that is over all eta in [-1, 1]: the two ends are the least and the greatest value that a
search over eta finds. Chains are searched as a whole, so that intermediate values are shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array
from grisaille.confidence.beliefs import accepted, is_believed_exact
from grisaille.confidence.declared_bands import Declared
from grisaille.confidence.knowledge import CONFIDENCE, Knowledge
from grisaille.confidence.plausible_set import BandRule, Beta, PlausibleSet
from grisaille.errors import ModelError
from grisaille.language.black_box import BlackBox
from grisaille.language.expression import Expression
from grisaille.language.loops import Loops
from grisaille.language.problem import Problem
from grisaille.language.program import BoxCall, Program
from grisaille.records import History, Situation
from grisaille.solvers.value_ranges import value_ranges

# States so close are one state: known parts round differently in batches of different sizes.
_ROUNDING = 1e-12
AT_ONCE = 1000
"""Rows of a table that are predicted at once, so that long tables take little memory.

After 150 answers of six outputs, 20,000 rows at once took 460 MB with a Matérn kernel, and 830 MB
for the black box alone with a sum of kernels. Parts of 1,000 rows take 60 MB, and no more time.
"""


@dataclass(frozen=True, slots=True)
class Prediction:
    """Values of some expressions at some design points, all entries side by side.

    Attributes:
        mean: (points, entries), where every black box answers with the middle of its band.
        lower: (points, entries), the least value that the bands allow.
        upper: (points, entries), the greatest.
    """

    mean: Array
    lower: Array
    upper: Array


class Predictor:
    """Predicts expressions of a problem from what was observed.

    Args:
        problem: The problem.
        history: What its black boxes answered.
        beta: Half-width of the bands in posterior standard deviations, or the rule that gives it.
        audited: Whether the bands are as wide as their audit asks for.
    """

    def __init__(
        self, problem: Problem, history: History, beta: Beta = CONFIDENCE, *, audited: bool = False
    ) -> None:
        _check_answers(problem, history, beta)
        self.problem = problem
        self.history = history
        knowledge = Knowledge(Situation(problem, history, seed=0), beta)
        self.middle = knowledge.answered
        self.bands = knowledge.audited if audited else knowledge.answered
        self._answers = {
            box.name: history.data(box.name, box.inputs, box.outputs)
            for box in problem.boxes
            if not box.process_noise and is_believed_exact(box, self.middle.beliefs[box.name])
        }

    def predict(self, expressions: Sequence[Expression], x: Array) -> Prediction:
        """Predict expressions at design points (points, n).

        Raises:
            ModelError: An expression reads a variable or a black box that the problem does not
                have.
        """
        program, design = self.program(expressions), torch.tensor(x)
        parts = zip(*(self._at(program, part) for part in design.split(AT_ONCE)), strict=True)
        return Prediction(*(torch.cat(part).numpy() for part in parts))

    def _at(self, program: Program, design: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The mean and both ends of a program's outputs at design points, (points, entries)."""
        middle, bands = (self._over(program, these) for these in (self.middle, self.bands))
        controls = len(bands.lower) - program.size

        def values(plausible: PlausibleSet, design: Tensor, eta: Tensor) -> Tensor:
            outputs = plausible.run(design, eta, partial(self._band, plausible))
            return torch.cat([output.reshape(len(design), -1) for output in outputs], 1)

        with torch.no_grad():
            mean = values(middle, design, design.new_zeros(len(design), controls))
        if _is_one_curve(program):  # its interval is its band; a thousand searches would be long
            lower, upper = self._ends_of_curve(program, bands, design)
        else:
            lower, upper = value_ranges(
                lambda rows, eta: values(bands, design[rows], eta), len(design), controls
            )
        # The middle is one of the plausible values, and rounding must not leave it outside.
        return mean, torch.minimum(lower, mean), torch.maximum(upper, mean)

    def program(self, expressions: Sequence[Expression]) -> Program:
        """Expressions over the problem's variables and black boxes, compiled."""
        program = Program(list(expressions), self.problem.variables)
        for box in program.boxes:
            if box not in self.problem.boxes:
                known = ", ".join(repr(known.name) for known in self.problem.boxes) or "none"
                raise ModelError(
                    f"the expression reads black box {box.name!r}, which is not part of this "
                    f"problem, so that nothing was learned of it (the problem has {known}): use "
                    "the problem's own black boxes"
                )
        return program

    def closed(self, x: Array) -> Array:
        """Design points (points, n), with unknowns that are NaN where predictions close the loops.

        The search starts in the middle between the bounds; nothing else is known of them.
        """
        loops, program = Loops(self.problem), self.problem.program
        middle = (program.lower + program.upper) / 2
        return np.array(
            [
                loops.closed(np.where(np.isnan(point), middle, point), self.middle_of)
                if np.isnan(point).any()
                else point
                for point in x
            ]
        )

    def middle_of(self, call: BoxCall, states: Tensor) -> Tensor:
        """The middle of a call's band at states (batch, inputs)."""
        lower, upper = self.middle.band(call, states)
        return (lower + upper) / 2

    def _over(self, program: Program, plausible: PlausibleSet) -> PlausibleSet:
        """The same bands for another program."""
        return PlausibleSet(program, plausible.beliefs, plausible.beta, plausible.intervals)

    def _band(
        self, plausible: PlausibleSet, call: BoxCall, states: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The band of a call; where an exact answer is known, that answer."""
        lower, upper = plausible.band(call, states)
        if call.box.name not in self._answers:
            return lower, upper
        inputs, outputs = map(torch.tensor, self._answers[call.box.name])
        size = inputs.abs().amax(0) if len(inputs) else inputs.new_zeros(inputs.shape[1])
        gaps = (accepted(call.box, states).unsqueeze(1) - inputs).abs()
        same = (gaps <= _ROUNDING * size).all(2).unsqueeze(2)  # (batch, answers, 1)
        # Answers that contradict each other leave the interval between them.
        least, most = torch.full_like(lower, torch.inf), torch.full_like(upper, -torch.inf)
        for answer in same.any(0).squeeze(1).nonzero().squeeze(1).tolist():
            here = same[:, answer]
            least = torch.where(here, torch.minimum(least, outputs[answer]), least)
            most = torch.where(here, torch.maximum(most, outputs[answer]), most)
        known = same.any(1)
        return torch.where(known, least, lower), torch.where(known, most, upper)

    def _ends_of_curve(
        self, program: Program, bands: PlausibleSet, design: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The ends of the band of a program's only call, (points, k) each."""
        ends: list[Tensor] = []

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            ends.extend(self._band(bands, call, states))
            return ends[0]

        with torch.no_grad():
            program.run(design, resolve)
        return ends[0], ends[1]


def _is_one_curve(program: Program) -> bool:
    """Whether a program is a single call of a black box with a shared kernel, and nothing else."""
    call = program.call_of_node.get(program.outputs[0])
    alone = len(program.outputs) == len(program.calls) == 1
    return alone and call is not None and call.box.shared_kernel


def _check_answers(problem: Problem, history: History, beta: Beta) -> None:
    """Raise ModelError if there is nothing to predict from."""
    if problem.causal is not None:
        raise ModelError(
            "predictions are for problems over design variables, and this one is over "
            "interventions: model(name) shows what was learned of a mechanism"
        )
    if isinstance(beta, Declared):
        bounded = beta.is_bounded(problem.program, history)
        check_answered([] if bounded else problem.boxes, history)
    elif not isinstance(beta, BandRule):  # given kernels predict before any answer
        check_answered([box for box in problem.boxes if box.is_learned], history)


def check_answered(boxes: Iterable[BlackBox], history: History) -> None:
    """Raise ModelError if a black box has no answer to predict from."""
    answered = history.counts()
    missing = [repr(box.name) for box in boxes if box.name not in answered]
    if missing:
        raise ModelError(
            f"there is nothing to predict from yet: black box {', '.join(missing)} has no answer; "
            "evaluate a trial first, or pass data to observe"
        )

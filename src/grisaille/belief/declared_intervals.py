"""Intervals of a black box from declarations and exact answers, without a Gaussian process.

Lipschitz constants and directions (`lipschitz=`, `monotone=`) limit how far an output can rise
between two inputs:

    c(s, s') = sum_i L_i |s_i - s'_i|, where an input counts 0 if the output falls that way.

Without a Lipschitz constant L_i is infinite. Each answer y_n at s_n then bounds the output
everywhere: max_n y_n - c(s, s_n) <= f(s) <= min_n y_n + c(s_n, s).
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array, Flags
from grisaille.belief.learning import returned
from grisaille.belief.processes.belief import Belief
from grisaille.belief.processes.draws import Draws, chance, normal_numbers
from grisaille.belief.processes.kernels import logarithms
from grisaille.errors import AssumptionError
from grisaille.language.black_box import BlackBox
from grisaille.language.program import Program
from grisaille.records import History

# Two answers may exceed what was declared by this part of it and of the largest answer: simulators
# round.
_ROUNDING = 1e-9
_ROUNDED_LOGARITHM = 4 * torch.finfo(torch.float64).eps


def answers_are_exact(box: BlackBox) -> bool:
    """Whether an answer of a black box is the value of its function, so that it bounds others."""
    return box.is_exact


def is_cut(box: BlackBox) -> bool:
    """Whether declarations and answers cut the band of a black box.

    With noise they do not: an answer can then be anywhere, and bounds nothing with certainty.
    """
    return answers_are_exact(box) and (box.lipschitz is not None or box.monotone is not None)


class DeclaredInterval(Belief):
    """The interval that declarations and answers leave to each output of one black box.

    It is a belief too: the middle is its mean, and half of the width its deviation.

    Args:
        box: The black box.
        inputs: Where it gave exact answers, (n, d).
        outputs: What it answered, (n, k).

    Attributes:
        inputs: (n, d).
        values: Lower ends at the inputs, of f and then of -f: (2, k, n).
        up: How fast these fall when an input rises, (2, k, d); infinite if nothing is known.
        down: How fast they fall when an input falls.
        rounding: By which part of themselves inputs may be rounded.
    """

    def __init__(self, box: BlackBox, inputs: Tensor, outputs: Tensor) -> None:
        self._box = box
        self.inputs = inputs
        self._outputs = outputs
        self.rounding = 0.0
        rise, fall = (torch.tensor(slopes) * (1 + 2 * _ROUNDING) for slopes in _slopes(box))
        self.up, self.down = torch.stack([fall, rise]), torch.stack([rise, fall])
        # Answers that pass `check_answers` leave a nonempty interval, in spite of rounding.
        rounding = _ROUNDING * outputs.abs().amax(0, keepdim=True) if len(outputs) else 0.0
        self.values = torch.stack([outputs, -outputs]).sub(rounding).transpose(1, 2)

    @classmethod
    def of(cls, box: BlackBox, history: History) -> DeclaredInterval:
        """The interval after a history.

        Raises:
            AssumptionError: Two answers contradict what was declared.
        """
        inputs, outputs = history.data(box.name, box.inputs, box.outputs)
        if not is_cut(box):
            inputs, outputs = inputs[:0], outputs[:0]
        check_answers(box, inputs, outputs)
        return cls(box, torch.tensor(inputs), torch.tensor(outputs))

    def of_logarithms(self, flags: Flags) -> DeclaredInterval:
        """The same interval as a function of the logarithms of flagged inputs, (d,).

        These have directions, but no Lipschitz constants: a direction is that of the logarithm.
        """
        if not flags.any():
            return self
        logged = logarithms(self.inputs, torch.tensor(flags, device=self.inputs.device))
        same = DeclaredInterval(self._box, logged, self._outputs)
        same.rounding = _ROUNDED_LOGARITHM
        return same

    def on(self, device: torch.device) -> DeclaredInterval:
        """The same interval on a device, which is the default one."""
        if self.inputs.device.type == device.type:
            return self
        same = DeclaredInterval(self._box, self.inputs.to(device), self._outputs.to(device))
        same.rounding = self.rounding
        return same

    def ends(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """The lower and upper end of each output at states (batch, d), (batch, k) each."""
        gaps = states - self.inputs.unsqueeze(1)  # (n, batch, d)
        cost, impossible = self.values.new_zeros(()), torch.zeros((), dtype=torch.bool)
        for slopes, distance in ((self.up, gaps.clamp_min(0)), (self.down, (-gaps).clamp_min(0))):
            # An infinite slope would spoil the derivatives even where it does not count.
            known = slopes.isfinite()
            finite = torch.where(known, slopes, 0.0)
            cost = cost + torch.einsum("ekd,nbd->eknb", finite, distance)
            outside = torch.einsum("ekd,nbd->eknb", (~known).double(), (distance > 0).double())
            impossible = impossible | (outside > 0)
        from_answers = torch.where(impossible, -torch.inf, self.values.unsqueeze(-1) - cost)
        nothing = from_answers.new_full((*from_answers.shape[:2], 1, len(states)), -torch.inf)
        lower, negative_upper = torch.cat([nothing, from_answers], 2).amax(2)
        return returned(self._box, lower.T), returned(self._box, -negative_upper.T)

    def predict(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """The middle and half of the width, (batch, d) to (batch, k) twice."""
        lower, upper = self.ends(states)
        return (lower + upper) / 2, (upper - lower) / 2

    def predict_jointly(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """The same for q states each, uncorrelated: (batch, q, k) and (batch, k, q, q)."""
        middle, half = (
            v.unflatten(0, states.shape[:2]) for v in self.predict(states.flatten(0, 1))
        )
        return middle, torch.diag_embed(half.square().transpose(1, 2))

    def with_predicted(self, state: Tensor) -> DeclaredInterval:
        """The interval once the middle is answered at a state (d,)."""
        middle, _ = self.predict(state.unsqueeze(0))
        inputs = torch.cat([self.inputs, state.unsqueeze(0)])
        return DeclaredInterval(self._box, inputs, torch.cat([self._outputs, middle]))

    def draw(self, count: int, seed: int) -> Draws:
        """Draw ends of the interval: each output of a draw is at one of them for all states.

        So no draw leaves the interval, and the deviation at each state is that of `predict`.
        """
        k = self.values.shape[1]
        chosen = normal_numbers(chance(seed), count, 1, k).sign()

        def values(states: Tensor) -> Tensor:
            found = self.predict(states.flatten(0, -2))
            middle, half = (v.reshape(*states.shape[:-1], k) for v in found)
            drawn: Tensor = middle + half * chosen
            return drawn

        return values

    def described(self, is_learned: bool) -> str:
        """Return where it comes from."""
        del is_learned
        return "its band is what declarations and answers leave, without a Gaussian process"


Intervals = dict[str, DeclaredInterval]
"""The declared interval of each black box whose band it cuts, by name."""


def declared_intervals(program: Program, history: History) -> Intervals:
    """The intervals that cut bands after a history.

    Raises:
        AssumptionError: Two answers contradict what was declared.
    """
    return {box.name: DeclaredInterval.of(box, history) for box in program.boxes if is_cut(box)}


def check_answers(box: BlackBox, inputs: Array, outputs: Array) -> None:
    """Raise AssumptionError if two exact answers contradict `lipschitz` or `monotone`."""
    rise, fall = _slopes(box)
    change = outputs[None] - outputs[:, None]  # (from, to, k)
    gaps = inputs[None] - inputs[:, None]
    allowed = np.zeros_like(change)
    for slopes, distance in ((rise, np.maximum(gaps, 0)), (fall, np.maximum(-gaps, 0))):
        finite = np.where(np.isfinite(slopes), slopes, 0.0)
        allowed += distance @ finite.T
        allowed[((distance > 0).astype(float) @ np.isinf(slopes).T.astype(float)) > 0] = np.inf
    tolerance = _ROUNDING * np.abs(outputs).max(0, initial=0.0)
    wrong = np.argwhere(change > allowed * (1 + _ROUNDING) + tolerance)
    if not len(wrong):
        return
    first, second, output = place = tuple(wrong[0])
    declared = [] if box.lipschitz is None else [f"lipschitz={box.lipschitz.tolist()}"]
    if box.monotone is not None:
        words = np.array([None, "increasing", "decreasing"])[box.monotone.astype(int)]
        declared.append(f"monotone={np.array(words).tolist()!r}")
    raise AssumptionError(
        f"output {output} of black box {box.name!r} changes by {change[place]:g}, from "
        f"{outputs[first, output]:g} at {box.describe(inputs[first])} to "
        f"{outputs[second, output]:g} at {box.describe(inputs[second])}, where the declared "
        + " and ".join(declared)
        + f" allows at most {allowed[place]:g}: correct the declaration, or leave it out"
    )


def _slopes(box: BlackBox) -> tuple[Array, Array]:
    """How fast outputs can rise when an input rises, and when it falls: (k, d) each."""
    shape = (box.outputs, box.inputs)
    steepest = np.broadcast_to(np.inf if box.lipschitz is None else box.lipschitz, shape)
    direction = np.broadcast_to(0.0 if box.monotone is None else box.monotone, shape)
    return np.where(direction < 0, 0.0, steepest), np.where(direction > 0, 0.0, steepest)

"""Process noise in planning: a fixed sample of disturbances, and controls that react to them.

With process noise objective and constraints mean expected values. They are averages over the same
few disturbances wherever they are evaluated, so that a search sees a smooth function.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import torch
from torch import Tensor

from grisaille.confidence.beliefs import returned
from grisaille.language.program import BoxCall, Program

SAMPLES = 64
"""How many disturbances; half of them mirror the others."""

Band = Callable[[BoxCall, Tensor], tuple[Tensor, Tensor]]
"""`(call, states) -> lower and upper end of its band`."""


class Disturbances:
    """Disturbed runs of a program with process noise.

    z = (l + u)/2 + eta(s) (u - l)/2 + deviation e, with e standard normal. As in Sussex et al.
    (2022, "Model-based causal Bayesian optimization") the control eta may depend on the state that
    the disturbances upstream lead to: eta(s) = clamp(c + w . t, -1, 1), where t is the state
    standardized over the disturbances, and c and w in [-1, 1] are searched over.

    Args:
        program: A program with process noise.
        deviations: Standard deviation of the disturbances of each black box, (k,), by name; none
            for boxes without.

    Attributes:
        weights: How many entries w has, for all calls together.
    """

    def __init__(self, program: Program, deviations: dict[str, Tensor]) -> None:
        self.program = program
        self.deviations = deviations
        self._errors = standard_normals(program.box_outputs)
        disturbed = [call.box.process_noise for call in program.calls]
        self._reached = [any(disturbed[u] for u in call.upstream) for call in program.calls]
        self._number = {id(call): number for number, call in enumerate(program.calls)}
        self._slices: list[slice] = []
        start = 0
        for call, reached in zip(program.calls, self._reached, strict=True):
            length = call.box.outputs * call.box.inputs if reached else 0
            self._slices.append(slice(start, start + length))
            start += length
        self.weights = start

    def run(self, design: Tensor, eta: Tensor, weights: Tensor, band: Band) -> list[Tensor]:
        """Expected values of what the program computes.

        Args:
            design: (batch, n).
            eta: c, (batch, outputs).
            weights: w, (batch, weights).
            band: The bands of the calls.
        """
        batch = len(design)

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            number = self._number[id(call)]
            if not self._reached[number]:
                # Nothing upstream is disturbed, so the state is the same in all samples.
                same = states[::SAMPLES] if len(states) == batch * SAMPLES else states
                lower, upper = band(call, same)
                center = (lower + upper) / 2 + eta[:, call.columns] * (upper - lower) / 2
                center = center.unsqueeze(1)
            else:
                lower, upper = band(call, states)
                control = self._control(number, call, states, eta, weights)
                center = (lower + upper) / 2 + control * (upper - lower) / 2
                center = center.reshape(batch, SAMPLES, -1)
            return self._disturbed(call, center).reshape(batch * SAMPLES, -1)

        outputs = self.program.run(design.repeat_interleave(SAMPLES, 0), resolve)
        return [o.reshape(batch, SAMPLES, *o.shape[1:]).mean(1) for o in outputs]

    def _control(
        self, number: int, call: BoxCall, states: Tensor, eta: Tensor, weights: Tensor
    ) -> Tensor:
        """Eta at states (batch * samples, inputs), (batch * samples, k)."""
        batch = len(eta)
        grouped = states.reshape(batch, SAMPLES, -1)
        centered = grouped - grouped.mean(1, keepdim=True)
        # The floor keeps the root differentiable for inputs that no disturbance reaches.
        spread = (centered.square().mean(1, keepdim=True) + 1e-24).sqrt()
        slopes = weights[:, self._slices[number]].reshape(batch, call.box.outputs, -1)
        tilt = torch.einsum("bsd,bkd->bsk", centered / spread, slopes)
        control = (eta[:, None, call.columns] + tilt).clamp(-1, 1)
        return control.reshape(batch * SAMPLES, -1)

    def _disturbed(self, call: BoxCall, center: Tensor) -> Tensor:
        """Values (batch, samples, k) around centers of that shape or (batch, 1, k)."""
        box = call.box
        if not box.process_noise:
            return center.expand(-1, SAMPLES, -1)
        value = center + self.deviations[box.name] * self._errors[:, call.columns]
        return returned(box, value)


@lru_cache(maxsize=64)
def standard_normals(columns: int) -> Tensor:
    """A quasi-random sample (samples, columns) with mean 0 and variance 1 in every column."""
    engine = torch.quasirandom.SobolEngine(max(columns, 1), scramble=True, seed=0)
    unit = engine.draw(SAMPLES // 2, dtype=torch.float64)[:, :columns]
    half = torch.special.ndtri(unit.clamp(1e-9, 1 - 1e-9))
    both = torch.cat([half, -half])
    return both / both.square().mean(0).sqrt()

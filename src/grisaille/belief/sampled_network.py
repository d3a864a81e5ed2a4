"""Draws of a whole network: every black box sampled from its posterior, node by node.

A call answers mu(s) + sigma(s) w with w a fixed standard normal number, so that a draw is a smooth
function of the design point (the reparametrization trick). Calls of the same black box are calls of
one function: they are drawn jointly.
"""

from __future__ import annotations

import sys

import torch
from torch import Tensor

from grisaille.belief.learning import Beliefs, accepted, returned
from grisaille.language.program import BoxCall, Program, split_outputs

# Numbers that draws of many outputs work out at once, so that memory is enough.
_AT_ONCE = 1 << 21


def normal_samples(program: Program, samples: int, seed: int) -> Tensor:
    """Quasi-random standard normal numbers, (samples, outputs of all calls)."""
    from botorch.utils.sampling import draw_sobol_normal_samples

    drawn: Tensor = draw_sobol_normal_samples(
        program.box_outputs, samples, dtype=torch.float64, seed=seed
    )
    return drawn


class SampledNetwork:
    """Draws of a problem's objective and constraints.

    Args:
        program: Objective and constraints.
        beliefs: What is believed of each black box.
        normal: (samples, outputs of all calls), standard normal numbers.
    """

    def __init__(self, program: Program, beliefs: Beliefs, normal: Tensor) -> None:
        self.program = program
        self.beliefs = beliefs
        self.normal = normal

    def draw(self, design: Tensor) -> tuple[Tensor, Tensor]:
        """All draws at design points (batch, n).

        Returns:
            Objective (samples, batch) and constraints (samples, batch, K), met when <= 0.
        """
        samples, batch = len(self.normal), len(design)
        most = self._most_at_once()
        if batch > most and not torch.is_grad_enabled():
            parts = [self.draw(part) for part in design.split(most)]
            return torch.cat([p[0] for p in parts], 1), torch.cat([p[1] for p in parts], 1)
        met: dict[str, list[tuple[BoxCall, Tensor]]] = {}

        def resolve(call: BoxCall, states: Tensor) -> Tensor:
            states = accepted(call.box, states).expand(samples * batch, -1)
            earlier = met.setdefault(call.box.name, [])
            earlier.append((call, states))
            if len(earlier) == 1:
                answers = self._alone(call, states.reshape(samples, batch, -1))
            else:
                answers = self._jointly(earlier, samples, batch)
            return returned(call.box, answers).reshape(samples * batch, -1)

        objective, constraints = split_outputs(self.program.run(design.repeat(samples, 1), resolve))
        return objective.reshape(samples, batch), constraints.reshape(samples, batch, -1)

    def _alone(self, call: BoxCall, states: Tensor) -> Tensor:
        """Draws of a call at states (samples, batch, d), to (samples, batch, k)."""
        if call.first_layer:  # all samples share the state, so one prediction serves them
            states = states[:1]
        mean, deviation = self.beliefs[call.box.name].predict(states.flatten(0, 1))
        mean, deviation = (v.reshape(*states.shape[:2], -1) for v in (mean, deviation))
        return mean + deviation * self._normal(call).unsqueeze(1)

    def _normal(self, call: BoxCall) -> Tensor:
        """Standard normal numbers for the outputs of a call, (samples, k).

        Outputs that share a kernel vary together, in the patterns that their answers show.
        """
        normal = self.normal[:, call.columns]
        patterns = self.beliefs[call.box.name].patterns
        if patterns is None:
            return normal
        patterns = patterns / patterns.norm(dim=1, keepdim=True)
        together: Tensor = normal[:, : patterns.shape[1]] @ patterns.T
        return together

    def _most_at_once(self) -> int:
        """How many design points are drawn at once: fewer if boxes have a thousand outputs."""
        shared = any(call.box.shared_kernel for call in self.program.calls)
        numbers = len(self.normal) * self.program.box_outputs
        return max(1, _AT_ONCE // numbers) if shared else sys.maxsize

    def _jointly(self, calls: list[tuple[BoxCall, Tensor]], samples: int, batch: int) -> Tensor:
        """Draws of the last of several calls of one box, given those of the others."""
        box = calls[-1][0].box
        states = torch.stack([s for _, s in calls], 1)  # (samples * batch, calls, d)
        mean, covariance = self.beliefs[box.name].predict_jointly(states)
        # The draw of the last call is the last row of the factor times all their normal numbers.
        row = _factor(covariance)[-1]  # (samples * batch, k, calls)
        normal = torch.stack([self._normal(c) for c, _ in calls], -1)
        spread = (row.reshape(samples, batch, box.outputs, -1) * normal.unsqueeze(1)).sum(-1)
        return mean[:, -1].reshape(samples, batch, -1) + spread


def _factor(covariance: Tensor) -> list[Tensor]:
    """Rows of the Cholesky factor of covariances (..., q, q), each (..., row's length).

    Where a state was observed, or two states coincide, no variance is left but rounding, which the
    factor of a library would stumble over.
    """
    variances = covariance.diagonal(dim1=-2, dim2=-1).clamp_min(1e-300)
    rows: list[Tensor] = []
    for j in range(covariance.shape[-1]):
        row: list[Tensor] = []
        for i in range(j):
            left = covariance[..., j, i] - sum(row[m] * rows[i][..., m] for m in range(i))
            most = variances[..., j].sqrt()  # no call explains more than there is
            row.append(torch.minimum(torch.maximum(left / rows[i][..., i], -most), most))
        rest = variances[..., j] - sum(entry.square() for entry in row)
        row.append(rest.clamp_min(1e-12 * variances[..., j]).sqrt())
        rows.append(torch.stack(row, -1))
    return rows

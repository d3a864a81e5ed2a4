"""What a search moves inside the bands: the eta of each output, or patterns of many outputs.

A black box with a shared kernel has too many outputs for one eta each. Its errors follow a few
patterns P, (k, patterns), which its answers show (`SharedPosterior.patterns`). A control u in
[-1, 1] per pattern then gives eta = clamp(P u, -1, 1): every output stays in its band and can reach
both ends of it, and outputs move together as they did in the answers.
"""

from __future__ import annotations

import torch
from torch import Tensor

from grisaille.confidence.beliefs import Beliefs
from grisaille.language.program import Program
from grisaille.surrogates.shared_kernel import SharedPosterior

# Numbers of many outputs that are worked out at once: as many as a processor keeps at hand.
_AT_ONCE = 1 << 17


class Controls:
    """The controls of all calls, one after the other, and the eta that they stand for.

    Args:
        program: Whose calls.
        beliefs: A surrogate for each black box.

    Attributes:
        columns: Where the controls of each call stand.
        count: How many there are.
    """

    def __init__(self, program: Program, beliefs: Beliefs) -> None:
        self._patterns: list[Tensor | None] = []
        self.columns: list[slice] = []
        self.count = 0
        for call in program.calls:
            surrogate = beliefs[call.box.name]
            patterns = surrogate.patterns if isinstance(surrogate, SharedPosterior) else None
            size = call.box.outputs if patterns is None else patterns.shape[1]
            self._patterns.append(patterns)
            self.columns.append(slice(self.count, self.count + size))
            self.count += size
        self.is_plain = all(patterns is None for patterns in self._patterns)
        self._outputs = program.box_outputs

    def at_once(self, batch: int) -> int:
        """How many of `batch` points are best evaluated at once."""
        return batch if self.is_plain else max(1, _AT_ONCE // self._outputs)

    def eta(self, controls: Tensor) -> Tensor:
        """The eta of all outputs, (batch, controls) to (batch, outputs)."""
        if self.is_plain:
            return controls
        parts = [controls[:, columns] for columns in self.columns]
        found = [
            part if patterns is None else (part @ patterns.T).clamp(-1, 1)
            for part, patterns in zip(parts, self._patterns, strict=True)
        ]
        return found[0] if len(found) == 1 else torch.cat(found, 1)

    def closest(self, eta: Tensor) -> Tensor:
        """The controls whose eta are closest to given ones, (batch, outputs) to (batch, controls).

        They minimize |P u - eta| for each call, and are then moved into [-1, 1].
        """
        if self.is_plain:
            return eta
        found, start = [], 0
        for patterns, columns in zip(self._patterns, self.columns, strict=True):
            size = columns.stop - columns.start if patterns is None else len(patterns)
            part = eta[:, start : start + size]
            if patterns is not None:
                part = (part @ torch.linalg.pinv(patterns).T).clamp(-1, 1)
            found.append(part)
            start += size
        return torch.cat(found, 1)

"""Least values of functions over regions in a few dimensions, looked up in a table.

The domain is cut into equal cells, each with a lower bound. The table has the minima over all
blocks of cells whose sides are powers of two. Two of them per axis cover any block, so the minimum
over a region costs a few look-ups. For wide regions this is far tighter than a single bound.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

CELLS = {1: 4096, 2: 64, 3: 16, 4: 8}
"""Cells along each axis, by the number of dimensions."""

_CHUNK = 2048


class RangeTable:
    """Lower bounds of functions over any region inside a domain.

    Args:
        lower: (d,), the domain; d is among the keys of `CELLS`.
        upper: (d,).
        bound: Lower bounds of the functions over regions: centres and half-widths, (regions, d)
            each, to (functions, regions).
    """

    def __init__(
        self, lower: Tensor, upper: Tensor, bound: Callable[[Tensor, Tensor], Tensor]
    ) -> None:
        self._lower, self._upper = lower, upper
        self._dimensions = len(lower)
        self._cells = CELLS[self._dimensions]
        self._width = ((upper - lower) / self._cells).clamp_min(1e-300)
        steps = torch.arange(self._cells, dtype=torch.float64) + 0.5
        axes = [low + width * steps for low, width in zip(lower, self._width, strict=True)]
        centers = torch.stack(torch.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(lower))
        # Rounding of their ends must not leave a gap between neighbouring cells.
        half = self._width / 2 * (1 + 1e-9) + 1e-12 * (lower.abs() + upper.abs())
        chunks = (v.split(_CHUNK) for v in (centers, half.expand_as(centers)))
        values = torch.cat([bound(c, h) for c, h in zip(*chunks, strict=True)], -1)
        table = values.reshape(len(values), *[self._cells] * self._dimensions)
        for axis in range(self._dimensions):
            table = _doubled(table, 1 + 2 * axis)
        # (functions, levels and cells of each axis in turn)
        self._table = table

    def least(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Least values over regions in the domain, (regions, d) twice to (functions, regions)."""
        first = ((lower - self._lower) / self._width - 1e-6).floor().long()
        last = ((upper - self._lower) / self._width + 1e-6).floor().long()
        slightly = 1e-10 * self._width + 1e-13 * self._upper.abs().maximum(self._lower.abs())
        inside = ((lower >= self._lower - slightly) & (upper <= self._upper + slightly)).all(1)
        first, last = first.clamp(0, self._cells - 1), last.clamp(0, self._cells - 1)
        last = torch.maximum(first, last)
        level = (last - first + 1).double().log2().floor().long()
        other = last - (1 << level) + 1
        found = None
        for corner in range(2**self._dimensions):
            index: list[Tensor] = []
            for axis in range(self._dimensions):
                start = other if corner >> axis & 1 else first
                index += [level[:, axis], start[:, axis]]
            values = self._table.movedim(0, -1)[tuple(index)].T
            found = values if found is None else torch.minimum(found, values)
        assert found is not None
        return torch.where(inside, found, -torch.inf)


def _doubled(table: Tensor, axis: int) -> Tensor:
    """Minima over 1, 2, 4, ... neighbours along an axis, stacked along a new axis before it."""
    levels = [table]
    step = 1
    while 2 * step <= table.shape[axis]:
        last = levels[-1]
        size = table.shape[axis] - 2 * step + 1
        pair = torch.minimum(last.narrow(axis, 0, size), last.narrow(axis, step, size))
        # Blocks that would leave the domain are never looked up.
        rest = table.narrow(axis, 0, table.shape[axis] - size)
        levels.append(torch.cat([pair, rest], axis))
        step *= 2
    return torch.stack(levels, axis)

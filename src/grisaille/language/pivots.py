"""Solving linear equalities: which entries to solve for, and what they are in terms of the rest."""

from __future__ import annotations

import numpy as np

from grisaille.array_types import Array, Flags
from grisaille.language.design_space import DesignSpace
from grisaille.language.linear_rows import LinearRows

# A coefficient this small is what rounding left of one that cancels, in parts of the row's size.
_ROUNDING = 1e-11
# By how much a number may miss a whole one.
_WHOLE = 1e-7


class Pivots:
    """Equalities `matrix @ x == values`, each solved for one entry of x.

    Each row has a 1 for the entry that it is solved for, where all other rows have a 0.

    Args:
        space: The design points.
        unknown: (n,), which entries are unknowns.

    Attributes:
        matrix: (rows, n).
        values: (rows,).
        places: The entries that are solved for.
    """

    def __init__(self, space: DesignSpace, unknown: Flags) -> None:
        self._space = space
        self._unknown = unknown
        self._width = space.upper - space.lower
        self.matrix = np.zeros((0, len(self._width)))
        self.values = np.zeros(0)
        self.places: list[int] = []

    def solve(self, rows: LinearRows) -> bool:
        """Solve rows that must be 0, all of them or none; returns whether that is possible."""
        before = self.matrix, self.values, list(self.places)
        pairs = zip(rows.matrix, rows.constants, strict=True)
        if all(self._add(row, -constant) for row, constant in pairs):
            return True
        self.matrix, self.values, self.places = before
        return False

    def _add(self, row: Array, value: float) -> bool:
        size = float(np.abs(row) @ self._width)
        weights = row[self.places]
        row = row - weights @ self.matrix
        value = value - float(weights @ self.values)
        row[self.places] = 0.0
        row[np.abs(row) * self._width <= _ROUNDING * size] = 0.0
        if not row.any():  # it follows from the others, or contradicts them
            return bool(abs(value) <= _ROUNDING * max(size, 1.0) * 100)
        place = self._place(row, value)
        if place is None:
            return False
        row, value = row / row[place], value / float(row[place])
        column = self.matrix[:, place]
        self.values = np.append(self.values - column * value, value)
        self.matrix = np.vstack([self.matrix - column[:, None] * row, row])
        self.places.append(place)
        return True

    def _place(self, row: Array, value: float) -> int | None:
        """The entry to solve a row for: of the best kind, the one that can take up most."""
        space = self._space
        reads = row != 0
        free = reads & ~space.stepped & ~space.logarithmic
        for candidates in (free & self._unknown, free, self._on_steps(row, value)):
            if candidates.any():
                reach = np.where(candidates, np.abs(row) * self._width, 0.0)
                # The last one of several, so that the first ones stay what people read.
                return int(np.flatnonzero(reach >= reach.max() * (1 - 1e-9))[-1])
        return None

    def _on_steps(self, row: Array, value: float) -> Flags:
        """Entries that are on their steps whenever all others of the row are, (n,)."""
        space = self._space
        reads = row != 0
        found = np.zeros(len(row), dtype=bool)
        if not space.stepped[reads].all():
            return found
        for place in np.flatnonzero(reads & ~space.logarithmic & ~space.nominal):
            step = row[place] * space.steps[place]
            parts = np.append(row[reads] * space.steps[reads], value - row @ space.lower) / step
            found[place] = bool((np.abs(parts - np.rint(parts)) <= _WHOLE).all())
        return found

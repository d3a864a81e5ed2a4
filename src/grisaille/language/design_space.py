"""The design space: which values a design point may have, and the coordinates it is searched in.

This is the one place that knows what `step=` and `log=` of a variable mean. Searches, distances and
random points use search coordinates: the logarithm of a variable with `log=True`, and every other
variable as it is. Searches cover everything between the bounds; what is tried is on the steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import product

import numpy as np
import torch
from torch import Tensor

from grisaille.array_types import Array, Flags
from grisaille.language.variable import ROUNDING, Variable

# Numbers with more digits after the point than this are not meant as decimal numbers.
_MOST_DIGITS = 12
# The largest number of neighbours to list: all corners of six entries.
_MOST_NEIGHBOURS = 64


class DesignSpace:
    """The values of a flat design point.

    Args:
        variables: The variables, in the order of a flat design point.

    Attributes:
        lower: (n,), the least design point.
        upper: (n,), the greatest one: on the last step where there are steps.
        steps: (n,), their lengths; 0 where every number between the bounds may be tried.
        stepped: (n,), which entries have steps.
        logarithmic: (n,), which entries are searched in the logarithm.
        whole: (n,), which entries are whole numbers for searches and proofs as well: integers, and
            the positions of labels.
        nominal: (n,), which of these are positions of labels, whose order has no meaning.
        search_lower: (n,), `lower` in search coordinates.
        search_upper: (n,).
    """

    def __init__(self, variables: Sequence[Variable]) -> None:
        self.lower = _flat([v.lower for v in variables])
        upper = _flat([v.upper for v in variables])
        steps = _flat([np.zeros(v.shape) if v.step is None else v.step for v in variables])
        flags = [np.full(v.size, v.log) for v in variables]
        self.logarithmic: Flags = np.concatenate([np.zeros(0, dtype=bool), *flags])
        flags = [np.full(v.size, v.is_whole) for v in variables]
        self.whole: Flags = np.concatenate([np.zeros(0, dtype=bool), *flags])
        flags = [np.full(v.size, bool(v.labels)) for v in variables]
        self.nominal: Flags = np.concatenate([np.zeros(0, dtype=bool), *flags])
        self.steps = steps
        self.stepped: Flags = steps > 0
        self._steps = np.where(self.stepped, steps, 1.0)
        self._last = np.zeros_like(steps)
        self._decimals = np.zeros_like(steps)
        for i in np.flatnonzero(self.stepped):
            self._last[i] = np.floor((upper[i] - self.lower[i]) / steps[i] + ROUNDING)
            self._decimals[i] = max(_digits(self.lower[i]), _digits(steps[i]))
        self.upper = np.where(self.stepped, np.minimum(self._values(self._last), upper), upper)
        self.search_lower, self.search_upper = self.lower, self.upper
        if self.logarithmic.any():
            low, high = (
                np.log(np.where(self.logarithmic, e, 1.0)) for e in (self.lower, self.upper)
            )
            # A rounded logarithm must not cut off an end, or a proof would not cover it.
            low, high = low - 2 * np.spacing(np.abs(low)), high + 2 * np.spacing(np.abs(high))
            self.search_lower = np.where(self.logarithmic, low, self.lower)
            self.search_upper = np.where(self.logarithmic, high, self.upper)

    # --- search coordinates ----------------------------------------------------------------------
    def to_search(self, design: Tensor) -> Tensor:
        """Design points in search coordinates, (..., n)."""
        if not self.logarithmic.any():
            return design
        taken = torch.tensor(self.logarithmic)
        positive = torch.where(taken, design, 1.0).clamp_min(1e-300)
        return torch.where(taken, positive.log(), design)

    def to_design(self, search: Tensor) -> Tensor:
        """The design points of search coordinates, (..., n): differentiable, and in the bounds."""
        if not self.logarithmic.any():
            return search
        taken = torch.tensor(self.logarithmic)
        value = torch.where(taken, search, 0.0).exp()
        # Rounding may leave the bounds, which must not cost the derivative there.
        inside = value.detach().clamp(torch.tensor(self.lower), torch.tensor(self.upper))
        return torch.where(taken, value + (inside - value.detach()), search)

    def design(self, search: Tensor) -> Array:
        """The design point of search coordinates (n,)."""
        return np.array(self.to_design(search).numpy())

    def distances(self, x: Array, others: Sequence[Array]) -> Array:
        """How far a design point is from others, (others, n), in search coordinates."""
        points = torch.tensor(np.array([x, *others]).reshape(-1, len(self.lower)))
        searched = self.to_search(points).numpy()
        return np.asarray(np.abs(searched[1:] - searched[0]))

    # --- steps -----------------------------------------------------------------------------------
    @property
    def has_steps(self) -> bool:
        """Whether some entry has steps."""
        return bool(self.stepped.any())

    def on_steps(self, x: Array) -> Array:
        """The design point whose entries are the nearest that may be tried."""
        if not self.has_steps:
            return x
        return np.where(self.stepped, self._values(np.rint(self._count(x))), x)

    def spread(self, search: Array) -> Array:
        """The design point to try for a point drawn uniformly in search coordinates.

        Every value of an entry with steps is equally likely, unless they count by their logarithm.
        """
        x = self.design(torch.tensor(search))
        if not self.has_steps:
            return x
        share = (x - self.lower) / (self.upper - self.lower)
        count = np.clip(np.floor(share * (self._last + 1)), 0, self._last)
        evenly = self.stepped & ~self.logarithmic
        return np.where(evenly, self._values(count), self.on_steps(x))

    def neighbours(self, x: Array, reach: int = 1) -> Array:
        """Design points to try around one, (count, n): the nearest first.

        On each side of an entry these are `reach` steps: with 1 they are the corners of the cell
        that the point is in. A whole number is in no cell, and moves by `reach` in both directions;
        one label is as near as another. Where these are too many, only one entry at a time moves.
        """
        if not self.has_steps:
            return x[None]
        entries: list[int] = np.flatnonzero(self.stepped).tolist()
        nearest = self.on_steps(x)
        below = np.floor(self._count(x) + ROUNDING)
        counts = []
        for entry in entries:
            around = below[entry] + np.arange(1 - reach, 1 + reach)
            if self.nominal[entry]:
                around = np.arange(self._last[entry] + 1)
            elif self.whole[entry]:
                around = np.rint(self._count(x)[entry]) + np.arange(-reach, 1 + reach)
            counts.append(np.unique(np.clip(around, 0, self._last[entry])))
        total = np.prod([float(len(c)) for c in counts])
        rows = [nearest]
        if total <= _MOST_NEIGHBOURS:
            for chosen in product(*counts):
                rows.append(self._with(nearest, dict(zip(entries, chosen, strict=True))))
        else:
            for entry, around in zip(entries, counts, strict=True):
                for count in around:
                    rows.append(self._with(nearest, {entry: count}))
        distinct = dict.fromkeys(row.tobytes() for row in rows)
        return np.array([np.frombuffer(row) for row in distinct])

    def _with(self, x: Array, counts: dict[int, float]) -> Array:
        """A design point on the steps with other values of some entries."""
        every = np.rint(self._count(x))
        every[list(counts)] = list(counts.values())
        return np.where(self.stepped, self._values(every), x)

    def _count(self, x: Array) -> Array:
        """How many steps each entry is above the lower bound."""
        return np.asarray(np.clip((x - self.lower) / self._steps, 0, self._last))

    def _values(self, count: Array) -> Array:
        """The value so many steps above the lower bound: 0.3, not 0.30000000000000004."""
        value = self.lower + count * self._steps
        scale = 10.0**self._decimals
        exact = (self._decimals <= _MOST_DIGITS) & (np.abs(value) < 2**52 / scale)
        return np.where(exact, np.rint(np.where(exact, value, 0.0) * scale) / scale, value)


def _flat(parts: list[Array]) -> Array:
    return np.concatenate([np.zeros(0), *(part.ravel() for part in parts)])


def _digits(number: float) -> int:
    """Digits after the decimal point, or one more than count."""
    exponent = Decimal(repr(float(number))).normalize().as_tuple().exponent
    assert isinstance(exponent, int)  # bounds and steps are finite
    return min(max(0, -exponent), _MOST_DIGITS + 1)

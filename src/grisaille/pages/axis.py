"""One axis of a chart: which numbers lie where, and which of them are written beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

# About so many numbers are written beside an axis.
_TICKS = 5


@dataclass(frozen=True, slots=True)
class Axis:
    """Maps numbers to lengths in pixels.

    Attributes:
        low: The number at `start`.
        high: The number at `end`.
        start: Where the axis begins, in pixels.
        end: Where it ends.
        is_logarithmic: Whether equal lengths are equal factors.
        labels: Words for the numbers 0, 1, ..., instead of numbers.
    """

    low: float
    high: float
    start: float
    end: float
    is_logarithmic: bool = False
    labels: tuple[str, ...] = ()

    @classmethod
    def around(
        cls,
        values: Iterable[float],
        start: float,
        end: float,
        *,
        is_logarithmic: bool = False,
        labels: tuple[str, ...] = (),
        margin: float = 0.05,
    ) -> Axis:
        """The axis that shows some numbers, as far as they are finite, with a margin."""
        found = np.array([v for v in values if math.isfinite(v) and (v > 0 or not is_logarithmic)])
        if labels:
            return cls(-0.5, len(labels) - 0.5, start, end, labels=labels)
        if not len(found):
            return cls(0.1 if is_logarithmic else 0.0, 1.0, start, end, is_logarithmic)
        low, high = float(found.min()), float(found.max())
        if is_logarithmic:
            factor = (high / low) ** margin if high > low else 2.0
            return cls(low / factor, high * factor, start, end, True)
        room = (high - low) * margin or abs(high) * margin or 1.0
        return cls(low - room, high + room, start, end)

    def at(self, value: float) -> float:
        """Where a number lies, in pixels; numbers beyond the ends lie at the ends."""
        if not math.isfinite(value):
            return self.start if value < 0 else self.end
        if self.is_logarithmic:
            if value <= 0:
                return self.start
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (float(value) - self.low) / (self.high - self.low)
        return self.start + min(max(part, 0.0), 1.0) * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """The numbers to write beside the axis, with their texts."""
        if self.labels:
            return [(float(place), label) for place, label in enumerate(self.labels)]
        numbers = self._decades() if self.is_logarithmic else self._round_numbers()
        return [(number, f"{number:.6g}") for number in numbers]

    def _round_numbers(self) -> list[float]:
        """Multiples of 1, 2 or 5 times a power of ten."""
        span = self.high - self.low
        power = 10.0 ** math.floor(math.log10(span / _TICKS))
        step = next(f * power for f in (1, 2, 5, 10) if span / (f * power) <= _TICKS + 1)
        first = math.ceil(self.low / step)
        last = math.floor(self.high / step)
        return [round(k * step, 12 - math.floor(math.log10(step))) for k in range(first, last + 1)]

    def _decades(self) -> list[float]:
        """Powers of ten, every few if there are many; round numbers if there are less than two."""
        first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        if last - first < 1:
            return self._round_numbers()
        step = max(1, math.ceil((last - first) / _TICKS))
        return [10.0**k for k in range(first, last + 1, step)]

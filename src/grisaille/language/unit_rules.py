"""Units through known operations: one rule per kind of operation, for any way to combine units.

A rule gets the units of the arguments and returns those of the value. An unknown unit fits
anything, and what is computed from one has an unknown unit again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from grisaille.language.expression import Operation
    from grisaille.language.units import Algebra

Entries = NDArray[np.object_]
"""The unit of each entry, None where it is unknown; an array without axes if all have the same."""


class Combining:
    """Combines units that may be unknown, entry by entry.

    Args:
        algebra: How known units combine.
    """

    def __init__(self, algebra: Algebra[Any]) -> None:
        self.algebra = algebra

    def alike(self, a: Any, b: Any) -> Any:
        """Combine units of values that are compared."""
        return b if a is None else a if b is None else self.algebra.alike(a, b)

    def product(self, a: Any, b: Any) -> Any:
        """Combine units of factors."""
        return None if a is None or b is None else self.algebra.product(a, b)

    def power(self, unit: Any, exponent: float) -> Any:
        """Raise a unit to a power."""
        return None if unit is None else self.algebra.power(unit, exponent)

    def plain(self, unit: Any) -> Any:
        """Refuse whatever is not a plain number."""
        return None if unit is None else self.algebra.plain(unit)

    def shifted(self, combine: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """Return a function that combines the units of terms."""

        def combined(a: Any, b: Any) -> Any:
            if a is None or b is None:
                known = b if a is None else a
                return None if known is None else self.algebra.shifted(known)
            return combine(a, b)

        return combined

    def angle(self, a: Any, b: Any) -> Any:
        """Return the unit of an angle between two lengths."""
        self.alike(a, b)
        return None if a is None or b is None else self.algebra.read("")

    def reduced(
        self, combine: Callable[[Any, Any], Any], entries: Entries, axes: tuple[int, ...]
    ) -> Entries:
        """Combine the units along axes."""
        for axis in sorted(axes, reverse=True) if entries.ndim else ():
            entries = array_of(np.frompyfunc(combine, 2, 1).reduce(entries, axis=axis))
        return entries


_NEEDS_PLAIN = "{argument} is in {unit}, and {name} takes a plain number"


@dataclass(frozen=True, slots=True, eq=False)
class UnitRule:
    """The unit of an operation, and how to complain about misfits.

    Attributes:
        follow: The units of the value, from those of the arguments.
        verb: The operation in "numbers in different units cannot be compared".
        needs: The complaint where only a plain number fits, a text to format.
        remedy: What to do about that.
    """

    follow: Callable[[Combining, Operation, Sequence[Entries]], Entries]
    verb: str = "compared"
    needs: str = _NEEDS_PLAIN
    remedy: str = "divide by a value in {unit} first"


def array_of(units: Any) -> Entries:
    """Return units as an array of objects."""
    return np.array(units, dtype=object)


def entrywise(function: Callable[..., Any], *entries: Any) -> Entries:
    """Combine units entry by entry, as NumPy broadcasts."""
    return array_of(np.frompyfunc(function, len(entries), 1)(*entries))


def _power_of(exponent: float) -> UnitRule:
    return UnitRule(lambda c, _, u: entrywise(lambda unit: c.power(unit, exponent), u[0]))


def _matmul(c: Combining, _operation: Operation, units: Sequence[Entries]) -> Entries:
    # Rows of a matrix with several units are left alone.
    several = units[0].ndim or units[1].ndim
    return array_of(None) if several else entrywise(c.product, *units)


def _raised(c: Combining, operation: Operation, units: Sequence[Entries]) -> Entries:
    entrywise(c.plain, units[1])
    exponent = operation.arguments[1]._known
    if exponent is not None:
        return entrywise(c.power, units[0], exponent.astype(object))
    return entrywise(c.plain, units[0])  # only a plain number has any power


def _product(c: Combining, operation: Operation, units: Sequence[Entries]) -> Entries:
    if units[0].ndim:
        return c.reduced(c.product, units[0], operation.parameters[0])
    factors = operation.arguments[0].size / operation.size
    return entrywise(lambda unit: c.power(unit, factors), units[0])


def _take(_c: Combining, operation: Operation, units: Sequence[Entries]) -> Entries:
    positions, shape = operation.parameters
    return units[0].ravel()[list(positions)].reshape(shape) if units[0].ndim else units[0]


def _join(_c: Combining, operation: Operation, units: Sequence[Entries]) -> Entries:
    if not any(u.ndim for u in units) and all(u[()] == units[0][()] for u in units):
        return units[0]
    parts = zip(units, operation.arguments, strict=True)
    return np.concatenate([np.broadcast_to(u, part.shape).ravel() for u, part in parts])


SAME = UnitRule(lambda _c, _, u: u[0])
ALIKE = UnitRule(lambda c, _, u: entrywise(c.alike, *u))
ADDED = UnitRule(lambda c, _, u: entrywise(c.shifted(c.algebra.added), *u), verb="added")
SUBTRACTED = UnitRule(
    lambda c, _, u: entrywise(c.shifted(c.algebra.subtracted), *u), verb="subtracted"
)
CHOSEN = UnitRule(lambda c, _, u: entrywise(c.alike, *u[1:]))
PRODUCT = UnitRule(lambda c, _, u: entrywise(c.product, *u))
QUOTIENT = UnitRule(lambda c, _, u: entrywise(lambda a, b: c.product(a, c.power(b, -1.0)), *u))
MATRIX_PRODUCT = UnitRule(_matmul)
ROOT, SQUARE, RECIPROCAL = _power_of(0.5), _power_of(2.0), _power_of(-1.0)
RAISED = UnitRule(
    _raised, needs="a power takes plain numbers unless its exponent is fixed, not {unit}"
)
PLAIN = UnitRule(lambda c, _, u: entrywise(c.plain, u[0]))
RADIANS = replace(PLAIN, needs=f"{_NEEDS_PLAIN} of radians", remedy="convert it first")
ANGLE = UnitRule(lambda c, _, u: entrywise(c.angle, *u))
LARGEST = UnitRule(lambda c, o, u: c.reduced(c.alike, u[0], o.parameters[0]))
TOTAL = replace(LARGEST, verb="added")
PRODUCT_ALONG = UnitRule(_product)
TAKE, JOIN = UnitRule(_take), UnitRule(_join)
UNKNOWN = UnitRule(lambda _c, _, _u: array_of(None))

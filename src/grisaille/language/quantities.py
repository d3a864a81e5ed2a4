"""Quantities: numbers that carry a unit of pint, as the plain numbers of a declared unit.

Wherever numbers are taken, a quantity is converted to the unit declared there, or refused. Nothing
drops a unit: `real_numbers` refuses whatever still has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from grisaille.checks import attribute_of, has_unit
from grisaille.errors import cut
from grisaille.language.expression import Unit
from grisaille.language.unit_algebra import NoConversionError, magnitude_in

Fault = Callable[[str], Exception]
"""Makes the exception for a sentence that says what is wrong."""


def has_quantity(given: Any) -> bool:
    """Return True if a value, or a member of nested lists, tables and dictionaries, has a unit."""
    open_, seen = [given], dict[int, Any]()  # a list may hold itself
    while open_:
        one = open_.pop()
        if one is None or isinstance(one, str | bytes | int | float):
            continue
        if has_unit(one):
            return True
        members = _inner(one)
        if members is not None and id(one) not in seen:
            seen[id(one)] = one
            open_ += members
    return False


def _inner(value: Any) -> Iterable[Any] | None:
    """Return the members of a list, table or dictionary, which may have units; else None."""
    if isinstance(value, Mapping):
        return value.values()
    if isinstance(value, list | tuple):
        return value
    if attribute_of(attribute_of(value, "dtype"), "kind") == "O":
        return np.asarray(value, dtype=object).ravel().tolist()
    columns = attribute_of(value, "columns")
    if columns is None or attribute_of(value, "iloc") is None:
        return None
    return [value.iloc[:, place] for place in range(len(columns))]


def entry_units(unit: Unit, size: int) -> list[str | None]:
    """The declared unit of each of `size` entries."""
    return list(unit) if isinstance(unit, tuple) else [unit] * size


def plain_numbers(
    given: Any,
    units: Sequence[str | None],
    names: Sequence[str],
    fault: Fault,
    *,
    is_spread: bool = False,
) -> Any:
    """Numbers in place of quantities; whatever has no quantity is returned as it is.

    Args:
        given: A number, a row with one number per unit, or rows of these; nested lists or arrays.
        units: The declared unit of each number of a row, None where there is none.
        names: What each of them is called, for messages.
        fault: Makes the exception.
        is_spread: True for differences and deviations, which have no zero.
    """
    if not has_quantity(given):
        return given

    passed = 0

    def converted(value: Any) -> Any:
        nonlocal passed
        members = _members(value) if has_quantity(value) else ()
        if members:
            return [converted(member) for member in members]
        if members is not None:
            passed += _size(value)
            return value
        place = passed % len(units)
        passed += 1
        return _number(value, units[place], names[place], fault, is_spread)

    try:
        found = converted(given) if units else given
    except RecursionError:  # lists without end, which real_numbers refuses
        return given
    # Of the wrong number of them, nobody knows which is which: real_numbers refuses their units.
    return given if units and passed % len(units) else found


def _members(value: Any) -> list[Any] | None:
    """Return the rows or entries of what has units; None for one number, [] if it is strange."""
    if attribute_of(value, "columns") is not None:
        return list(value.to_numpy(dtype=object))
    magnitude = attribute_of(value, "magnitude")
    if np.ndim(magnitude):
        return [value[place] for place in range(len(value))]
    if magnitude is not None:
        return None
    is_other = isinstance(value, np.ndarray) and type(value) is not np.ndarray
    return [] if is_other or attribute_of(value, "shape") == () else list(value)


def _size(value: Any) -> int:
    try:
        return int(np.size(value))
    except ValueError:  # rows of different lengths, which are refused later
        return 1


def _number(quantity: Any, unit: str | None, name: str, fault: Fault, is_spread: bool) -> float:
    shown = f"{name} is {cut(str(quantity))}"
    if unit is None and str(quantity.units) != "dimensionless":
        raise fault(
            f"{shown}, but no unit is declared for it: declare unit=, or pass a plain number"
        )
    try:
        return magnitude_in(unit or "", quantity, is_spread)
    except NoConversionError:
        wanted = f"its unit is {unit}" if unit else "it is a plain number"
        is_plain = is_spread or not unit or "delta_" in str(quantity.units)
        raise fault(
            f"{shown}, but {wanted}: pass {'a plain number' if is_plain else f'it in {unit}'}, or "
            "correct one of the units"
        ) from None

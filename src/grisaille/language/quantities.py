"""Quantities: numbers that carry a unit of pint, as the plain numbers of a declared unit.

Wherever numbers are taken, a quantity is converted to the unit declared there, or refused. Nothing
drops a unit: `real_numbers` refuses whatever still has one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    if given is None or isinstance(given, str | bytes | int | float):
        return False
    if has_unit(given):
        return True
    if isinstance(given, Mapping):
        return any(map(has_quantity, given.values()))
    dtype = attribute_of(given, "dtype")
    if isinstance(given, list | tuple) or attribute_of(dtype, "kind") == "O":
        return any(map(has_quantity, given))
    columns = attribute_of(given, "columns")
    if columns is None or attribute_of(given, "iloc") is None:
        return False
    return any(has_quantity(given.iloc[:, place]) for place in range(len(columns)))


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
        if not has_quantity(value):
            passed += np.size(value)
            return value
        if (members := _members(value)) is not None:
            return [converted(member) for member in members]
        place = passed % len(units)
        passed += 1
        return _number(value, units[place], names[place], fault, is_spread)

    found = converted(given) if units else given
    # Of the wrong number of them, nobody knows which is which: real_numbers refuses their units.
    return given if units and passed % len(units) else found


def _members(value: Any) -> list[Any] | None:
    """The rows or entries of a list, a table or a quantity of an array; None for one number."""
    if attribute_of(value, "columns") is not None:
        return list(value.to_numpy(dtype=object))
    if np.ndim(attribute_of(value, "magnitude")):
        return [value[place] for place in range(len(value))]
    is_one = attribute_of(value, "magnitude") is not None
    return None if is_one else list(value)


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

"""Units of variables and outputs, and quantities that carry them.

Units combine as texts, or with `pint` as physical units. Wherever numbers are taken, a quantity
is converted to the unit declared there, or refused: `real_numbers` refuses whatever still has a
unit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from grisaille.checks import attribute_of, has_unit, is_printable
from grisaille.errors import ModelError, cut, shortened
from grisaille.language.expression import Unit
from grisaille.language.operations import Shape

# --- unit algebra ---------------------------------------------------------------------------------
# Two ways to combine units: as mere texts, or as physical units that pint knows.

U = TypeVar("U")

# Pint knows no money. Amounts in different currencies do not fit, because rates change.
_CURRENCIES = {
    "$": "dollar = [dollar] = $ = USD",
    "€": "euro = [euro] = € = EUR",
    "£": "sterling = [sterling] = £ = GBP",
    "¥": "yen = [yen] = ¥ = JPY",
    "₹": "rupee = [rupee] = ₹ = INR",
    "CHF": "franc = [franc] = CHF",
    "CNY": "yuan = [yuan] = CNY",
}
_PLAIN = ("", "-", "1")


class UnknownUnitError(Exception):
    """A text is no unit that pint knows."""


class MisfitError(Exception):
    """Two units do not fit, or one is not what is needed; their texts are its arguments."""


class NoConversionError(Exception):
    """A quantity is not one of a unit."""


class Algebra(Protocol[U]):
    """What happens to units in known operations; None stands for an unknown unit."""

    def read(self, text: str) -> U:
        """A declared unit."""

    def alike(self, left: U, right: U) -> U | None:
        """The unit of values that are compared with each other, or of which one is chosen."""

    def added(self, left: U, right: U) -> U | None:
        """The unit of a sum."""

    def subtracted(self, left: U, right: U) -> U | None:
        """The unit of a difference."""

    def shifted(self, unit: U) -> U | None:
        """The unit of a sum with, or a difference from, something of unknown unit."""

    def product(self, left: U, right: U) -> U | None:
        """The unit of a product."""

    def power(self, unit: U, exponent: float) -> U | None:
        """The unit of a power."""

    def plain(self, unit: U) -> U | None:
        """The unit itself, which must be that of a plain number."""


class Texts(Algebra[str]):
    """Units as texts: only what an operation leaves unchanged is known, and nothing is refused."""

    def read(self, text: str) -> str:
        """The text itself."""
        return text

    def alike(self, left: str, right: str) -> str | None:
        """The text that both have."""
        return left if left == right else None

    added = subtracted = alike

    def shifted(self, unit: str) -> str | None:
        """The text itself."""
        return unit

    def product(self, left: str, right: str) -> str | None:
        """The text of one factor, if the other is a plain number."""
        return left if right in _PLAIN else right if left in _PLAIN else None

    def power(self, unit: str, exponent: float) -> str | None:
        """The text itself, if nothing changes."""
        return unit if exponent == 1 or unit in _PLAIN else None

    def plain(self, unit: str) -> str | None:
        """The text, if it is that of a plain number."""
        return unit if unit in _PLAIN else None


@dataclass(frozen=True, slots=True)
class PhysicalUnit:
    """A unit that pint knows.

    Attributes:
        text: As declared, or as pint writes it.
        dimensions: The exponent of each dimension, such as length, in alphabetic order.
        factor: How large it is in pint's base units.
        zero: Where its scale begins, in base units: 273.15 for degrees Celsius.
        own: Pint's unit; None if its scale is logarithmic.
    """

    text: str
    dimensions: tuple[tuple[str, float], ...]
    factor: float
    zero: float = 0.0
    own: Any = field(default=None, repr=False)

    @property
    def is_scale(self) -> bool:
        """Whether it does not begin at nothing, so that products with it have no meaning."""
        return self.zero != 0 or self.own is None

    @property
    def is_plain(self) -> bool:
        """Whether it is that of a plain number."""
        return not self.dimensions and not self.is_scale and _is_close(self.factor, 1.0)


class Physical(Algebra[PhysicalUnit]):
    """Units as pint knows them. Units fit if their numbers mean the same, so bar and Pa do not."""

    def read(self, text: str) -> PhysicalUnit:
        """The unit that pint understands."""
        return _read(text)

    def alike(self, left: PhysicalUnit, right: PhysicalUnit) -> PhysicalUnit:
        """The unit that both have, scale and zero included."""
        if not _has_same_steps(left, right) or not _is_close(left.zero, right.zero):
            raise MisfitError(_shown(left), _shown(right))
        return left

    def added(self, left: PhysicalUnit, right: PhysicalUnit) -> PhysicalUnit:
        """The unit of a sum: on a scale such as °C, differences may be added."""
        if _has_same_steps(left, right) and left.is_scale != right.is_scale:
            return left if left.is_scale else right  # 20 °C and 5 K more
        return self.alike(left, right)

    def subtracted(self, left: PhysicalUnit, right: PhysicalUnit) -> PhysicalUnit | None:
        """The unit of a difference: two values on a scale differ by a unit without its zero."""
        if _has_same_steps(left, right) and left.is_scale and not right.is_scale:
            return left
        unit = self.alike(left, right)
        if not unit.is_scale:
            return unit
        return None if unit.own is None else _composed(_registry().Unit(f"delta_{unit.own}"))

    def shifted(self, unit: PhysicalUnit) -> PhysicalUnit | None:
        """The unit itself; 30 °C - 20 is 10 °C, or a difference of 10 K."""
        return None if unit.is_scale else unit

    def product(self, left: PhysicalUnit, right: PhysicalUnit) -> PhysicalUnit | None:
        """The unit of a product; unknown for a scale such as °C."""
        if left.is_scale or right.is_scale:
            return left if right.is_plain else right if left.is_plain else None
        if left.is_plain or right.is_plain:
            return right if left.is_plain else left
        return _composed(left.own * right.own)

    def power(self, unit: PhysicalUnit, exponent: float) -> PhysicalUnit | None:
        """The unit of a power; unknown for a scale."""
        if exponent == 1 or unit.is_plain:
            return unit
        return None if unit.is_scale else _composed(unit.own**exponent)

    def plain(self, unit: PhysicalUnit) -> PhysicalUnit:
        """The unit, if it is that of a plain number."""
        if not unit.is_plain:
            raise MisfitError(_shown(unit))
        return unit


def _shown(unit: PhysicalUnit) -> str:
    return unit.text or "plain numbers"


def pint_is_there() -> bool:
    """Whether units can be checked: pint is an optional package."""
    return _registry() is not None


def magnitude_in(text: str, quantity: Any, is_spread: bool = False) -> float:
    """The number that a quantity of pint has in a declared unit.

    Args:
        text: The unit.
        quantity: Of any registry: its own one converts it, or else ours, which knows money.
        is_spread: True for a difference, which a unit with a zero of its own such as °C cannot say.

    Raises:
        NoConversionError: It has another dimension, or is a difference where a value is needed.
    """
    try:
        unit = _read(text)
    except UnknownUnitError as error:
        raise NoConversionError from error
    is_difference = "delta_" in str(quantity.units)
    if unit.own is None or (unit.is_scale and (is_spread or is_difference)):
        raise NoConversionError
    spelled = str(unit.own)
    try:
        try:
            found = quantity.to(spelled)
        except AttributeError:  # its registry does not know the unit
            found = _registry().Quantity(quantity.magnitude, str(quantity.units)).to(spelled)
        return float(found.magnitude)
    except Exception as error:  # pint raises all kinds of errors for what does not fit
        raise NoConversionError from error


@lru_cache(maxsize=1)
def _registry() -> Any:
    try:
        from pint import UnitRegistry
    except ImportError:
        return None
    registry: Any = UnitRegistry()
    for line in _CURRENCIES.values():
        registry.define(line)
    return registry


@lru_cache(maxsize=1024)
def _read(text: str) -> PhysicalUnit:
    if text in _PLAIN:
        return replace(_composed(_registry().Unit("")), text="")
    spelled = text
    for sign, line in _CURRENCIES.items():
        spelled = spelled.replace(sign, line.partition(" ")[0])
    # m3 as m**3, but only where pint knows no such name: it knows H2O.
    for spelling in (spelled, re.sub(r"(?<=[^\W\d])(\d+)", r"**\1", spelled)):
        try:
            return replace(_composed(_registry().Unit(spelling)), text=text)
        except Exception:  # pint raises all kinds of errors for what it cannot read
            continue
    raise UnknownUnitError(text)


@lru_cache(maxsize=1024)
def _composed(own: Any) -> PhysicalUnit:
    """One of pint's units."""
    zero, one, two = (_in_base_units(number, own) for number in (0.0, 1.0, 2.0))
    dimensions = sorted((name, float(power)) for name, power in own.dimensionality.items())
    if not _is_close(two - one, one - zero):  # decibels fit only themselves
        return PhysicalUnit(f"{own:~P}", ((str(own), 1.0),), 1.0)
    return PhysicalUnit(f"{own:~P}", tuple(dimensions), one - zero, zero, own)


def _in_base_units(number: float, own: Any) -> float:
    return float(_registry().Quantity(number, own).to_base_units().magnitude)


def _has_same_steps(left: PhysicalUnit, right: PhysicalUnit) -> bool:
    same = len(left.dimensions) == len(right.dimensions) and all(
        a[0] == b[0] and _is_close(a[1], b[1])
        for a, b in zip(left.dimensions, right.dimensions, strict=True)
    )
    return same and _is_close(left.factor, right.factor)


def _is_close(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12 if right == 0 else 0.0)


# --- declared unit --------------------------------------------------------------------------------
# Units as they are declared: texts, one for all entries of a value or one for each.

Units = str | Sequence[str | None] | Mapping[str, str | None] | None
"""What may be passed as `unit=`."""

_LONGEST = 100


def declared_unit(who: str, given: Units, shape: Shape, names: Sequence[str] = ()) -> Unit:
    """A unit as it is kept: one text, or one for each entry in flat order; None if not given.

    Args:
        who: What has the unit, for messages.
        given: A text, one for each entry, or texts by the names of the entries.
        shape: Shape of the value.
        names: Names of the entries, if they have any.
    """
    if given is None:
        return None
    fault = f"{who} has unit={shortened(given)}: pass a text such as 'kg/s', '' for a plain number"
    if isinstance(given, str):
        return _text(given, fault)
    if isinstance(given, Mapping):
        if not names:
            raise ModelError(f"{fault}; units by name are for outputs that have names")
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ModelError(
                f"{who} has a unit for {shortened(unknown[0])}: its outputs are "
                f"{', '.join(map(repr, names))}"
            )
        given = [given.get(name) for name in names]
    several = isinstance(given, list | tuple) and bool(shape)
    entries = _entries(given) if several else np.zeros(0, dtype=object)
    if not several or entries.shape != shape:
        each = f", or a list of texts of shape {shape}, one for each entry" if shape else ""
        raise ModelError(fault + each)
    return tuple(None if entry is None else _text(entry, fault) for entry in entries.flat)


def unit_of_entry(unit: Unit, entry: int) -> str | None:
    """The unit of an entry, by its flat position."""
    return entry_units(unit, entry + 1)[entry]


def unit_text(unit: Unit) -> str:
    """A unit behind a value: ` K`, ` [kg/s, °C]`; "" for a plain number or none."""
    if isinstance(unit, tuple):
        if len(set(unit)) > 1:
            return f" [{', '.join(entry or '-' for entry in unit)}]"
        unit = unit[0]
    return f" {unit}" if unit else ""


def _entries(given: Sequence[object]) -> NDArray[np.object_]:
    try:
        return np.array(given, dtype=object)
    except ValueError:  # lists of different lengths
        return np.zeros(0, dtype=object)


def _text(given: object, fault: str) -> str:
    if not isinstance(given, str) or len(given) > _LONGEST or not is_printable(given):
        raise ModelError(fault)
    return given.strip()


# --- quantities -----------------------------------------------------------------------------------
# Quantities: numbers that carry a unit of pint, as the plain numbers of a declared unit.
#
# Wherever numbers are taken, a quantity is converted to the unit declared there, or refused.
# Nothing drops a unit: `real_numbers` refuses whatever still has one.

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

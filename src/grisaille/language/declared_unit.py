"""Units as they are declared: texts, one for all entries of a value or one for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from grisaille.checks import is_printable
from grisaille.errors import ModelError, shortened
from grisaille.language.atoms import Shape
from grisaille.language.expression import Unit

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
    return unit[entry] if isinstance(unit, tuple) else unit


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

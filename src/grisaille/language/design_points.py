"""Design points as people write them: arrays, values by name, tables."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grisaille.array_types import Array
from grisaille.checks import attribute_of, first_strange, real_numbers
from grisaille.errors import ModelError, counted, shortened
from grisaille.language.program import Program
from grisaille.language.variable import Variable

# Bounds may be missed by rounding.
_ROUNDING = 1e-9


def entry_names(name: str, shape: tuple[int, ...]) -> list[str]:
    """A name for each entry of an array: `x[0]`, `x[1]`; the name itself for a scalar."""
    return [
        name + (str(list(index)).replace(" ", "") if index else "") for index in np.ndindex(shape)
    ]


def names_of_entries(variables: Sequence[Variable]) -> list[str]:
    """A name for each entry of a flat design point: `x[0]`, `x[1]`, `temperature`."""
    return [name for v in variables for name in entry_names(v.name, v.shape)]


def design_points(program: Program, who: str, given: Any) -> Array:
    """Design points (m, n) from what a user passed, checked.

    Args:
        program: Whose variables.
        who: The argument, as messages name it: `enqueue`, or `x0`.
        given: A flat point, an array with one row per point, values by the names of variables or
            of their entries, a list of these, or a DataFrame with the names of entries as columns.

    Raises:
        ModelError: It is not such a thing, or a point is outside the bounds.
    """
    points = _points(program, who, given)
    names = names_of_entries(program.variables)
    reach = _ROUNDING * (program.upper - program.lower)
    for row, point in enumerate(points):
        which = f" {row + 1}" if len(points) > 1 else ""
        outside = (point < program.lower - reach) | (point > program.upper + reach)
        for entry in np.flatnonzero(~np.isfinite(point) | outside)[:1]:
            problem = (
                f"outside its bounds [{program.lower[entry]:g}, {program.upper[entry]:g}]"
                if np.isfinite(point[entry])
                else "not a finite number"
            )
            raise ModelError(
                f"{who}: point{which} has {names[entry]} = {point[entry]:g}, which is {problem}"
            )
    return np.clip(points, program.lower, program.upper)


def _points(program: Program, who: str, given: Any) -> Array:
    columns = attribute_of(given, "columns")
    if columns is not None:
        table = {name: _numbers(who, name, given[name]) for name in list(columns)}
        return _from_columns(program, who, table)
    if isinstance(given, Mapping):
        return _from_mapping(program, who, given)[None]
    if isinstance(given, Sequence) and given and all(isinstance(g, Mapping) for g in given):
        return np.array([_from_mapping(program, who, one) for one in given])
    array = _numbers(who, None, given)
    if array.ndim <= 1 and array.size == program.size:
        return array.reshape(1, program.size)
    if array.ndim != 2 or array.shape[1] != program.size or not len(array):
        raise ModelError(
            f"{who}: {shortened(given)} has shape {array.shape}, but a design point has "
            f"{counted(program.size, 'number')} ({_listed(names_of_entries(program.variables))}): "
            "pass one row per point, or values by name"
        )
    return array


def _from_mapping(program: Program, who: str, given: Mapping[Any, Any]) -> Array:
    """One point from values by variable, by its name, or by the names of its entries."""
    x = np.full(program.size, np.nan)
    entries = names_of_entries(program.variables)
    places: dict[str, Any] = {name: place for place, name in enumerate(entries)}
    places |= {v.name: program.columns[v] for v in program.variables}
    for key, value in given.items():
        name = key.name if isinstance(key, Variable) else key
        if not isinstance(name, str) or name not in places:
            raise _unknown(who, name, places)
        numbers = _numbers(who, name, value)
        wanted = x[places[name]]
        if numbers.size != np.size(wanted):
            raise ModelError(
                f"{who}: {name!r} has {counted(int(np.size(wanted)), 'number')}, got "
                f"{shortened(value)}"
            )
        x[places[name]] = numbers.reshape(np.shape(wanted))
    missing = [entries[place] for place in np.flatnonzero(np.isnan(x))]
    if missing:
        raise ModelError(f"{who}: there is no value of {_listed(missing)}: give all variables")
    return x


def _from_columns(program: Program, who: str, table: Mapping[Any, Array]) -> Array:
    entries = names_of_entries(program.variables)
    for name in table:
        if name not in entries:
            raise _unknown(who, name, entries)
    missing = [name for name in entries if name not in table]
    if missing:
        raise ModelError(
            f"{who}: the table has no column {_listed(missing)}: its columns must be "
            f"{_listed(entries)}"
        )
    if not len(table[entries[0]]):
        raise ModelError(f"{who}: the table has no row")
    return np.column_stack([table[name] for name in entries])


def _numbers(who: str, name: object, given: Any) -> Array:
    try:
        return real_numbers(given)
    except (TypeError, ValueError, RuntimeError) as error:
        which = "" if name is None else f" of {shortened(name)}"
        raise ModelError(
            f"{who}: {shortened(first_strange(given))}{which} is not a number: pass numbers"
        ) from error


def _unknown(who: str, name: object, known: Any) -> ModelError:
    near = difflib.get_close_matches(str(name), list(known), 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return ModelError(
        f"{who}: the problem has no variable {shortened(name)}, it has {_listed(list(known))}{hint}"
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))

"""Answers made elsewhere, from arrays, lists and tables with named columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from grisaille.array_types import Array
from grisaille.checks import attribute_of, first_strange, is_finite, real_numbers
from grisaille.errors import ModelError, counted, shortened
from grisaille.language.black_box import BlackBox
from grisaille.language.box_inputs import input_kinds
from grisaille.language.columns import Places
from grisaille.language.input_names import (
    input_units,
    known_inputs,
    known_outputs,
    output_names,
    value_count,
)
from grisaille.language.problem import Problem
from grisaille.language.quantities import entry_units, plain_numbers
from grisaille.language.value_kinds import (
    ValueKind,
    check_indicators,
    condensed,
    expanded,
)
from grisaille.study.sheet_columns import answer_columns


def observed_rows(
    problem: Problem, box: BlackBox, inputs: Any, outputs: Any
) -> tuple[Array, Array]:
    """Flat inputs (n, d) and outputs (n, k) of some answers of a black box.

    Columns with names (of a DataFrame, a dictionary or a structured array) are found by name, see
    `known_inputs` and `known_outputs`. Columns without names are taken in order, the outputs last.

    Args:
        problem: What the black box is part of.
        box: The black box.
        inputs: An array, a list, a table; with the outputs in it if `outputs` is None.
        outputs: Likewise.
    """
    who = f"observe({box.name!r})"
    x_kinds, y_kinds = input_kinds(box), [ValueKind()] * box.outputs
    if outputs is not None:
        x = _table(box, "inputs", inputs, input_places(problem, box), x_kinds)
        y = _table(box, "outputs", outputs, output_places(box), y_kinds)
    else:
        places = answer_places(problem, box)
        columns = places.named(inputs, who)
        if columns is None:
            columns = _numbered(box, inputs, places)
        both = _chosen(box, columns, places, [*x_kinds, *y_kinds])
        x, y = both[:, : box.inputs], both[:, box.inputs :]
    if len(x) != len(y):
        raise ModelError(f"{who}: {len(x)} rows of inputs, but {len(y)} rows of outputs")
    for what, table in (("inputs", x), ("outputs", y)):
        if not np.isfinite(table).all():
            row = int(np.argmin(np.isfinite(table).all(1)))
            raise ModelError(
                f"{who}: row {row} of the {what} is "
                f"{shortened(table[row].tolist())}: every number must be finite; leave failed "
                "answers out"
            )
    return x, y


def inputs_done(problem: Problem, box: BlackBox, asked: Array, given: Any) -> Array:
    """The flat inputs that a black box was really evaluated at.

    Args:
        problem: What the black box is part of.
        box: The black box.
        asked: What it was asked for, flat.
        given: What the user says: None for the same; all values in a row, or the flat inputs
            themselves; or some values by their names.
    """
    if given is None:
        return asked
    kinds, places = input_kinds(box), input_places(problem, box)
    shown = f"inputs={shortened(given)}"

    def fault(text: str) -> ModelError:
        return ModelError(f"{shown}: {text}")

    named = places.named(given, shown, is_row=True)
    if named is not None:
        done = condensed(kinds, asked).copy()
        for place, name in places.found(named, shown).items():
            cell = named[name] if isinstance(given, Mapping) else _only(named[name])
            value = plain_numbers(cell, [places.units[place]], [name], fault)
            if not (kinds[place].labels or is_finite(value)):
                raise fault(f"{name} is {shortened(value)}: pass a finite number")
            done[place] = kinds[place].number(value, name)
        return expanded(kinds, done)
    given = plain_numbers(given, places.units, places.shown, fault)
    parts = given if isinstance(given, tuple | list) else [given]
    found = _flat_values(parts)
    if len(found) == len(kinds) and all(
        kind.labels or is_finite(value) for kind, value in zip(kinds, found, strict=True)
    ):
        values = [k.number(v, name) for k, v, name in zip(kinds, found, places.shown, strict=True)]
        return expanded(kinds, np.array(values, dtype=float))
    if len(found) != box.inputs or not all(map(is_finite, found)):
        raise ModelError(
            f"{shown}: black box {box.name!r} has "
            f"{counted(len(kinds), 'input')}, and was asked for {box.describe(asked)}: pass as "
            "many finite numbers, or those that differ by name"
        )
    numbers = np.array(found, dtype=float)
    check_indicators(kinds, numbers, shown)
    return numbers


def _only(column: Any) -> Any:
    """Return the value of a column with one row; anything else as it is."""
    return column[0] if np.shape(column) == (1,) else column


def _flat_values(parts: Sequence[Any]) -> list[Any]:
    """Numbers and labels in a row, from values and arrays; empty if that is not what they are."""
    found: list[Any] = []
    for part in parts:
        try:
            found += [part] if isinstance(part, str) else np.ravel(real_numbers(part)).tolist()
        except (TypeError, ValueError):
            return []
    return found


def input_places(problem: Problem, box: BlackBox) -> Places:
    """The inputs of a black box as places of columns."""
    known = {name: frozenset(found) for name, found in known_inputs(problem, box).items()}
    shown = answer_columns(problem, box).inputs
    return Places(f"black box {box.name!r}", shown, known, "input", input_units(problem, box))


def output_places(box: BlackBox) -> Places:
    """The outputs of a black box as places of columns."""
    known = {name: frozenset(found) for name, found in known_outputs(box).items()}
    units = entry_units(box.unit, box.outputs)
    return Places(f"black box {box.name!r}", output_names(box), known, "output", units)


def answer_places(problem: Problem, box: BlackBox) -> Places:
    """The inputs of a black box and then its outputs as places of columns."""
    inputs, outputs = input_places(problem, box), output_places(box)
    first, own = value_count(box), answer_columns(problem, box)
    known = {
        name: inputs.known.get(name, frozenset())
        | {first + place for place in outputs.known.get(name, ())}
        for name in {**inputs.known, **outputs.known}
    }
    # A name of an input and an output means what it means among the answers.
    shown = [*own.inputs, *own.outputs]
    for place, name in enumerate(shown):
        side = inputs if place < first else outputs
        if len(side.known[name]) == 1:
            known[name] = frozenset([place])
    return Places(inputs.what, shown, known, units=[*inputs.units, *outputs.units])


def _numbered(box: BlackBox, given: Any, places: Places) -> dict[str, Any]:
    """The columns of a table without names, under the names of their places."""
    columns = attribute_of(given, "columns")
    if columns is None:
        raise ModelError(
            f"observe({box.name!r}) got no outputs: pass them, or a DataFrame that has "
            f"{counted(box.outputs, 'column')} of outputs, too"
        )
    if len(columns) != len(places.shown):
        raise ModelError(
            f"observe({box.name!r}): the table has {counted(len(columns), 'column')} without "
            f"names, but {places.all}: pass one for each, in this order"
        )
    return {name: given[number] for name, number in zip(places.shown, columns, strict=True)}


def _table(
    box: BlackBox,
    what: str,
    given: Any,
    places: Places,
    kinds: Sequence[ValueKind],
) -> Array:
    """Inputs or outputs that were passed on their own, one row per answer, flat."""
    width = len(kinds)
    columns = places.named(given, f"observe({box.name!r})")
    if columns is not None:
        return _chosen(box, columns, places, kinds)
    given = plain_numbers(given, places.units, places.shown, _fault(box))
    if any(kind.labels for kind in kinds):
        return _rows_with_labels(box, given, places, kinds)
    array = _numbers(box, f"the {what} are", given)
    if array.ndim <= 1 and (width == 1 or array.size == width):
        array = array.reshape(-1, width)
    if array.ndim != 2 or array.shape[1] != width:
        raise ModelError(
            f"observe({box.name!r}): {what} have shape {array.shape}, but black box {box.name!r} "
            f"has {width} {what}: pass one row per answer, {width} columns"
        )
    return array


def _rows_with_labels(
    box: BlackBox, given: Any, places: Places, kinds: Sequence[ValueKind]
) -> Array:
    """Inputs that hold labels, or the numbers that stand for them, one row per answer, flat."""
    table = np.array(given, dtype=object)
    if table.ndim == 1 and table.size in (len(kinds), box.inputs):
        table = table[None]
    if table.ndim == 2 and table.shape[1] == box.inputs:
        numbers = _numbers(box, "the inputs are", table.tolist())
        check_indicators(kinds, numbers, f"observe({box.name!r})")
        return numbers
    if table.ndim != 2 or table.shape[1] != len(kinds):
        raise ModelError(
            f"observe({box.name!r}): inputs have shape {table.shape}, but black box {box.name!r} "
            f"has {len(kinds)} inputs: pass one row per answer, {len(kinds)} columns"
        )
    columns = zip(places.shown, table.T.tolist(), kinds, strict=True)
    parts = [_column(box, name, column, kind) for name, column, kind in columns]
    return expanded(kinds, np.column_stack(parts))


def _chosen(
    box: BlackBox, columns: Mapping[Any, Any], places: Places, kinds: Sequence[ValueKind]
) -> Array:
    """Some columns of a table, side by side, as the flat numbers that they stand for."""
    names = places.columns(columns, f"observe({box.name!r})")
    given = [
        plain_numbers(columns[name], [unit], [f"column {name!r}"], _fault(box))
        for name, unit in zip(names, places.units, strict=True)
    ]
    parts = zip(names, given, kinds, strict=True)
    found = [_column(box, name, numbers, kind) for name, numbers, kind in parts]
    for name, column in zip(names, found, strict=True):
        if column.ndim != 1:
            raise ModelError(
                f"observe({box.name!r}): column {shortened(name)} has shape {column.shape}: each "
                "row must hold one number"
            )
        if len(column) != len(found[0]):
            raise ModelError(
                f"observe({box.name!r}): column {shortened(names[0])} has "
                f"{counted(len(found[0]), 'row')}, but {shortened(name)} has {len(column)}: pass "
                "one number of each per answer"
            )
    return expanded(kinds, np.column_stack(found))


def _column(box: BlackBox, name: Any, given: Any, kind: ValueKind) -> Array:
    """A column of a table as numbers: labels as their positions."""
    if not kind.labels and not kind.is_whole:
        return np.atleast_1d(_numbers(box, f"column {shortened(name)} is", given))
    numbers = given if kind.labels else _numbers(box, f"column {shortened(name)} is", given)
    try:
        return np.array([kind.number(value, str(name)) for value in _entries(numbers)])
    except ModelError as error:
        raise ModelError(f"observe({box.name!r}): {error}") from error


def _fault(box: BlackBox) -> Callable[[str], ModelError]:
    return lambda text: ModelError(f"observe({box.name!r}): {text}")


def _entries(column: Any) -> list[Any]:
    return [column] if isinstance(column, str) else np.atleast_1d(np.array(column, object)).tolist()


def _numbers(box: BlackBox, which: str, given: Any) -> Array:
    try:
        return real_numbers(given)
    except (TypeError, ValueError, RuntimeError) as error:  # the last is PyTorch's
        raise ModelError(
            f"observe({box.name!r}): {which} not all numbers, there is "
            f"{shortened(first_strange(given))}: pass numbers, and leave out what has no value"
        ) from error

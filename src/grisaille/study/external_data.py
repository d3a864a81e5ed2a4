"""Answers made elsewhere, from arrays, lists and tables with named columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grisaille.array_types import Array
from grisaille.checks import attribute_of, first_strange, is_finite, real_numbers
from grisaille.errors import ModelError, counted, shortened
from grisaille.language.black_box import BlackBox
from grisaille.language.box_inputs import input_kinds
from grisaille.language.design_points import entry_names
from grisaille.language.input_names import (
    input_names,
    input_namings,
    names_by_source,
    value_count,
)
from grisaille.language.problem import Problem
from grisaille.language.value_kinds import (
    ValueKind,
    check_indicators,
    condensed,
    expanded,
)


def observed_rows(
    problem: Problem, box: BlackBox, inputs: Any, outputs: Any
) -> tuple[Array, Array]:
    """Flat inputs (n, d) and outputs (n, k) of some answers of a black box.

    Columns with names (of a DataFrame or a structured array) are found by name. The names of the
    inputs are those of the function's arguments, or of the variables the black box is called with.
    Inputs under other names are taken in order.

    Args:
        problem: What the black box is part of.
        box: The black box.
        inputs: An array, a list, a table; with the outputs in it if `outputs` is None.
        outputs: Likewise.
    """
    x_columns = _columns(box, inputs)
    if outputs is not None:
        x = _table(box, "inputs", inputs, x_columns, input_namings(problem, box), input_kinds(box))
        y_columns = _columns(box, outputs)
        numbers = [ValueKind()] * box.outputs
        y = _table(box, "outputs", outputs, y_columns, _output_namings(box), numbers)
    elif x_columns is None:
        raise ModelError(
            f"observe({box.name!r}) got no outputs: pass them, or a DataFrame that has "
            f"{counted(box.outputs, 'column')} of outputs, too"
        )
    else:
        x_names, y_names = split_columns(problem, box, list(x_columns))
        x = _chosen(box, x_columns, x_names, input_kinds(box))
        y = _chosen(box, x_columns, y_names, [ValueKind()] * box.outputs)
    if len(x) != len(y):
        raise ModelError(
            f"observe({box.name!r}): {len(x)} rows of inputs, but {len(y)} rows of outputs"
        )
    for what, table in (("inputs", x), ("outputs", y)):
        if not np.isfinite(table).all():
            row = int(np.argmin(np.isfinite(table).all(1)))
            raise ModelError(
                f"observe({box.name!r}): row {row} of the {what} is "
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
    kinds = input_kinds(box)
    if isinstance(given, Mapping):
        done = condensed(kinds, asked).copy()
        namings = input_namings(problem, box) or [names_by_source(problem, box)]
        for name, value in given.items():
            names = next((n for n in namings if name in n), None)
            place = None if names is None else names.index(name)
            if place is None or not (kinds[place].labels or is_finite(value)):
                known = " or ".join(f"({_listed(n)})" for n in namings)
                raise ModelError(
                    f"inputs={shortened(given)}: black box {box.name!r} has the inputs {known}, "
                    "and each is a finite number"
                )
            done[place] = kinds[place].number(value, name)
        return expanded(kinds, done)
    parts = given if isinstance(given, tuple | list) else [given]
    found = _flat_values(parts)
    if len(found) == len(kinds) and all(
        kind.labels or is_finite(value) for kind, value in zip(kinds, found, strict=True)
    ):
        names = input_names(problem, box)
        values = [k.number(v, name) for k, v, name in zip(kinds, found, names, strict=True)]
        return expanded(kinds, np.array(values, dtype=float))
    if len(found) != box.inputs or not all(map(is_finite, found)):
        raise ModelError(
            f"inputs={shortened(given)}: black box {box.name!r} has "
            f"{counted(len(kinds), 'input')}, and was asked for {box.describe(asked)}: pass as "
            "many finite numbers, or those that differ by name"
        )
    numbers = np.array(found, dtype=float)
    check_indicators(kinds, numbers, f"inputs={shortened(given)}")
    return numbers


def _flat_values(parts: Sequence[Any]) -> list[Any]:
    """Numbers and labels in a row, from values and arrays; empty if that is not what they are."""
    found: list[Any] = []
    for part in parts:
        try:
            found += [part] if isinstance(part, str) else np.ravel(real_numbers(part)).tolist()
        except (TypeError, ValueError):
            return []
    return found


def _columns(box: BlackBox, given: Any) -> dict[Any, Any] | None:
    """The columns of a table by name; None if it has no names."""
    fields = attribute_of(attribute_of(given, "dtype"), "names")
    columns = fields or attribute_of(given, "columns")
    if columns is None:
        return None
    names = list(columns)
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise ModelError(
            f"observe({box.name!r}): two columns are called {shortened(twice)}: rename one"
        )
    return {name: np.atleast_1d(given[name]) if fields else given[name] for name in names}


def split_columns(problem: Problem, box: BlackBox, names: list[Any]) -> tuple[list[Any], list[Any]]:
    """Which columns of a table are the inputs, and which are the outputs."""
    x_namings, y_namings = input_namings(problem, box), _output_namings(box)
    y_names = _in_order(box, "outputs", names, y_namings)
    others = [name for name in names if name not in y_names]
    x_names = _in_order(box, "inputs", others, x_namings)
    rest = [name for name in others if name not in x_names]
    count = value_count(box)
    wanted = (0 if x_names else count) + (0 if y_names else box.outputs)
    if len(rest) != wanted:
        found = [*x_names, *y_names]
        besides = f"besides {_listed(found)} " if found else ""
        raise ModelError(
            f"observe({box.name!r}): {besides}the table has {counted(len(rest), 'column')} "
            f"({_listed(rest) or 'none'}), but {wanted} are needed: black box {box.name!r} has "
            f"{counted(count, 'input')}{_known(x_namings)} and "
            f"{counted(box.outputs, 'output')}{_known(y_namings)}"
        )
    if x_names and not y_names and set(names[:count]) != set(x_names):
        # The documented order says one thing, and the names another one.
        raise ModelError(
            f"observe({box.name!r}): the inputs {_listed(x_names)} are not the first columns of "
            f"{_listed(names)}, and the outputs have no names to find them by: put them last, or "
            "declare names with outputs=[...]"
        )
    first = 0 if x_names else count
    return x_names or rest[:first], y_names or rest[first:]


def _table(
    box: BlackBox,
    what: str,
    given: Any,
    columns: dict[Any, Any] | None,
    namings: Sequence[list[str]],
    kinds: Sequence[ValueKind],
) -> Array:
    """Inputs or outputs that were passed on their own, one row per answer, flat."""
    width = len(kinds)
    if columns is not None:
        names = _in_order(box, what, list(columns), namings) or list(columns)
        unknown = [name for name in columns if name not in names]
        if unknown or len(names) != width:
            raise ModelError(
                f"observe({box.name!r}): the {what} have the columns {_listed(columns)}, but black "
                f"box {box.name!r} has {counted(width, what[:-1])}{_known(namings)}: leave "
                f"{_listed(unknown) if unknown else 'others'} out"
            )
        return _chosen(box, columns, names, kinds)
    if any(kind.labels for kind in kinds):
        return _rows_with_labels(box, given, namings, kinds)
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
    box: BlackBox, given: Any, namings: Sequence[list[str]], kinds: Sequence[ValueKind]
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
    names = namings[0] if namings else entry_names("input", (len(kinds),))
    columns = dict(zip(names, table.T.tolist(), strict=True))
    return _chosen(box, columns, names, kinds)


def _chosen(
    box: BlackBox, columns: Mapping[Any, Any], names: Sequence[Any], kinds: Sequence[ValueKind]
) -> Array:
    """Some columns of a table, side by side, as the flat numbers that they stand for."""
    found = [_column(box, name, columns[name], k) for name, k in zip(names, kinds, strict=True)]
    for name, column in zip(names, found, strict=True):
        if column.ndim != 1:
            raise ModelError(
                f"observe({box.name!r}): column {shortened(name)} has shape {column.shape}: each "
                "row must hold one number"
            )
    return expanded(kinds, np.column_stack(found))


def _column(box: BlackBox, name: Any, given: Any, kind: ValueKind) -> Array:
    """A column of a table as numbers: labels as their positions."""
    if not kind.labels and not kind.is_whole:
        return _numbers(box, f"column {shortened(name)} is", given)
    numbers = given if kind.labels else _numbers(box, f"column {shortened(name)} is", given)
    try:
        return np.array([kind.number(value, str(name)) for value in np.array(numbers, object)])
    except ModelError as error:
        raise ModelError(f"observe({box.name!r}): {error}") from error


def _numbers(box: BlackBox, which: str, given: Any) -> Array:
    try:
        return real_numbers(given)
    except (TypeError, ValueError, RuntimeError) as error:  # the last is PyTorch's
        raise ModelError(
            f"observe({box.name!r}): {which} not all numbers, there is "
            f"{shortened(first_strange(given))}: pass numbers, and leave out what has no value"
        ) from error


def _in_order(
    box: BlackBox, what: str, names: Sequence[Any], namings: Sequence[list[str]]
) -> list[str]:
    """The naming that the columns carry; empty if they are called otherwise.

    Raises:
        ModelError: A naming is there in part, or the black box names its outputs and they are not.
    """
    for naming in namings:
        if set(naming) <= set(names):
            return naming
    texts = [name for name in names if isinstance(name, str)]
    for naming in namings:
        missing = [name for name in naming if name not in texts]
        if len(missing) < len(naming) or (texts and what == "outputs"):
            raise ModelError(
                f"observe({box.name!r}): there is no column {missing[0]!r} among {_listed(names)}: "
                f"the {what} of black box {box.name!r} are {_listed(naming)}"
            )
    return []


def _output_namings(box: BlackBox) -> list[list[str]]:
    return [list(box.output_names)] if box.output_names else []


def _known(namings: Sequence[list[str]]) -> str:
    return f" ({_listed(namings[0])})" if namings else ""


def _listed(names: Any) -> str:
    return ", ".join(map(shortened, names))

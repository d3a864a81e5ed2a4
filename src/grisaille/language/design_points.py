"""Points as users write them: flat arrays, values by name, tables."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grisaille.array_types import Array
from grisaille.checks import first_strange, is_number, is_one_of, real_numbers
from grisaille.errors import ModelError, shortened
from grisaille.language.operations import Shape
from grisaille.language.program import Program
from grisaille.language.units import entry_units, plain_numbers
from grisaille.language.values import (
    ValueKind,
    check_distinct,
    check_order,
    design_kinds,
    entry_names,
    named_columns,
    named_values,
    not_whole,
)
from grisaille.language.variable import Variable

# A point counts as outside the bounds if it is by more than this part of their distance.
_ROUNDING = 1e-9
# How many complaints about entries a message lists.
_MOST_LISTED = 5


def names_of_entries(variables: Sequence[Variable]) -> list[str]:
    """A name for each entry of a flat design point: `x[0]`, `x[1]`, `temperature`."""
    return [name for v in variables for name in entry_names(v.name, v.shape)]


def design_points(program: Program, x: Any, who: str) -> Array:
    """One or many design points as an array (points, n).

    Args:
        program: Whose variables.
        x: As for `named_points`; the parts are the variables, which may be keys themselves. Or a
            list of such dictionaries, one per point.
        who: The function that was called, for messages.

    Raises:
        ModelError: Points are incomplete, no numbers or labels, or outside the bounds.
    """
    return _points_of(program.variables, x, who)


def own_points(program: Program, x: Any, who: str) -> Array:
    """Points of the user's own, (points, n): as `design_points`, but unknowns may be left out.

    Nobody knows the value of an unknown beforehand. Where all unknowns are left out, they are NaN.
    """
    decisions = program.decisions
    leaves_out = len(decisions) < len(program.variables) and not _has_unknowns(program, x, who)
    if not leaves_out or not decisions:
        return design_points(program, x, who)
    given = _points_of(decisions, x, who)
    points = np.full((len(given), program.size), np.nan)
    columns = [np.arange(program.size)[program.columns[v]] for v in decisions]
    points[:, np.concatenate(columns)] = given
    return points


def _has_unknowns(program: Program, x: Any, who: str) -> bool:
    """Whether points have values of unknowns, or are no points of decisions either."""
    if isinstance(x, list | tuple) and x and isinstance(x[0], Mapping):
        x = x[0]
    named = _named_columns(_by_name(x), who)
    if named is not None:
        unknowns = program.unknowns
        names = {*names_of_entries(unknowns), *(v.name for v in unknowns)}
        return any(is_one_of(name, names) for name in named)
    try:
        shape = np.shape(np.array(x, dtype=object))
    except ValueError:  # rows of different lengths, which are refused later
        return True
    decisions = sum(v.size for v in program.decisions)
    return (shape[-1] if shape else 1) != decisions


def _points_of(variables: Sequence[Variable], x: Any, who: str) -> Array:
    parts = [(v.name, v.shape) for v in variables]
    kinds = design_kinds(variables)
    units = [unit for v in variables for unit in entry_units(v.unit, v.size)]
    if isinstance(x, list | tuple) and x and all(isinstance(one, Mapping) for one in x):
        points = np.vstack([named_points(parts, _by_name(one), who, kinds, units) for one in x])
    else:
        points = named_points(parts, _by_name(x), who, kinds, units)
    lower = np.concatenate([np.zeros(0), *(v.lower.ravel() for v in variables)])
    upper = np.concatenate([np.zeros(0), *(v.upper.ravel() for v in variables)])
    check_inside(points, names_of_entries(variables), lower, upper, who)
    return np.clip(points, lower, upper)


def _by_name(x: Any) -> Any:
    """Values by the names of variables, if they are by the variables themselves."""
    if not isinstance(x, Mapping):
        return x
    return {key.name if isinstance(key, Variable) else key: value for key, value in x.items()}


def named_points(
    parts: Sequence[tuple[str, Shape]],
    x: Any,
    who: str,
    kinds: Sequence[ValueKind] | None = None,
    units: Sequence[str | None] | None = None,
) -> Array:
    """One or many points as an array (points, n), with the positions of labels.

    Args:
        parts: Name and shape of each part of a point, in order.
        x: One flat point; an array of points, one per row; a dictionary, Series or DataFrame whose
            keys or columns are the names of parts or of their entries. Under a name, a choice is a
            label; in a flat point it may be its position, as in `result.x`.
        who: The function that was called, for messages.
        kinds: What each entry can be; numbers by default.
        units: The unit of each entry, to which quantities are converted; none by default.

    Raises:
        ModelError: Points are incomplete, or not made of finite numbers and known labels.
    """
    names = [entry for name, shape in parts for entry in entry_names(name, shape)]
    known = dict(zip(names, kinds or [ValueKind()] * len(names), strict=True))
    named = _named_columns(x, who, len(names) > 1)
    own = dict(zip(names, units or [None] * len(names), strict=True))
    if named is None:
        points = _from_array(known, _plain(x, names, own, who), who)
    else:
        points = _from_names(parts, known, _plain_columns(parts, named, own, who), who)
    if not np.isfinite(points).all():
        row, entry = (int(i) for i in np.argwhere(~np.isfinite(points))[0])
        where = f" in point {row + 1}" if len(points) > 1 else ""
        raise ModelError(
            f"{who}: {names[entry]} is {points[row, entry]}{where}: every entry of a point must "
            "be a finite number"
        )
    whole = np.array([bool(kind.labels) or kind.is_whole for kind in known.values()], dtype=bool)
    for row, entry in np.argwhere(whole & (points != np.rint(points))):
        where = f" in point {row + 1}" if len(points) > 1 else ""
        raise not_whole(f"{who}: {names[entry]}{where}", float(points[row, entry]))
    return points


def check_inside(points: Array, names: Sequence[str], lower: Array, upper: Array, who: str) -> None:
    """Raise ModelError if a point (points, n) lies outside bounds (n,), rounding apart."""
    # An infinite bound has no distance to be a part of.
    width = np.where(np.isfinite(upper - lower), upper - lower, 0.0)
    slack = _ROUNDING * width
    outside = np.argwhere((points < lower - slack) | (points > upper + slack))
    if not len(outside):
        return
    complaints = [
        f"{names[entry]} = {points[row, entry]:.6g}"
        + (f" in point {row + 1}" if len(points) > 1 else "")
        + f" is not in [{lower[entry]:g}, {upper[entry]:g}]"
        for row, entry in outside[:_MOST_LISTED]
    ]
    more = len(outside) - len(complaints)
    raise ModelError(
        f"{who}: {'; '.join(complaints)}"
        + (f"; and {more} more" if more else "")
        + ". Nothing is learned outside the bounds: pass points inside, or widen the bounds"
    )


def _named_columns(x: Any, who: str, is_row: bool = False) -> dict[Any, Any] | None:
    """Return what was passed by name; None if nothing has a name."""
    pairs = named_values(x)
    if pairs is None:
        return named_columns(x, who)
    names = [name for name, _ in pairs]
    if any(isinstance(name, str) for name in names):  # one row of a table
        check_distinct(names, who)
        return dict(pairs)
    if is_row:
        check_order(names, who)
    return None


def _plain(given: Any, names: Sequence[str], units: Mapping[str, str | None], who: str) -> Any:
    """Numbers in place of quantities."""
    own = [units[name] for name in names]
    return plain_numbers(given, own, names, lambda text: ModelError(f"{who}: {text}"))


def _plain_columns(
    parts: Sequence[tuple[str, Shape]],
    named: Mapping[Any, Any],
    units: Mapping[str, str | None],
    who: str,
) -> dict[Any, Any]:
    """Columns by the names of parts or of their entries, with numbers in place of quantities."""
    entries = {name: [name] for name in units}
    entries |= {part: entry_names(part, shape) for part, shape in parts}
    return {
        name: _plain(value, entries[name], units, who) if name in entries else value
        for name, value in named.items()
    }


def _from_array(kinds: Mapping[str, ValueKind], x: Any, who: str) -> Array:
    names, n = list(kinds), len(kinds)
    if any(kind.labels for kind in kinds.values()):
        x = _positions_for_labels(kinds, x)
    array = _numbers(x, "x", who)
    if array.ndim <= 1 and array.size and (n == 1 or array.size == n):
        array = array.reshape(-1, n)
    if array.ndim != 2 or array.shape[1] != n or not len(array):
        raise ModelError(
            f"{who}: x has shape {array.shape}, but a point has {n} "
            f"{'entry' if n == 1 else 'entries'} ({_listed(names)}): pass one point, or one per row"
        )
    return array


def _positions_for_labels(kinds: Mapping[str, ValueKind], x: Any) -> Any:
    """Flat points with the positions of labels in place of the labels."""
    try:
        table = np.array(x, dtype=object)
    except ValueError:  # rows of different lengths, which are refused later
        return x
    if not table.ndim or table.shape[-1] != len(kinds):
        table = table[..., None]  # points of one entry each
    if table.shape[-1] != len(kinds):
        return x
    for place, (name, kind) in enumerate(kinds.items()):
        for index in np.ndindex(table.shape[:-1]):
            value = table[(*index, place)]
            if kind.labels and isinstance(value, str):
                table[(*index, place)] = kind.number(value, name)
    return table.tolist()


def _from_names(
    parts: Sequence[tuple[str, Shape]],
    kinds: Mapping[str, ValueKind],
    named: Mapping[Any, Any],
    who: str,
) -> Array:
    """Columns by the names of parts, or of their entries, side by side."""
    columns: dict[str, Array] = {}
    names: list[str] = []
    for part, shape in parts:
        entries = entry_names(part, shape)
        names += entries
        if shape and part in named:
            columns |= dict(zip(entries, _entries(named[part], part, shape, who), strict=True))
        columns |= {e: column(named[e], e, kinds[e], who) for e in entries if e in named}
    known = {*names, *(part for part, _ in parts)}
    unknown = [name for name in named if not is_one_of(name, known)]
    missing = [name for name in names if name not in columns]
    if unknown:
        raise ModelError(
            f"{who}: there is no entry {_listed(unknown)} in a point, which has {_listed(names)}"
            f"{_hint(unknown[0], known)}: leave other columns out"
        )
    if missing:
        raise ModelError(
            f"{who}: there is no value for {_listed(missing)}: a point has {_listed(names)}, pass "
            "them all"
        )
    lengths = {len(column) for column in columns.values()} - {1}
    if len(lengths) > 1 or 0 in lengths:
        counts = ", ".join(f"{name} has {len(columns[name])}" for name in names)
        raise ModelError(f"{who}: the numbers of points differ, {counts}: pass as many of each")
    points = max(lengths, default=1)
    return np.column_stack([np.broadcast_to(columns[name], (points,)) for name in names])


def _entries(given: Any, name: str, shape: Shape, who: str) -> Array:
    """The entries of an array, or of one array per point, (entries, points)."""
    array = _numbers(given, name, who)
    if array.shape[-len(shape) :] != shape or array.ndim > len(shape) + 1:
        raise ModelError(
            f"{who}: {name} has shape {array.shape}, but its own shape is {shape}: pass one array "
            "of it, or one per point"
        )
    return array.reshape(-1, int(np.prod(shape))).T


def column(given: Any, name: str, kind: ValueKind, who: str) -> Array:
    """One value, or one per point, as numbers: labels as their positions."""
    if kind.labels:
        try:
            labels = np.atleast_1d(np.array(given, dtype=object))
            found = np.array([kind.number(v, name) for v in labels.ravel()]).reshape(labels.shape)
        except ModelError as error:
            raise ModelError(f"{who}: {error}") from error
    else:
        found = np.atleast_1d(_numbers(given, name, who))
    if found.ndim != 1:
        what = "label" if kind.labels else "number"
        raise ModelError(
            f"{who}: {name} has shape {found.shape}: pass one {what}, or one per point"
        )
    return found


def _numbers(given: Any, name: str, who: str) -> Array:
    try:
        return real_numbers(given)
    except (TypeError, ValueError, RuntimeError) as error:  # the last is PyTorch's
        strange = given if is_number(given) else first_strange(given)
        raise ModelError(
            f"{who}: {name} is not made of numbers, there is {shortened(strange)}: pass a point as "
            "numbers, a dictionary by variable or a DataFrame"
        ) from error


def _hint(name: object, known: Sequence[str] | set[str]) -> str:
    """The name that may have been meant."""
    near = difflib.get_close_matches(str(name), sorted(known), 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _listed(names: Any) -> str:
    listed = [name if isinstance(name, str) else shortened(name) for name in names]
    shown = ", ".join(shortened(name)[1:-1] for name in listed[:_MOST_LISTED])
    more = len(listed) - _MOST_LISTED
    return shown + (f" and {more} more" if more > 0 else "")

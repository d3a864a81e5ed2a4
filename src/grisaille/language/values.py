"""Values and tables as people write and read them: labels, whole numbers, and numbers.

Inside, everything is a row of floats. A design point holds the position of a label among its
labels; the inputs of a black box hold one number per label, 1 for the chosen one and 0 for others.
This is the one place that turns either into what people see, and back: in files, on sheets, in
forms and as JSON. This keeps points short, and makes every kernel one of labels without new code.

Columns of tables are matched by name. Places count only where no column has a name. A table in
which one name is known and another is not is refused, because the columns may then be in any order.
"""

from __future__ import annotations

import csv
import difflib
import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grisaille.array_types import Array
from grisaille.checks import (
    attribute_of,
    first_strange,
    is_finite,
    is_number,
    is_one_of,
    is_whole,
    real_numbers,
)
from grisaille.errors import ModelError, counted, cut, shortened, text_of
from grisaille.language.operations import Shape
from grisaille.language.units import plain_numbers
from grisaille.language.variable import Variable, no_such_label

if TYPE_CHECKING:
    import pandas

# --- columns of tables ----------------------------------------------------------------------------

# How many names a message lists.
_MOST_LISTED = 12


def entry_names(name: str, shape: Shape) -> list[str]:
    """A name for each entry of an array: `x[0]`, `x[1]`; the name itself for a scalar."""
    return [
        name + (str(list(index)).replace(" ", "") if index else "") for index in np.ndindex(shape)
    ]


def named_columns(given: Any, who: str) -> dict[Any, Any] | None:
    """The columns of a table, dictionary or structured array by name; None if they have no names.

    Blanks around names do not count. Columns that pandas numbers have no names.

    Args:
        given: The table.
        who: The function that was called, for messages.

    Raises:
        ModelError: Two columns have the same name.
    """
    fields = attribute_of(attribute_of(given, "dtype"), "names")
    columns = list(given) if isinstance(given, Mapping) else fields
    if columns is None:
        columns = attribute_of(given, "columns")
    if columns is None:
        return None
    written = list(columns)
    if written and all(map(is_whole, written)) and not isinstance(given, Mapping):
        check_order(written, who)
        return None
    names = [stripped(name) for name in written]
    check_distinct(names, who)
    pairs = zip(names, written, strict=True)
    return {name: np.atleast_1d(given[key]) if fields else given[key] for name, key in pairs}


def stripped(name: Any) -> Any:
    """The name of a column without blanks around it."""
    return name.strip() if isinstance(name, str) else name


def named_values(given: Any) -> list[tuple[Any, Any]] | None:
    """Return names and values of a pandas Series or a named tuple; None for all others."""
    if isinstance(given, tuple) and attribute_of(given, "_asdict") is not None:
        return list(given._asdict().items())  # type: ignore[attr-defined]
    if attribute_of(given, "to_dict") is None or attribute_of(given, "ndim") != 1:
        return None
    return list(zip(map(stripped, given.index), given.tolist(), strict=True))


def check_order(numbers: Sequence[Any], who: str) -> None:
    """Raise ModelError if columns that are numbered are not in the order of their numbers."""
    if all(map(is_whole, numbers)) and any(a >= b for a, b in pairwise(numbers)):
        raise ModelError(
            f"{who}: the columns are numbered {listed(numbers)}, which is not the order they had: "
            "give them names, or pass the numbers without a table"
        )


def check_distinct(names: Sequence[Any], who: str) -> None:
    """Raise ModelError if two columns have the same name."""
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise ModelError(f"{who}: two columns are called {shortened(twice)}: rename one")


@dataclass(frozen=True, slots=True)
class Places:
    """Places that columns can take, and the names that each of them has.

    Attributes:
        what: What has the places, for messages: "black box 'oven'".
        shown: One name for each place, as tables and sheets show it.
        known: The places of each name: one, or several if the name could mean all of them.
        noun: What a place is called, for messages.
        units: The declared unit of each place; empty if there are none.
    """

    what: str
    shown: Sequence[str]
    known: Mapping[str, frozenset[int]]
    noun: str = "column"
    units: Sequence[str | None] = ()

    def named(self, given: Any, who: str, *, is_row: bool = False) -> dict[Any, Any] | None:
        """The columns by name; None if none has a name.

        Args:
            given: A table, a dictionary, or a row that is a pandas Series or a named tuple.
            who: The function that was called, for messages.
            is_row: True if it has one value per place; otherwise, the Series could be a column.
        """
        pairs = named_values(given)
        if pairs is None:
            return named_columns(given, who)
        names = [name for name, _ in pairs]
        # The index of one column names its rows, unless it is made of names of columns.
        is_row = is_row or len(self.shown) > 1 or isinstance(given, tuple)
        if not any(isinstance(n, str) and (is_row or n in self.known) for n in names):
            if is_row:
                check_order(names, who)
            return None
        check_distinct(names, who)
        return dict(pairs)

    def columns(self, names: Iterable[Any], who: str) -> list[Any]:
        """The column for each place.

        Raises:
            ModelError: A place has no column or two, or a column has none.
        """
        names = list(names)
        found = self.found(names, who)
        missing = [name for place, name in enumerate(self.shown) if place not in found]
        if missing:
            among = f"there is no column {missing[0]!r} among {listed(names)}"
            raise ModelError(f"{who}: {among if names else 'there are no columns'}: {self.all}")
        return [found[place] for place in range(len(self.shown))]

    def found(self, names: Iterable[Any], who: str) -> dict[int, Any]:
        """The columns that are there, by their places.

        Raises:
            ModelError: A name is unknown, or could mean several places; or two mean the same.
        """
        names = list(names)
        unknown = [name for name in names if not is_one_of(name, self.known)]
        if unknown:
            raise ModelError(f"{who}: {self._unknown(unknown, names)}")
        found: dict[int, Any] = {}
        for name in names:
            places = sorted(self.known[name])
            if len(places) > 1:
                raise ModelError(
                    f"{who}: column {name!r} could mean {counted(len(places), self.noun)} of "
                    f"{self.what}, number {' or '.join(str(place + 1) for place in places)}: pass "
                    f"the numbers without names, in the order {listed(self.shown)}"
                )
            if places[0] in found:
                raise ModelError(
                    f"{who}: the columns {found[places[0]]!r} and {name!r} are both "
                    f"{self.shown[places[0]]!r} of {self.what}: leave one out"
                )
            found[places[0]] = name
        return found

    @property
    def all(self) -> str:
        """All places by name, for messages."""
        are = "s of {} are" if len(self.shown) != 1 else " of {} is"
        return f"the {self.noun}{are.format(self.what)} {listed(self.shown) or 'none'}"

    def _unknown(self, unknown: Sequence[Any], names: Sequence[Any]) -> str:
        known = [name for name in names if name not in unknown]
        near = difflib.get_close_matches(str(unknown[0]), self.known, 1)
        hint = f" (did you mean {near[0]!r} by {shortened(unknown[0])}?)" if near else ""
        many = len(unknown) > 1
        said = f"{listed(unknown)} {'are not' if many else 'is not'}{hint}"
        if known:
            return (
                f"{listed(known)} {'are names' if len(known) > 1 else 'is a name'} that "
                f"{self.what} knows, {said}: {self.all}; rename {'them' if many else 'it'} or "
                f"leave {'them' if many else 'it'} out"
            )
        return (
            f"{self.what} knows none of the names {listed(unknown)}{hint}: {self.all}; rename the "
            "columns, or pass the numbers without names, in this order"
        )


def listed(names: Iterable[Any]) -> str:
    """Names in a row, for messages; the first ones of many."""
    names = list(names)
    more = len(names) - _MOST_LISTED
    shown = ", ".join(map(shortened, names[:_MOST_LISTED]))
    return shown + (f" and {more} more" if more > 0 else "")


# --- values ---------------------------------------------------------------------------------------

Value = float | int | str
"""What people read and write: a number, a whole number or a label."""

WHOLE = "whole"
"""Stands for a whole number where kinds are stored."""


@dataclass(frozen=True, slots=True)
class ValueKind:
    """What one value can be.

    Attributes:
        labels: The labels of a choice; none for a number.
        is_whole: Whether a number is whole.
    """

    labels: tuple[str, ...] = ()
    is_whole: bool = False

    @property
    def width(self) -> int:
        """How many inputs of a black box it is."""
        return len(self.labels) or 1

    def shown(self, number: float) -> Value:
        """The value that a number stands for: the label at a position, an int, or the number.

        A number that stands for none, because the problem was another one then, is shown as it is.
        """
        position = round(number) if np.isfinite(number) else -1
        if self.labels and 0 <= position < len(self.labels):
            return self.labels[position]
        if self.is_whole and position == number:
            return position
        return float(number)

    def number(self, value: Any, name: str) -> float:
        """The number that stands for a value.

        Args:
            value: A label, or a number. A number that is written like a label counts as this
                label: tables make numbers of texts such as "10".
            name: What the value is called, for messages.

        Raises:
            ModelError: It is not among the labels, not whole, or not one finite number.
        """
        if self.labels:
            text = f"{value:.15g}" if is_number(value) else value
            if not is_one_of(text, self.labels):
                raise no_such_label(name, value, self.labels)
            return float(self.labels.index(text))
        if not is_finite(value):
            raise ModelError(f"{name} is {shortened(value)}: pass a finite number")
        if self.is_whole and value != round(value):
            raise not_whole(name, value)
        return float(value)

    @property
    def has_digits(self) -> bool:
        """True for numbers, of which people may write fewer digits."""
        return not self.labels

    def may_be(self, value: Any) -> bool:
        """Return False for what should be a number, but is not a finite one."""
        return bool(self.labels) or is_finite(value)

    def typed(self, text: str, name: str) -> float | str:
        """Return the label or the number that a person typed.

        Raises:
            ModelError: It is not a number, but should be one.
        """
        return text.strip() if self.labels else typed_number(text, name)

    def parsed(self, text: str, what: str) -> Any:
        """Return what a text is as JSON; a label may stand without quotes.

        Args:
            text: The text.
            what: What it was typed for, for messages.
        """
        is_bare = bool(self.labels) and not text.strip().startswith('"')
        return text.strip() if is_bare else parsed(text, what)

    def held(self, numbers: Array) -> Array:
        """Return numbers along a range, rounded to those that stand for values."""
        return np.unique(np.rint(numbers)) if self.labels or self.is_whole else numbers

    def members(self, lower: float, upper: float) -> str:
        """What it can be, as a set: `{A, B, C}`, `{3, ..., 12}`; empty for plain numbers."""
        if self.labels:
            return f"{{{', '.join(self.labels)}}}"
        if not self.is_whole:
            return ""
        between = "" if upper <= lower + 1 else ", ..."
        return f"{{{lower:.15g}{between}, {upper:.15g}}}"

    @property
    def plain(self) -> list[str] | str | None:
        """Itself as JSON can hold it."""
        return list(self.labels) or (WHOLE if self.is_whole else None)


def not_whole(name: str, value: object) -> ModelError:
    """What is wrong with a number that is not whole."""
    return ModelError(f"{name} is {shortened(value)}: it is a whole number, so pass one")


def kinds_from_plain(plain: Sequence[Any] | None, count: int) -> list[ValueKind]:
    """The kinds that were stored as `ValueKind.plain`; so many numbers if none were."""
    if plain is None:
        return [ValueKind()] * count
    return [
        ValueKind(labels=tuple(kind)) if isinstance(kind, list) else ValueKind((), kind == WHOLE)
        for kind in plain
    ]


def kinds_to_plain(kinds: Sequence[ValueKind]) -> list[Any] | None:
    """Kinds as JSON can hold them; None if all are plain numbers."""
    plain = [kind.plain for kind in kinds]
    return plain if any(plain) else None


def design_kinds(variables: Iterable[Variable]) -> list[ValueKind]:
    """The kind of each entry of a flat design point."""
    return [
        ValueKind(v.labels, v.is_whole and not v.labels) for v in variables for _ in range(v.size)
    ]


def readable(kinds: Sequence[ValueKind], numbers: Array) -> list[Value]:
    """A flat design point as people read it."""
    return [kind.shown(number) for kind, number in zip(kinds, numbers.tolist(), strict=True)]


# --- inputs of black boxes ---------------------------------------------------------------------
def condensed(kinds: Sequence[ValueKind], inputs: Array) -> Array:
    """Inputs (..., d) with one number per value: of a choice, the position of its label."""
    if not any(kind.labels for kind in kinds):
        return inputs
    parts, start = [], 0
    for kind in kinds:
        own = inputs[..., start : start + kind.width]
        parts.append(np.argmax(own, -1)[..., None] if kind.labels else own)
        start += kind.width
    return np.concatenate(parts, -1).astype(float)


def expanded(kinds: Sequence[ValueKind], values: Array) -> Array:
    """The inputs (..., d) whose condensed form has these values."""
    if not any(kind.labels for kind in kinds):
        return values
    return np.concatenate(
        [
            np.eye(kind.width)[own.astype(int)] if kind.labels else own[..., None]
            for kind, own in zip(kinds, np.moveaxis(values, -1, 0), strict=True)
        ],
        -1,
    )


def readable_inputs(kinds: Sequence[ValueKind], inputs: Array) -> list[Value]:
    """Flat inputs of a black box as people read them: one value per number or label.

    They are shown as they are if the black box had other inputs when they were recorded.
    """
    if sum(kind.width for kind in kinds) != inputs.size:
        return list(inputs.tolist())
    return readable(kinds, condensed(kinds, inputs))


def check_indicators(kinds: Sequence[ValueKind], inputs: Array, who: str) -> None:
    """Raise ModelError unless each choice among inputs (..., d) has a 1 and otherwise 0."""
    if not np.array_equal(expanded(kinds, condensed(kinds, inputs)), inputs):
        labels = next(kind.labels for kind in kinds if kind.labels)
        raise ModelError(
            f"{who}: a choice is one number per label, 1 for the chosen one and 0 for the others "
            f"({', '.join(map(repr, labels))}): pass that, or the label itself"
        )


# --- rows -----------------------------------------------------------------------------------------
# Rows that users pass to functions.


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads rows that a user passes, as the flat numbers that they stand for.

    Attributes:
        who: The function that was called, for messages.
        places: The places of the columns.
        kinds: The kind of each.
    """

    who: str
    places: Places
    kinds: Sequence[ValueKind]

    def rows(self, given: Any, what: str) -> Array:
        """Return values that were passed on their own, one row each.

        Args:
            given: A table, an array, a list, or one row.
            what: What the values are, for messages.
        """
        width, places = len(self.kinds), self.places
        columns = places.named(given, self.who)
        if columns is not None:
            return self.chosen(columns)
        given = plain_numbers(given, places.units, places.shown, self._fault)
        if any(kind.labels for kind in self.kinds):
            return self._rows_with_labels(given)
        array = self._numbers(f"the {what} are", given)
        if array.ndim <= 1 and (width == 1 or array.size == width):
            array = array.reshape(-1, width)
        if array.ndim != 2 or array.shape[1] != width:
            raise self._fault(
                f"{what} have shape {array.shape}, but {places.what} has {width} {what}: pass one "
                f"row per answer, {width} columns"
            )
        return array

    def chosen(self, columns: Mapping[Any, Any]) -> Array:
        """Return some columns of a table, side by side."""
        names = self.places.columns(columns, self.who)
        given = [
            plain_numbers(columns[name], [unit], [f"column {name!r}"], self._fault)
            for name, unit in zip(names, self.places.units, strict=True)
        ]
        parts = zip(names, given, self.kinds, strict=True)
        found = [self._column(name, numbers, kind) for name, numbers, kind in parts]
        for name, column in zip(names, found, strict=True):
            if column.ndim != 1:
                raise self._fault(
                    f"column {shortened(name)} has shape {column.shape}: each row must hold one "
                    "number"
                )
            if len(column) != len(found[0]):
                raise self._fault(
                    f"column {shortened(names[0])} has {counted(len(found[0]), 'row')}, but "
                    f"{shortened(name)} has {len(column)}: pass one number of each per answer"
                )
        return expanded(self.kinds, np.column_stack(found))

    def _rows_with_labels(self, given: Any) -> Array:
        """Return rows that hold labels, or the numbers that stand for them."""
        table, flat = np.array(given, dtype=object), sum(kind.width for kind in self.kinds)
        if table.ndim == 1 and table.size in (len(self.kinds), flat):
            table = table[None]
        if table.ndim == 2 and table.shape[1] == flat:
            numbers = self._numbers("the inputs are", table.tolist())
            check_indicators(self.kinds, numbers, self.who)
            return numbers
        if table.ndim != 2 or table.shape[1] != len(self.kinds):
            raise self._fault(
                f"inputs have shape {table.shape}, but {self.places.what} has {len(self.kinds)} "
                f"inputs: pass one row per answer, {len(self.kinds)} columns"
            )
        columns = zip(self.places.shown, table.T.tolist(), self.kinds, strict=True)
        parts = [self._column(name, column, kind) for name, column, kind in columns]
        return expanded(self.kinds, np.column_stack(parts))

    def _column(self, name: Any, given: Any, kind: ValueKind) -> Array:
        """Return a column as numbers: labels as their positions."""
        if not kind.labels and not kind.is_whole:
            return np.atleast_1d(self._numbers(f"column {shortened(name)} is", given))
        if not kind.labels:
            given = self._numbers(f"column {shortened(name)} is", given)
        several = not isinstance(given, str)
        entries = np.atleast_1d(np.array(given, object)).tolist() if several else [given]
        try:
            return np.array([kind.number(value, str(name)) for value in entries])
        except ModelError as error:
            raise self._fault(str(error)) from error

    def _numbers(self, which: str, given: Any) -> Array:
        try:
            return real_numbers(given)
        except (TypeError, ValueError, RuntimeError) as error:  # the last is PyTorch's
            raise self._fault(
                f"{which} not all numbers, there is {shortened(first_strange(given))}: pass "
                "numbers, and leave out what has no value"
            ) from error

    def _fault(self, text: str) -> ModelError:
        return ModelError(f"{self.who}: {text}")


def flat_values(parts: Sequence[Any]) -> list[Any]:
    """Return numbers and labels in a row, from values and arrays; empty if they are others."""
    found: list[Any] = []
    for part in parts:
        try:
            found += [part] if isinstance(part, str) else np.ravel(real_numbers(part)).tolist()
        except (TypeError, ValueError):
            return []
    return found


# --- text of tables -------------------------------------------------------------------------------
# CSV files as people and spreadsheets write them.

_SEPARATORS = (",", ";", "\t")
_DECIMAL_COMMA = re.compile(r"([-+]?\d*),(\d+([eE][-+]?\d+)?)")
# A spreadsheet would make a date of the id 3-1, and one of the row 12/1.
_ID = re.compile(r"\d+-p?\d+")


def read_table(path: Path) -> pandas.DataFrame:
    """The rows of a CSV file, under the names in its first row; see `table_of`."""
    shown = cut(str(path))
    return table_of(_text_of(path, shown), shown)


def table_of(text: str, shown: str) -> pandas.DataFrame:
    """The rows of a CSV text, under the names in its first row.

    A column in which every cell is a number has numbers, to the last bit; another one has texts.
    Where commas do not separate the columns, `0,5` is the number 0.5.

    Args:
        text: The text.
        shown: What it is called in messages.

    Raises:
        ModelError: It has no names, two equal ones, or a row with more cells than names.
    """
    import pandas

    names, rows, wrong = _lines(text, shown)
    if not names:
        raise ModelError(f"{shown} is empty: write a row of names, then a row per answer")
    if all(number_in(name) is not None for name in names):
        raise ModelError(
            f"{shown} begins with numbers: put a row with the names of the columns first"
        )
    if wrong:
        raise ModelError(f"{shown}: {wrong[0]}")
    if not rows:
        raise ModelError(f"{shown} has no row below the names of its columns: add one per answer")
    columns = zip(*(cells for _, cells in rows), strict=True)
    return pandas.DataFrame(dict(zip(names, map(_column, columns), strict=True)))


def read_sheet(path: Path) -> tuple[pandas.DataFrame, list[str]]:
    """The lines of a sheet as texts, under their line numbers, and what is wrong with others.

    Blank lines are left out. Where commas do not separate the columns, `0,5` is the number 0.5.
    """
    import pandas

    shown = cut(str(path))
    names, rows, wrong = _lines(_text_of(path, shown), shown)
    if "id" not in names:
        raise ModelError(
            f"{shown} is no sheet of questions: its first row has no column 'id'; grisaille ask "
            "--csv writes one"
        )
    index = pandas.Index([number for number, _ in rows], name="line", dtype="int64")
    cells = [cells for _, cells in rows]
    return pandas.DataFrame(cells, columns=names, index=index, dtype=object), wrong


def write_table(path: Path, frame: pandas.DataFrame, semicolons: bool = False) -> None:
    """Write a table for people: a spreadsheet must not make dates of its ids.

    Raises:
        OSError: It cannot be written.
    """
    ids = [f"query {name}" if _ID.fullmatch(name) else f"row {name}" for name in frame["id"]]
    way: dict[str, Any] = {"sep": ";", "decimal": ","} if semicolons else {}
    cells = frame.assign(id=ids)
    if semicolons:  # columns with marks in them are no columns of numbers
        cells = cells.map(lambda c: str(c).replace(".", ",") if isinstance(c, float) else c)
    text = cells.to_csv(index=False, lineterminator="\n", **way)
    # Without the mark, spreadsheets take UTF-8 for something else.
    path.write_text(text, encoding="utf-8" if text.isascii() else "utf-8-sig", newline="")


def _text_of(path: Path, shown: str) -> str:
    try:
        return decoded(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ModelError(f"{shown} cannot be read as CSV: {cut(str(error))}") from error


def decoded(data: bytes) -> str:
    """The text of a file; spreadsheets write UTF-8 with a mark, UTF-16, or Windows' own letters."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def _lines(text: str, shown: str) -> tuple[list[str], list[tuple[int, list[str]]], list[str]]:
    """The names in the first row, the cells of each line with its number, and wrong lines."""
    text = text.removeprefix("\ufeff")
    separator = _separator(text)
    # A quote without an end would swallow the lines below it.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    lines: list[tuple[int, list[str]]] = []
    begin = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                lines.append((begin, [cell.strip() for cell in cells]))
            begin = reader.line_num + 1
    except csv.Error as error:
        raise ModelError(f"{shown} cannot be read as CSV: {cut(str(error))}") from error
    names = lines[0][1] if lines else []
    while names and not names[-1]:
        names = names[:-1]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise ModelError(f"{shown} has two columns {shortened(twice)}: rename one")
    rows, wrong = [], []
    for number, cells in lines[1:]:
        if any(cells[len(names) :]):
            wrong.append(
                f"line {number} has {counted(len(cells), 'cell')}, but there are {len(names)} "
                'columns: write decimals with a point, and texts with commas in "quotes"'
            )
            continue
        cells = [*cells, *[""] * len(names)][: len(names)]
        if separator != ",":
            cells = [_DECIMAL_COMMA.sub(r"\1.\2", c) if _is_decimal(c) else c for c in cells]
        rows.append((number, cells))
    return names, rows, wrong


def _separator(text: str) -> str:
    """What separates the columns: whatever is most frequent in the first row, outside quotes."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    bare = re.sub(r'"[^"]*"', "", first)
    return max(_SEPARATORS, key=bare.count)


def _is_decimal(text: str) -> bool:
    return _DECIMAL_COMMA.fullmatch(text) is not None


def _column(cells: Sequence[str]) -> list[Any]:
    """A column as numbers, NaN where nothing was written, if everything else is a number."""
    numbers = [number_in(cell) if cell else math.nan for cell in cells]
    return list(cells) if None in numbers else numbers


# --- text of values -------------------------------------------------------------------------------


def number_in(text: str) -> float | None:
    """The number that a text is; None if it is none, also for what only Python reads as one."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def typed_number(text: str, name: str) -> float:
    """A number as people type it; a decimal comma is a point."""
    plain = text.strip().replace("−", "-").replace("\u202f", "").replace(" ", "")
    if "," in plain and "." not in plain:
        plain = plain.replace(",", ".")
    value = number_in(plain)
    if value is None or not math.isfinite(value):
        what = "nothing was typed" if not plain else f"{shortened(text.strip())} is not a number"
        raise ModelError(f"{name}: {what}; type a number such as 0.25, and send again")
    return value


def cell_text(cell: Any) -> str:
    """What stands in a cell; empty for what tables write into cells that are empty."""
    if cell is None or (is_number(cell) and np.isnan(cell)):
        return ""
    try:
        text = str(cell).strip()
    except ValueError:  # Python writes no number of more than 4300 digits
        text = shortened(cell)
    return "" if text in ("nan", "NaT", "<NA>") else text


def cell_numbers(cells: Mapping[str, Any], columns: Iterable[str]) -> Array:
    """The numbers in some cells of a line."""
    return np.array([_cell_number(cells, column) for column in columns])


def cell_value(cells: Mapping[str, Any], column: str, kind: ValueKind) -> float:
    """The number that stands for what is in a cell: a label, or a number."""
    if kind.labels and cell_text(cells[column]):
        cell = cells[column]
        return kind.number(cell if is_number(cell) else cell_text(cell), column)
    return kind.number(_cell_number(cells, column), f"column {column!r}")


def shown_value(kind: ValueKind, number: float) -> str:
    """What stands in a cell for a number: a label, or the number in digits."""
    return str(kind.shown(number)) if kind.labels else f"{number:.12g}"


def _cell_number(cells: Mapping[str, Any], column: str) -> float:
    """The number in a cell."""
    cell, text = cells[column], cell_text(cells[column])
    if not text:
        raise ModelError(f"column {column!r} is empty: write what was set")
    try:
        number = number_in(text) if isinstance(cell, str) else float(cell)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or isinstance(cell, bool | np.bool_) or not np.isfinite(number):
        comma = f", {text.replace(',', '.')} say" if _is_decimal(text) else ""
        raise ModelError(
            f"column {column!r} says {shortened(text)}, which is not a finite number: write one"
            f"{comma}"
        )
    return number


# --- json -----------------------------------------------------------------------------------------


def parsed(text: str, what: str) -> Any:
    """The value that a text is as JSON; `what` says in messages what it was typed for."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(
            f'{what} is not JSON ({text_of(error)}): write a number, [1, 2] or {{"name": 1}}'
        ) from error
    if _has_truth_value(found):
        raise ModelError(f"{what} has true or false in it: write numbers")
    return found


def _has_truth_value(found: Any) -> bool:
    if isinstance(found, dict | list):
        return any(map(_has_truth_value, found.values() if isinstance(found, dict) else found))
    return isinstance(found, bool)

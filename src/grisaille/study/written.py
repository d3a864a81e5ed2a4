"""Numbers, labels and tables as people write them: in files, on sheets, in forms and as JSON."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grisaille.array_types import Array
from grisaille.checks import is_number
from grisaille.errors import ModelError, counted, cut, shortened, text_of
from grisaille.language.values import ValueKind

if TYPE_CHECKING:
    import pandas

# --- tables ---------------------------------------------------------------------------------------
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


# --- numbers and labels ---------------------------------------------------------------------------


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


def typed_value(text: str, name: str, is_label: bool) -> float | str:
    """A label or a number as people type it."""
    return text.strip() if is_label else typed_number(text, name)


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

"""What people write into the cells of a sheet: numbers, labels, and nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from grisaille.array_types import Array
from grisaille.checks import is_number
from grisaille.errors import ModelError, shortened
from grisaille.language.value_kinds import ValueKind
from grisaille.study.csv_files import number_in

_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")


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
    return np.array([_number(cells, column) for column in columns])


def cell_value(cells: Mapping[str, Any], column: str, kind: ValueKind) -> float:
    """The number that stands for what is in a cell: a label, or a number."""
    if kind.labels and cell_text(cells[column]):
        cell = cells[column]
        return kind.number(cell if is_number(cell) else cell_text(cell), column)
    return kind.number(_number(cells, column), f"column {column!r}")


def shown_value(kind: ValueKind, number: float) -> str:
    """What stands in a cell for a number: a label, or the number in digits."""
    return str(kind.shown(number)) if kind.labels else f"{number:.12g}"


def _number(cells: Mapping[str, Any], column: str) -> float:
    """The number in a cell."""
    cell, text = cells[column], cell_text(cells[column])
    if not text:
        raise ModelError(f"column {column!r} is empty: write what was set")
    try:
        number = number_in(text) if isinstance(cell, str) else float(cell)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or isinstance(cell, bool | np.bool_) or not np.isfinite(number):
        comma = f", {text.replace(',', '.')} say" if _DECIMAL_COMMA.fullmatch(text) else ""
        raise ModelError(
            f"column {column!r} says {shortened(text)}, which is not a finite number: write one"
            f"{comma}"
        )
    return number

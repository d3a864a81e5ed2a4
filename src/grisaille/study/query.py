"""A query as a user sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grisaille.array_types import Array


@dataclass(frozen=True, slots=True)
class Query:
    """One evaluation of one black box that a study wants.

    Attributes:
        id: Its name within the study, such as `12-1`.
        box: Name of the black box.
        arguments: What to call it with: a float for a scalar, an `int` for an integer, a label for
            a choice, else an array.
        inputs: The same as numbers in a row: for a choice, one per label, 1 for the chosen one.
        trial: Number of the trial it belongs to.
    """

    id: str
    box: str
    arguments: tuple[Any, ...]
    inputs: Array
    trial: int

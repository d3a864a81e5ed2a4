"""Columns with names: which place each of them takes. This is the one rule of every table.

Columns are matched by name. Places count only where no column has a name. A table in which one name
is known and another is not is refused, because the columns may then be in any order.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from grisaille.checks import attribute_of, is_one_of, is_whole
from grisaille.errors import ModelError, counted, shortened
from grisaille.language.operations import Shape

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

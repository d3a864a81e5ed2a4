"""A broad collection of grey-box problems whose optima are known, in two halves.

`development()` is for choosing methods by; `held_out()` is looked at once, at the end.
"""

from __future__ import annotations

from benchmarks.collection.development import ENTRIES as _DEVELOPMENT
from benchmarks.collection.entry import Entry
from benchmarks.collection.held_out import ENTRIES as _HELD_OUT


def development() -> tuple[Entry, ...]:
    """The half that methods may be chosen by."""
    return _DEVELOPMENT


def held_out() -> tuple[Entry, ...]:
    """The half that no choice may depend on."""
    return _HELD_OUT

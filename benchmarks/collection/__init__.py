"""A broad collection of grey-box problems whose optima are known, in two halves.

`development()` is for choosing methods by; `held_out()` is looked at once, at the end.
"""

from __future__ import annotations

from functools import partial

from benchmarks.collection.development import ENTRIES as _DEVELOPMENT
from benchmarks.collection.entry import Entry
from benchmarks.collection.held_out import ENTRIES as _HELD_OUT
from grisaille.lab.problems import KnownProblem, Maker


def development() -> tuple[Entry, ...]:
    """The half that methods may be chosen by."""
    return _DEVELOPMENT


def held_out() -> tuple[Entry, ...]:
    """The half that no choice may depend on."""
    return _HELD_OUT


HALVES = {"development": development, "held_out": held_out}
"""Both halves, by name."""


def makers(half: str, noise: float | None = None) -> dict[str, Maker]:
    """A maker for each feasible problem of a half, as `grisaille.problems.catalogue` has them.

    Args:
        half: "development" or "held_out".
        noise: What every black box is declared with: 0, or None for noise left out.
    """
    names = [entry.name for entry in HALVES[half]() if entry.feasible]
    return {name: partial(_made, half, name, noise) for name in names}


def _made(half: str, name: str, noise: float | None, _seed: int) -> KnownProblem:
    return next(entry for entry in HALVES[half]() if entry.name == name).make(noise)

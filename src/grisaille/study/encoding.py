"""Records as plain data, and back without loss.

Floating-point numbers survive JSON to the last bit. JSON has no numbers that are not finite: these
become the words "nan", "inf" and "-inf".
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from grisaille.array_types import Array
from grisaille.confidence.incumbent import Incumbent
from grisaille.language.value_kinds import Value
from grisaille.records import Bound, History, Probe, Suggestion, TrialKind
from grisaille.storage.event_log import Data


def to_plain(numbers: Iterable[float]) -> list[float | str]:
    """Numbers as JSON can hold them."""
    return [v if math.isfinite(v) else str(v) for v in map(float, numbers)]


def values_to_plain(values: Iterable[Value]) -> list[Value]:
    """What people read, as JSON can hold it: labels and whole numbers stay as they are."""
    return [v if isinstance(v, str | int) else to_plain([v])[0] for v in values]


def number_to_plain(value: float | None) -> float | str | None:
    """One number as JSON can hold it."""
    return None if value is None else to_plain([value])[0]


def from_plain(plain: Iterable[float | str]) -> Array:
    """The numbers of `to_plain`."""
    return np.array([float(v) for v in plain], dtype=float)


def outcome_to_plain(
    objective: float,
    constraints: Array,
    chain: Array,
    allowed: Array | None = None,
    lenient: Array | None = None,
) -> dict[str, Any]:
    """The outcome of a chain as plain data."""
    return {
        "objective": to_plain([objective])[0],
        "constraints": to_plain(constraints),
        "chain": to_plain(chain),
        **({} if allowed is None else {"allowed": to_plain(allowed)}),
        **({} if lenient is None else {"lenient": to_plain(lenient)}),
    }


def suggestion_to_plain(suggestion: Suggestion) -> dict[str, Any]:
    """A suggestion as plain data. A refutation is not stored: it can be derived again."""
    optimum = suggestion.optimum
    return {
        "kind": str(suggestion.kind),
        "x": to_plain(suggestion.x),
        "probes": [{"call": p.call, "inputs": to_plain(p.inputs)} for p in suggestion.probes],
        "promise": number_to_plain(suggestion.bound.estimated),
        "optimum": None if optimum is None else [to_plain(part) for part in optimum],
        "proved": number_to_plain(suggestion.bound.proved),
        "pending": suggestion.pending,
        "chain": suggestion.chain,
        **({"withheld": True} if suggestion.bound.withheld else {}),
    }


def believed_to_plain(best: Incumbent, history: History) -> dict[str, Any]:
    """The best trial of a history, as a strategy judges, as plain data."""
    return {
        "trial": history.trials[best.position].number,
        "objective": number_to_plain(best.objective),
        "most": number_to_plain(best.most),
        "feasible": best.feasible,
    }


def suggestion_from_plain(data: Data) -> Suggestion:
    """The suggestion of `suggestion_to_plain`."""
    optimum = data["optimum"]
    return Suggestion(
        kind=TrialKind(data["kind"]),
        x=from_plain(data["x"]),
        probes=tuple(Probe(p["call"], from_plain(p["inputs"])) for p in data["probes"]),
        bound=Bound(
            _number_or_none(data["promise"]),
            _number_or_none(data["proved"]),
            withheld=data.get("withheld") is True,
        ),
        optimum=None if optimum is None else (from_plain(optimum[0]), from_plain(optimum[1])),
        pending=data["pending"],
        chain=data["chain"],
    )


def _number_or_none(plain: float | str | None) -> float | None:
    return None if plain is None else float(plain)

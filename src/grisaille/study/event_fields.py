"""What the data of each kind of event must hold, field by field."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from grisaille.records import TrialKind
from grisaille.storage.event_log import Data, Kind

Check = Callable[[Any], bool]

LAST_MOMENT = 253402300799.0
"""The end of the year 9999: later moments cannot be shown."""


def _text(value: Any) -> bool:
    # Halves of characters can be neither written nor printed.
    return isinstance(value, str) and not re.search("[\ud800-\udfff]", value)


def _words(value: Any) -> bool:
    return isinstance(value, str)  # of an exception, so that it may hold anything


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _seed(value: Any) -> bool:
    return type(value) is int and value >= 0


def _whole(value: Any) -> bool:
    return type(value) is int and abs(value) < 2**63


def _finite(value: Any) -> bool:
    if type(value) is float:  # most are: tables hold many of them
        return math.isfinite(value)
    return _whole(value) or (isinstance(value, float) and math.isfinite(value))


def _amount(value: Any) -> bool:
    return _finite(value) and value >= 0


def _moment(value: Any) -> bool:
    return _finite(value) and 0 <= value <= LAST_MOMENT


def is_number(value: Any) -> bool:
    """Whether a value is a number, or the word for one that is not finite."""
    return _finite(value) or _one_of("nan", "inf", "-inf")(value)


def _one_of(*values: Any) -> Check:
    return lambda value: any(type(value) is type(v) and value == v for v in values)


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def list_of(check: Check) -> Check:
    """Whether a value is a list whose entries all pass a check."""
    return lambda value: isinstance(value, list) and all(map(check, value))


def _by_name(check: Check) -> Check:
    return lambda value: (
        isinstance(value, dict) and all(map(_text, value)) and all(map(check, value.values()))
    )


def _record(**fields: Check) -> Check:
    return lambda value: (
        isinstance(value, dict)
        and all(name in value and check(value[name]) for name, check in fields.items())
    )


def _box(value: Any) -> bool:
    outputs = value.get("outputs") if isinstance(value, dict) else None
    right = _count(outputs) or (list_of(_text)(outputs) and bool(outputs))
    return bool(right) and _record(inputs=_count, cost=_amount)(value)


def _boxes(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_text, value)) and all(map(_box, value.values()))


def _optimum(value: Any) -> bool:
    return value is None or (list_of(list_of(is_number))(value) and len(value) == 2)


_SETTINGS: dict[str, Check] = {
    "name": _text,
    "problem": list_of(_text),
    "strategy": _text,
    "seed": _seed,
    "evaluation": _one_of("separate", "chained"),
    "sense": _one_of(1, -1),
    "entries": list_of(_text),
    "lower": list_of(_finite),
    "upper": list_of(_finite),
    "constraints": list_of(_text),
    "boxes": _boxes,
}
_KINDS = list_of(_or_none(lambda kind: kind == "whole" or list_of(_text)(kind)))
CONSTRAINT_LABELS = ("constraint_units", "formulas", "tolerances")
"""The labels of a study that have an entry for each constraint."""
_LABELS = _record(
    objective=_or_none(_text),
    objective_unit=_or_none(_text),
    entry_units=list_of(_or_none(_text)),
    constraint_units=list_of(_or_none(_text)),
    formulas=list_of(_text),
    tolerances=list_of(_amount),
)
_NODE = _record(kind=_text, label=_text, reads=list_of(_count), box=_text)
# The best trial as a strategy judges: its number, its objective, and the most that this can be.
_BELIEVED = _record(trial=_count, objective=is_number, most=is_number, feasible=_flag)
_CONCLUDED = _record(
    known=_count, best=_or_none(_BELIEVED), bound=_or_none(is_number), assurance=_text
)
# Names and units; what pages show of the problem; and what the command line keeps with a study.
_MORE_SETTINGS: dict[str, Check] = {
    "labels": _or_none(_LABELS),
    "graph": _or_none(list_of(_NODE)),
    "input_names": _or_none(_by_name(list_of(_text))),
    "kinds": _or_none(_KINDS),
    "file": _or_none(_text),
    "trials": _or_none(_count),
    "max_cost": _or_none(is_number),
    "gap_tol": _or_none(is_number),
    "workers": _or_none(_count),
    "concluded": _or_none(_CONCLUDED),
}
_ASSEMBLED = _record(
    x=list_of(_finite),
    rows=list_of(_text),
    objective=is_number,
    constraints=list_of(is_number),
    chain=list_of(is_number),
)
_QUERIES = list_of(_record(id=_text, box=_text, inputs=list_of(is_number), calls=list_of(_count)))
_SUGGESTION = _record(
    kind=_one_of(*map(str, TrialKind)),
    x=list_of(_finite),
    probes=list_of(_record(call=_count, inputs=list_of(is_number))),
    promise=_or_none(is_number),
    optimum=_optimum,
    proved=_or_none(is_number),
    pending=_count,
    chain=_flag,
)


@dataclass(frozen=True, slots=True)
class Field:
    """A check of one field of an event's data, which may be left out if it is not required."""

    name: str
    is_right: Check
    is_required: bool = True

    def is_wrong(self, data: Data) -> bool:
        """Whether the field is missing, or not of its type."""
        if self.name in data:
            return not self.is_right(data[self.name])
        return self.is_required


def _fields(required: dict[str, Check], optional: dict[str, Check] | None = None) -> list[Field]:
    fields = [Field(name, check) for name, check in required.items()]
    return fields + [Field(name, check, False) for name, check in (optional or {}).items()]


FIELDS: dict[Kind, list[Field]] = {
    Kind.CREATED: _fields(_SETTINGS, _MORE_SETTINGS),
    Kind.CHANGED: _fields({}, _SETTINGS | _MORE_SETTINGS),
    Kind.SUGGESTED: _fields(
        {
            "trial": _count,
            "suggestion": _SUGGESTION,
            "remaining": _or_none(_count),
            "budget": _or_none(is_number),
            "known": _count,
            "seconds": _amount,
            "queries": _QUERIES,
        },
        # Version 0.1 recorded none of these, version 0.2 the first one only.
        {
            "gap_tol": _or_none(is_number),
            "made_on": _by_name(_text),
            "believed": _or_none(_BELIEVED),
        },
    ),
    Kind.ASKED: _fields({"query": _text, "holder": _or_none(_text), "until": _or_none(_amount)}),
    Kind.TOLD: _fields(
        {"query": _text, "outputs": list_of(_finite), "seconds": _amount, "ready": _QUERIES},
        {"inputs": list_of(_finite)},  # what was really done, if not what was asked for
    ),
    Kind.READY: _fields({"trial": _count, "ready": _QUERIES}),
    Kind.FAILED: _fields(
        {"query": _text, "reason": _words, "lost": _flag, "final": _flag, "counts": _flag}
    ),
    Kind.RELEASED: _fields({"query": _text}),
    Kind.OBSERVED: _fields(
        {
            "box": _text,
            "inputs": list_of(list_of(_finite)),
            "outputs": list_of(list_of(_finite)),
        }
    ),
    Kind.COMPLETED: _fields({"trial": _count, "objective": _or_none(is_number)}),
    Kind.ABANDONED: _fields({"trial": _count, "reason": _words}),
    Kind.MOVED: _fields(
        {"trial": _count, "x": list_of(_finite), "queries": _by_name(list_of(_finite))}
    ),
    Kind.CORRECTED: _fields(
        {"answer": _text, "inputs": list_of(_finite), "outputs": list_of(_finite)}
    ),
    Kind.RETRACTED: _fields({"answer": _text, "reason": _words}),
    Kind.REOPENED: _fields(
        {
            "trial": _count,
            "calls": _by_name(list_of(_count)),
            "given": _by_name(list_of(_finite)),
            "ready": _QUERIES,
            "rank": _or_none(_count),
        }
    ),
    Kind.ASSEMBLED: _fields({"trials": list_of(_ASSEMBLED)}),
}

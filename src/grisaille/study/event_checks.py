"""Whether an event can follow what was recorded before it.

A checksum tells that an event is what was recorded. Events of older versions have none, and a
database may be damaged in other ways: then a sentence must say so, and no number may be wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from grisaille.records import TrialKind
from grisaille.storage.event_log import DamagedError, Data, Event, Kind

if TYPE_CHECKING:
    from grisaille.study.state import StudyState
    from grisaille.study.trials_and_queries import TrialEntry

Check = Callable[[Any], bool]

LAST_MOMENT = 253402300799.0
"""The end of the year 9999: later moments cannot be shown."""


def check_event(state: StudyState, event: Event) -> None:
    """Check that an event is complete and fits the state of the study.

    Raises:
        DamagedError: It does not; the state is unchanged.
    """
    complaint = _complaint(state, event)
    if complaint:
        name = state.settings.get("name")
        raise DamagedError(name, event.number, f"({event.kind}) {complaint}")


def _complaint(state: StudyState, event: Event) -> str:
    """What is wrong with an event; empty if nothing is."""
    if event.number != state.position + 1:
        return f"follows event {state.position}"
    if (event.kind is Kind.CREATED) is not (event.number == 1):
        return "should be the first one" if event.number > 1 else "is not the creation of the study"
    wrong = [field.name for field in _FIELDS[event.kind] if field.is_wrong(event.data)]
    if wrong:
        return f"lacks {wrong[0]!r}, or it is not of its type"
    return _misfit(state, event)


def _misfit(state: StudyState, event: Event) -> str:
    """What does not fit the state, although each field is of its type."""
    data = event.data
    match event.kind:
        case Kind.CREATED:
            return _settings_misfit(data)
        case Kind.CHANGED:
            return _change_misfit(state.settings, data)
        case Kind.SUGGESTED:
            return _suggestion_misfit(state, event)
        case Kind.OBSERVED:
            return _observation_misfit(state, data)
        case Kind.ASKED | Kind.TOLD | Kind.FAILED | Kind.RELEASED:
            query = state.queries.get(data["query"])
            if query is None:
                return f"is about a query {data['query']!r}, which the study does not have"
            if query.outputs is not None:
                return f"is about query {query.id}, which has an answer already"
            if event.kind is Kind.TOLD:
                if not _fits(state, query.box, query.inputs, data["outputs"]):
                    return f"holds {len(data['outputs'])} outputs, unlike black box {query.box!r}"
                return _queries_misfit(state, state.trials[query.trial], data["ready"])
        case Kind.READY | Kind.COMPLETED | Kind.ABANDONED:
            trial = state.trials.get(data["trial"])
            if trial is None:
                return f"is about trial {data['trial']}, which the study does not have"
            if event.kind is Kind.READY:
                return _queries_misfit(state, trial, data["ready"])
            if event.kind is Kind.COMPLETED:
                return _outcome_misfit(state, trial, data)
    return ""


def _settings_misfit(settings: Data) -> str:
    lengths = {len(settings[name]) for name in ("entries", "lower", "upper")}
    if len(lengths) > 1:
        return "has bounds for other variables"
    labels = settings.get("labels")
    if not labels:
        return ""
    of_constraints = {len(labels[name]) for name in _CONSTRAINT_LABELS}
    fits = {len(labels["entry_units"])} == lengths
    if not fits or of_constraints != {len(settings["constraints"])}:
        return "has units for other variables or constraints"
    return ""


def _change_misfit(settings: Data, change: Data) -> str:
    changed = {**settings, **change}
    lengths = [[len(s[name]) for name in ("entries", "constraints")] for s in (settings, changed)]
    if changed["problem"] == settings["problem"] and lengths[0] != lengths[1]:
        return "has other variables or constraints for the same problem"
    return _settings_misfit(changed)


def _suggestion_misfit(state: StudyState, event: Event) -> str:
    data, asked = event.data, event.data["suggestion"]
    number = len(state.trials) + 1
    if data["trial"] != number:
        return f"is trial {data['trial']}, where trial {number} should be"
    if data["known"] >= event.number:
        return f"knows event {data['known']}, which comes later"
    if len(asked["x"]) != len(state.settings["entries"]):
        return f"has {len(asked['x'])} variables, and the problem {len(state.settings['entries'])}"
    calls = _calls(state)
    if any(probe["call"] >= calls for probe in asked["probes"]):
        return "asks for a call that the problem does not have"
    return _new_queries_misfit(state, number, len(asked["probes"]), data["queries"])


def _queries_misfit(state: StudyState, trial: TrialEntry, queries: Iterable[Data]) -> str:
    return _new_queries_misfit(state, trial.number, len(trial.suggestion.probes), queries)


def _new_queries_misfit(state: StudyState, trial: int, probes: int, queries: Iterable[Data]) -> str:
    calls = _calls(state)
    for query in queries:
        place = re.fullmatch(rf"{trial}-(p?)([1-9]\d{{0,8}})", query["id"])
        if place is None or int(place[2]) > (probes if place[1] else calls):
            return f"names a query {query['id']!r}, which trial {trial} cannot have"
        if not _fits(state, query["box"], query["inputs"]) or any(
            c >= calls for c in query["calls"]
        ):
            return f"has a query {query['id']} that no black box of the problem can answer"
    return ""


def _observation_misfit(state: StudyState, data: Data) -> str:
    rows = list(zip(data["inputs"], data["outputs"], strict=False))
    even = len(data["inputs"]) == len(data["outputs"])
    if not even or not all(_fits(state, data["box"], *row) for row in rows):
        return f"has other inputs or outputs than black box {data['box']!r}"
    return ""


def _outcome_misfit(state: StudyState, trial: TrialEntry, data: Data) -> str:
    if data["objective"] is None:
        return ""
    if not all(_list_of(_number)(data.get(name)) for name in ("constraints", "chain")):
        return "lacks 'constraints' or 'chain', or they are no numbers"
    if len(data["constraints"]) != len(state.settings["constraints"]):
        return f"has {len(data['constraints'])} constraints, unlike the problem"
    if state.changed:  # computed again, perhaps from answers of other trials
        return ""
    if trial.record is not None:
        return f"completes trial {trial.number}, which is complete"
    answers = trial.answers()
    # Every call of the chain has its answer, in the order of the calls.
    chain = [value for call in sorted(answers) for value in answers[call]]
    if len(answers) != _calls(state) or list(map(float, data["chain"])) != chain:
        return f"completes trial {trial.number} with other answers than were recorded"
    return ""


def _fits(state: StudyState, box: str, inputs: Any, outputs: Any = None) -> bool:
    """Whether inputs, and outputs if given, are as many as a black box has."""
    declared = state.settings["boxes"].get(box)
    if declared is None or len(inputs) != declared["inputs"]:
        return False
    expected = declared["outputs"]
    count = expected if isinstance(expected, int) else len(expected)
    return outputs is None or len(outputs) == count


def _calls(state: StudyState) -> int:
    """How many calls of black boxes the problem has."""
    return _calls_in(tuple(state.settings["problem"]))


@lru_cache(maxsize=16)
def _calls_in(fingerprint: tuple[str, ...]) -> int:
    return sum(re.match(r"#\d+ = black box ", line) is not None for line in fingerprint)


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
    return _whole(value) or (isinstance(value, float) and math.isfinite(value))


def _amount(value: Any) -> bool:
    return _finite(value) and value >= 0


def _moment(value: Any) -> bool:
    return _finite(value) and 0 <= value <= LAST_MOMENT


def _number(value: Any) -> bool:
    return _finite(value) or _one_of("nan", "inf", "-inf")(value)


def _one_of(*values: Any) -> Check:
    return lambda value: any(type(value) is type(v) and value == v for v in values)


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _record(**fields: Check) -> Check:
    return lambda value: (
        isinstance(value, dict)
        and all(name in value and check(value[name]) for name, check in fields.items())
    )


def _box(value: Any) -> bool:
    outputs = value.get("outputs") if isinstance(value, dict) else None
    right = _count(outputs) or (_list_of(_text)(outputs) and bool(outputs))
    return bool(right) and _record(inputs=_count, cost=_amount)(value)


def _boxes(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_text, value)) and all(map(_box, value.values()))


def _optimum(value: Any) -> bool:
    return value is None or (_list_of(_list_of(_number))(value) and len(value) == 2)


_SETTINGS: dict[str, Check] = {
    "name": _text,
    "problem": _list_of(_text),
    "strategy": _text,
    "seed": _seed,
    "evaluation": _one_of("separate", "chained"),
    "sense": _one_of(1, -1),
    "entries": _list_of(_text),
    "lower": _list_of(_finite),
    "upper": _list_of(_finite),
    "constraints": _list_of(_text),
    "boxes": _boxes,
}
_CONSTRAINT_LABELS = ("constraint_units", "formulas", "tolerances")
_LABELS = _record(
    objective=_or_none(_text),
    objective_unit=_or_none(_text),
    entry_units=_list_of(_or_none(_text)),
    constraint_units=_list_of(_or_none(_text)),
    formulas=_list_of(_text),
    tolerances=_list_of(_amount),
)
# Names and units; and what the command line keeps with a study.
_MORE_SETTINGS: dict[str, Check] = {
    "labels": _or_none(_LABELS),
    "file": _or_none(_text),
    "trials": _or_none(_count),
    "max_cost": _or_none(_number),
    "gap_tol": _or_none(_number),
}
_QUERIES = _list_of(_record(id=_text, box=_text, inputs=_list_of(_number), calls=_list_of(_count)))
_SUGGESTION = _record(
    kind=_one_of(*map(str, TrialKind)),
    x=_list_of(_finite),
    probes=_list_of(_record(call=_count, inputs=_list_of(_number))),
    promise=_or_none(_number),
    optimum=_optimum,
    proved=_or_none(_number),
    pending=_count,
    chain=_flag,
)


@dataclass(frozen=True, slots=True)
class _Field:
    """A check of one field of an event's data, which may be left out if it is not required."""

    name: str
    is_right: Check
    is_required: bool = True

    def is_wrong(self, data: Data) -> bool:
        """Whether the field is missing, or not of its type."""
        if self.name in data:
            return not self.is_right(data[self.name])
        return self.is_required


def _fields(required: dict[str, Check], optional: dict[str, Check] | None = None) -> list[_Field]:
    fields = [_Field(name, check) for name, check in required.items()]
    return fields + [_Field(name, check, False) for name, check in (optional or {}).items()]


_FIELDS: dict[Kind, list[_Field]] = {
    Kind.CREATED: _fields(_SETTINGS, _MORE_SETTINGS),
    Kind.CHANGED: _fields({}, _SETTINGS | _MORE_SETTINGS),
    Kind.SUGGESTED: _fields(
        {
            "trial": _count,
            "suggestion": _SUGGESTION,
            "remaining": _or_none(_count),
            "budget": _or_none(_number),
            "known": _count,
            "seconds": _amount,
            "queries": _QUERIES,
        },
        {"gap_tol": _or_none(_number)},  # version 0.1 did not record it
    ),
    Kind.ASKED: _fields({"query": _text, "holder": _or_none(_text), "until": _or_none(_amount)}),
    Kind.TOLD: _fields(
        {"query": _text, "outputs": _list_of(_finite), "seconds": _amount, "ready": _QUERIES}
    ),
    Kind.READY: _fields({"trial": _count, "ready": _QUERIES}),
    Kind.FAILED: _fields(
        {"query": _text, "reason": _words, "lost": _flag, "final": _flag, "counts": _flag}
    ),
    Kind.RELEASED: _fields({"query": _text}),
    Kind.OBSERVED: _fields(
        {
            "box": _text,
            "inputs": _list_of(_list_of(_finite)),
            "outputs": _list_of(_list_of(_finite)),
        }
    ),
    Kind.COMPLETED: _fields({"trial": _count, "objective": _or_none(_number)}),
    Kind.ABANDONED: _fields({"trial": _count, "reason": _words}),
}

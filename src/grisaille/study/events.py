"""Events as plain data: the fields of each kind, and the order in which they can follow each other.

Floating-point numbers survive JSON to the last bit. JSON has no numbers that are not finite:
these become the words "nan", "inf" and "-inf".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from grisaille.array_types import Array
from grisaille.belief.incumbent import Incumbent
from grisaille.language.values import Value
from grisaille.records import Bound, History, Probe, Suggestion, TrialKind
from grisaille.study.log.event_log import DamagedError, Data, Event, Kind

if TYPE_CHECKING:
    from grisaille.study.state import StudyState, TrialEntry


# --- encoding -------------------------------------------------------------------------------------
# Records as plain data, and back without loss.


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


# --- event fields ---------------------------------------------------------------------------------
# The data of each kind of event, field by field.

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


# --- event checks ---------------------------------------------------------------------------------
# Checks that an event can follow what was recorded before it.
#
# A checksum tells that an event is what was recorded. Events of older versions have none, and a
# database may be damaged in other ways: then a sentence must say so, and no number may be
# wrong.


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
    wrong = [field.name for field in FIELDS[event.kind] if field.is_wrong(event.data)]
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
        case Kind.CORRECTED | Kind.RETRACTED:
            return _correction_misfit(state, data)
        case Kind.ASSEMBLED:
            return _assembly_misfit(state, data["trials"])
        case Kind.ASKED | Kind.TOLD | Kind.FAILED | Kind.RELEASED:
            query = state.queries.get(data["query"])
            if query is None:
                return f"is about a query {data['query']!r}, which the study does not have"
            if query.outputs is not None:
                return f"is about query {query.id}, which has an answer already"
            if event.kind is Kind.TOLD:
                done = data.get("inputs", query.inputs)
                if not _fits(state, query.box, done, data["outputs"]):
                    return f"holds {len(data['outputs'])} outputs, unlike black box {query.box!r}"
                return _queries_misfit(state, state.trials[query.trial], data["ready"])
        case Kind.READY | Kind.COMPLETED | Kind.ABANDONED | Kind.MOVED | Kind.REOPENED:
            trial = state.trials.get(data["trial"])
            if trial is None:
                return f"is about trial {data['trial']}, which the study does not have"
            if event.kind in (Kind.READY, Kind.REOPENED):
                return _queries_misfit(state, trial, data["ready"]) or _reuse_misfit(trial, data)
            if event.kind is Kind.MOVED:
                return _move_misfit(state, trial, data)
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
    of_constraints = {len(labels[name]) for name in CONSTRAINT_LABELS}
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
        # A call that is asked again, at other inputs, has a further number.
        asked = calls + len(state.trials[trial].queries) if trial in state.trials else calls
        if place is None or int(place[2]) > (probes if place[1] else asked):
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


def _correction_misfit(state: StudyState, data: Data) -> str:
    seen = state.answer(data["answer"])
    if seen is None:
        return f"is about an answer {data['answer']!r}, which the study does not have"
    inputs, outputs = data.get("inputs", seen.inputs), data.get("outputs", seen.outputs)
    if (len(inputs), len(outputs)) != (len(seen.inputs), len(seen.outputs)):
        return f"has other inputs or outputs than black box {seen.box!r}"
    return ""


def _assembly_misfit(state: StudyState, trials: Iterable[Data]) -> str:
    settings = state.settings
    for trial in trials:
        if not all(map(state.has_row, trial["rows"])):
            return "is made of rows that the study does not have"
        lengths = len(trial["x"]), len(trial["constraints"])
        if lengths != (len(settings["entries"]), len(settings["constraints"])):
            return "has other variables or constraints than the problem"
        if not _allowed_fits(trial):
            return "has 'allowed' or 'lenient' that is not one number for each constraint"
    return ""


def _allowed_fits(data: Data) -> bool:
    constraints = data["constraints"]
    given = [data.get(name, constraints) for name in ("allowed", "lenient")]
    return all(list_of(is_number)(own) and len(own) == len(constraints) for own in given)


def _reuse_misfit(trial: TrialEntry, data: Data) -> str:
    own = {query.id for query in trial.queries}
    return "" if set(data.get("calls", ())) <= own else "names queries of another trial"


def _move_misfit(state: StudyState, trial: TrialEntry, data: Data) -> str:
    if len(data["x"]) != len(state.settings["entries"]):
        return f"has {len(data['x'])} variables, unlike the problem"
    own = {query.id: len(query.inputs) for query in trial.queries}
    if any(own.get(name) != len(inputs) for name, inputs in data["queries"].items()):
        return "moves queries that the trial does not have, or gives them other inputs"
    return ""


def _outcome_misfit(state: StudyState, trial: TrialEntry, data: Data) -> str:
    if data["objective"] is None:
        return ""
    if not all(list_of(is_number)(data.get(name)) for name in ("constraints", "chain")):
        return "lacks 'constraints' or 'chain', or they are no numbers"
    if len(data["constraints"]) != len(state.settings["constraints"]):
        return f"has {len(data['constraints'])} constraints, unlike the problem"
    if not _allowed_fits(data):
        return "has 'allowed' or 'lenient' that is not one number for each constraint"
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

"""Whether an event can follow what was recorded before it.

A checksum tells that an event is what was recorded. Events of older versions have none, and a
database may be damaged in other ways: then a sentence must say so, and no number may be wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from grisaille.storage.event_log import DamagedError, Data, Event, Kind
from grisaille.study.event_fields import CONSTRAINT_LABELS, FIELDS, is_number, list_of

if TYPE_CHECKING:
    from grisaille.study.state import StudyState
    from grisaille.study.trials_and_queries import TrialEntry


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

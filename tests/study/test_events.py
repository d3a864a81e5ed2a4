"""An event that does not fit what was recorded before it is refused, and changes nothing."""

from __future__ import annotations

import copy
import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest

import grisaille as gs
from grisaille.study.events import KINDS
from grisaille.study.log.database import Damage
from grisaille.study.log.event_log import DamagedError, Event, NewerError
from grisaille.study.recovery import recover
from grisaille.study.state import StudyState
from tests.study.stored.make_study import HERE
from tests.study.study_helpers import nested

pytestmark = pytest.mark.slow


with closing(sqlite3.connect(f"file:{HERE}/study_0_1.db?immutable=1", uri=True)) as connection:
    EVENTS = [
        Event(number, kind, json.loads(data), time)
        for number, kind, data, time in connection.execute(
            "SELECT number, kind, data, time FROM grisaille_events ORDER BY number"
        )
    ]
FIRST = {kind: next((e for e in EVENTS if e.kind == kind), None) for kind in KINDS}


def corrected_study() -> list[Event]:
    """The log of a study with rows from elsewhere, moved, corrected and retracted answers."""
    problem = nested(noise=0)
    study = gs.Study(problem, strategy=gs.RandomSearch())
    middle = problem.boxes[0].fn(np.array([0.5, 0.5]))
    study.observe("second", [middle], [1.0])
    study.observe("first", [[0.5, 0.5]], [middle])
    (query,) = study.ask()
    study.tell(query, [0.1, 0.2], inputs=np.round(query.inputs, 1))
    study.run(2, progress=False)
    study.correct(query, [0.25, 0.5])
    study.retract("3-1", "dirty")
    return study.events()


NEWER = corrected_study()
NEW_KINDS = ["moved", "corrected", "retracted", "reopened", "assembled"]


def with_change(kind: str, **changes) -> Event:
    event = FIRST[kind]
    return Event(event.number, kind, {**copy.deepcopy(event.data), **changes}, event.time)


def refuse(event: Event, complaint: str, events: list[Event] = EVENTS) -> None:
    state = StudyState(events[: event.number - 1])
    before = repr((state.settings, state.trials, state.queries, state.history()))
    with pytest.raises(DamagedError, match=complaint):
        state.apply([event])
    assert repr((state.settings, state.trials, state.queries, state.history())) == before
    assert state.position == event.number - 1


def test_a_stored_study_passes():
    assert StudyState(EVENTS).position == len(EVENTS)


@pytest.mark.parametrize(
    ("kind", "field"),
    [(kind, field) for kind, event in FIRST.items() if event for field in event.data],
)
def test_no_field_may_be_missing_or_of_another_type(kind, field):
    event = FIRST[kind]
    less = {name: value for name, value in event.data.items() if name != field}
    if (kind, field) not in {("completed", "constraints"), ("completed", "chain")}:
        refuse(Event(event.number, kind, less, event.time), f"lacks '{field}'")
    refuse(with_change(kind, **{field: {"a": object}}), f"'{field}'|'constraints' or 'chain'")


LABELS = {
    "objective": None,
    "objective_unit": "kW",
    "entry_units": [None] * len(FIRST["created"].data["entries"]),
    "constraint_units": ["K"],
    "formulas": ["a <= b"],
    "tolerances": [0.0],
}


def test_labels_may_be_stored_with_a_study():
    created = with_change("created", labels=LABELS)
    assert StudyState([created, *EVENTS[1:]]).settings["labels"] == LABELS


@pytest.mark.parametrize(
    ("event", "complaint"),
    [
        (with_change("created", lower=[0.0]), "bounds for other variables"),
        (
            with_change("created", labels={**LABELS, "entry_units": ["K"]}),
            "units for other variables or constraints",
        ),
        (
            with_change("created", labels={**LABELS, "tolerances": []}),
            "units for other variables or constraints",
        ),
        (with_change("created", labels={**LABELS, "formulas": [1]}), "'labels'"),
        (with_change("suggested", trial=2), "is trial 2, where trial 1 should be"),
        (with_change("suggested", known=40), "knows event 40, which comes later"),
        (with_change("asked", query="9-1"), "query '9-1', which the study does not have"),
        (with_change("told", outputs=[1.0]), "holds 1 outputs, unlike black box 'mix'"),
        (with_change("told", outputs=["nan", 1.0]), "lacks 'outputs'"),
        (with_change("completed", chain=[0.0, 0.0, 0.0]), "other answers than were recorded"),
        (with_change("completed", trial=7), "trial 7, which the study does not have"),
        (with_change("observed", outputs=[[0.2]]), "other inputs or outputs"),
        (with_change("observed", box="stir"), "black box 'stir'"),
        (Event(2, "tald", {}, 0.0), r"its event 2 is of an unknown kind, 'tald'"),
        (Event(1, "asked", FIRST["asked"].data, 0.0), "is not the creation"),
        (Event(5, "created", FIRST["created"].data, 0.0), "should be the first one"),
    ],
)
def test_what_does_not_fit_is_refused(event, complaint):
    refuse(event, complaint)


def test_a_verified_event_of_an_unknown_kind_is_of_a_newer_version():
    state = StudyState(EVENTS[:4])
    with pytest.raises(
        NewerError, match=r"'plant' was written by a newer .* upgrade with pip"
    ) as e:
        state.apply([Event(5, "noted", {"text": "hot"}, 0.0, verified=True)])
    assert "its event 5 is of a kind that this version does not know, 'noted'" in str(e.value)
    assert state.position == 4


def test_an_answer_counts_once():
    told = FIRST["told"]
    again = Event(told.number + 1, told.kind, told.data, told.time)
    state = StudyState(EVENTS[: told.number])
    with pytest.raises(DamagedError, match="query 1-1, which has an answer already"):
        state.apply([again])


def newer(kind: str, **changes) -> Event:
    event = next(e for e in NEWER if e.kind == kind)
    return Event(event.number, kind, {**copy.deepcopy(event.data), **changes}, event.time)


def test_every_new_kind_of_event_is_there_and_passes():
    assert {e.kind for e in NEWER} >= set(NEW_KINDS)
    assert StudyState(NEWER).position == len(NEWER)


@pytest.mark.parametrize(
    ("kind", "field"), [(kind, field) for kind in NEW_KINDS for field in newer(kind).data]
)
def test_no_field_of_a_correction_may_be_missing_or_of_another_type(kind, field):
    event = newer(kind)
    less = {name: value for name, value in event.data.items() if name != field}
    refuse(Event(event.number, kind, less, event.time), f"lacks '{field}'", NEWER)
    refuse(newer(kind, **{field: {"a": object}}), f"'{field}'", NEWER)


@pytest.mark.parametrize(
    ("event", "complaint"),
    [
        (newer("corrected", answer="9-9"), "an answer '9-9', which the study does not have"),
        (newer("corrected", outputs=[1.0]), "other inputs or outputs than black box 'first'"),
        (newer("retracted", answer="8/1"), "an answer '8/1', which the study does not have"),
        (newer("moved", x=[1.0]), "has 1 variables, unlike the problem"),
        (newer("moved", queries={"1-1": [0.5, 0.5]}), "moves queries that the trial does not"),
        (newer("reopened", trial=9), "trial 9, which the study does not have"),
        (newer("reopened", calls={"9-9": [0]}), "names queries of another trial"),
        (
            newer(
                "assembled",
                trials=[{**newer("assembled").data["trials"][0], "rows": ["7/7"]}],
            ),
            "rows that the study does not have",
        ),
        (
            newer(
                "assembled",
                trials=[{**newer("assembled").data["trials"][0], "x": [0.0]}],
            ),
            "other variables or constraints than the problem",
        ),
    ],
)
def test_a_correction_that_does_not_fit_is_refused(event, complaint):
    refuse(event, complaint, NEWER)


def test_what_is_whole_of_a_corrected_study_can_be_recovered():
    for number in range(2, len(NEWER) + 1):
        found = [Damage(e.number, "is missing") if e.number == number else e for e in NEWER]
        assert StudyState(recover(found).events).position > 0


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("told", "seconds", float("nan")),
        ("told", "seconds", float("inf")),
        ("told", "seconds", -1e-300),
        ("told", "seconds", 2**63),
        ("told", "outputs", [2**63, 1.0]),
        ("told", "outputs", [-(2**63), 1.0]),
        ("told", "outputs", [10**400, 1.0]),
        ("told", "outputs", [True, 1.0]),
        ("told", "query", "1-1\ud800"),
        ("suggested", "known", 2**63),
        ("suggested", "known", 1.0),
        ("suggested", "known", True),
        ("suggested", "budget", "many"),
        ("suggested", "budget", "\ud800"),
        ("created", "sense", 1.0),
        ("created", "seed", -1),
        ("created", "boxes", {"\ud800": {"inputs": 1, "outputs": 1, "cost": 1.0}}),
        ("created", "boxes", {"mix": {"inputs": 1, "outputs": [], "cost": 1.0}}),
    ],
)
def test_a_value_that_is_none_of_its_type_is_refused(kind, field, value):
    refuse(with_change(kind, **{field: value}), f"lacks '{field}', or it is not of its type")


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("created", {"seed": 2**70}),
        ("suggested", {"budget": "inf"}),
        ("suggested", {"seconds": 2**63 - 1}),
        ("suggested", {"future": {"a": object}}),
        ("suggested", {"\ud800": 1}),
    ],
)
def test_what_is_of_its_type_or_unknown_passes(kind, changes):
    event = with_change(kind, **changes)
    assert StudyState([*EVENTS[: event.number - 1], event]).position == event.number

"""Everything whole of a damaged study is kept, and the study goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest

import grisaille as gs
from grisaille.study.log.database import Damage, Database
from grisaille.study.recovery import recover
from grisaille.study.state import TrialState
from tests.study.stored.make_study import open_study
from tests.study.test_events import EVENTS

pytestmark = pytest.mark.slow


def without(*numbers: int) -> list:
    return [Damage(e.number, "is missing") if e.number in numbers else e for e in EVENTS]


def number_of(kind: str) -> int:
    return next(e.number for e in EVENTS if e.kind == kind)


def answers(events) -> int:
    told = sum(e.kind == "told" for e in events)
    return told + sum(len(e.data["inputs"]) for e in events if e.kind == "observed")


def test_a_whole_study_is_kept_as_it_is():
    recovery = recover(EVENTS)
    assert recovery.events == EVENTS
    assert recovery.left_out == []


@pytest.mark.parametrize("number", range(2, len(EVENTS) + 1))
def test_one_lost_event_loses_at_most_its_own_answer_and_questions(number):
    recovery = recover(without(number))
    assert [e.number for e in recovery.events] == list(range(1, len(recovery.events) + 1))
    lost = answers([EVENTS[number - 1]])
    # An answer is of no use without its question, which stands in one event only.
    data = EVENTS[number - 1].data
    questions = len(data.get("queries", data.get("ready", [])))
    assert answers(EVENTS) - answers(recovery.events) <= lost + questions
    assert any(damage.number == number for damage in recovery.left_out)


def test_a_trial_that_nothing_else_would_end_is_ended():
    recovery = recover(without(number_of("completed")))
    trial = recovery.state.trials[1]
    assert trial.state is TrialState.BROKEN
    assert "damaged database" in trial.reason


def test_recovery_ends_at_an_event_of_a_newer_version():
    newer = replace(EVENTS[9], kind="noted", verified=True)
    damage = Damage(20, "is missing")
    recovery = recover([*EVENTS[:9], newer, *EVENTS[10:19], damage, *EVENTS[20:]])
    assert recovery.newer is newer
    assert recovery.events == EVENTS[:9]
    assert recovery.left_out == [damage]


def test_without_its_first_event_nothing_is_kept():
    recovery = recover(without(1))
    assert recovery.events == []
    assert len(recovery.left_out) >= len(EVENTS)


def test_what_was_saved_opens_goes_on_and_replays_nothing_wrong(tmp_path):
    storage = f"sqlite:///{tmp_path}/copy.db"
    recovery = recover(without(number_of("told")))
    database = Database(storage)
    database.store("plant", recovery.events)
    with pytest.raises(gs.StorageError, match="has a study 'plant' already"):
        database.store("plant", recovery.events)
    database.close()
    with open_study(storage) as study:
        with pytest.raises(gs.ModelError, match="cannot be derived again"):
            study.replay(1)
        trials = len(study.state.trials)
        assert trials == 12
        study.run(trials + 1, progress=False)
        assert len(study.state.trials) == trials + 1
        assert study.replay(trials + 1).x.tolist() == study.history.trials[-1].x.tolist()

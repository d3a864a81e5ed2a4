from __future__ import annotations

import pytest

from grisaille.study.state import StudyState
from grisaille.views.page.studies import StudyLog
from tests.views.page.page_helpers import reactor_study

pytestmark = pytest.mark.slow


def log_of(study) -> StudyLog:
    log = StudyLog(study.name, lambda after: study.events()[after:])
    log.refresh()
    return log


def test_refreshing_reads_only_what_is_new():
    study, asked = reactor_study(3), []
    log = StudyLog("study", lambda after: asked.append(after) or study.events()[after:])
    last = log.refresh()
    study.run(4, progress=False)
    assert log.refresh() > last
    assert asked == [0, last]


def test_the_past_is_what_the_first_events_tell():
    study = reactor_study(5)
    log = log_of(study)
    events = study.events()
    for at in (1, 10, len(events) // 2):
        then = StudyState(events[:at])
        assert log.look(at, lambda state: (len(state.trials), len(state.queries))) == (
            len(then.trials),
            len(then.queries),
        )
        assert len(log.history(at)) == len(then.history())


def test_beyond_the_last_event_is_now():
    log = log_of(reactor_study(3))
    assert log.history(10**6) is log.history(None)


def test_the_history_is_the_same_object_until_something_happens():
    study = reactor_study(3)
    log = log_of(study)
    before = log.history(None)
    log.refresh()
    assert log.history(None) is before
    study.run(4, progress=False)
    log.refresh()
    assert log.history(None) is not before


def test_the_latest_events_come_first():
    log = log_of(reactor_study(3))
    assert [event.number for event in log.events(5, 3)] == [5, 4, 3]
    assert log.event(0) is None
    assert log.event(2).number == 2

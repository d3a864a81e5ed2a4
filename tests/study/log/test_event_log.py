"""Logs: what every storage promises."""

from __future__ import annotations

import pytest

from tests.study.log.log_helpers import log_of

pytestmark = pytest.mark.slow


def test_what_is_appended_in_a_turn_is_read_back_in_order(storage):
    log = log_of(storage)
    with log.turn(0) as turn:
        turn.append("created", {"a": 0.1 + 0.2, "b": [1e-300, "nan"], "c": "ä\n'\""})
        turn.append("asked", {"n": None})
    with log.turn(2) as turn:
        assert turn.news == []
        assert turn.append("told", {}).number == 3
    events = log.read(0)
    assert [e.number for e in events] == [1, 2, 3]
    assert [e.kind for e in events] == ["created", "asked", "told"]
    assert events[0].data == {"a": 0.1 + 0.2, "b": [1e-300, "nan"], "c": "ä\n'\""}
    assert [e.number for e in log.read(2)] == [3]
    log.close()


def test_a_turn_that_raises_records_nothing(storage):
    log = log_of(storage)

    def fail() -> None:
        with log.turn(0) as turn:
            turn.append("created", {})
            turn.decider = "me"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert log.read(0) == []
    with log.turn(0) as turn:
        assert turn.decider is None
    log.close()


def test_a_turn_sees_what_was_recorded_since_and_who_decides(storage):
    log = log_of(storage)
    with log.turn(0) as turn:
        turn.append("created", {})
        turn.append("told", {})
        turn.decider = "me"
    with log.turn(1) as turn:
        assert [e.kind for e in turn.news] == ["told"]
        assert turn.decider == "me"
        turn.decider = None
    with log.turn(2) as turn:
        assert turn.decider is None
    log.close()


def test_a_batch_that_arrived_is_recognized(storage):
    if storage == "memory":
        pytest.skip("nothing gets lost on the way to memory")
    log = log_of(storage)
    with log.turn(0, "batch-1") as turn:
        turn.append("told", {})
    with log.turn(0, "batch-1") as turn:
        assert turn.arrived()
    with log.turn(0, "batch-2") as turn:
        assert not turn.arrived()
    log.close()

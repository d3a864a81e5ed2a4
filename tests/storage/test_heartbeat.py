"""Whether a worker is alive."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from grisaille.storage.event_log import Worker
from grisaille.storage.heartbeat import Heartbeat, this_host, this_worker
from tests.storage.storage_helpers import log_of


def test_a_worker_of_this_machine_lives_as_long_as_its_process(storage):
    if storage == "memory":
        pytest.skip("memory has one process")
    log = log_of(storage)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    log.beat(Worker("here", this_host(), os.getpid(), this_worker().began), 1e-9)
    log.beat(Worker("dead", this_host(), gone.pid, ""), 1e9)
    log.beat(Worker("far and silent", "elsewhere", 1, ""), -1.0)
    log.beat(Worker("far", "elsewhere", os.getpid(), ""), 60.0)
    with log.turn(0) as turn:
        names = ("here", "dead", "far and silent", "far", "unheard of")
        assert [turn.alive(name) for name in names] == [True, False, False, True, False]
    log.close()


def test_a_heartbeat_keeps_a_worker_alive_until_it_is_stopped(tmp_path):
    log = log_of(f"sqlite:///{tmp_path}/s.db")
    me = this_worker()
    beats = []
    beat = log.beat
    log.beat = lambda *a: (beats.append(a), beat(*a))[1]  # type: ignore[method-assign]
    heart = Heartbeat(log, me, lease=0.2)
    while len(beats) < 4:
        pass
    heart.stop()
    count = len(beats)
    assert beats[0] == (me, 0.2)
    assert len(beats) == count
    log.close()

"""Threads that share one session: the end of one run takes nothing from the others."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

import grisaille as gs
from grisaille.study.session import NO_LIMITS
from tests.study.study_helpers import parabola
from tests.study.test_run_runner import boxed

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_the_end_of_one_run_releases_no_query_of_another_thread(kind, tmp_path):
    storage = "memory" if kind == "memory" else f"sqlite:///{tmp_path}/s.db"
    evaluating, go_on = threading.Event(), threading.Event()
    calls = []

    def box(x: float) -> float:
        calls.append(x)
        if len(calls) == 1:
            evaluating.set()
            assert go_on.wait(60)
        return x**2

    def give_up(_: gs.Trial) -> None:
        raise OSError("the disk is full")

    study = gs.Study(boxed(box), strategy=gs.RandomSearch(), storage=storage, name="s")
    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(study.run, 3, progress=False)
        assert evaluating.wait(60)
        (query,) = study.pending
        with pytest.raises(OSError, match="the disk is full"):
            study.run(3, callback=give_up, progress=False)
        still = study.pending
        go_on.set()
        assert other.result(60).nit == 3
    assert [left.id for left in still] == [query.id]
    assert len(calls) == len(set(calls)) == 3
    study.close()


@pytest.mark.parametrize("refused", ["take", "write"])
def test_one_thread_decides_at_a_time_whatever_fails_in_another(refused, monkeypatch):
    deciding, go_on = threading.Event(), threading.Event()

    class Slow(gs.RandomSearch):
        def suggest(self, situation):
            if not deciding.is_set():
                deciding.set()
                assert go_on.wait(60)
            return super().suggest(situation)

    def refuse(*_: object) -> None:
        raise OSError("the disk is full")

    study = gs.Study(parabola(), strategy=Slow())
    session = study._session
    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(study.ask)
        assert deciding.wait(60)
        with monkeypatch.context() as patched:
            patched.setattr(session, refused, refuse)
            # A run that takes nothing gives up; a decision that cannot be written does not begin.
            fails = partial(study.run, 3, progress=False)
            if refused == "write":
                fails = partial(session.decide, NO_LIMITS)
            with pytest.raises(OSError, match="the disk is full"):
                fails()
        second = session.decide(NO_LIMITS)
        go_on.set()
        assert len(other.result(60)) == 1
    assert second is None

"""Runs on a Dask cluster that loses workers, its scheduler, or the connection to it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import grisaille as gs
from grisaille.study import run
from tests.study.study_helpers import parabola

pytestmark = pytest.mark.slow


class Connection:
    """A Dask client, as far as it is used, whose evaluations do what a test says.

    Args:
        evaluate: Called with the number of the evaluation and the call; gives the answer.
        threads: Called for the threads of each worker.
    """

    def __init__(
        self,
        evaluate: Callable[[int, Callable[[], Any]], Any],
        threads: Callable[[], dict[str, int]] = lambda: {"worker": 2},
    ) -> None:
        self.scheduler = SimpleNamespace(address="tcp://cluster:8786")
        self.status = "running"
        self.cancelled: list[Any] = []
        self.evaluations = 0
        self._evaluate = evaluate
        self._threads = threads

    def nthreads(self, callback_timeout: float) -> dict[str, int]:
        return self._threads()

    def submit(self, call: Callable[[], Any], pure: bool) -> Any:
        assert not pure  # equal calls are made once more
        if self.status == "closed":
            raise RuntimeError("Client is closed")
        self.evaluations += 1
        number = self.evaluations
        # Dask calls back at once, and fetches the answer when it is asked for.
        return SimpleNamespace(
            add_done_callback=lambda f: f(None), result=lambda: self._evaluate(number, call)
        )

    def cancel(self, futures: list[Any]) -> None:
        self.cancelled += futures


class LostError(CancelledError):
    """What Dask says when the connection to its scheduler is lost."""

    reason = "scheduler-connection-lost"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asks at once whether something is wrong."""
    monkeypatch.setattr(run, "RUN", replace(run.RUN, long=0.01))


@pytest.fixture
def study() -> Iterator[gs.Study]:
    with gs.Study(parabola(), strategy=gs.RandomSearch()) as made:
        yield made


def test_an_answer_that_cannot_be_fetched_does_not_keep_others_waiting(study):
    others = threading.Event()

    def evaluate(number: int, call: Callable[[], Any]) -> Any:
        if number == 1:
            assert others.wait(20)
        return call()

    def announce(trial: gs.Trial) -> None:
        if len(study.history) == 4:
            others.set()

    result = study.run(5, executor=Connection(evaluate), progress=False, callback=announce)
    assert result.nit == 5
    assert not study.state.failed_attempts


def test_one_interrupt_ends_a_run_whose_answer_cannot_be_fetched(study, ctrl_c_raises):
    main, ended = threading.get_ident(), threading.Event()

    def evaluate(number: int, call: Callable[[], Any]) -> Any:
        if number == 3:
            signal.pthread_kill(main, signal.SIGINT)
            ended.wait(20)
        return call()

    result = study.run(9, executor=Connection(evaluate), workers=1, progress=False)
    ended.set()
    assert result.status == gs.Status.INTERRUPTED
    assert result.nit == 2


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({}, "the Dask scheduler tcp://cluster:8786 has no workers. Start some"),
        (None, "the Dask scheduler tcp://cluster:8786 does not answer. Start or restart it"),
    ],
)
def test_a_run_whose_cluster_is_lost_says_so_once_and_goes_on_when_it_is_back(
    found, words, study, quick, caplog
):
    asked = []
    enough = threading.Event()

    def threads() -> dict[str, int]:
        asked.append(found)
        if len(asked) > 3:
            enough.set()
        if found is None:
            raise TimeoutError
        return dict(found)

    def evaluate(number: int, call: Callable[[], Any]) -> Any:
        assert enough.wait(60)
        return call()

    client = Connection(evaluate, threads)
    assert study.run(1, executor=client, workers=1, progress=False).nit == 1
    assert caplog.text.count(words) == 1


def test_evaluations_of_a_lost_scheduler_are_made_again_as_often_as_it_is_lost(study, caplog):
    def evaluate(number: int, call: Callable[[], Any]) -> Any:
        if number <= 5:
            raise LostError
        return call()

    assert study.run(1, executor=Connection(evaluate), progress=False).nit == 1
    assert not study.state.failed_attempts
    assert "query 1-1: the connection to the Dask scheduler tcp://cluster:8786 was" in caplog.text


def test_a_run_whose_client_closes_ends_with_a_sentence_and_can_be_repeated(study):
    def evaluate(number: int, call: Callable[[], Any]) -> Any:
        if number == 3:
            client.status = "closed"
            raise CancelledError
        return call()

    client = Connection(evaluate)
    with pytest.raises(
        gs.EvaluationError, match="RuntimeError: Client is closed; if it is shut"
    ) as e:
        study.run(6, executor=client, workers=1, progress=False)
    assert e.value.result.nit == 2  # type: ignore[attr-defined]
    assert not study.state.failed_attempts
    assert study.run(6, executor=Connection(lambda _, call: call()), progress=False).nit == 6


def test_a_scheduler_that_does_not_answer_ends_a_run_before_it_begins(study):
    def threads() -> dict[str, int]:
        raise TimeoutError("timed out")

    client = Connection(lambda _, call: call(), threads)
    with pytest.raises(gs.EvaluationError, match=r"8786 does not answer \(TimeoutError: timed out"):
        study.run(2, executor=client, progress=False)


def test_pending_evaluations_are_cancelled_when_a_run_is_broken_off(study):
    goes_on = threading.Event()

    def evaluate(number: int, call: Callable[[], Any]) -> Any:
        if number == 1:
            return call()
        assert goes_on.wait(60)
        return 0.0

    def break_off(trial: gs.Trial) -> None:
        raise KeyError("broken off")

    client = Connection(evaluate)
    with pytest.raises(KeyError):
        study.run(9, executor=client, progress=False, callback=break_off)
    goes_on.set()
    assert len(client.cancelled) == 1


def test_an_evaluation_whose_dask_worker_is_killed_is_made_again(tmp_path: Path, study):
    distributed = pytest.importorskip("distributed")
    killed = tmp_path / "killed"

    def box(x: float) -> float:
        if not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return (x - 1) ** 2

    study._session.boxes["f"].fn = box
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert study.run(2, executor=client, progress=False).nit == 2
    assert killed.exists()
    assert not study.state.failed_attempts


def test_an_executor_that_is_shut_down_ends_a_run_with_a_sentence(study):
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(gs.EvaluationError, match="took no evaluation of black box 'f', it raised"):
        study.run(2, executor=executor, progress=False)

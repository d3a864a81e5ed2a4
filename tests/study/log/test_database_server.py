"""Studies on a PostgreSQL server that is busy, away, or set up in an unusual way."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest
import sqlalchemy as sa

import grisaille as gs
from grisaille.study.log.database import Database, Server
from grisaille.study.log.event_log import BusyError, ConnectionLostError
from tests.pgbouncer import pgbouncer
from tests.study.study_helpers import parabola

pytestmark = pytest.mark.slow


@pytest.fixture
def administrator(empty_postgres: str) -> Iterator[sa.Connection]:
    engine = sa.create_engine(empty_postgres, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_workers_share_a_study_whatever_isolation_the_database_asks_for(
    level, empty_postgres, administrator
):
    setting = "ALTER DATABASE postgres {} default_transaction_isolation"
    administrator.exec_driver_sql(setting.format("SET") + f" = '{level}'")
    together = threading.Barrier(4)

    def answer(_: int) -> None:
        with gs.Study(
            parabola(), strategy=gs.RandomSearch(), storage=empty_postgres, name="s"
        ) as study:
            together.wait(60)
            for _ in range(5):
                (query,) = study.ask()
                study.tell(query, query.arguments[0] ** 2)

    try:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(answer, range(4)))
    finally:
        administrator.exec_driver_sql(setting.format("RESET"))
    with gs.Study(
        parabola(), strategy=gs.RandomSearch(), storage=empty_postgres, name="s"
    ) as study:
        assert len(study.history) == 20


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_workers_share_a_study_through_pgbouncer(mode, empty_postgres):
    with pgbouncer(empty_postgres, mode) as pooled:
        if pooled is None:
            pytest.skip("pgbouncer is not installed (Debian: apt install pgbouncer)")
        with ExitStack() as ends:
            # More than there are connections to the server, so that they change hands.
            workers = [
                ends.enter_context(
                    gs.Study(parabola(), strategy=gs.RandomSearch(), storage=pooled, name="s")
                )
                for _ in range(3 if mode == "session" else 6)
            ]
            for worker in workers * 6:
                (query,) = worker.ask()
                worker.tell(query, query.arguments[0] ** 2)
            assert len(workers[0].history) == 6 * len(workers)


@pytest.mark.parametrize("state", ["40001", "40P01"])
def test_what_others_got_in_the_way_of_is_tried_again(state, empty_postgres, monkeypatch):
    monkeypatch.setattr("grisaille.study.log.database.time.sleep", lambda _: None)
    monkeypatch.setattr("grisaille.study.session.time.sleep", lambda _: None)
    exclusive, transactions = Database.exclusive, []

    @contextmanager
    def often_refused(self: Database, patient: bool = True) -> Iterator[sa.Connection]:
        transactions.append(patient)
        with exclusive(self, patient) as connection:
            if len(transactions) % 3 == 1:
                connection.exec_driver_sql(
                    f"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{state}'; END $$"
                )
            yield connection

    monkeypatch.setattr(Database, "exclusive", often_refused)
    with gs.Study(
        parabola(), strategy=gs.RandomSearch(), storage=empty_postgres, name="s"
    ) as study:
        assert study.run(2, progress=False).nit == 2
    Database(empty_postgres).delete("s")
    assert len(transactions) > 9
    assert Database(empty_postgres).names() == []


def test_a_study_is_deleted_while_somebody_writes_to_it(empty_postgres, administrator):
    log = Database(empty_postgres).create("s")
    with ThreadPoolExecutor(1) as threads:
        with log.turn(0) as turn:
            deleted = threads.submit(Database(empty_postgres).delete, "s")
            _wait_for_a_lock(administrator)
            turn.append("created", {})
        deleted.result(60)
    assert Database(empty_postgres).names() == []
    with pytest.raises(gs.StorageError, match="somebody deleted it"), log.turn(1):
        pass
    log.close()


def test_opening_waits_for_a_server_that_starts(empty_postgres, monkeypatch, caplog):
    paused = []
    reading = Database.reading

    def busy_at_first(self, patient=True):
        if len(paused) < 3:
            raise BusyError("the database system is starting up")
        return reading(self, patient)

    monkeypatch.setattr(Database, "reading", busy_at_first)
    monkeypatch.setattr("grisaille.study.log.database.time.sleep", paused.append)
    log = Database(empty_postgres).create("s")
    log.close()
    assert len(paused) == 3
    assert "starting up: trying again" in caplog.text


def test_a_wrong_address_is_reported_at_once(monkeypatch):
    def refuse_to_wait(seconds: float) -> None:
        raise AssertionError(f"waited {seconds} s")

    monkeypatch.setattr("grisaille.study.log.database.time.sleep", refuse_to_wait)
    with pytest.raises(ConnectionLostError, match="cannot be reached"):
        Database("postgresql+psycopg://lab@127.0.0.1:1/x").create("s")


@pytest.mark.parametrize("moment", ["evaluating", "waiting for a lock"])
def test_one_interrupt_ends_a_run_whose_server_does_not_answer(
    moment, empty_postgres, administrator, ctrl_c_raises
):
    main, calls = threading.get_ident(), []
    blocker = sa.create_engine(empty_postgres)
    holding = blocker.connect()
    server = _server_of(administrator)

    def stop_and_press() -> None:
        _wait_for_a_lock(administrator)
        _signal_all(server, signal.SIGSTOP)
        signal.pthread_kill(main, signal.SIGINT)

    def box(x: float) -> float:
        calls.append(x)
        if len(calls) == 3 and moment == "evaluating":
            _signal_all(server, signal.SIGSTOP)
            signal.raise_signal(signal.SIGINT)
        if len(calls) == 3:
            holding.exec_driver_sql("SELECT * FROM grisaille_studies FOR UPDATE")
            threads.submit(stop_and_press)
        return x

    x = gs.Variable("x", lower=0, upper=1)
    problem = gs.Problem(minimize=gs.BlackBox(box, noise=0)(x))
    study = gs.Study(problem, strategy=gs.RandomSearch(), storage=empty_postgres, name="s")
    # Whoever waited for the server would wait until it goes on.
    going_on = threading.Timer(60, _signal_all, [server, signal.SIGCONT])
    going_on.start()
    try:
        with ThreadPoolExecutor(1) as threads:
            result = study.run(9, progress=False)
        assert going_on.is_alive()
    finally:
        going_on.cancel()
        _signal_all(server, signal.SIGCONT)
        holding.close()
        blocker.dispose()
    assert result.status == gs.Status.INTERRUPTED
    assert result.nit == 2
    assert study.run(4, progress=False).nit == 4
    study.close()


def test_interrupts_cut_a_connection_without_the_locks_of_threading(ctrl_c_raises, monkeypatch):
    # `threading` waits for a lock that an interrupt may find taken by the thread it comes to.
    def refuse(_: threading.Thread) -> None:
        raise AssertionError("a thread was started by a signal handler")

    engine = sa.create_engine("sqlite://")
    server = Server(engine)
    ours, theirs = socket.socketpair()
    server._connections.add(ours)
    answers = []

    def wait_for_an_answer() -> None:
        with server.transaction(patient=True):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            answers.append(ours.recv(1))

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with ours, theirs, pytest.raises(KeyboardInterrupt):
        wait_for_an_answer()
    assert answers == [b""]
    engine.dispose()


def _wait_for_a_lock(administrator: sa.Connection) -> None:
    """Wait until somebody waits for a lock."""
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    deadline = time.monotonic() + 60
    while not administrator.exec_driver_sql(waiting).scalar():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _server_of(administrator: sa.Connection) -> int:
    """The number of the server's first process."""
    mine = administrator.exec_driver_sql("SELECT pg_backend_pid()").scalar()
    return int(subprocess.check_output(["ps", "-o", "ppid=", "-p", str(mine)]))


def _signal_all(server: int, number: int) -> None:
    children = subprocess.run(
        ["pgrep", "-P", str(server)], check=False, capture_output=True, text=True
    ).stdout.split()
    for process in (server, *map(int, children)):
        os.kill(process, number)

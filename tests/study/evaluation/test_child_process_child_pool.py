import functools
import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import CancelledError, wait
from dataclasses import replace

import numpy as np
import pytest

from grisaille.errors import EvaluationError, ModelError, ProtocolError
from grisaille.study.evaluation import child_process as isolation
from grisaille.study.evaluation import child_script
from grisaille.study.evaluation.child_process import ChildPool, isolated
from tests.interruptible import start_interruptible
from tests.study.evaluation.evaluation_helpers import LONG, STUCK, is_gone, pids_in

pytestmark = pytest.mark.slow


COUNT = 0


def counter():
    """A function that counts its calls in its globals; made here, so that it travels by value."""

    def count():
        global COUNT
        COUNT += 1
        return COUNT

    return count


def stuck():
    """A function that notes its process and a grandchild in a folder, and never ends."""
    names = {}
    exec(textwrap.dedent(STUCK), names)
    return names["stuck"]


@pytest.fixture
def pool():
    with ChildPool(1) as pool:
        yield pool


@pytest.fixture
def ask(pool):
    """The value of a function, from the only child of a pool."""
    return lambda function, *arguments, timeout=LONG: pool.submit(
        function, arguments, timeout
    ).result(LONG)


def test_evaluations_one_after_another_share_one_child():
    with ChildPool(4) as pool:
        numbers = {pool.submit(os.getpid, (), None).result(LONG) for _ in range(20)}
    assert len(numbers) == 1
    assert os.getpid() not in numbers


def test_as_many_evaluations_as_workers_run_at_once(tmp_path):
    def meet():
        (tmp_path / str(os.getpid())).touch()
        while len(list(tmp_path.iterdir())) < 3:
            time.sleep(0.005)
        return os.getpid()

    with ChildPool(3) as pool:
        futures = [pool.submit(meet, (), LONG) for _ in range(3)]
        assert len({future.result(LONG) for future in futures}) == 3


def test_no_more_evaluations_than_workers_run_at_once(tmp_path):
    def alone():
        (tmp_path / "here").touch(exist_ok=False)
        time.sleep(0.01)
        (tmp_path / "here").unlink()

    with ChildPool(1) as pool:
        for future in [pool.submit(alone, (), LONG) for _ in range(5)]:
            future.result(LONG)


def test_lambdas_closures_and_decorated_functions_give_their_value(ask):
    offset = 5.0

    def doubling(function):
        @functools.wraps(function)
        def double(x):
            return 2 * function(x)

        return double

    @doubling
    def shifted(x):
        return x + offset

    assert ask(lambda x: x * x, 3.0) == 9
    assert ask(shifted, 1.0) == 12
    assert ask(math.hypot, 3.0, 4.0) == 5


def test_what_a_function_keeps_in_its_globals_stays_in_the_child(ask):
    count = counter()
    assert [ask(count) for _ in range(3)] == [1, 2, 3]
    assert ask(counter()) == 4  # its pickle is the same
    assert COUNT == 0


def test_a_changed_closure_is_sent_anew(ask):
    offset = 1.0

    def shifted(x):
        return x + offset

    assert ask(shifted, 1.0) == 2
    offset = 2.0
    assert ask(shifted, 1.0) == 3


def test_only_the_functions_used_last_are_kept(ask):
    count = counter()
    assert ask(count) == 1
    for number in range(child_script.FUNCTIONS - 1):
        ask(lambda number=number: number)
    assert ask(count) == 2
    for number in range(child_script.FUNCTIONS):
        ask(lambda number=number: number)
    assert ask(count) == 1


def test_a_function_travels_once(ask):
    class Heavy:
        def __reduce__(self):
            return exec, ("import builtins; builtins.loads = getattr(builtins, 'loads', 0) + 1",)

    heavy = Heavy()

    def loads():
        import builtins

        return heavy, builtins.loads

    assert [ask(loads)[1] for _ in range(3)] == [1, 1, 1]


def test_arguments_are_those_of_the_moment_of_submission(pool):
    numbers = np.zeros(3)
    first = pool.submit(lambda: time.sleep(0.05), (), LONG)
    second = pool.submit(lambda x: x.sum(), (numbers,), LONG)
    numbers += 1
    first.result(LONG)
    assert second.result(LONG) == 0


def test_fifty_megabytes_travel_there_and_back_and_leave_the_child_usable(ask):
    numbers = np.arange(50_000_000 / 8)
    np.testing.assert_array_equal(ask(lambda x: x + 1, numbers), numbers + 1)
    assert ask(lambda: numbers[-1]) == numbers[-1]  # as part of the function, too
    assert ask(abs, -1.0) == 1


def test_a_crash_hits_its_own_evaluation_only(tmp_path):
    def go_on():
        (tmp_path / "here").touch()
        while not (tmp_path / "crashed").exists():
            time.sleep(0.005)
        return os.getpid()

    def crash():
        while not (tmp_path / "here").exists():
            time.sleep(0.005)
        os.kill(os.getpid(), signal.SIGSEGV)

    with ChildPool(2) as pool:
        survivor = pool.submit(go_on, (), LONG)
        victim = pool.submit(crash, (), LONG)
        queued = [pool.submit(os.getpid, (), LONG) for _ in range(3)]
        with pytest.raises(EvaluationError, match=r"^its process died with signal SIGSEGV$"):
            victim.result(LONG)
        (tmp_path / "crashed").touch()
        assert survivor.result(LONG) > 0
        assert all(future.result(LONG) > 0 for future in queued)


def test_every_death_is_told_and_followed_by_a_new_child(ask):
    number = ask(os.getpid)
    for leave, words in (
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "died with signal SIGKILL"),
        (lambda: os._exit(3), "exited with code 3 without an answer"),
        (lambda: sys.exit(4), "exited with code 4 without an answer"),
    ):
        with pytest.raises(EvaluationError, match=f"^its process {words}$"):
            ask(leave)
        number, last = ask(os.getpid), number
        assert number != last


def test_a_child_that_dies_while_it_is_idle_costs_no_evaluation(ask):
    number = ask(os.getpid)
    os.kill(number, signal.SIGKILL)
    assert is_gone(number)
    assert ask(os.getpid) != number


def test_a_timeout_kills_the_evaluation_and_its_grandchildren_only(pool, ask, tmp_path):
    ask(abs, 1.0)
    late = pool.submit(stuck(), (str(tmp_path),), 2)
    queued = pool.submit(abs, (-2.0,), LONG)
    with pytest.raises(EvaluationError, match=r"^took longer than 2 s \(timeout=2\)$"):
        late.result(LONG)
    assert all(is_gone(pid) for pid in pids_in(tmp_path))
    assert queued.result(LONG) == 2


def test_waiting_for_a_worker_takes_no_time_from_the_timeout(pool):
    slow = pool.submit(lambda: time.sleep(0.5), (), LONG)
    quick = pool.submit(abs, (-1.0,), 0.4)
    assert quick.result(LONG) == 1
    assert slow.result(LONG) is None


@pytest.mark.parametrize("evaluate", ["once", "pooled"])
def test_starting_and_importing_takes_no_time_from_the_timeout(
    evaluate, pool, tmp_path, monkeypatch
):
    (tmp_path / "slowly_imported.py").write_text(
        "import time\ntime.sleep(0.5)\ndef answer():\n    return 42\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import slowly_imported

    if evaluate == "once":
        assert isolated(slowly_imported.answer, (), 0.4) == 42
    else:
        assert pool.submit(slowly_imported.answer, (), 0.4).result(LONG) == 42


def test_a_function_that_never_loads_is_given_up(ask, monkeypatch):
    class Endless:
        def __reduce__(self):
            return time.sleep, (600,)

    endless = Endless()
    monkeypatch.setattr(isolation, "CHILD", replace(isolation.CHILD, loading=0.5))
    with pytest.raises(EvaluationError, match=r"^was still not loaded .* after 0\.5 s: import "):
        ask(lambda: endless, timeout=0.1)
    assert ask(abs, -1.0) == 1


def test_an_exception_comes_back_as_itself_and_leaves_the_child_alive(ask):
    class SolverDivergedError(Exception):
        pass

    def diverge(x):
        raise SolverDivergedError("after 7 steps", x)

    number = ask(os.getpid)
    with pytest.raises(SolverDivergedError) as caught:
        ask(diverge, 2.0)
    assert caught.value.args == ("after 7 steps", 2.0)
    (note,) = caught.value.__notes__
    assert "in diverge" in note
    assert "child_script.py" not in note
    assert ask(os.getpid) == number


def test_what_cannot_travel_gets_a_sentence_and_leaves_the_child_alive(
    pool, ask, tmp_path, monkeypatch
):
    (tmp_path / "gone_soon.py").write_text("def answer():\n    return 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    import gone_soon

    number = ask(os.getpid)
    lock = threading.Lock()
    with pytest.raises(EvaluationError, match="cannot be sent to a child process"):
        ask(lambda: lock)
    (tmp_path / "gone_soon.py").unlink()
    for _ in range(2):  # it is not taken for known the second time
        with pytest.raises(EvaluationError, match=r"cannot be loaded in a child .*gone_soon"):
            ask(gone_soon.answer)
    with pytest.raises(EvaluationError, match=r"returned a generator .*: return numbers"):
        ask(lambda: (x for x in "ab"))
    assert ask(os.getpid) == number


def test_prints_are_seen_with_their_evaluation(ask, capfd, monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)

    def talk():
        print("to standard output")
        print("to standard error", file=sys.stderr)

    ask(talk)
    assert capfd.readouterr() == ("to standard output\n", "to standard error\n")


def test_a_function_that_reads_standard_input_finds_it_empty_every_time(ask):
    assert [ask(lambda: sys.stdin.read()) for _ in range(2)] == ["", ""]


def test_children_have_a_session_of_their_own(ask):
    number, session = ask(lambda: (os.getpid(), os.getsid(0)))  # so Ctrl-C does not reach them
    assert session == number


def test_what_runs_in_the_background_lives_until_the_pool_is_shut_down():
    with ChildPool(1) as pool:
        sleeper = pool.submit(lambda: subprocess.Popen(["sleep", "600"]).pid, (), LONG).result(LONG)
        assert pool.submit(abs, (-1.0,), LONG).result(LONG) == 1
        os.kill(sleeper, 0)
    assert is_gone(sleeper)


def test_exit_handlers_run_when_the_pool_is_shut_down(tmp_path):
    def tidy():
        import atexit

        atexit.register(lambda: (tmp_path / "tidied").touch())

    with ChildPool(1) as pool:
        pool.submit(tidy, (), LONG).result(LONG)
        assert not (tmp_path / "tidied").exists()
    assert (tmp_path / "tidied").exists()


def test_folders_of_killed_children_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with ChildPool(1) as pool:
        with pytest.raises(EvaluationError):
            pool.submit(time.sleep, (600,), 0.1).result(LONG)
        assert list(tmp_path.iterdir()) == []
        pool.submit(abs, (1.0,), LONG).result(LONG)
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_shutdown_lets_all_that_was_submitted_finish():
    with ChildPool(2) as pool:
        futures = [pool.submit(lambda i=i: i, (), LONG) for i in range(6)]
        pool.shutdown(wait=False)
        with pytest.raises(ProtocolError, match=r"shut down: make a new one"):
            pool.submit(abs, (1.0,), LONG)
        assert [future.result(LONG) for future in futures] == list(range(6))


@pytest.mark.parametrize("waits", [True, False])
def test_a_shutdown_that_cancels_leaves_no_process(tmp_path, waits):
    folders = [tmp_path / name for name in ("first", "second")]
    pool = ChildPool(2)
    for folder in folders:
        folder.mkdir()
    running = [pool.submit(stuck(), (str(folder),), None) for folder in folders]
    queued = [pool.submit(abs, (1.0,), None) for _ in range(2)]
    pids = [pid for folder in folders for pid in pids_in(folder)]
    begin = time.monotonic()
    pool.shutdown(wait=waits, cancel=True)
    assert time.monotonic() - begin < 2
    assert all(is_gone(pid) for pid in pids)
    assert wait([*running, *queued], LONG).not_done == set()
    for future in running:
        with pytest.raises(EvaluationError, match=r"^was stopped before it ended$"):
            future.result()
    for future in queued:
        with pytest.raises(CancelledError):
            future.result()
    pool.shutdown()


def test_an_exception_in_the_with_block_stops_the_evaluations(tmp_path):
    def interrupted():
        with ChildPool(1) as pool:
            pool.submit(stuck(), (str(tmp_path),), None)
            pids_in(tmp_path)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert all(is_gone(pid) for pid in pids_in(tmp_path))


def test_a_callback_may_shut_the_pool_down():
    pool = ChildPool(1)
    future = pool.submit(abs, (-1.0,), LONG)
    future.add_done_callback(lambda _: pool.shutdown())
    assert future.result(LONG) == 1
    pool.shutdown()


def test_a_cancelled_future_is_not_evaluated(pool, tmp_path):
    first = pool.submit(time.sleep, (0.2,), LONG)
    second = pool.submit(lambda: (tmp_path / "evaluated").touch(), (), LONG)
    assert second.cancel()
    assert pool.submit(abs, (-1.0,), LONG).result(LONG) == 1
    assert first.done()
    assert not (tmp_path / "evaluated").exists()


def test_pools_may_be_nested(ask):
    def outer():
        with ChildPool(1) as inner:
            return inner.submit(abs, (-7.0,), None).result()

    assert ask(outer) == 7


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, None])
def test_a_number_of_workers_that_is_none_is_refused(workers):
    with pytest.raises(ModelError, match=r"workers=.*: pass a whole number of at least 1"):
        ChildPool(workers)


@pytest.mark.parametrize("timeout", [0, -1.0, math.nan])
def test_a_timeout_that_is_no_time_is_refused(pool, timeout):
    with pytest.raises(ModelError, match=r"timeout=.*above 0, or None"):
        pool.submit(abs, (1.0,), timeout)


@pytest.fixture
def script(tmp_path):
    """Starts a script that has one child stuck and one idle; gives it and all that it started."""
    started = []

    def start(then):
        (tmp_path / "script.py").write_text(
            textwrap.dedent(STUCK)
            + "import os, pathlib, sys, time\n"
            + "from grisaille.study.evaluation.child_process import ChildPool\n"
            + "pool = ChildPool(2)\n"
            + "future = pool.submit(stuck, (sys.argv[1],), None)\n"
            + "idle = pool.submit(os.getpid, (), None).result()\n"
            + "while not pathlib.Path(sys.argv[1], 'pids').exists():\n    time.sleep(0.01)\n"
            + "print(idle, flush=True)\n"
            + then
        )
        (tmp_path / "temporary").mkdir()
        parent = start_interruptible(
            [sys.executable, "-W", "error", tmp_path / "script.py", tmp_path],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        )
        started.append(parent)
        return parent, [*pids_in(tmp_path), int(parent.stdout.readline())]

    yield start
    for parent in started:
        with parent:
            parent.kill()


FORK = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, from Python 3.12 on
if os.fork() == 0:
    sys.exit()
os.wait()
assert pool.submit(os.getpid, (), None).result() == idle
assert not future.done()
"""


@pytest.mark.parametrize(
    "then",
    [
        "",
        "pool.shutdown(wait=False, cancel=True)",
        "pool.shutdown(wait=False)",
        FORK,
    ],
    ids=["unclosed", "cancelled", "closing", "forked"],
)
def test_an_exit_leaves_neither_process_nor_folder_and_does_not_hang(script, tmp_path, then):
    parent, pids = script(then)
    _, complaints = parent.communicate(timeout=LONG)
    assert (parent.returncode, complaints) == (0, "")
    assert all(is_gone(pid) for pid in pids)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_an_interrupted_script_stops_at_once(script):
    parent, pids = script("future.result()")
    parent.send_signal(signal.SIGINT)
    _, complaints = parent.communicate(timeout=LONG)
    assert parent.returncode == -signal.SIGINT
    assert complaints.rstrip().endswith("KeyboardInterrupt")
    assert all(is_gone(pid) for pid in pids)


def test_a_parent_killed_outright_leaves_no_orphan(script):
    parent, pids = script("time.sleep(600)")
    parent.kill()
    parent.wait()
    assert all(is_gone(pid) for pid in pids)

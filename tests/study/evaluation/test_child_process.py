import functools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from grisaille.errors import EvaluationError, ModelError
from grisaille.study.evaluation import child_script
from grisaille.study.evaluation.child_process import isolated
from tests.interruptible import start_interruptible
from tests.study.evaluation.evaluation_helpers import LONG, STUCK, is_gone, pids_in

pytestmark = pytest.mark.slow


def doubling(function):
    @functools.wraps(function)
    def double(x):
        return 2 * function(x)

    return double


@doubling
def third(x):
    return x / 3


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def apply(self, x):
        return self.factor * x


def test_lambdas_closures_methods_and_decorated_functions_give_their_value():
    offset = 5.0

    def shifted(x, y):
        return x + y + offset

    @doubling
    def plus_one(x):
        return x + 1

    assert isolated(lambda x: x * x, (3.0,), LONG) == 9
    assert isolated(shifted, (1.0, 2.0), None) == 8
    assert isolated(plus_one, (1.0,), LONG) == 4
    assert isolated(third, (3.0,), LONG) == 2
    assert isolated(Scale(4.0).apply, [2.0], LONG) == 8
    assert isolated(functools.partial(shifted, 1.0), (1.0,), LONG) == 7


def test_a_function_hidden_by_its_decorator_gives_its_value(tmp_path, monkeypatch):
    # as with @gs.black_box: the module's name leads to something else than the function
    (tmp_path / "hidden_by_decorator.py").write_text(
        "class Box:\n    def __init__(self, fn):\n        self.fn = fn\n\n"
        "@Box\ndef cube(x):\n    return x**3\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import hidden_by_decorator

    assert isolated(hidden_by_decorator.cube.fn, (2.0,), LONG) == 8


def test_modules_beside_the_script_can_be_imported(tmp_path, monkeypatch):
    (tmp_path / "beside_the_script.py").write_text("def answer():\n    return 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    import beside_the_script

    assert isolated(beside_the_script.answer, (), LONG) == 42


def test_the_child_has_the_working_directory_and_path_of_its_parent(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    directory, path = isolated(lambda: (os.getcwd(), sys.path), (), LONG)
    assert directory == str(tmp_path.resolve())
    assert path == sys.path


def test_a_file_in_the_working_directory_hides_no_standard_module(tmp_path, monkeypatch):
    for name in ("pickle", "struct", "grisaille"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('the wrong module')")
    monkeypatch.chdir(tmp_path)
    assert isolated(lambda: 1.0, (), LONG) == 1


def test_fifty_megabytes_travel_there_and_back():
    numbers = np.arange(50_000_000 / 8)
    np.testing.assert_array_equal(isolated(lambda x: x + 1, (numbers,), LONG), numbers + 1)


def test_prints_are_seen_and_do_not_corrupt_the_answer(capfd):
    def talkative():
        print("to standard output")
        print("to standard error", file=sys.stderr)
        os.write(1, b"past Python\n")
        subprocess.run(["echo", "from a program"], check=True)
        return 1.5

    assert isolated(talkative, (), LONG) == 1.5
    printed, complaints = capfd.readouterr()
    assert "to standard output\n" in printed
    assert "past Python\n" in printed
    assert "from a program\n" in printed
    assert complaints == "to standard error\n"


def test_a_function_that_reads_standard_input_finds_it_empty():
    assert isolated(lambda: sys.stdin.read(), (), LONG) == ""


def test_an_exception_comes_back_as_itself_with_the_traceback_as_a_note():
    class SolverDivergedError(Exception):
        pass

    def diverge(x):
        raise SolverDivergedError("after 7 steps", x)

    with pytest.raises(SolverDivergedError) as caught:
        isolated(diverge, (2.0,), LONG)
    assert caught.value.args == ("after 7 steps", 2.0)
    (note,) = caught.value.__notes__
    assert "in diverge" in note
    assert "test_child_process.py" in note
    assert "child_script.py" not in note


@pytest.mark.parametrize("fails_when", ["dumping", "loading"])
def test_an_exception_that_cannot_travel_comes_back_as_type_and_text(fails_when):
    class AwkwardError(Exception):
        def __init__(self, text, detail):
            super().__init__(text)
            self.detail = detail

    def fail():
        raise AwkwardError("bad mesh", threading.Lock() if fails_when == "dumping" else 1)

    with pytest.raises(EvaluationError) as caught:
        isolated(fail, (), LONG)
    assert str(caught.value) == "raised AwkwardError: bad mesh"
    assert "in fail" in caught.value.__notes__[0]


def test_a_function_that_cannot_be_sent_gets_a_sentence():
    lock = threading.Lock()

    def locked(x):
        with lock:
            return x

    with pytest.raises(
        EvaluationError, match=r"cannot be sent to a child process .*inside the function"
    ):
        isolated(locked, (1.0,), LONG)


def test_a_function_that_cannot_be_loaded_gets_a_sentence(tmp_path, monkeypatch):
    (tmp_path / "soon_gone.py").write_text("def answer():\n    return 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    import soon_gone

    (tmp_path / "soon_gone.py").unlink()
    with pytest.raises(EvaluationError, match=r"cannot be loaded in a child process .*soon_gone"):
        isolated(soon_gone.answer, (), LONG)


def test_a_value_that_cannot_be_sent_back_gets_a_sentence():
    with pytest.raises(EvaluationError, match=r"returned a generator .*: return numbers"):
        isolated(lambda: (x for x in "ab"), (), LONG)


@pytest.mark.parametrize("timeout", [0, -1.0, float("nan")])
def test_a_timeout_that_is_no_time_is_refused(timeout):
    with pytest.raises(ModelError, match=r"timeout=.*above 0, or None"):
        isolated(abs, (1.0,), timeout)


def test_a_function_stuck_in_c_is_killed_with_its_children(tmp_path):
    names = {}
    exec(textwrap.dedent(STUCK), names)
    with pytest.raises(EvaluationError, match=r"^took longer than 3 s \(timeout=3\)$"):
        isolated(names["stuck"], (str(tmp_path),), 3)
    assert all(is_gone(pid) for pid in pids_in(tmp_path))


def test_a_function_that_closes_every_descriptor_is_still_killed_in_time():
    def recluse():
        os.closerange(3, 256)
        time.sleep(600)

    with pytest.raises(EvaluationError, match="took longer than 1 s"):
        isolated(recluse, (), 1)


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGKILL"])
def test_death_by_signal_is_told(name):
    with pytest.raises(EvaluationError, match=f"^its process died with signal {name}$"):
        isolated(lambda: os.kill(os.getpid(), getattr(signal, name)), (), LONG)


@pytest.mark.parametrize("leave", [os._exit, sys.exit])
def test_an_exit_without_an_answer_is_told(leave):
    with pytest.raises(
        EvaluationError, match=r"^its process exited with code 3 without an answer$"
    ):
        isolated(leave, (3,), LONG)


def test_a_fork_that_holds_the_pipe_open_does_not_hide_a_death(tmp_path):
    def fork_and_die():
        sleeper = os.fork()
        if sleeper == 0:
            time.sleep(600)
        (tmp_path / "pids").write_text(str(sleeper))
        os._exit(4)

    with pytest.raises(EvaluationError, match="exited with code 4"):
        isolated(fork_and_die, (), LONG)
    assert all(is_gone(pid) for pid in pids_in(tmp_path))


def test_processes_left_behind_end_with_the_evaluation():
    def leave_behind():
        return subprocess.Popen(["sleep", "600"]).pid

    assert is_gone(isolated(leave_behind, (), LONG))


def test_exit_handlers_run_before_the_value_is_returned(tmp_path):
    def tidy():
        import atexit

        atexit.register(lambda: (tmp_path / "tidied").touch())
        return 1.0

    assert isolated(tidy, (), LONG) == 1
    assert (tmp_path / "tidied").exists()


def test_evaluations_in_several_threads_do_not_disturb_one_another():
    with ThreadPoolExecutor(4) as pool:
        values = pool.map(lambda i: isolated(lambda: i * np.ones(100_000), (), LONG), range(8))
        assert [value[-1] for value in values] == list(range(8))


def test_an_isolated_function_may_isolate_another():
    assert isolated(lambda: isolated(lambda: 7.0, (), LONG), (), LONG) == 7


@pytest.fixture
def busy_parent(tmp_path):
    """A process that waits for a stuck evaluation, and the numbers of what it started."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(STUCK)
        + "import sys\nfrom grisaille.study.evaluation.child_process import isolated\n"
        + "isolated(stuck, (sys.argv[1],), None)\n"
    )
    parent = start_interruptible(
        [sys.executable, script, tmp_path],
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},  # killed outright, it leaves its folder
    )
    with parent:
        try:
            yield parent, pids_in(tmp_path)
        finally:
            parent.kill()


def test_a_parent_killed_outright_leaves_no_orphan(busy_parent):
    parent, pids = busy_parent
    parent.kill()
    parent.wait()
    assert all(is_gone(pid) for pid in pids)


def test_an_interrupted_parent_kills_the_evaluation_and_stops(busy_parent):
    parent, pids = busy_parent
    parent.send_signal(signal.SIGINT)
    complaints = parent.stderr.read()
    assert parent.wait(timeout=LONG) == -signal.SIGINT
    assert b"KeyboardInterrupt" in complaints
    assert all(is_gone(pid) for pid in pids)


def test_where_the_kernel_cannot_help_a_thread_ends_the_group():
    code = "from grisaille.study.evaluation.child_script import die_by_thread as d; d(0); "
    code += "import time; "
    code += "print('watching', flush=True); time.sleep(600)"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with process:
        assert process.stdout.readline() == b"watching\n"
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(timeout=LONG) == -signal.SIGKILL


def test_the_child_starts_without_heavy_imports():
    code = f"import runpy, sys; runpy.run_path({child_script.__file__!r}); print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert {"torch", "numpy", "cloudpickle", "subprocess"}.isdisjoint(modules)

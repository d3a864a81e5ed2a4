"""Processes that are killed, stopped, or share a study."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from grisaille.views.cli import main
from tests.interruptible import start_interruptible

pytestmark = pytest.mark.slow


def start(*arguments: str) -> subprocess.Popen[str]:
    call = [sys.executable, "-m", "grisaille.views.cli", *arguments]
    pipe = subprocess.PIPE
    # One thread each, so that they do not fight over the cores.
    settings = {**os.environ, "OMP_NUM_THREADS": "1"}
    return start_interruptible(call, stdout=pipe, stderr=pipe, text=True, env=settings)


def wait_until(condition: Callable[[], object], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "nothing happened for a minute"
        time.sleep(0.02)


def points(state) -> list[float]:
    return [float(trial.x[0]) for trial in state.history()]


def test_a_study_that_was_killed_goes_on_as_if_nothing_had_happened(model, place, state):
    file = model(work="time.sleep(0.1)")
    call = ["solve", file, "--storage", place, "--trials", "4", "--quiet", "--study"]
    process = start(*call, "killed")
    wait_until(lambda: (found := state("killed")) and len(found.history()) >= 2, process)
    process.kill()
    process.communicate()
    assert len(state("killed").history()) < 4
    assert main(["resume", "killed", "--storage", place, "--quiet"]) == 0
    assert main([*call, "unharmed"]) == 0
    assert points(state("killed")) == points(state("unharmed"))
    assert len(points(state("killed"))) == 4


def test_workers_that_are_stopped_give_their_queries_back(model, place, state):
    file = model(work="time.sleep(60)")
    assert main(["create", file, "--study", "toy", "--storage", place, "--trials", "5"]) == 0
    workers = [start("worker", "toy", "--storage", place) for _ in range(2)]
    wait_until(lambda: len(state("toy").asked()) == 2, workers[0])
    for worker, number, code in zip(
        workers, (signal.SIGTERM, signal.SIGINT), (143, 130), strict=True
    ):
        worker.send_signal(number)
        output, errors = worker.communicate(timeout=30)
        assert worker.returncode == code, errors
        assert "Traceback" not in errors
        word = "terminated" if code == 143 else "interrupted"
        assert f"{word}, and what it held is given back; this worker completed 0 of" in output
    assert not state("toy").asked()
    assert len(list(state("toy").waiting())) == 2


def test_a_run_that_is_terminated_says_how_to_go_on(model, place, state):
    file = model(work="time.sleep(60)")
    process = start("solve", file, "--study", "my toy", "--storage", place)
    wait_until(lambda: (found := state("my toy")) and found.asked(), process)
    process.terminate()
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 143, errors
    assert f"To go on: grisaille resume 'my toy' --storage {place}" in output
    assert not state("my toy").asked()


def test_two_workers_share_a_study(model, place, state, tmp_path):
    # Nobody goes on before both are at work.
    folder = tmp_path / "here"
    folder.mkdir()
    work = (
        f"open(os.path.join({str(folder)!r}, str(os.getpid())), 'w').close()\n"
        f"    while len(os.listdir({str(folder)!r})) < 2: time.sleep(0.02)"
    )
    file = model(work=work)
    assert main(["create", file, "--study", "toy", "--storage", place, "--trials", "4"]) == 0
    workers = [start("worker", "toy", "--storage", place) for _ in range(2)]
    outputs = [worker.communicate(timeout=90) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], outputs
    lines = [[line for line in out.splitlines() if "objective" in line] for out, _ in outputs]
    assert all(lines)
    assert sorted(int(line.split()[1]) for both in lines for line in both) == [1, 2, 3, 4]
    assert all(f"running {file}" in errors for _, errors in outputs)
    assert len(state("toy").history()) == 4


def test_a_worker_wants_to_know_how_many_trials(model, place, capsys):
    assert main(["create", model(), "--study", "toy", "--storage", place]) == 0
    assert main(["worker", "toy", "--storage", place]) == 2
    assert "pass --trials" in capsys.readouterr().err
    assert main(["worker", "toy", "--storage", place, "--trials", "2"]) == 0
    assert "trial 2  narrowed  objective" in capsys.readouterr().out

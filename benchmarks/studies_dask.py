"""A study on a Dask cluster that is killed or stopped in parts: is anything lost, is it said?

    python -m benchmarks.studies_dask

Each scenario starts a scheduler and two workers, and runs a study on them. While two evaluations
are pending, something happens to the cluster. What never comes back is given up with Ctrl-C after
40 seconds. Then the study is finished without the cluster.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from distributed import Client

import grisaille as gs
from benchmarks.results_folder import write_result

TRIALS = 10
BEFORE = 4
WORKERS = 2
GIVE_UP = 40.0


class Cluster:
    """A scheduler at a fixed address, and workers, each a process without anybody who restarts it.

    Args:
        folder: For their files.
    """

    def __init__(self, folder: Path) -> None:
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        self._folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []

    def start_scheduler(self) -> None:
        """Start the scheduler, at the same address each time."""
        host, port = self.address.removeprefix("tcp://").split(":")
        options = ["--host", host, "--port", port, "--no-dashboard", "--no-show"]
        self.scheduler = self._start("dask_scheduler", *options)

    def start_workers(self) -> None:
        """Start workers, which wait for the scheduler."""
        options = [self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        self.workers = [self._start("dask_worker", *options) for _ in range(WORKERS)]

    def end(self) -> None:
        """Kill everything that was started."""
        for process in self.processes:
            process.kill()
            process.wait()

    def _start(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        with (self._folder / "output").open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{program}", *options],
                stdout=output,
                stderr=output,
                cwd=self._folder,
            )
        self.processes.append(process)
        return process


def kill_one(cluster: Cluster) -> None:
    cluster.workers[0].kill()


def kill_workers(cluster: Cluster) -> None:
    for worker in cluster.workers:
        worker.kill()


def replace_workers(cluster: Cluster) -> None:
    kill_workers(cluster)
    time.sleep(15)
    cluster.start_workers()


def kill_scheduler(cluster: Cluster) -> None:
    cluster.scheduler.kill()


def replace_scheduler(cluster: Cluster) -> None:
    kill_scheduler(cluster)
    time.sleep(15)
    cluster.start_scheduler()
    cluster.start_workers()


def stop_scheduler(cluster: Cluster) -> None:
    cluster.scheduler.send_signal(signal.SIGSTOP)


def pause_scheduler(cluster: Cluster) -> None:
    stop_scheduler(cluster)
    time.sleep(25)
    cluster.scheduler.send_signal(signal.SIGCONT)


SCENARIOS: dict[str, Callable[[Cluster], None]] = {
    "a worker is killed": kill_one,
    "all workers are killed": kill_workers,
    "all workers are killed, others start after 15 s": replace_workers,
    "the scheduler is killed": kill_scheduler,
    "the scheduler is killed, another one starts after 15 s, with workers": replace_scheduler,
    "the scheduler is stopped": stop_scheduler,
    "the scheduler is stopped for 25 s": pause_scheduler,
}


def problem(calls: Path) -> gs.Problem:
    """One black box, which notes its calls; evaluations take 2 s once some are made."""
    x = gs.Variable("x", 2, lower=-1, upper=1)

    def box(x: Any) -> float:
        with calls.open("a") as lines:
            lines.write(f"{x.tolist()}\n")
        time.sleep(2.0 if len(calls.read_text().splitlines()) > BEFORE else 0.01)
        return float(x @ x)

    return gs.Problem(minimize=gs.BlackBox(box, noise=0)(x))


def run_scenario(happens: Callable[[Cluster], None], folder: Path) -> dict[str, Any]:
    calls, said = folder / "calls", Said()
    cluster = Cluster(folder)
    cluster.start_scheduler()
    cluster.start_workers()
    client = Client(cluster.address)
    client.wait_for_workers(WORKERS, timeout=60)
    made = problem(calls)
    study = gs.Study(made, strategy=gs.RandomSearch(), storage=f"sqlite:///{folder}/s.db", name="s")
    logging.getLogger("grisaille").addHandler(said)
    ended = threading.Event()
    moments: dict[str, float] = {}
    before: list[Any] = []

    def interfere() -> None:
        while not calls.exists() or len(calls.read_text().splitlines()) < BEFORE + WORKERS:
            time.sleep(0.05)
        time.sleep(0.5)
        before.extend(study.events())
        moments["happened"] = time.perf_counter()
        happens(cluster)
        if not ended.wait(GIVE_UP):
            moments["pressed"] = time.perf_counter()
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interfere)
    thread.start()
    try:
        outcome = str(study.run(TRIALS, executor=client, progress=False).status)
    except gs.EvaluationError as error:
        outcome = f"EvaluationError: {error}"
    end = time.perf_counter()
    ended.set()
    thread.join()
    logging.getLogger("grisaille").removeHandler(said)
    complete = len(study.history)
    client.close(timeout=1)
    cluster.end()
    study.run(TRIALS, progress=False)
    events = study.events()
    told = [e.data["query"] for e in events if e.kind == "told"]
    row = {
        "outcome": outcome,
        "said": said.lines,
        "seconds_until_the_run_ended": round(end - moments["happened"], 1),
        "seconds_after_ctrl_c": round(end - moments["pressed"], 2)
        if "pressed" in moments
        else None,
        "trials_complete_then": complete,
        "answers_lost": sum(e not in events for e in before),
        "answers_doubled": len(told) - len(set(told)),
        "attempts_failed": sum(e.kind == "failed" for e in events),
        "trials_complete_when_finished": len(study.history),
    }
    study.close()
    return row


class Said(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self.lines.append(record.getMessage())


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    found = {}
    for name, happens in SCENARIOS.items():
        folder = Path(tempfile.mkdtemp(prefix="grisaille-dask-"))
        try:
            found[name] = run_scenario(happens, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(name, found[name], flush=True)
    write_result("studies_dask", {"scenarios": found})

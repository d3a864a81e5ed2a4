"""An evaluation that holds the interpreter lock for hours: is it evaluated once, and used?

    python -m benchmarks.studies_lock [LEASES] [sqlite | postgresql] [LEASE]

Four processes run one study, each as if it were on a machine of its own, so that only heartbeats
say who is alive. The first evaluation sleeps in C code that keeps the interpreter lock, for so many
leases; 720 leases of 60 seconds are 12 hours. LEASE shortens them, to 3 seconds by default. The
others make all other trials, look ten times per lease for queries of dead workers, and wait.

The same is done for 5 leases with heartbeats from a thread, which the lock stops: this has to
evaluate it more than once, or the measurement would show nothing.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

import grisaille as gs
from benchmarks.results_folder import write_result
from benchmarks.studies_setup import server_for
from benchmarks.study_internals import shorten_leases
from grisaille.study.log.database import WORKERS as WORKER_TABLE
from grisaille.study.log.database import Database, now

WORKERS = 4
TRIALS = 12
CONTROL = 5


def problem(folder: Path, seconds: int) -> gs.Problem:
    """One black box, which notes its calls in a folder; the first call there takes so long."""
    x = gs.Variable("x", 2, lower=-1, upper=1)

    def box(x: np.ndarray) -> float:
        with (folder / "calls").open("a") as calls:
            calls.write(json.dumps(x.tolist()) + "\n")
        try:
            with (folder / "first").open("x") as first:
                first.write(str(os.getpid()))
        except FileExistsError:
            time.sleep(0.1)
        else:
            ctypes.PyDLL(None).sleep(seconds)
            (folder / "ended").touch()
        return float(x @ x)

    return gs.Problem(minimize=gs.BlackBox(box, noise=0)(x))


def work(storage: str, name: str, folder: Path, leases: int, lease: float, beats: str) -> None:
    shorten_leases(lease, from_thread=beats == "thread")
    made = problem(folder, round(leases * lease))
    with gs.Study(made, strategy=gs.RandomSearch(), storage=storage, name=name) as study:
        study.run(TRIALS, progress=False)


def longest_silence(storage: str, folder: Path, lease: float) -> float:
    """The longest time without a heartbeat of the worker that holds the lock, in leases.

    A starved machine delays heartbeats: with a lease of a second, one that is late by a second is
    missed, with a lease of 60 seconds it is not.
    """
    longest, process, first = 0.0, "", folder / "first"
    with closing(Database(storage)) as database:
        while not (folder / "ended").exists():
            time.sleep(lease / 10)
            process = process or (first.read_text() if first.exists() else "")
            if process:
                table = WORKER_TABLE.c
                mine = sa.select(table.seen).where(table.process == int(process))
                with database.reading() as connection:
                    seen = connection.execute(mine).scalar()
                    if seen is not None:  # others remove those that seem to be gone
                        longest = max(longest, now(connection) - seen)
    return round(longest / lease, 2)


def measure(storage: str, leases: int, lease: float, beats: str) -> dict[str, Any]:
    """Run the study; gives what became of its first evaluation."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        arguments = [storage, beats, folder, str(leases), str(lease), beats]
        command = [sys.executable, "-m", "benchmarks.studies_lock", "work", *arguments]
        workers = [
            subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(WORKERS)
        ]
        silence = longest_silence(storage, Path(folder), lease)
        complaints = [worker.communicate()[1] for worker in workers]
        calls = [json.loads(line) for line in Path(folder, "calls").read_text().splitlines()]
        made = problem(Path(folder), 0)
        with gs.Study(made, strategy=gs.RandomSearch(), storage=storage, name=beats) as study:
            events, history = study.events(), study.history
    first = calls[0]
    query = next(
        e.data["queries"][0]["id"]
        for e in events
        if e.kind == "suggested" and e.data["suggestion"]["x"] == first
    )
    kinds = Counter(e.kind for e in events if e.data.get("query") == query)
    return {
        "heartbeats_from": beats,
        "leases": leases,
        "lease_seconds": lease,
        "workers": WORKERS,
        "trials": len(history),
        "evaluations": len(calls),
        "longest_silence_in_leases": silence,
        "first_evaluated": calls.count(first),
        "first_asked": kinds["asked"],
        "first_answered": kinds["told"],
        "first_failed": kinds["failed"],
        "first_used": any(trial.x.tolist() == first for trial in history),
        "late_answers": len(history.loose),
        "processes_that_failed": sum(worker.returncode != 0 for worker in workers),
        "complaints": sorted({line for text in complaints for line in text.splitlines()}),
        "seconds": round(time.perf_counter() - started),
    }


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    if sys.argv[1:2] == ["work"]:
        storage, name, folder, leases, lease, beats = sys.argv[2:]
        work(storage, name, Path(folder), int(leases), float(lease), beats)
    else:
        leases = int(sys.argv[1]) if len(sys.argv) > 1 else 720
        which = sys.argv[2] if len(sys.argv) > 2 else "sqlite"
        lease = float(sys.argv[3]) if len(sys.argv) > 3 else 3.0
        with server_for([which]) as address, tempfile.TemporaryDirectory() as place:
            storage = address or f"sqlite:///{place}/study.db"
            found = [measure(storage, CONTROL, lease, "thread")]
            print(found[0], flush=True)
            found.append(measure(storage, leases, lease, "process"))
        print(found[1])
        write_result(f"studies_lock_{which}", {"storage": which, "runs": found}, "studies_lock")

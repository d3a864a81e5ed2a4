"""Worker processes that share one study: is anything lost or doubled, and are they kept busy?

    python -m benchmarks.studies_workers [TRIALS] [sqlite | postgresql] [SECONDS]

Eight processes open one study and run it until it has TRIALS trials. An evaluation
sleeps for SECONDS.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections import Counter
from typing import Any

import numpy as np

import grisaille as gs
from benchmarks.results_folder import write_result
from benchmarks.studies_setup import QUICK, nested, server_for

WORKERS = 8
STUDY = "shared"


def work(storage: str, trials: int, seconds: float) -> None:
    study = gs.Study(nested(seconds), strategy=QUICK, storage=storage, name=STUDY)
    study.run(trials, progress=False)
    study.close()


def main(trials: int, address: str | None, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        found = measure(address or f"sqlite:///{folder}/study.db", trials, seconds)
    return {"storage": "postgresql" if address else "sqlite", **found}


def measure(storage: str, trials: int, seconds: float) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.studies_workers", "work", storage]
    started = time.perf_counter()
    processes = [
        subprocess.Popen([*command, str(trials), str(seconds)], stderr=subprocess.PIPE, text=True)
        for _ in range(WORKERS)
    ]
    complaints = [process.communicate()[1] for process in processes]
    elapsed = time.perf_counter() - started
    study = gs.Study(nested(), strategy=QUICK, storage=storage, name=STUDY)
    events = study.events()
    asked, told = (
        Counter(e.data["query"] for e in events if e.kind == kind) for kind in ("asked", "told")
    )
    state = study.state
    holders = Counter(e.data["holder"] for e in events if e.kind == "asked")
    # From when the last worker had joined to when the first trial was missing.
    joined = max(
        min(e.time for e in events if e.kind == "asked" and e.data["holder"] == h) for h in holders
    )
    last = [e.time for e in events if e.kind == "suggested"][-1]
    busy = sum(
        max(0.0, min(t, last) - max(t - e.data["seconds"], joined))
        for e in events
        if e.kind == "told" and (t := e.time) > joined
    )
    outcome = {
        "workers": WORKERS,
        "trials": len(state.trials),
        "complete": len(state.history()),
        "queries": len(state.queries),
        "asked_more_than_once": sum(count > 1 for count in asked.values()),
        "told_more_than_once": sum(count > 1 for count in told.values()),
        "never_told": len(set(state.queries) - set(told)),
        "failures": len(study.failures),
        "processes_that_failed": sum(p.returncode != 0 for p in processes),
        "complaints": [c for c in complaints if c],
        "evaluations_by_worker": sorted(holders.values()),
        "evaluation_seconds": seconds,
        "steady_seconds": last - joined,
        "busy": busy / (WORKERS * (last - joined)) if last > joined else None,
        "suggestion_seconds_median": float(np.median([t.seconds for t in state.trials.values()])),
        "elapsed": elapsed,
    }
    study.close()
    return outcome


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:
        work(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
    else:
        trials = int(sys.argv[1]) if len(sys.argv) > 1 else 200
        seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 0.05
        with server_for(sys.argv[2:3]) as address:
            found = main(trials, address, seconds)
        print(found)
        name = f"studies_workers_{found['storage']}" + ("_busy" if seconds >= 1 else "")
        write_result(name, found, "studies_workers")

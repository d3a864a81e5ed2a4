"""Are workers kept busy? One process suggests, eight child processes evaluate for a second each.

    python -m benchmarks.studies_throughput [TRIALS]

Busy is the part of the workers' time that is spent evaluating, from the first evaluation that all
workers share to the last suggestion, so that neither start nor end count.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import grisaille as gs
from benchmarks.results_folder import write_result
from benchmarks.studies_setup import nested, single

WORKERS = 8


def measure(problem: gs.Problem, trials: int) -> dict[str, Any]:
    study = gs.Study(problem, name="throughput", storage="memory")
    started = time.time()
    study.run(trials, workers=WORKERS, progress=False)
    events = study.events()
    asked = [e.time for e in events if e.kind == "asked"]
    first, last = asked[WORKERS - 1], asked[-1]
    busy = sum(
        max(0.0, min(e.time, last) - max(e.time - e.data["seconds"], first))
        for e in events
        if e.kind == "told"
    )
    entries = study.state.trials.values()
    return {
        "trials": trials,
        "evaluations": len(asked),
        "busy": busy / (WORKERS * (last - first)),
        "suggestion_seconds_median": float(np.median([t.seconds for t in entries])),
        "elapsed": time.time() - started,
    }


if __name__ == "__main__":
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 80
    found = {
        "one box": measure(single(1.0), trials),
        "two boxes in a chain": measure(nested(1.0), trials),
    }
    print(found)
    write_result("studies_throughput", {"workers": WORKERS, "seconds": 1.0, **found})

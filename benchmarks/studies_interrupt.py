"""Interrupt a running study at random moments with one or two SIGINTs: it must end with its result.

    python -m benchmarks.studies_interrupt [RUNS]

Each run is a process of its own, by turns with a study in a SQLite file and in memory, and without
and with child processes. It is interrupted once, or twice in quick succession. Counted are runs
that hang, runs without a result, processes left behind, and queries that are not given back.
"""

from __future__ import annotations

import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import grisaille as gs
from benchmarks.results_folder import write_result
from benchmarks.studies_setup import QUICK, nested
from benchmarks.study_internals import announce_writes

TRIALS = 60
STUDY = "interrupted"
# A process that takes longer than this after its first interrupt hangs, in seconds; a busy machine
# may take minutes to end it.
_HANGS = 300.0


def work(storage: str, workers: int | None, pipe: int) -> None:
    """Run the study in the process that is interrupted; print status, trials and when it ended."""

    def say(what: str) -> None:
        os.write(pipe, f"{what}\n".encode())

    signal.signal(signal.SIGINT, signal.default_int_handler)
    problem = nested(0.01)
    name = None if storage == "memory" else STUDY
    study = gs.Study(problem, strategy=QUICK, storage=storage, name=name)
    announce_writes(study, say)
    result = study.run(TRIALS, workers=workers, progress=False)
    ended = time.time()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what comes now comes too late
    study.close()
    print(result.status, result.nit, ended, flush=True)


def main(runs: int) -> dict[str, object]:
    generator = random.Random(0)
    counts: Counter[str] = Counter()
    seconds: list[float] = []
    folder = Path(tempfile.mkdtemp(prefix="grisaille-interrupt-"))
    for run in range(runs):
        storage = "memory" if run % 2 else f"sqlite:///{folder}/study{run}.db"
        workers = "2" if run % 4 >= 2 else "0"
        presses = generator.choice([1, 2])
        mark = f"GRISAILLE_INTERRUPTED_RUN={os.getpid()}-{run}"
        took, output = _interrupted_run(storage, workers, presses, mark, generator)
        counts["hangs"] += took is None
        if output.startswith("interrupted ") and took is not None:
            seconds.append(took)
        else:
            counts["missing_results"] += 1
        counts["orphans"] += _processes_with(mark)
        counts["twice"] += presses == 2
        if storage != "memory":
            counts["queries_not_given_back"] += _held(storage)
        print(f"run {run + 1}: {storage}, {presses} x SIGINT, {took} s, {output!r}", flush=True)
    kinds = ("twice", "hangs", "missing_results", "orphans", "queries_not_given_back")
    result = {
        "runs": runs,
        **{kind: counts[kind] for kind in kinds},
        "seconds_median": statistics.median(seconds),
        "seconds_most": max(seconds),
    }
    print(json.dumps(result))
    return result


def _interrupted_run(
    storage: str, workers: str, presses: int, mark: str, generator: random.Random
) -> tuple[float | None, str]:
    """The seconds from the first interrupt to the result (None if it hangs), and the output."""
    ours, theirs = os.pipe()
    module = "benchmarks.studies_interrupt"
    command = [sys.executable, "-m", module, "work", storage, workers, str(theirs)]
    name, value = mark.split("=")
    process = subprocess.Popen(
        command,
        pass_fds=(theirs,),
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, name: value},
    )
    os.close(theirs)
    with os.fdopen(ours) as said:
        # A moment within the next few steps of the study, wherever that is.
        for _ in range(generator.randrange(1, 16)):
            last = said.readline().strip()
        time.sleep(generator.uniform(0, 0.4 if last == "wrote" else 0.02))
        begun = time.time()
        for press in range(presses):
            if press:
                time.sleep(generator.uniform(0, 0.05))
            process.send_signal(signal.SIGINT)
        try:
            output, _ = process.communicate(timeout=_HANGS)
        except subprocess.TimeoutExpired:
            process.kill()
            return None, process.communicate()[0].strip()
    # Without a result it counts how long the process took.
    ended = float(output.split()[2]) if output else time.time()
    return ended - begun, output.strip()


def _processes_with(mark: str) -> int:
    """How many processes have a setting in their environment."""
    found = 0
    for file in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has ended, or is not ours
            found += mark.encode() in file.read_bytes().split(b"\0")
    return found


def _held(storage: str) -> int:
    """How many queries of the study somebody still has."""
    study = gs.Study(nested(), strategy=QUICK, storage=storage, name=STUDY)
    held = len(study.pending)
    study.close()
    return held


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:
        work(sys.argv[2], int(sys.argv[3]) or None, int(sys.argv[4]))
    else:
        write_result("studies_interrupt", main(int(sys.argv[1]) if len(sys.argv) > 1 else 60))

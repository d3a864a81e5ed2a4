"""Kill a running study at random moments with `kill -9`, and check that nothing is lost.

    python -m benchmarks.studies_kill [KILLS] [sqlite | postgresql]

A process runs a study and is killed at a random moment, again and again; then the study is
finished. After each kill, the recorded answers must begin with those recorded before, each query
must have one answer, and the file must pass SQLite's integrity check. At the end, the decisions are
compared with those of a study that was never killed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import grisaille as gs
from benchmarks.results_folder import write_result
from benchmarks.studies_setup import QUICK, nested, server_for
from benchmarks.study_internals import announce_writes

TRIALS = 40
STUDY = "killed"


def work(storage: str, pipe: int) -> None:
    """Run the study in the process that is killed, and announce each step to hit."""

    def say(what: str) -> None:
        os.write(pipe, (what + "\n").encode())

    problem = nested(0.01)
    for box in problem.boxes:
        function = box.fn

        def spoken(*arguments, function=function, name=box.name):  # type: ignore[no-untyped-def]
            say(f"evaluating {name}")
            return function(*arguments)

        box.fn = spoken
    study = gs.Study(problem, strategy=QUICK, storage=storage, name=STUDY)
    announce_writes(study, say)
    study.run(TRIALS, progress=False)
    say("done")


def main(kills: int, address: str | None) -> dict[str, object]:
    folder = Path(tempfile.mkdtemp(prefix="grisaille-kill-"))
    storage = address or f"sqlite:///{folder}/study.db"
    generator = random.Random(0)
    hits: Counter[str] = Counter()
    told_before: list[dict[str, object]] = []
    lost = doubled = unsound = 0
    while True:
        ours, theirs = os.pipe()
        killing = sum(hits.values()) < kills
        command = [sys.executable, "-m", "benchmarks.studies_kill", "work", storage, str(theirs)]
        process = subprocess.Popen(command, pass_fds=(theirs,))
        os.close(theirs)
        last = "starting"
        with os.fdopen(ours) as said:
            # A moment within the next few steps of the study, wherever that is.
            steps = generator.randrange(1, 16)
            for line in said:
                last = line.strip()
                steps -= 1
                if killing and steps == 0:
                    # After a write comes a search, which takes longest.
                    time.sleep(generator.uniform(0, 0.4 if last == "wrote" else 0.02))
                    process.send_signal(signal.SIGKILL)
                    break
        process.wait()
        if killing and last != "done":
            hits[last] += 1
        told = _told(storage)
        if told[: len(told_before)] != told_before:
            lost += 1
        ids = [t["query"] for t in told]
        doubled += len(ids) != len(set(ids))
        told_before = told
        if address is None:
            with sqlite3.connect(folder / "study.db") as connection:
                unsound += connection.execute("PRAGMA integrity_check").fetchone() != ("ok",)
        print(f"{sum(hits.values())} kills, {len(told)} answers, last: {last}", flush=True)
        if last == "done":
            break
    broken = gs.Study(nested(), strategy=QUICK, storage=storage, name=STUDY)
    unbroken = gs.Study(nested(), strategy=QUICK)
    unbroken.run(TRIALS, progress=False)
    a, b = ([t.suggestion.x.tolist() for t in s.state.trials.values()] for s in (broken, unbroken))
    result = {
        "storage": "postgresql" if address else "sqlite",
        "kills": sum(hits.values()),
        "kills_by_moment": dict(hits),
        "trials": len(a),
        "answers": len(told_before),
        "answers_lost": lost,
        "answers_doubled": doubled,
        "integrity_failures": unsound,
        "decisions_equal": a == b,
        "failures": len(broken.failures),
    }
    print(json.dumps(result))
    return result


def _told(storage: str) -> list[dict[str, object]]:
    from grisaille.storage.database import Database
    from grisaille.storage.event_log import Kind

    log = Database(storage).open(STUDY)
    return [] if log is None else [dict(e.data) for e in log.read(0) if e.kind is Kind.TOLD]


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:
        work(sys.argv[2], int(sys.argv[3]))
    else:
        kills = int(sys.argv[1]) if len(sys.argv) > 1 else 50
        with server_for(sys.argv[2:3]) as address:
            outcome = main(kills, address)
        write_result(f"studies_kill_{outcome['storage']}", outcome, "studies_kill")

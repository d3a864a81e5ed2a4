"""Kill running studies at random moments with `kill -9`, and check that nothing is lost.

    python -m benchmarks.studies_kill [KILLS] [sqlite | postgresql | pgbouncer] [MINUTES]

Processes run a study, one of them is killed at a random moment and replaced, again and again; then
the study is finished, and the next one begins. Half of the studies are run by one process, half by
three. Evaluations fail in a corner. After each kill everything that a process knew to be recorded
must be there, the recorded answers must begin with those before, each query must have one answer,
and a SQLite file must pass its integrity check. Where one process decides, the decisions are
compared with those of a study that was never killed. After so many minutes no study begins.

Processes are forked from one that has imported everything, and computes nothing itself.
"""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import grisaille as gs
from benchmarks.forked_children import fork, import_what_is_needed
from benchmarks.results_folder import write_result
from benchmarks.studies_setup import QUICK, nested, server_for
from benchmarks.study_internals import announce_writes
from grisaille.study.log.database import Database
from grisaille.study.log.event_log import Event

TRIALS = 10
WORKERS = 3
SEEDS = 4
# In a study that one process runs, more kills would often hit one query three times, and it would
# count as failed: then the decisions differ, as they should.
KILLS_PER_STUDY = 25


def fragile(seconds: float) -> gs.Problem:
    """The nested problem, whose first black box fails in a corner."""
    problem = nested(seconds)
    box = problem.boxes[0]
    function = box.fn

    def failing(x: Any) -> Any:
        if x[0] + x[1] > 1.0:
            raise ValueError("no steady state")
        return function(x)  # type: ignore[misc]

    box.fn = failing
    return problem


def work(storage: str, name: str, seed: int, pipe: int) -> None:
    """Run the study in the process that is killed, and announce each step."""

    def say(what: str) -> None:
        os.write(pipe, (what + "\n").encode())

    problem = fragile(0.005)
    for box in problem.boxes:
        function = box.fn

        def spoken(*arguments, function=function, name=box.name):  # type: ignore[no-untyped-def]
            say(f"evaluating {name}")
            return function(*arguments)

        box.fn = spoken
    study = gs.Study(problem, strategy=QUICK, storage=storage, name=name, seed=seed)
    announce_writes(study, lambda what: say(f"{what} {study.state.position}"))
    study.run(TRIALS, progress=False)
    say("done")


@dataclass(slots=True)
class Child:
    """A process that runs the study."""

    process: int
    said: IO[str]
    last: str = "starting"
    acknowledged: int = 0

    def listen(self) -> bool:
        """Wait for the next announcement; False if the process has ended."""
        line = self.said.readline()
        if not line or line == "null\n":
            return False
        self.last, _, position = line.strip().partition(" ")
        if self.last == "wrote":
            self.acknowledged = int(position)
        return True

    def end(self) -> None:
        """Kill the process, if it still runs, and read what it announced before."""
        with suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)
        while self.listen():
            pass
        self.said.close()
        os.waitpid(self.process, 0)


def start_child(storage: str, name: str, seed: int) -> Child:
    """Fork a process that runs the study."""
    process, pipe = fork(lambda theirs: work(storage, name, seed, theirs))
    return Child(process, os.fdopen(pipe))


@dataclass(slots=True)
class Tally:
    """What was seen."""

    hits: Counter[str] = field(default_factory=Counter)
    by_workers: Counter[int] = field(default_factory=Counter)
    lost: int = 0
    doubled: int = 0
    unsound: int = 0
    studies: int = 0
    answers: int = 0
    failures: int = 0
    compared: int = 0
    equal: int = 0
    given_up: int = 0


def run_study(
    storage: str, name: str, seed: int, workers: int, kills: int, generator: random.Random, t: Tally
) -> list[Event]:
    """Run one study to its end, with at most so many kills; gives its events."""
    told_before: list[Any] = []
    children = [start_child(storage, name, seed) for _ in range(workers)]
    while children:
        victim = children.pop(generator.randrange(len(children)))
        # A moment within the next few steps of the study, wherever that is.
        steps = generator.randrange(1, 16) if kills else 10**9
        while steps and victim.listen():
            steps -= 1
        done = steps > 0 or victim.last == "done"
        if not done:
            # After a write comes a search, which takes longest.
            time.sleep(generator.uniform(0, 0.2 if victim.last == "wrote" else 0.01))
            t.hits[victim.last] += 1
            t.by_workers[workers] += 1
            kills -= 1
        elif victim.last != "done":
            sys.exit(f"a process ended with an error after {victim.last!r}")
        victim.end()
        events = events_of(storage, name)
        told = [dict(e.data) for e in events if e.kind == "told"]
        t.lost += told[: len(told_before)] != told_before or len(events) < victim.acknowledged
        ids = [answer["query"] for answer in told]
        t.doubled += len(ids) != len(set(ids))
        told_before = told
        if storage.startswith("sqlite"):
            with closing(sqlite3.connect(storage.removeprefix("sqlite:///"))) as connection:
                t.unsound += connection.execute("PRAGMA integrity_check").fetchone() != ("ok",)
        if not done:
            children.append(start_child(storage, name, seed))
    return events


def events_of(storage: str, name: str) -> list[Event]:
    """Everything that is recorded."""
    with closing(Database(storage)) as database:
        log = database.open(name)
        return [] if log is None else log.read(0)


def points(events: list[Event]) -> list[Any]:
    """What was tried, in order."""
    return [e.data["suggestion"]["x"] for e in events if e.kind == "suggested"]


def main(kills: int, which: str, address: str | None, minutes: float) -> dict[str, object]:
    folder = Path(tempfile.mkdtemp(prefix="grisaille-kill-"))
    generator = random.Random(0)
    tally = Tally()
    started = time.perf_counter()
    unbroken: dict[int, list[Any]] = {}
    try:
        while sum(tally.hits.values()) < kills and time.perf_counter() < started + 60 * minutes:
            number = tally.studies
            seed, workers = number // 2 % SEEDS, (1, WORKERS)[number % 2]
            storage = address or f"sqlite:///{folder}/{number}.db"
            if seed not in unbroken:
                name = f"unbroken {seed}"
                unbroken[seed] = points(run_study(storage, name, seed, 1, 0, generator, Tally()))
            left = min(KILLS_PER_STUDY, kills - sum(tally.hits.values()))
            events = run_study(storage, f"killed {number}", seed, workers, left, generator, tally)
            failed = [e.data for e in events if e.kind == "failed"]
            given_up = any(f["lost"] and f["final"] for f in failed)
            tally.studies += 1
            tally.answers += sum(e.kind == "told" for e in events)
            tally.failures += sum(not f["lost"] for f in failed)
            tally.given_up += given_up
            if workers == 1 and not given_up:
                tally.compared += 1
                tally.equal += points(events) == unbroken[seed]
            print(f"{sum(tally.hits.values())} kills: {tally}", flush=True)
    finally:
        shutil.rmtree(folder)
    result = {
        "storage": which,
        "kills": sum(tally.hits.values()),
        "kills_by_moment": dict(tally.hits),
        "kills_by_number_of_processes": dict(tally.by_workers),
        "studies": tally.studies,
        "answers": tally.answers,
        "answers_lost": tally.lost,
        "answers_doubled": tally.doubled,
        "integrity_failures": tally.unsound,
        "failed_evaluations": tally.failures,
        "studies_compared": tally.compared,
        "decisions_equal": tally.equal,
        "studies_with_a_query_lost_three_times": tally.given_up,
        "seconds": round(time.perf_counter() - started),
    }
    print(json.dumps(result))
    return result


def import_everything(address: str | None) -> None:
    """Import what a study needs, so that forked processes need not."""
    with tempfile.TemporaryDirectory() as folder:
        storage = address or f"sqlite:///{folder}/study.db"
        import_what_is_needed(lambda: work(storage, "imports", 0, os.open(os.devnull, os.O_WRONLY)))


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    which = sys.argv[2] if len(sys.argv) > 2 else "sqlite"
    with server_for([which]) as address:
        import_everything(address)
        minutes = float(sys.argv[3]) if len(sys.argv) > 3 else math.inf
        outcome = main(int(sys.argv[1]) if len(sys.argv) > 1 else 50, which, address, minutes)
    write_result(f"studies_kill_{outcome['storage']}", outcome, "studies_kill")

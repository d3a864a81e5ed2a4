"""Interrupt a running study at random moments with one or two SIGINTs: it must end with its result.

    python -m benchmarks.studies_interrupt [RUNS] [sqlite | postgresql | postgresql-stopped]

Each run is a process of its own, a fork of one that has imported the library but opened nothing.
Its study is in the database or (one in five) in memory, is evaluated by the process itself or by
two children, and chooses at random or (one in five) by a search. It is interrupted once, or twice
in quick succession, up to half a second after a random step of its study. With
`postgresql-stopped` the whole server is stopped (SIGSTOP) just before, as if its machine were away,
and every study is in the database.

Counted are runs that hang (with the stack of every thread), runs without a result, processes left
behind, queries that are not given back, and runs that take longer than a second.
"""

from __future__ import annotations

import faulthandler
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import grisaille as gs
from benchmarks.results_folder import write_result
from benchmarks.studies_setup import QUICK, nested, server_for
from benchmarks.study_internals import announce_writes

MARK = "GRISAILLE_INTERRUPTED_RUN"
# More than a run can make before it is interrupted.
TRIALS = 10_000
# A process that takes longer than this after its first interrupt hangs, in seconds.
HANGS = 60.0
STRATEGIES = {"random": gs.RandomSearch(), "search": QUICK}


def work(storage: str, name: str | None, strategy: gs.Strategy, workers: int | None) -> None:
    """Run a study in the process that is interrupted; print each step, and the result."""
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    study = gs.Study(nested(0.01), strategy=strategy, storage=storage, name=name)
    announce_writes(study, _say)
    result = None
    try:
        result = study.run(TRIALS, workers=workers, progress=False)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:  # a second interrupt may also come when the run has ended
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if result is not None:
        _say(f"result {result.status} {result.nit} {time.time()}")
    study.close()


def main(runs: int, which: str, address: str | None) -> dict[str, object]:
    generator = random.Random(0)
    counts: Counter[str] = Counter()
    seconds: list[float] = []
    stacks: list[str] = []
    stop = which == "postgresql-stopped"
    with tempfile.TemporaryDirectory(prefix="grisaille-interrupt-") as folder:
        for run in range(runs):
            in_memory = not stop and generator.random() < 0.2
            storage = "memory" if in_memory else address or f"sqlite:///{folder}/study{run}.db"
            name = None if in_memory else f"interrupted {run}"
            strategy = "search" if generator.random() < 0.2 else "random"
            workers = generator.choice([None, 2])
            presses = generator.choice([1, 2])
            os.environ[MARK] = f"{os.getpid()}-{run}"
            said, stack, begun = _interrupted_run(
                storage, name, STRATEGIES[strategy], workers, presses, stop, generator
            )
            counts["twice"] += presses == 2
            if stack is not None:
                counts["hangs"] += 1
                stacks.append(stack)
            results = [line.split() for line in said if line.startswith("result interrupted ")]
            if results:
                seconds.append(float(results[0][3]) - begun)
            else:
                counts["missing_results"] += 1
            counts["orphans"] += _processes_with(os.environ.pop(MARK))
            if name is not None and not stop:  # a server that is away cannot take them back
                counts["queries_not_given_back"] += _held(storage, name, STRATEGIES[strategy])
            took = f"{seconds[-1]:.3f} s" if results else "no result"
            print(f"run {run + 1}: {which}, {strategy}, {workers}, {presses} x, {took}", flush=True)
            if stack is not None or not results:
                print("\n".join([*said[-8:], stack or ""]), flush=True)
    kinds = ("twice", "hangs", "missing_results", "orphans", "queries_not_given_back")
    result = {
        "storage": which,
        "runs": runs,
        **{kind: counts[kind] for kind in kinds},
        "seconds_median": round(statistics.median(seconds), 4),
        "seconds_most": round(max(seconds), 4),
        "longer_than_a_second": sum(took > 1 for took in seconds),
        "stacks_of_hangs": stacks,
    }
    print(json.dumps(result))
    return result


def _interrupted_run(
    storage: str,
    name: str | None,
    strategy: gs.Strategy,
    workers: int | None,
    presses: int,
    stop: bool,
    generator: random.Random,
) -> tuple[list[str], str | None, float]:
    """What a run said, the stacks of its threads if it hangs, and when it was interrupted."""
    ours, theirs = os.pipe()
    with tempfile.TemporaryFile() as errors, os.fdopen(ours) as said:
        process = os.fork()
        if process == 0:
            os.dup2(theirs, 1)
            os.dup2(errors.fileno(), 2)
            try:
                work(storage, name, strategy, workers)
            finally:
                os._exit(0)
        os.close(theirs)
        # A search follows several trials of an initial design.
        steps = 30 if strategy is STRATEGIES["random"] else 200
        lines = [said.readline() for _ in range(generator.randrange(1, steps))]
        time.sleep(generator.uniform(0, 0.5) * generator.choice([0.02, 1]))
        with _stopped_server(stop):
            begun = time.time()
            for press in range(presses):
                if press:
                    time.sleep(generator.uniform(0, 0.05))
                os.kill(process, signal.SIGINT)
            hangs = not _ends(process)
            if hangs:
                os.kill(process, signal.SIGUSR1)
                time.sleep(1)
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
        lines += said.readlines()
        errors.seek(0)
        text = errors.read().decode()
    if not hangs and "Traceback" in text:
        lines.append(text)
    return [line.rstrip("\n") for line in lines], text if hangs else None, begun


def _ends(process: int) -> bool:
    """Whether a child of this process ends in time."""
    deadline = time.monotonic() + HANGS
    while time.monotonic() < deadline:
        if os.waitpid(process, os.WNOHANG)[0]:
            return True
        time.sleep(0.005)
    return False


@contextmanager
def _stopped_server(stop: bool) -> Iterator[None]:
    """A context in which no process of the PostgreSQL server runs."""
    servers = _server_processes() if stop else []
    for server in servers:
        os.kill(server, signal.SIGSTOP)
    try:
        yield
    finally:
        for server in servers:
            os.kill(server, signal.SIGCONT)


def _server_processes() -> list[int]:
    """The PostgreSQL server that this process has started, with all its processes."""
    parents = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            number, _, rest = file.read_text().partition(" ")
            parents[int(number)] = (rest.partition(")")[0], int(rest.rpartition(")")[2].split()[1]))
    postmasters = {p for p, (name, up) in parents.items() if up == os.getpid() and "postg" in name}
    return [p for p, (_, up) in parents.items() if p in postmasters or up in postmasters]


def _processes_with(mark: str) -> int:
    """How many processes have this mark in their environment."""
    wanted, found = f"{MARK}={mark}".encode(), 0
    for file in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has ended, or is not ours
            found += wanted in file.read_bytes().split(b"\0")
    return found


def _held(storage: str, name: str, strategy: gs.Strategy) -> int:
    """How many queries of the study somebody still has."""
    with gs.Study(nested(), strategy=strategy, storage=storage, name=name) as study:
        return len(study.pending)


def _say(what: str) -> None:
    os.write(1, f"{what}\n".encode())


if __name__ == "__main__":
    arguments = [*sys.argv[1:], *("1000", "sqlite")[len(sys.argv) - 1 :]]
    with server_for(["postgresql"] if arguments[1].startswith("postgresql") else []) as server:
        write_result(
            f"studies_interrupt_{arguments[1].replace('-', '_')}",
            main(int(arguments[0]), arguments[1], server),
            "studies_interrupt",
        )

"""How long does another writer wait while a large study is told something?

    python -m benchmarks.studies_turns [ROWSxOUTPUTS ...]

A SQLite file holds a study of one black box. This process observes a table, asks, tells 20 answers,
corrects one and retracts one. A second process writes all the time: a setting of the same study, or
of another study in the same file, about 40 times a second. The wait of a write is how long it took,
less the median of the writes made while this process does nothing. Where it is the same study, the
second process also reads what was recorded, which is its own work; so the lock itself is in the
rows of the other study. On a busy machine waits also hold what other programs take; so the CPU time
of the longest turn is measured, too.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import grisaille as gs
from benchmarks.results_folder import Row, write_result
from benchmarks.study_internals import timed_turns

TABLES = ("2000x6", "500x50", "20000x6", "400000x1")
TELLS = 20
PAUSE = 0.02


def problem(outputs: int) -> gs.Problem:
    x = gs.Variable("x", 2, lower=-1, upper=1)

    def box(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.sin(np.arange(1, outputs + 1) * x[0]) + x[1])

    y = gs.BlackBox(box, name="f", outputs=outputs)(x)
    return gs.Problem(minimize=y[0] if outputs > 1 else y)


def study_in(storage: str, name: str, outputs: int) -> gs.Study:
    return gs.Study(problem(outputs), strategy=gs.RandomSearch(), storage=storage, name=name)


def write_until_told(storage: str, name: str, outputs: int) -> None:
    """Write until the standard input ends; print when each write began, and what it took."""
    study = study_in(storage, name, outputs)
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    print("ready", flush=True)
    took: list[tuple[float, float]] = []
    while not ended.is_set():
        began = time.time()
        study.record_settings(trials=len(took))
        took.append((began, time.time() - began))
        time.sleep(PAUSE)
    print(json.dumps(took))


@dataclass
class Marks:
    """When each operation of the large study began and ended."""

    spans: list[tuple[str, float, float]] = field(default_factory=list)

    def time(self, name: str, do: Callable[[], Any]) -> Any:
        """Do something, and note when it began and ended."""
        began = time.time()
        value = do()
        self.spans.append((name, began, time.time()))
        # Who waits for this is not to wait for the next operation, too.
        time.sleep(PAUSE if name == "tell" else 0.5)
        return value


def use(study: gs.Study, rows: int, outputs: int) -> Marks:
    """Observe, ask, tell, correct and retract."""
    marks, generator = Marks(), np.random.default_rng(0)
    x, y = generator.uniform(-1, 1, (rows, 2)), generator.normal(size=(rows, outputs))
    marks.time("nothing", lambda: time.sleep(2))
    marks.time("observe", lambda: study.observe("f", x, y))
    for query in marks.time("ask", lambda: study.ask(TELLS)):
        marks.time("tell", lambda query=query: study.tell(query, np.full(outputs, 0.3)))
    (first,) = [name for name in study.answers()["id"] if name.endswith("/1")]
    marks.time("correct", lambda: study.correct(first, np.full(outputs, 0.1)))
    marks.time("retract", lambda: study.retract(first))
    return marks


def measure(rows: int, outputs: int, same: bool) -> list[Row]:
    """The longest waits of the other writer, by operation."""
    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{folder}/study.db"
        study = study_in(storage, "large", outputs)
        name = "large" if same else "small"
        command = [sys.executable, "-m", "benchmarks.studies_turns", "write", storage, name]
        other = subprocess.Popen(
            [*command, str(outputs)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert other.stdout is not None
        other.stdout.readline()
        with timed_turns() as turns:
            marks = use(study, rows, outputs)
        took = json.loads(other.communicate("", timeout=600)[0])
        study.close()
    idle = [t for began, t in took if marks.spans[0][1] <= began < marks.spans[0][2]]
    usual = float(np.median(idle))
    found: list[Row] = []
    for operation in ("nothing", "observe", "ask", "tell", "correct", "retract"):
        spans = [(a, b) for kind, a, b in marks.spans if kind == operation]
        during = [t for began, t in took if any(began <= b and began + t >= a for a, b in spans)]
        found.append(
            {
                "table": f"{rows}x{outputs}",
                "other_writes_to": "the same study" if same else "another study of the file",
                "operation": operation,
                "longest_s": round(max(b - a for a, b in spans), 3),
                "longest_turn_cpu_s": round(
                    max(
                        (cpu for t, cpu in turns if any(a <= t <= b for a, b in spans)), default=0.0
                    ),
                    3,
                ),
                "longest_wait_s": round(max(0.0, max(during, default=usual) - usual), 3),
            }
        )
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore", gs.GrisailleWarning)
    if sys.argv[1:2] == ["write"]:
        storage, name, outputs = sys.argv[2:]
        with suppress(KeyboardInterrupt):
            write_until_told(storage, name, int(outputs))
    else:
        results: list[Row] = []
        for table in sys.argv[1:] or TABLES:
            rows, outputs = map(int, table.split("x"))
            for same in (False, True):
                results += measure(rows, outputs, same)
                for row in results[-6:]:
                    print(row, flush=True)
        write_result("studies_turns", {"tells": TELLS, "waits": results})

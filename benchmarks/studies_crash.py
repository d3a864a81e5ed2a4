"""Kill a study within its writes and syncs, and let the power fail between them.

    python -m benchmarks.studies_crash kills [AT_MOST] [FIRST_CALL]
    python -m benchmarks.studies_crash power [LOSSES]

A small study with failures and observed answers runs in a SQLite file, is closed and opened again.
`kills` ends it before, within and after every write, sync, truncation and removal of the database's
files. `power` logs all of these, and rebuilds the files as a disk may hold them at any moment: what
was synced, and any part of what was not, whole or torn. Then the study is opened again. Everything
acknowledged before must be there, no answer twice, and the study must end as an unbroken one does.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.forked_children import import_what_is_needed, in_child
from benchmarks.results_folder import write_result
from benchmarks.watched_files import Disk, Moment, preload, read_calls, remove_library

STUDY = "crashed"
_LIBRARY = preload()
Answers = list[list[Any]]


def work(folder: Path, acknowledge: Callable[[int], None]) -> dict[str, Any]:
    """Run the study to its end, from wherever it is; returns what it found."""
    import grisaille as gs
    from benchmarks.study_internals import after_each_write

    x = gs.Variable("x", 2, lower=-1, upper=1)

    def first(x: Any) -> Any:
        if x[0] > 0.5:
            raise ValueError("no steady state")
        return [x[0] + 0.5 * x[1], x[1] ** 2]

    inner = gs.BlackBox(first, name="first", outputs=2, noise=0)(x)
    outer = gs.BlackBox(lambda y: float(y[0] ** 2 + y[1]), name="second", noise=0)
    problem = gs.Problem(minimize=outer(inner), subject_to=[inner[0] >= -0.5])

    def session(trials: int) -> gs.Study:
        study = gs.Study(
            problem, strategy=gs.RandomSearch(), storage=f"sqlite:///{folder}/s.db", name=STUDY
        )
        after_each_write(study, lambda: acknowledge(study.state.position))
        acknowledge(study.state.position)
        if not study.state.elsewhere():
            study.observe("second", [[0.1, 0.2]], [[0.21]])
        study.run(trials, progress=False)
        return study

    session(3).close()
    with session(6) as study:
        points = [entry.suggestion.x.tolist() for entry in study.state.trials.values()]
        objectives = [trial.objective for trial in study.history]
        return {"points": points, "objectives": objectives, "events": study.state.position}


def recorded(folder: Path) -> tuple[int, Answers, bool]:
    """How many events a copy of the files holds, all answers, and whether SQLite finds it sound."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = shutil.copytree(folder, Path(scratch) / "copy")
        with closing(sqlite3.connect(copy / "s.db")) as connection:
            sound = connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                return 0, [], sound
            rows = connection.execute(
                "SELECT number, kind, data FROM grisaille_events ORDER BY number"
            ).fetchall()
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    told = [json.loads(data) for _number, kind, data in rows if kind == "told"]
    return len(rows), [[t["query"], t["outputs"]] for t in told], sound


def check_after(folder: Path, acknowledged: int, unbroken: dict[str, Any]) -> dict[str, bool]:
    """What went wrong with a study that was broken off: nothing, if all is False."""
    events, told, sound = recorded(folder)
    said, ended = in_child(lambda _pipe: work(folder, lambda _number: None))
    _all, finally_told, sound_later = recorded(folder)
    ids = [query for query, _outputs in finally_told]
    found = said[-1] if ended else {}
    return {
        "lost": events < acknowledged or finally_told[: len(told)] != told,
        "doubled": len(ids) != len(set(ids)),
        "unsound": not (sound and sound_later),
        "did not go on": not ended,
        "other decisions": any(found.get(k) != unbroken[k] for k in ("points", "objectives")),
    }


def unbroken_run(scratch: Path) -> tuple[dict[str, Any], int, Path]:
    """What the study finds without an accident, how many calls it makes, and their log."""
    folder, log = scratch / "unbroken", scratch / "calls"
    folder.mkdir()

    def task(_pipe: int) -> dict[str, Any]:
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        _LIBRARY.watch(str(folder).encode(), file, 0, 0)
        found = work(folder, lambda number: _LIBRARY.acknowledge(number))
        return found | {"calls": _LIBRARY.count_watched()}

    said, ended = in_child(task)
    assert ended
    return said[-1], said[-1]["calls"], log


def kills(scratch: Path, at_most: int, first: int) -> dict[str, Any]:
    """Kill before, within and after every call, from the first one that is wanted."""
    unbroken, calls, _log = unbroken_run(scratch)
    places = [(at, moment) for at in range(first, calls + 1) for moment in Moment][:at_most]
    wrong: Counter[str] = Counter()
    killed = not_reached = 0
    for at, moment in places:
        folder = scratch / f"{at}-{moment}"
        folder.mkdir()

        def task(pipe: int, folder: Path = folder, at: int = at, moment: Moment = moment) -> Any:
            _LIBRARY.watch(str(folder).encode(), -1, at, moment)
            return work(folder, lambda number: os.write(pipe, f"{number}\n".encode()) and None)

        said, ended = in_child(task)
        not_reached += ended
        killed += not ended
        if not ended:
            found = check_after(folder, said[-1] if said else 0, unbroken)
            wrong.update(what for what, bad in found.items() if bad)
        shutil.rmtree(folder)
        if killed % 20 == 0:
            print(f"{killed} kills, wrong: {dict(wrong)}", flush=True)
    covered = [first, places[-1][0]]
    return {
        "calls": calls,
        "calls_covered": covered,
        "kills": killed,
        "not_reached": not_reached,
        "wrong": dict(wrong),
    }


def power(scratch: Path, losses: int, _first: int) -> dict[str, Any]:
    """Let the power fail at every moment, again and again until there were enough losses."""
    unbroken, calls, log = unbroken_run(scratch)
    generator = random.Random(0)
    logged = list(read_calls(log))
    rounds = -(-losses // (len(logged) + 1))
    wrong: Counter[str] = Counter()
    done = 0
    for _round in range(rounds):
        disk = Disk()
        for call in [None, *logged]:
            if call is not None:
                disk.apply(call)
            folder = scratch / f"loss-{done}"
            folder.mkdir()
            for name, content in disk.after_power_loss(generator).items():
                (folder / name).write_bytes(content)
            found = check_after(folder, disk.acknowledged, unbroken)
            wrong.update(what for what, bad in found.items() if bad)
            shutil.rmtree(folder)
            done += 1
            if done % 20 == 0:
                print(f"{done} power losses, wrong: {dict(wrong)}", flush=True)
            if done == losses:
                break
    return {"calls": calls, "power_losses": done, "wrong": dict(wrong)}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        import_what_is_needed(lambda: work(Path(folder), lambda _number: None))
    task = {"kills": kills, "power": power}[sys.argv[1]]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    scratch = Path(tempfile.mkdtemp(prefix="grisaille-crash-"))
    started = time.perf_counter()
    try:
        result = task(scratch, count, first)
    finally:
        shutil.rmtree(scratch)
        remove_library()
    result["seconds"] = round(time.perf_counter() - started, 1)
    print(json.dumps(result))
    name = f"studies_crash_{sys.argv[1]}" + (f"_from_{first}" if first > 1 else "")
    write_result(name, result, "studies_crash")


if __name__ == "__main__":
    main()

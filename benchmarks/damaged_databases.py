"""Damage databases in many ways, and check what every command says about them.

    python -m benchmarks.damaged_databases [--bits 300] [--every 1]

Events are tampered with (missing fields, wrong types and numbers, unknown kinds, missing and
repeated events, broken JSON), with their checksums as recorded and without any, as in databases of
version 0.1; bits of the file are flipped, and the file is cut off. Each command then runs on a copy
of each database, in this process. No command may print a traceback or hang, and no study may open
with other numbers than were recorded. The numbers of an event without a checksum may change
unnoticed: such cases are counted apart.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import shutil
import signal
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grisaille as gs
from benchmarks.results_folder import write_result, write_rows
from grisaille.views.cli import main

STUDY = "plant"
# A command that takes longer counts as one that hangs, in seconds.
PATIENCE = 60

MODEL = """
import grisaille as gs

flow = gs.Variable("flow", 2, lower=-1, upper=1)
heat = gs.Variable("heat", lower=0, upper=2)

def mix(x):
    return [x[0] + 0.5 * x[1], x[1] ** 2]

def react(y, heat):
    if y[0] + y[1] > 0.9:
        raise ValueError("no steady state")
    return (y[0] - 0.2) ** 2 + y[1] + 0.3 * (heat - 1) ** 2

mixed = gs.BlackBox(mix, name="mix", outputs=["acid", "salt"], noise=0)(flow)
outcome = gs.BlackBox(react, name="react", noise=0, cost=3.0)(mixed, heat)
problem = gs.Problem(maximize=2 - outcome, subject_to=[mixed[0] >= -0.5])
strategy = gs.RandomSearch()
"""


@dataclass(frozen=True, slots=True)
class Damage:
    """One way to damage a database.

    Attributes:
        kind: What is done, for the table of results.
        what: The same in detail.
        do: Does it to a file.
        may_change: Whether nothing can tell that numbers are others: an event has no checksum.
    """

    kind: str
    what: str
    do: Callable[[Path], None]
    may_change: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command did with a damaged database.

    Attributes:
        code: Its exit code; None if an exception escaped.
        output: What it printed.
        errors: What it printed as errors.
        hung: Whether it was stopped.
    """

    code: int | None
    output: str
    errors: str
    hung: bool = False

    @property
    def is_raw(self) -> bool:
        """Whether a traceback was printed, or an exception escaped."""
        return not self.hung and (self.code is None or "Traceback" in self.errors)


def make_study(folder: Path) -> str:
    """Make the study that is damaged, with failures, observed answers and an open query.

    Returns the id of the open query.
    """
    (folder / "model.py").write_text(MODEL)
    problem: dict[str, Any] = {}
    exec(MODEL, problem)
    storage = f"sqlite:///{folder}/study.db"
    given: dict[str, Any] = {"name": STUDY, "storage": storage, "strategy": gs.RandomSearch()}
    given["problem"] = problem["problem"]
    with gs.Study(**given) as study:
        study.observe("react", [[0.1, 0.2, 1.0], [0.5, 0.1, 0.5]], [[0.21], [0.265]])
        study.run(4, progress=False)
        for _attempt in range(2):
            (first,) = study.ask(trials=7)
            study.fail(first, "the pump was off")
    with gs.Study(seed=1, allow_changes=True, **given) as study:
        (first,) = study.ask(trials=7)
        study.release(first)
        first, _second = study.ask(2, trials=7)
    gs.Study(**{**given, "name": "other"}).close()
    return str(first.id)


def tampered(database: Path) -> Iterator[Damage]:
    """Damages to single events, with the recorded checksum and with none."""
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute(
            "SELECT number, kind, data FROM grisaille_events WHERE study=1 ORDER BY number"
        ).fetchall()
    by_kind = {kind: (number, json.loads(data)) for number, kind, data in reversed(rows)}
    last = rows[-1][0]
    for kind, (number, data) in by_kind.items():
        for name, changed, how in _changed_data(data):
            yield from _with_and_without_checksum(
                how, f"{kind}: {name}", "UPDATE grisaille_events SET data=?", (changed,), number
            )
        for column, value in _changed_columns(kind):
            yield from _with_and_without_checksum(
                f"wrong {column}",
                f"{kind}: {value!r}",
                f"UPDATE grisaille_events SET {column}=?",
                (value,),
                number,
            )
    for number in (1, 2, last // 2, last - 1, last):
        statement = "DELETE FROM grisaille_events WHERE study=1 AND number=?"
        yield Damage("missing event", f"event {number}", _sql(statement, (number,)))
    for number in (1, 3, last // 2, last):
        copy = (
            "INSERT INTO grisaille_events SELECT study, ?, kind, time, data, batch, {} FROM "
            "grisaille_events WHERE study=1 AND number=?"
        )
        values = (last + 1, number)
        what = f"event {number} as the last"
        yield Damage("repeated event", what, _sql(copy.format("checksum"), values))
        yield Damage(
            "repeated event", f"{what}, no checksum", _sql(copy.format("NULL"), values), True
        )
    for statement in (
        "UPDATE grisaille_schema SET version='x'",
        "UPDATE grisaille_schema SET version=99",
        "DELETE FROM grisaille_schema",
        "UPDATE grisaille_studies SET decider=7, events='many'",
        "UPDATE grisaille_studies SET events=1000",
        "UPDATE grisaille_studies SET id=77 WHERE id=1",
        "UPDATE grisaille_studies SET name=x'ff' WHERE id=1",
        "UPDATE grisaille_workers SET process='x', seen='y', lease='z'",
        "DROP TABLE grisaille_workers",
        "DROP TABLE grisaille_events",
        "ALTER TABLE grisaille_events DROP COLUMN checksum",
        "ALTER TABLE grisaille_events DROP COLUMN batch",
    ):
        yield Damage("wrong table", statement, _sql(statement))


def _changed_data(data: dict[str, Any]) -> Iterator[tuple[str, str | None, str]]:
    """Where the data of an event are changed, to what, and how."""
    for path, value in _places(data):
        name = ".".join(map(str, path))
        if isinstance(path[-1], str):
            yield name, _replaced(data, path, None, remove=True), "missing field"
        for wrong in (None, "text", ["list"], {"a": 1}, True, -1, 1e308, 10**400):
            if type(wrong) is not type(value):
                yield f"{name} = {str(wrong)[:20]}", _replaced(data, path, wrong), "wrong type"
        if isinstance(value, int | float) and not isinstance(value, bool):
            for other in (value + 1, value * 1.5 + 0.25, float("nan"), -1e300):
                yield f"{name} = {other}", _replaced(data, path, other), "wrong number"
        if isinstance(value, str):
            for text in ("", "\ud800", value + "x", "999-1"):
                yield f"{name} = {text!r}", _replaced(data, path, text), "wrong text"
        if isinstance(value, list) and value:
            yield f"{name} one less", _replaced(data, path, value[1:]), "wrong length"
            yield f"{name} one more", _replaced(data, path, [*value, value[0]]), "wrong length"
    text = json.dumps(data)
    for broken in (text[:-1], text[: len(text) // 2], "", "[]", "null", "[" * 100000, "{}"):
        yield f"JSON {broken[:10]!r}", broken, "broken JSON"


def _changed_columns(kind: str) -> Iterator[tuple[str, Any]]:
    yield from (("kind", other) for other in ("unknown", "", "told", "completed") if other != kind)
    yield from (("time", other) for other in ("x", -1.0, 1e300, b"\xff"))
    yield from (("number", other) for other in (1000, -3, "x"))
    yield from (("data", other) for other in (b"\xff\xfe", 7))
    yield ("batch", "other")
    yield ("checksum", "0123456789abcdef")


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every place within plain data, except the whole; of a list the first entry only."""
    if path:
        yield path, value
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _places(part, (*path, key))
    if isinstance(value, list) and value:
        yield from _places(value[0], (*path, 0))


def _replaced(data: Any, path: tuple[Any, ...], value: Any, remove: bool = False) -> str:
    copy = json.loads(json.dumps(data))
    part = copy
    for key in path[:-1]:
        part = part[key]
    if remove:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return json.dumps(copy)


def _with_and_without_checksum(
    kind: str, what: str, statement: str, values: tuple[Any, ...], number: int
) -> Iterator[Damage]:
    where = " WHERE study=1 AND number=?"
    yield Damage(kind, what, _sql(statement + where, (*values, number)))
    if "checksum=" not in statement:
        without = f"{statement}, checksum=NULL{where}"
        yield Damage(kind, f"{what}, no checksum", _sql(without, (*values, number)), True)


def _sql(statement: str, values: tuple[Any, ...] = ()) -> Callable[[Path], None]:
    def do(file: Path) -> None:
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute(statement, values)

    return do


def flipped(size: int, bits: int, cuts: int, generator: random.Random) -> Iterator[Damage]:
    """Single flipped bits, and files that are cut off."""
    for _ in range(bits):
        place, bit = generator.randrange(size), generator.randrange(8)
        yield Damage("flipped bit", f"bit {bit} of byte {place}", _flip(place, bit))
    for _ in range(cuts):
        length = generator.randrange(size)
        yield Damage("cut off", f"after {length} bytes", _cut(length))


def _flip(place: int, bit: int) -> Callable[[Path], None]:
    def do(file: Path) -> None:
        content = bytearray(file.read_bytes())
        content[place] ^= 1 << bit
        file.write_bytes(bytes(content))

    return do


def _cut(length: int) -> Callable[[Path], None]:
    def do(file: Path) -> None:
        os.truncate(file, length)

    return do


def commands(folder: Path, query: str) -> dict[str, list[str]]:
    """The command lines that are run, by name; all but `solve` and `create`."""
    file = ["--file", str(folder / "model.py")]
    return {
        "export": ["export", STUDY, "--format", "json"],
        "status": ["status"],
        "show": ["show", STUDY],
        "result": ["result", STUDY, *file],
        "ask": ["ask", STUDY, *file],
        "tell": ["tell", STUDY, query, "[0.1, 0.2]", *file],
        "resume": ["resume", STUDY, "--trials", "7", "--quiet", *file],
        "check": ["check"],
        "save": ["check", STUDY, "--save", f"sqlite:///{folder}/saved.db"],
    }


def call(arguments: list[str]) -> Outcome:
    """Run a command in this process."""
    return _caught(lambda: main(arguments))


def open_in_python(storage: str, problem: gs.Problem) -> Outcome:
    """Open the study as a program does."""

    def run() -> int:
        try:
            with gs.Study(
                problem, name=STUDY, storage=storage, strategy=gs.RandomSearch()
            ) as study:
                study.result()
        except gs.GrisailleError:
            return 3
        return 0

    return _caught(run)


def _caught(run: Callable[[], int]) -> Outcome:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    output, errors = io.StringIO(), io.StringIO()
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    code, hung = None, False
    try:
        with redirect_stdout(output), redirect_stderr(errors):
            code = run()
        hung = code == 130
    except KeyboardInterrupt:
        hung = True
    except SystemExit as stopped:  # the call itself is wrong
        code = int(str(stopped.code))
    except Exception as error:
        errors.write(f"Traceback: {error!r}")
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return Outcome(code, output.getvalue(), errors.getvalue(), hung)


class Bench:
    """A folder with a study, and what each command does with damaged copies of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.query = make_study(folder)
        self.database = folder / "study.db"
        self.copy = folder / "damaged.db"
        found: dict[str, Any] = {}
        exec(MODEL, found)
        self.problem = found["problem"]
        self.recorded = self.run("export", Damage("", "", lambda _file: None)).output
        assert json.loads(self.recorded)["trials"]

    def damages(self, bits: int, cuts: int) -> list[Damage]:
        """All damages there are."""
        size = self.database.stat().st_size
        return [*tampered(self.database), *flipped(size, bits, cuts, random.Random(0))]

    def names(self) -> list[str]:
        """The commands, and how a program opens a study."""
        return [*commands(self.folder, self.query), "gs.Study"]

    def run(self, name: str, damage: Damage) -> Outcome:
        """Run a command on a fresh copy with one damage."""
        saved = self.folder / "saved.db"
        for file in (self.copy, saved):
            for end in ("", "-wal", "-shm", "-journal"):
                Path(f"{file}{end}").unlink(missing_ok=True)
        shutil.copy(self.database, self.copy)
        damage.do(self.copy)
        storage = f"sqlite:///{self.copy}"
        if name == "gs.Study":
            return open_in_python(storage, self.problem)
        outcome = call([*commands(self.folder, self.query)[name], "--storage", storage])
        if name == "save" and saved.exists():  # what was saved is whole
            again = call(["export", STUDY, "--storage", f"sqlite:///{saved}"])
            if again.code != 0:
                return Outcome(None, outcome.output, f"Traceback: saved, but {again.errors}")
        return outcome

    def is_changed(self, outcome: Outcome) -> bool:
        """Whether an export succeeded with other numbers than were recorded."""
        return outcome.code == 0 and outcome.output != self.recorded


def measure(bits: int, cuts: int, every: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="grisaille-damaged-"))
    os.environ["XDG_CONFIG_HOME"] = str(folder)
    started = time.perf_counter()
    counts: dict[str, Counter[str]] = {}
    try:
        bench = Bench(folder)
        for number, damage in enumerate(bench.damages(bits, cuts)[::every], 1):
            row = counts.setdefault(damage.kind, Counter())
            row["databases"] += 1
            for name in bench.names():
                outcome = bench.run(name, damage)
                row["calls"] += 1
                row["refused"] += outcome.code not in (0, 1, None)
                row["tracebacks"] += outcome.is_raw
                row["hangs"] += outcome.hung
                changed = name == "export" and bench.is_changed(outcome)
                row["unnoticed_without_a_checksum"] += changed and damage.may_change
                row["changed_numbers"] += changed and not damage.may_change
                if outcome.is_raw or outcome.hung or (changed and not damage.may_change):
                    print(name, damage.kind, damage.what, outcome.errors[-300:], flush=True)
            if number % 100 == 0:
                print(f"{number} databases", flush=True)
    finally:
        shutil.rmtree(folder)
    columns = ["databases", "calls", "refused", "tracebacks", "hangs", "changed_numbers"]
    columns.append("unnoticed_without_a_checksum")
    rows = [{"damage": kind, **{c: row[c] for c in columns}} for kind, row in counts.items()]
    total = {c: sum(row[c] for row in counts.values()) for c in columns}
    seconds = round(time.perf_counter() - started)
    print(json.dumps(total), seconds)
    write_rows("damaged_databases", rows)
    write_result("damaged_databases", {**total, "seconds": seconds})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bits", type=int, default=300)
    parser.add_argument("--cuts", type=int, default=60)
    parser.add_argument("--every", type=int, default=1, help="use every n-th damage only")
    options = parser.parse_args()
    measure(options.bits, options.cuts, options.every)

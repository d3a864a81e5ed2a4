"""Wrong command lines: each option and argument of each command, with what may be mistyped."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.wrong_inputs.outcome import (
    ACCEPTED,
    RAW,
    REFUSED,
    UNCLEAR,
    Outcome,
    complaint_about,
)
from benchmarks.wrong_inputs.wrong_files import PROBLEM, SHEETS, TABLES, WRONG_PROBLEMS
from grisaille.views.cli import main

STUDY = "s"
ASKED = "1-1"
TOLD = "5/1"
# The text of an exception in a user's file may be this long.
_MOST_CHARACTERS = 5000
_HUGE = "9" * 400
_LONG = "x" * 20_000
_ESCAPES = "a\x1b[2J\x07b"

_NO_COUNTS = [
    "0",
    "-1",
    "1.5",
    "abc",
    "",
    " ",
    "nan",
    "inf",
    "True",
    "0x10",
    "1,000",
    _HUGE,
    "9" * 5000,
    _LONG,
    _ESCAPES,
]
_NO_AMOUNTS = [
    "-1",
    "abc",
    "",
    " ",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "1,5",
    "[1]",
    "1 2",
    "True",
    _LONG,
    _ESCAPES,
]
_NO_SEEDS = ["-1", "1.5", "abc", "", "nan", "True", "9" * 5000, _LONG, _ESCAPES]
_NO_STUDIES = [
    "t",
    "",
    " ",
    "S",
    "study.db",
    "model.py",
    "s/../s",
    "sqlite:///study.db",
    _LONG,
    _ESCAPES,
    "\udc80",
]
_NO_IDS = ["", " ", "1-2", "99-1", "1", "abc", "1-1 ", "-1-1", _LONG, _ESCAPES]
_NO_STORAGES = [
    "foo",
    "",
    " ",
    "study.db",
    "memory",
    "sqlite:",
    "sqlite://",
    "sqlite:///",
    "sqlite:///:memory:",
    "sqlite:///nowhere/study.db",
    "sqlite:///folder",
    "sqlite:///model.py",
    "sqlite:///missing.db",
    "sqlite:///file:study.db?uri=true",
    "sqlite:///study.db?timeout=abc",
    f"sqlite:///{_LONG}",
    "sqlite+nothing:///study.db",
    "mysql://user:secret@host/database",
    "http://example.org/study.db",
    "postgresql://user:secret@host:port/database",
    "postgresql+nothing://user@host/database",
    "postgresql+psycopg://user@a@b/database",
    "postgresql+psycopg:user@host",
    "://",
    _LONG,
    _ESCAPES,
]
_NO_ANSWERS = [
    "", " ", "abc", "[", "[]", "[1, 2]", "{}", '{"a": 1}', '{"f": }', "true", "null", "NaN",
    "-Infinity", "1e999", '"3"', "[[1], [2, 3]]", "[true]", "[null]", "1 2", "0x1", "1,5",
    "[" * 100_000, "9" * 5000, '{"f": {"f": 1}}', "[[[]]]", '["a"]', _LONG, _ESCAPES,
]  # fmt: skip
_NO_STREAMS = [
    "abc",
    "[",
    "[1]",
    "{}",
    "null",
    "[null]",
    '{"id": "1-1"}',
    '{"value": 1}',
    '{"id": 1, "value": 1}',
    '{"id": "1-1", "value": 1, "failed": "x"}',
    '{"id": "1-1", "value": "abc"}',
    '{"id": "1-1", "value": true}',
    '{"id": "1-1", "value": NaN}',
    '{"id": "1-1", "value": null}',
    '{"id": "1-1", "value": [1, 2]}',
    '{"id": "1-1", "value": 1, "seconds": -1}',
    '{"id": "1-1", "value": 1, "seconds": "long"}',
    '{"id": "1-1", "value": 1, "seconds": 1e999}',
    '{"id": "1-1", "failed": ""}',
    '{"id": "1-1", "failed": 3}',
    '{"id": "1-1", "failed": null}',
    '{"id": "1-1", "value": 1, "colour": "red"}',
    '{"id": "9-9", "value": 1}',
    '{"id": "1-1", "value": 1}\nabc',
    '[{"id": "1-1", "value": 1}',
    "[" * 100_000,
    '{"id": "1-1", "value": ' + "9" * 5000 + "}",
    _ESCAPES,
    '{"id": "' + _LONG + '", "value": 1}',
]
_NO_INPUTS = [*_NO_ANSWERS, '{"y": 1}', '{"x": "a"}', '{"x": [1]}', "NaN"]
_NO_INPUTS.remove("{}")  # nothing differs from what was asked for
_NO_POINTS = [
    "x", "=", "x=", "=3", "y=0.5", "x=abc", "x=[0.5,0.5]", "x=true", "x=null", "x=NaN", "x=9",
    "x=0.5,0.5", "X=0.5", "", " ", f"x={_HUGE}", _LONG, _ESCAPES,
]  # fmt: skip
_NO_PICTURES = ["nowhere/p.png", "folder", "p.abc", "", _LONG + ".png", "study.db/p.png"]
_NO_OUTPUTS = ["nowhere/o.csv", "folder", "", _LONG + ".csv", "study.db/o.csv"]
_NO_OPTUNA = [
    "foo",
    "",
    " ",
    "sqlite:///nowhere/o.db",
    "sqlite:///folder",
    "redis://x",
    "mysql://u:p@h/d",
    _ESCAPES,
]
_NO_REPORTS = ["nowhere/r.html", "folder", "", _LONG + ".html", "study.db/r.html"]
_NO_PORTS = [*_NO_COUNTS, "99999999", "80x"]
_NO_HOSTS = ["", " ", "no.host.invalid", "999.1.1.1", "::zz", "\udc80", _LONG, _ESCAPES]
_NO_TOKENS = ["abc", "", "x" * 40, _ESCAPES, _LONG]
_NO_TOKEN_FILES = ["short_token", "loose_token", "strange_token", "missing", "folder", "", "\udc80"]
_NO_FILES = [
    *WRONG_PROBLEMS,
    "missing.py",
    "folder",
    "folder.py",
    "table.csv",
    "study.db",
    "",
    " ",
    "-",
    "model",
    _LONG + ".py",
    "a\x1b.py",
    "study.db/model.py",
]

# The options and arguments that are right, with which each command runs.
_RIGHT: dict[str, list[str]] = {
    "solve": ["model.py", "--trials", "2", "--quiet"],
    "resume": [STUDY, "--trials", "2", "--quiet", "--file", "model.py"],
    "worker": [STUDY, "--trials", "2", "--file", "model.py"],
    "status": [],
    "show": [STUDY],
    "result": [STUDY, "--file", "model.py"],
    "create": ["model.py", "--study", "new"],
    "ask": [STUDY, "--file", "model.py"],
    "tell": [STUDY, ASKED, "0.5", "--file", "model.py"],
    "fail": [STUDY, ASKED, "broke", "--file", "model.py"],
    "release": [STUDY, ASKED, "--file", "model.py"],
    "observe": [STUDY, "f", "table.csv", "--file", "model.py"],
    "answers": [STUDY, "--file", "model.py"],
    "correct": [STUDY, TOLD, "0.5", "--file", "model.py"],
    "retract": [STUDY, TOLD, "--file", "model.py"],
    "enqueue": [STUDY, "x=0.5", "--file", "model.py"],
    "export": [STUDY],
    "delete": [STUDY, "--yes"],
    "report": [STUDY, "--output", "r.html", "--file", "model.py"],
    "check": [STUDY],
    "diagram": ["model.py"],
    "compare": ["model.py", "--seeds=1", "--trials=2", "--strategies=SobolSearch", "--quiet"],
}

_RESUMING = ["resume", "worker"]
_ANSWERING = ["ask", "tell", "fail", "release", "observe"]
_ANSWERING += ["answers", "correct", "retract", "enqueue"]
_READING = ["status", "show", "result", "export", "report", "check"]

# A storage that is made when it is missing.
_RIGHT_AFTER_ALL = {(command, "sqlite:///missing.db") for command in ("status", "create", "check")}
# What is wrong for each option, and the commands to try it with.
_NO_OPTIONS: dict[str, tuple[list[str], list[str]]] = {
    "--trials": (_NO_COUNTS, ["demo", "solve", "resume", "worker", "create", "ask", "compare"]),
    "--seeds": (_NO_COUNTS, ["compare"]),
    "--strategies": (["", ",", "optimistic", "Optimistic;LogEI", _LONG, _ESCAPES], ["compare"]),
    "--folder": (["model.py", "study.db/o", _LONG, "a\0b"], ["compare"]),
    "--max-cost": (_NO_AMOUNTS, ["solve", "resume", "worker", "create"]),
    "--gap-tol": (_NO_AMOUNTS, ["solve", "resume", "create"]),
    "--workers": (_NO_COUNTS, ["solve", "resume", "compare"]),
    "--timeout": (_NO_AMOUNTS, ["solve", "resume"]),
    "--seed": (_NO_SEEDS, ["demo", "solve", "create"]),
    "--evaluation": (["", "both", "Separate", _LONG, _ESCAPES], ["solve", "create"]),
    "--inputs": (_NO_INPUTS, ["tell", "correct"]),
    "--box": (["", "g", "F", "f ", _LONG, _ESCAPES], ["answers"]),
    "--csv": (_NO_OUTPUTS, ["answers"]),
    "--lease": ([*_NO_AMOUNTS, "0"], ["ask"]),
    "-n": (_NO_COUNTS, ["ask"]),
    "--seconds": (_NO_AMOUNTS, ["tell"]),
    "--last": (_NO_COUNTS, ["show"]),
    "--format": (["", "xml", "CSV", _LONG, _ESCAPES], ["export", "diagram"]),
    "--output": (_NO_OUTPUTS, ["export"]),
    "--optuna": (_NO_OPTUNA, ["export"]),
    "--plot": (_NO_PICTURES, ["solve", "resume"]),
    "--file": (_NO_FILES, [*_RESUMING, *_ANSWERING, "result", "report"]),
    "--storage": (_NO_STORAGES, [*_RESUMING, *_ANSWERING, *_READING, "create", "delete"]),
    "--study": (["", " ", _LONG, "\udc80"], ["solve", "create"]),
    "-o": (_NO_REPORTS, ["report"]),
    "--port": (_NO_PORTS, ["dashboard"]),
    "--host": (_NO_HOSTS, ["dashboard"]),
    "--token": (_NO_TOKENS, ["dashboard"]),
    "--token-file": (_NO_TOKEN_FILES, ["dashboard"]),
    "--save": (_NO_STORAGES, ["check"]),
}  # fmt: skip


@dataclass(frozen=True)
class WrongCommand:
    """A command line with one mistake."""

    arguments: tuple[str, ...]
    stdin: str = ""

    @property
    def name(self) -> str:
        """The command line, cut to a readable length."""
        shown = [a if len(a) < 60 else f"{a[:57]}..." for a in self.arguments]
        typed = f" < {self.stdin[:60]!r}" if self.stdin else ""
        return json.dumps(["grisaille", *shown]) + typed


def wrong_commands() -> list[WrongCommand]:
    """All wrong command lines, in a fixed order."""
    return list(_commands())


def _commands() -> Iterator[WrongCommand]:
    for option, (texts, commands) in _NO_OPTIONS.items():
        for command in commands:
            for text in texts:
                if (command, text) in _RIGHT_AFTER_ALL:
                    continue
                yield WrongCommand((command, *_RIGHT.get(command, ()), option, text))
                if text[:1] == "-" or not text:
                    yield WrongCommand((command, *_RIGHT.get(command, ()), f"{option}={text}"))
            yield WrongCommand((command, *_RIGHT.get(command, ()), option))
    for command, (first, *rest) in ((c, r) for c, r in _RIGHT.items() if r):
        for text in _NO_FILES if first == "model.py" else _NO_STUDIES:
            yield WrongCommand((command, text, *rest))
        if command != "check":  # it checks all studies
            yield WrongCommand((command,))
        yield WrongCommand((command, first, *rest, "more"))
    for command in _RIGHT:
        for option in ("--colour", "--trial-count", "-x", "--file=", "--storage", "--n", _ESCAPES):
            yield WrongCommand((command, *_RIGHT[command], option))
    for command in ("tell", "fail", "release", "correct", "retract"):
        study, _, *rest = _RIGHT[command]
        for text in _NO_IDS:
            yield WrongCommand((command, study, text, *rest))
    for text in _NO_ANSWERS:
        yield WrongCommand(("tell", STUDY, ASKED, text, "--file", "model.py"))
        yield WrongCommand(("tell", STUDY, ASKED, "-", "--file", "model.py"), text)
        yield WrongCommand(("correct", STUDY, TOLD, text, "--file", "model.py"))
    for text in _NO_POINTS:
        yield WrongCommand(("enqueue", STUDY, text, "--file", "model.py"))
    for text in ("", " ", "\t\n"):
        yield WrongCommand(("retract", STUDY, TOLD, text, "--file", "model.py"))
    for text in _NO_STREAMS:
        yield WrongCommand(("tell", STUDY, "-", "--file", "model.py"), text)
    for text in ("", " ", "\t\n"):
        yield WrongCommand(("fail", STUDY, ASKED, text, "--file", "model.py"))
    for table in [
        *TABLES,
        "missing.csv",
        "folder",
        "study.db",
        "model.py",
        "",
        _LONG,
        "study.db/t.csv",
    ]:
        yield WrongCommand(("observe", STUDY, "f", table, "--file", "model.py"))
        if table != "one_column.csv":  # a table of points
            yield WrongCommand(("enqueue", STUDY, "--csv", table, "--file", "model.py"))
        yield WrongCommand(("tell", STUDY, "--csv", table, "--file", "model.py"))
    for sheet in SHEETS:
        yield WrongCommand(("tell", STUDY, "--csv", sheet, "--file", "model.py"))
    for sheet in ("table.csv", "model.py", "folder", "nowhere/s.csv", "", "unrecorded.csv", _LONG):
        yield WrongCommand(("ask", STUDY, "--csv", sheet, "--file", "model.py"))
    yield WrongCommand(("ask", STUDY, "--pending", "--file", "model.py"))
    yield WrongCommand(("ask", STUDY, "--semicolons", "--file", "model.py"))
    yield WrongCommand(("tell", STUDY, ASKED, "0.5", "--csv", "right.csv", "--file", "model.py"))
    yield WrongCommand(("enqueue", STUDY, "x=0.5", "--csv", "points.csv", "--file", "model.py"))
    yield WrongCommand(("enqueue", STUDY, "x=0.5", "x=0.5", "--file", "model.py"))
    for box in ("", "g", "F", "f ", _LONG, _ESCAPES):
        yield WrongCommand(("observe", STUDY, box, "table.csv", "--file", "model.py"))
    for word in ("", "-", "sovle", "SOLVE", "--help-me", "help", "model.py", _LONG, _ESCAPES):
        yield WrongCommand((word,))
    yield WrongCommand(("delete", STUDY))
    yield WrongCommand(("create", "model.py", "--study", STUDY))
    yield WrongCommand(("solve", "model.py", "--storage", "sqlite:///study.db"))
    yield WrongCommand(("solve", "model.py", "--allow-changes"))
    yield WrongCommand(("export", STUDY, "--optuna", "sqlite:///o.db", "--format", "csv"))


_FILES: dict[str, str | bytes] = {
    "model.py": PROBLEM,
    "points.csv": "x\n0.5\n0.75\n",
    "right.csv": "id,x,f,failed\n1-1,0.5,0.25,\n",
    "short_token": "short",
    "loose_token": "x" * 40,
    "strange_token": b"\xff\xfe" * 40,
    **WRONG_PROBLEMS,
    **TABLES,
    **SHEETS,
}


class Folder:
    """A folder with a problem, a study with one pending query, and many wrong files.

    Args:
        path: An empty folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "folder").mkdir()
        (path / "folder.py").mkdir()
        for name, content in _FILES.items():
            (path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
            if name.endswith("_token"):
                (path / name).chmod(0o644 if name == "loose_token" else 0o600)
        (path / "table.csv").write_text("x,f\n0.5,0.25\n0.75,0.5\n")
        for arguments in (
            ["create", "model.py", "--study", STUDY, "--trials", "3"],
            ["ask", STUDY, "--file", "model.py"],
            ["observe", STUDY, "f", "table.csv", "--file", "model.py"],
        ):
            assert self.run(WrongCommand(tuple(arguments)))[0] == 0
        shutil.copy(path / "study.db", path / "study.db.kept")

    def run(self, command: WrongCommand) -> tuple[Any, str, str]:
        """Exit code, or the exception that got out; standard output; standard error."""
        out, err = io.StringIO(), io.StringIO()
        code: Any
        with (
            chdir(self.path),
            redirect_stdout(out),
            redirect_stderr(err),
            patch.object(sys, "stdin", io.StringIO(command.stdin)),
            patch.dict(os.environ, {"XDG_CONFIG_HOME": str(self.path / "config")}),
        ):
            try:
                code = main(list(command.arguments))
            except SystemExit as stop:
                code = stop.code
            except BaseException as error:
                code = error
        return code, out.getvalue(), err.getvalue()

    def restore(self) -> None:
        """Bring the study back to where it was."""
        for leftover in self.path.glob("study.db-*"):
            leftover.unlink()
        shutil.copy(self.path / "study.db.kept", self.path / "study.db")

    def outcome(self, command: WrongCommand) -> Outcome:
        """Run a wrong command line.

        It is refused well if it ends with exit code 2 or 3, and with a readable sentence.
        """
        code, _, err = self.run(command)
        self.restore()
        if isinstance(code, BaseException) or "Traceback (most recent call last)" in err:
            return Outcome(RAW, f"{code!r}: {err[-2000:]}")
        if code in (0, 1):
            return Outcome(ACCEPTED, f"exit code {code}")
        said = [line for line in err.splitlines() if not line.startswith("grisaille: running")]
        message = "\n".join(said[-3:])
        if code not in (2, 3) or "grisaille" not in message:
            return Outcome(UNCLEAR, f"exit code {code}: {err[:500]}")
        complaint = complaint_about(message, _MOST_CHARACTERS)
        return Outcome(UNCLEAR, complaint) if complaint else Outcome(REFUSED, message)

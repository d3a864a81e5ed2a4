"""What users rely on, written down: public names, help texts, fingerprints, events, exit codes.

    python -m tests.frozen.freeze

writes the files beside this module anew. Do that only where a change of the interface is meant, and
say in CHANGELOG.md what it is.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import re
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from docs.builder.command_help import commands, help_of

import grisaille as gs
from grisaille.language.fingerprint import fingerprint
from grisaille.study.events import KINDS
from grisaille.views.cli.main import main

HERE = Path(__file__).parent


def names() -> str:
    """Each public name with its arguments and defaults, and those of its public methods."""
    return "\n".join(line for name in sorted(gs.__all__) for line in _lines(name)) + "\n"


def _lines(name: str) -> Iterator[str]:
    value = getattr(gs, name)
    if inspect.ismodule(value):
        yield from (f"{name}.{each}{_signature(getattr(value, each))}" for each in value.__all__)
        return
    yield f"{name}{_signature(value)}"
    if not inspect.isclass(value):
        return
    ours = [base for base in value.__mro__ if base.__module__.startswith("grisaille")]
    for each in sorted({each for base in ours for each in vars(base) if each[0] != "_"}):
        member = inspect.getattr_static(value, each)
        function = getattr(member, "__func__", member)
        if inspect.isfunction(function):
            yield f"{name}.{each}{_signature(function)}"
        else:
            yield f"{name}.{each}"


def _signature(value: Any) -> str:
    if not callable(value):
        return ""
    try:
        # Where a default lies in memory, and where the library keeps it, is nothing to rely on.
        text = re.sub(r" at 0x[0-9a-f]+", "", str(inspect.signature(value)))
        return re.sub(r"grisaille(?:\.[a-z_]+)+\.", "", text)
    except ValueError:  # an enumeration
        return ""


def help_texts() -> str:
    """What `--help` prints, of every command."""
    return "\n".join(f"== {each}\n{help_of(*each.split())}" for each in ["", *commands()])


def fingerprints() -> str:
    """Return the lines by which every known problem is recognized.

    The norms of drawn functions come from a factorization, whose last digits processors round in
    their own way: these have six digits.
    """
    found = {name: fingerprint(make(0).problem) for name, make in gs.problems.catalogue().items()}
    text = json.dumps(found, indent=1) + "\n"
    return re.sub(r"norm_bound (\[[^]]*\]|[\d.]+)", _rounded, text)


def _rounded(text: re.Match[str]) -> str:
    return re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.6g}", text[0])


def events() -> str:
    """For each kind of event, the fields that are stored, as a small study writes them."""
    found: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "study.db"
        _eventful(f"sqlite:///{file}")
        with contextlib.closing(sqlite3.connect(file)) as connection:
            for kind, text in connection.execute("select kind, data from grisaille_events"):
                found[kind] = sorted({*found.get(kind, ()), *_keys(json.loads(text))})
    found["kinds"] = sorted(KINDS)
    return json.dumps(found, indent=1, sort_keys=True) + "\n"


def _keys(data: Any, where: str = "") -> set[str]:
    if isinstance(data, dict):
        inner = [_keys(value, f"{where}.{key}".strip(".")) for key, value in data.items()]
        return set().union(*inner) if inner else {where}
    return {where}


def _eventful(address: str) -> None:
    """A study in which most of what can happen happens."""
    x = gs.Variable("x", lower=0, upper=1)
    f = gs.BlackBox(None, name="f", noise=0.1)
    problem = gs.Problem(minimize=f(x), subject_to=[x <= 0.9])
    with gs.Study(problem, name="study", storage=address, seed=0) as study:
        study.enqueue([0.5])
        study.observe("f", [[0.25]], [[1.0]])
        first, second = study.ask(2)
        study.tell(first, 0.75, seconds=2.0)
        study.fail(second, "the pump stood still")
        (third,) = study.ask()
        study.tell(third, 0.5, inputs=0.3)
        study.correct(first.id, 0.8)
        study.retract(third.id)
        (fourth,) = study.ask()
        study.release(fourth)


def exit_codes() -> str:
    """How calls of the command line end."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "toy.py"
        file.write_text(
            "import grisaille as gs\n"
            'x = gs.Variable("x", lower=0, upper=1)\n'
            'f = gs.BlackBox(lambda x: (x - 0.5) ** 2, name="f", noise=0)\n'
            "problem = gs.Problem(minimize=f(x), subject_to=[x * x >= 0.1])\n"
        )
        bad = Path(folder) / "bad.py"
        bad.write_text(file.read_text().replace("0.1]", "5]"))
        storage = f"sqlite:///{folder}/study.db"
        calls = {
            "solve": ["solve", str(file), "--study", "a", "--storage", storage, "--trials", "2"],
            "solve what is infeasible": [
                "solve",
                str(bad),
                "--study",
                "b",
                "--storage",
                storage,
                "--trials",
                "2",
            ],
            "show": ["show", "a", "--storage", storage],
            "show another": ["show", "c", "--storage", storage],
            "no such command": ["no"],
            "no such file": ["solve", str(file) + "x", "--storage", storage],
            "tell another": ["tell", "a", "9-9", "1", "--storage", storage],
        }
        return "".join(f"{name}: {_code(call)}\n" for name, call in calls.items())


def _code(call: list[str]) -> int:
    sink = io.StringIO()
    with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
        try:
            return main(call)
        except SystemExit as stop:
            return int(stop.code or 0)


FILES: dict[str, Callable[[], str]] = {
    "names.txt": names,
    "help.txt": help_texts,
    "fingerprints.json": fingerprints,
    "events.json": events,
    "exit_codes.txt": exit_codes,
}

if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, text in FILES.items():
            (HERE / name).write_text(text(), encoding="utf-8")

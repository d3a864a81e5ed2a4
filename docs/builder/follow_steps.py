"""Run the steps of a page in this process; read from standard input and answered as JSON."""

from __future__ import annotations

import contextlib
import io
import json
import linecache
import shlex
import sys
from pathlib import Path
from typing import Any
from unittest import mock

# Every command that runs a problem's file says so; pages leave that out.
_LEFT_OUT = "grisaille: running "
# What pages call the folder that they are followed in.
_FOLDER = "/home/me/reactor"


def run_code(code: str, number: int, names: dict[str, Any]) -> str:
    """Run a block of code; gives what it printed."""
    source = f"<block {number}>"
    linecache.cache[source] = (len(code), None, code.splitlines(keepends=True), source)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, source, "exec"), names)
    return printed.getvalue()


def run_command(command: str) -> str:
    """Run a command of Grisaille, or `cat`; gives what it printed, errors included.

    `< FILE` at its end is its standard input.
    """
    from grisaille.views.cli import main

    program, *arguments = shlex.split(command, comments=True)
    if program == "cat":
        return Path(arguments[0]).read_text(encoding="utf-8")
    if program != "grisaille":
        raise ValueError(f"a page may only run grisaille and cat, not {program!r}")
    given = ""
    if "<" in arguments:
        *arguments, _, file = arguments
        given = Path(file).read_text(encoding="utf-8")
    printed = io.StringIO()
    with (
        mock.patch("sys.stdin", io.StringIO(given)),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        contextlib.suppress(SystemExit),  # a mistake in the call, which is printed
    ):
        main(arguments)
    text = printed.getvalue().replace(str(Path.cwd()), _FOLDER)
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(_LEFT_OUT))


def follow(steps: list[list[str]]) -> list[str]:
    """Do all steps in the current folder; gives what each printed."""
    sys.path.insert(0, str(Path.cwd()))  # as for a script in this folder: pages import their files
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = []
    for number, (kind, text, name) in enumerate(steps):
        if kind == "write":
            Path(name).write_text(text, encoding="utf-8")
            printed.append("")
        elif kind == "run":
            printed.append(run_code(text, number, names))
        else:
            printed.append(run_command(text))
    return printed


if __name__ == "__main__":
    answer = follow(json.load(sys.stdin))
    json.dump(answer, sys.stdout)

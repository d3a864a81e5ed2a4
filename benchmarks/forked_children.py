"""Forked processes that say what they do in lines of JSON, and start with everything imported.

A process that is killed after half a second must not spend two seconds on imports. The parent
computes nothing, so it has no threads, and a fork of it is a sound process.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_PACKAGES = ("botorch", "gpytorch", "grisaille", "numpy", "psycopg", "rich", "scipy", "sqlalchemy")


def fork(task: Callable[[int], Any]) -> tuple[int, int]:
    """Run a task in a forked process, which it gets a pipe of; gives the process and the pipe.

    What the task returns is the last line in the pipe.
    """
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(ours)
            last = task(theirs)
            os.write(theirs, (json.dumps(last) + "\n").encode())
            code = 0
        finally:
            os._exit(code)
    os.close(theirs)
    return child, ours


def in_child(task: Callable[[int], Any]) -> tuple[list[Any], bool]:
    """Run a task to its end; gives what it wrote into its pipe, and whether it ended well."""
    child, pipe = fork(task)
    with os.fdopen(pipe) as said:
        lines = [json.loads(line) for line in said]
    return lines, os.waitpid(child, 0)[1] == 0


def import_what_is_needed(task: Callable[[], Any]) -> None:
    """Import here what a task imports, so that no fork has to."""

    def names(_pipe: int) -> list[str]:
        task()
        return [name for name in sys.modules if name.split(".")[0] in _PACKAGES]

    lines, ended = in_child(names)
    assert ended
    for name in lines[-1]:
        with suppress(ImportError):  # some modules import only in a certain order
            importlib.import_module(name)

"""Try every wrong input, and count how each is met.

    python -m benchmarks.wrong_inputs [--only TEXT]

The calls run in a child process. One that takes longer than the limit counts as a hang; the child
is killed, and another one goes on. `--only` tries what has this text in its name, and writes no
result. Every outcome that is not a good refusal is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.results_folder import write_result
from benchmarks.wrong_inputs.command_lines import Folder, wrong_commands
from benchmarks.wrong_inputs.outcome import (
    HANG,
    RAW,
    REFUSED,
    Outcome,
    outcome,
    places,
    wrong_calls,
)

LIMIT = 20.0
"""Seconds that a wrong input may take."""

_READY = "ready"


def cases(part: str, folder: Path) -> list[tuple[str, Callable[[], Outcome]]]:
    """The cases of the interface or of the command line: a name, and what makes the outcome."""
    if part == "interface":
        return [(call.name, lambda call=call: outcome(call)) for call in wrong_calls()]
    made: list[Folder] = []

    def run(command: Any) -> Outcome:
        if not made:
            made.append(Folder(folder))
        return made[0].outcome(command)

    return [(c.name, lambda c=c: run(c)) for c in wrong_commands()]


def work(part: str, first: int, only: str) -> None:
    """Make calls in the child, and write a line about each."""
    lines = os.fdopen(os.dup(1), "w")
    with tempfile.TemporaryDirectory(prefix="grisaille-wrong-") as folder:
        os.chdir(folder)
        found = cases(part, Path(folder))
        print(_READY, file=lines, flush=True)
        for number, (name, make) in enumerate(found):
            if number >= first and only in name:
                ended = make()
                print(json.dumps([number, ended.kind, ended.text]), file=lines, flush=True)
        os.chdir("/")


def outcomes(part: str, only: str) -> Iterator[tuple[int, Outcome]]:
    """The number of each case, and its outcome."""
    chosen = [n for n, (name, _) in enumerate(cases(part, Path())) if only in name]
    waiting = list(chosen)
    while waiting:
        command = [sys.executable, "-m", "benchmarks.wrong_inputs", "--work", part]
        command += ["--first", str(waiting[0]), "--only", only]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
            for line in _lines(child):
                if line != _READY:
                    number, kind, text = json.loads(line)
                    waiting.remove(number)
                    yield number, Outcome(kind, text)
            ended = child.poll()
            child.kill()
        if waiting:
            died = Outcome(RAW, f"the process died with exit status {ended}")
            yield waiting.pop(0), Outcome(HANG) if ended is None else died


def _lines(child: subprocess.Popen[bytes]) -> Iterator[str]:
    """The lines that a child writes, until it ends or is silent for too long."""
    assert child.stdout is not None
    rest = b""
    limit = 10 * LIMIT  # the first line comes after imports
    while select.select([child.stdout], [], [], limit)[0]:
        data = os.read(child.stdout.fileno(), 1 << 16)
        if not data:
            child.wait()
            return
        *lines, rest = (rest + data).split(b"\n")
        limit = LIMIT
        yield from (line.decode() for line in lines)


def main(only: str) -> None:
    counts: dict[str, Counter[str]] = {}
    others: dict[str, list[str]] = {}
    for part in ("interface", "command line"):
        names = [name for name, _ in cases(part, Path())]
        counts[part] = Counter()
        others[part] = []
        for number, ended in outcomes(part, only):
            counts[part][ended.kind] += 1
            if ended.kind != REFUSED:
                others[part].append(f"{ended.kind}: {names[number]}")
                print(f"{ended.kind}: {names[number]}\n    {ended.text}", flush=True)
        print(part, sum(counts[part].values()), dict(counts[part]), flush=True)
    if not only:
        content = {
            p: {"tried": sum(c.values()), **c, "others": others[p]} for p, c in counts.items()
        }
        write_result("wrong_inputs", {"places": len(places()), "limit_seconds": LIMIT, **content})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="try what has this text in its name")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work, options.first, options.only)
    else:
        main(options.only)

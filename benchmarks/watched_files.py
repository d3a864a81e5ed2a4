"""Writes and syncs of a folder's files: counted, logged, ended by a kill, or lost with the power.

A few lines of C (`watched_files.c`) are built into a temporary folder and preloaded. SQLite's calls
then go through them.
"""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

_SOURCE = Path(__file__).with_suffix(".c")
_VARIABLE = "GRISAILLE_WATCHED_FILES"
# What a disk writes as a whole, in bytes.
_SECTOR = 512


class Moment(IntEnum):
    """When a process is killed, seen from one call."""

    BEFORE = 0
    WITHIN = 1
    AFTER = 2


def preload() -> ctypes.CDLL:
    """The library; the first call starts this program again with the library preloaded."""
    built = os.environ.get(_VARIABLE)
    if built is None:
        built = str(Path(tempfile.mkdtemp(prefix="grisaille-watched-")) / "watched_files.so")
        command = ["gcc", "-shared", "-fPIC", "-O1", "-o", built, str(_SOURCE), "-ldl"]
        subprocess.run(command, check=True)
        os.environ |= {_VARIABLE: built, "LD_PRELOAD": built, "OMP_NUM_THREADS": "1"}
        module = sys.modules["__main__"].__spec__
        assert module is not None
        os.execv(sys.executable, [sys.executable, "-m", str(module.name), *sys.argv[1:]])
    # Programs that a watched process starts need it as little as a compiler does.
    os.environ.pop("LD_PRELOAD", None)
    return ctypes.CDLL(built)


def remove_library() -> None:
    """Remove the library's file."""
    built = Path(os.environ[_VARIABLE])
    built.unlink()
    built.parent.rmdir()


@dataclass(frozen=True, slots=True)
class Call:
    """One logged call.

    Attributes:
        what: W for a write, S for a sync, T for a new length, U for a removal, A for an
            acknowledgement.
        name: The file; "." is the folder.
        place: Where it writes; the new length; how many events are acknowledged.
        content: What it writes.
    """

    what: str
    name: str
    place: int
    content: bytes


def read_calls(log: Path) -> Iterator[Call]:
    """The calls of a log. Shared memory of SQLite is left out: no power loss leaves it."""
    with log.open("rb") as file:
        while head := file.readline():
            what, place, size, name = head.decode().rstrip("\n").split(" ", 3)
            content = file.read(int(size))
            if not name.endswith("-shm"):
                yield Call(what, name, int(place), content)


@dataclass(slots=True)
class _File:
    """A file: what is surely on the disk, and the calls since the last sync."""

    kept: bytearray = field(default_factory=bytearray)
    since: list[Call] = field(default_factory=list)


@dataclass(slots=True)
class Disk:
    """A folder on a disk that may write in any order what was not synced."""

    acknowledged: int = 0
    _now: dict[str, _File] = field(default_factory=dict)
    _kept: dict[str, _File] = field(default_factory=dict)

    def apply(self, call: Call) -> None:
        """Include one more call."""
        match call.what:
            case "A":
                self.acknowledged = call.place
            case "U":
                self._now.pop(call.name, None)
            case "S" if call.name == ".":
                self._kept = dict(self._now)
            case "S":
                file = self._now.setdefault(call.name, _File())
                for earlier in file.since:
                    _perform(file.kept, earlier)
                file.since = []
            case _:
                self._now.setdefault(call.name, _File()).since.append(call)

    def after_power_loss(self, generator: random.Random) -> Mapping[str, bytes]:
        """The files if the power fails now: calls since the last sync are kept, torn or lost."""
        # From none to all of what was not synced.
        share = generator.choice([0.0, 0.25, 0.5, 0.75, 1.0])
        files: dict[str, bytes] = {}
        for name in {**self._now, **self._kept}:
            sides = (self._now.get(name), self._kept.get(name))
            file = sides[0] if generator.random() < share else sides[1]
            if file is None:
                continue
            content = bytearray(file.kept)
            for call in file.since:
                if generator.random() < share:
                    _perform(content, call)
                elif generator.random() < 0.5:
                    _perform(content, call, generator)
            files[name] = bytes(content)
        return files


def _perform(content: bytearray, call: Call, torn_by: random.Random | None = None) -> None:
    """Do to the content what a call does; a torn write reaches only some sectors."""
    if call.what == "T":
        if torn_by is None:
            del content[call.place :]
            content.extend(bytes(call.place - len(content)))
        return
    for start in range(0, len(call.content), _SECTOR):
        if torn_by is None or torn_by.random() < 0.5:
            part = call.content[start : start + _SECTOR]
            first = call.place + start
            content.extend(bytes(max(0, first + len(part) - len(content))))
            content[first : first + len(part)] = part

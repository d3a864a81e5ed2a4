"""A folder of runs that can be interrupted at any moment and completed later."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import quote

from grisaille.errors import ModelError

Job = TypeVar("Job")
Run = TypeVar("Run")

_SETTINGS = "settings.json"


class RunFormat(Protocol[Job, Run]):
    """How runs are stored in files."""

    def files(self, folder: Path) -> list[Path]:
        """The files in a folder that hold runs."""

    def file_of(self, job: Job) -> Path:
        """The file of a job, relative to the folder; several jobs may share one."""

    def decode(self, file: Path, text: str) -> dict[Job, Run]:
        """The complete runs in a file; ValueError, KeyError or TypeError if it is damaged."""

    def encode(self, runs: Mapping[Job, Run]) -> str:
        """The text of a file with these runs."""


class RunFolder(Generic[Job, Run]):
    """A folder of runs. Each run is stored as soon as it is done, completely or not at all.

    Args:
        path: The folder; it is created when the first run is added.
        run_format: How runs are stored.
        option: The command's option that names the folder, for error messages.

    Raises:
        ModelError: `path` is a file.
    """

    def __init__(self, path: Path, run_format: RunFormat[Job, Run], option: str) -> None:
        if path.exists() and not path.is_dir():
            raise ModelError(f"{option} {path} is a file: name a folder")
        self.path = path
        self._format = run_format
        self.option = option

    def load(self) -> dict[Job, Run]:
        """Every complete run."""
        runs: dict[Job, Run] = {}
        for file in self._format.files(self.path):
            runs |= self._read(file)
        return runs

    def add(self, job: Job, run: Run) -> None:
        """Store a run; it replaces an earlier run of the same job."""
        file = self.path / self._format.file_of(job)
        runs = self._read(file) if file.exists() else {}
        write_whole(file, self._format.encode({**runs, job: run}))

    def require_settings(self, settings: Mapping[str, Any]) -> None:
        """Store the settings that all runs in the folder share.

        Raises:
            ModelError: The runs in the folder were made with other settings.
        """
        file = self.path / _SETTINGS
        if not file.exists():
            write_whole(file, json.dumps(settings, indent=2) + "\n")
            return
        changes = differences(json.loads(file.read_text(encoding="utf-8")), settings)
        if changes:
            raise ModelError(
                f"the runs in {str(self.path)!r} were made in another way ({changes}): use "
                f"another {self.option}, or delete that folder"
            )

    def _read(self, file: Path) -> dict[Job, Run]:
        try:
            return self._format.decode(file, file.read_text(encoding="utf-8"))
        except (ValueError, KeyError, TypeError) as error:
            raise ModelError(
                f"{str(file)!r} holds no run that can be read ({error}): remove it, and the run is "
                "made again"
            ) from error


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The settings that have changed, such as "beta was 2 and is 3 now; ..."; empty if none."""
    return "; ".join(
        f"{key} was {before.get(key)} and is {value} now"
        for key, value in now.items()
        if before.get(key) != value
    )


def write_whole(file: Path, text: str) -> None:
    """Replace a file in one step, so that a kill leaves either the old or the new content."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(".draft")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, file)


def file_name(name: str) -> str:
    """A name that a file can have, for any name of a problem or a strategy."""
    return quote(name, safe=" ()+,=").replace(".", "%2E")

"""Runs on disk: one CSV per setting, one row per step, written as soon as a run is done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reproduction.experiment import (
    BETA,
    NOISE,
    SOLVER,
    STEPS,
    Curve,
    Job,
    Method,
    Setting,
)
from benchmarks.versions import versions
from grisaille.errors import ModelError

_HEADER = "instance,method,step,positive_regret,violation_1,violation_2"
_DESCRIPTION = "settings.json"


def description() -> dict[str, Any]:
    """What every number depends on."""
    return {
        "steps": STEPS,
        "beta": BETA,
        "noise of the noisy setting": NOISE,
        "solver": repr(SOLVER),
        "versions": versions(),
    }


class Folder:
    """A folder of runs.

    Args:
        path: Where.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> None:
        """Get ready to add runs.

        Raises:
            ModelError: The folder holds runs that were made in another way.
        """
        if self.path.exists() and not self.path.is_dir():
            raise ModelError(f"--output {self.path} is a file: name a folder")
        self.path.mkdir(parents=True, exist_ok=True)
        file = self.path / _DESCRIPTION
        self.tidy()
        if not file.exists():
            file.write_text(json.dumps(description(), indent=2) + "\n", encoding="utf-8")
            return
        there = json.loads(file.read_text(encoding="utf-8"))
        different = [
            f"{key} was {there.get(key)} and is {value} now"
            for key, value in description().items()
            if there.get(key) != value
        ]
        if different:
            raise ModelError(
                f"the runs in {str(self.path)!r} were made in another way "
                f"({'; '.join(different)}): use another --output, or delete that folder"
            )

    def load(self) -> dict[Job, Curve]:
        """All complete runs."""
        return {job: curve for setting in Setting for job, curve in self._load(setting).items()}

    def _load(self, setting: Setting) -> dict[Job, Curve]:
        file = self._file(setting)
        if not file.exists():
            return {}
        whole, _, _torn = file.read_text(encoding="utf-8").rpartition("\n")
        rows: dict[Job, list[list[float]]] = {}
        for line in whole.splitlines()[1:]:
            instance, method, _step, *numbers = line.split(",")
            job = Job(setting, int(instance), Method(method))
            rows.setdefault(job, []).append([float(n) for n in numbers])
        curves = {}
        for job, values in rows.items():
            if len(values) == STEPS:
                table = np.array(values)
                curves[job] = Curve(table[:, 0], table[:, 1:])
        return curves

    def tidy(self) -> None:
        """Put the runs in order, and leave incomplete ones out."""
        for setting in Setting:
            if self._file(setting).exists():
                curves = self._load(setting)
                rows = [line for job in sorted(curves) for line in _lines(job, curves[job])]
                draft = self._file(setting).with_suffix(".draft")
                draft.write_text("\n".join([_HEADER, *rows]) + "\n", encoding="utf-8")
                draft.replace(self._file(setting))  # at once: a kill in between loses nothing

    def add(self, job: Job, curve: Curve) -> None:
        """Store one run."""
        file = self._file(job.setting)
        header = [] if file.exists() else [_HEADER]
        with file.open("a", encoding="utf-8") as stream:
            stream.write("\n".join([*header, *_lines(job, curve)]) + "\n")

    def _file(self, setting: Setting) -> Path:
        return self.path / f"{setting}.csv"


def _lines(job: Job, curve: Curve) -> list[str]:
    """The rows of one run."""
    table = np.column_stack([curve.positive_regret, curve.violations])
    return [
        ",".join([str(job.instance), job.method, str(step), *(f"{v:.6g}" for v in values)])
        for step, values in enumerate(table, 1)
    ]

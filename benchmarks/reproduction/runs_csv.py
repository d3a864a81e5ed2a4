"""The runs of one setting of the experiment as a CSV file, with one row for each step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.reproduction.experiment import STEPS, Curve, Job, Method, Setting

_HEADER = "instance,method,step,positive_regret,violation_1,violation_2"


class RunsCsv:
    """A `RunFormat` with one file for each setting: `exact.csv`, `noisy.csv`, `learned.csv`."""

    def files(self, folder: Path) -> list[Path]:
        """The files of those settings that have runs."""
        files = (folder / f"{setting}.csv" for setting in Setting)
        return [file for file in files if file.exists()]

    def file_of(self, job: Job) -> Path:
        """The file of a job's setting."""
        return Path(f"{job.setting}.csv")

    def decode(self, file: Path, text: str) -> dict[Job, Curve]:
        """The complete runs in a file.

        Earlier versions appended to the file, so its end may be missing: the last line counts only
        if it is complete, and a run only if it has all its steps.
        """
        complete, _, _torn = text.rpartition("\n")
        rows: dict[Job, list[list[float]]] = {}
        for line in complete.splitlines()[1:]:
            instance, method, _step, *numbers = line.split(",")
            job = Job(Setting(file.stem), int(instance), Method(method))
            rows.setdefault(job, []).append([float(n) for n in numbers])
        tables = {job: np.array(values) for job, values in rows.items() if len(values) == STEPS}
        return {job: Curve(table[:, 0], table[:, 1:]) for job, table in tables.items()}

    def encode(self, runs: Mapping[Job, Curve]) -> str:
        """The text of a file with these runs."""
        lines = [line for job in sorted(runs) for line in _lines(job, runs[job])]
        return "\n".join([_HEADER, *lines]) + "\n"


def _lines(job: Job, curve: Curve) -> list[str]:
    """The rows of one run."""
    table = np.column_stack([curve.positive_regret, curve.violations])
    return [
        ",".join([str(job.instance), job.method, str(step), *(f"{v:.6g}" for v in values)])
        for step, values in enumerate(table, 1)
    ]

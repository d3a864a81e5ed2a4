"""Make the missing runs of the experiment, then its table and figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.parallel_jobs import run_jobs
from benchmarks.reproduction.experiment import (
    BETA,
    NOISE,
    SOLVER,
    STEPS,
    Job,
    Method,
    Setting,
    run,
)
from benchmarks.reproduction.report import draw, table
from benchmarks.reproduction.runs_csv import RunsCsv
from benchmarks.versions import versions
from grisaille.lab.comparison.run_folder import RunFolder


def reproduce(
    path: Path, instances: int, settings: Sequence[Setting], processes: int
) -> list[Path]:
    """Make every run that the folder does not hold yet, then the table and the figures.

    Args:
        path: Folder of the runs; the runs that it holds are kept.
        instances: How many instances per setting, numbered from 0.
        settings: Which settings.
        processes: How many runs at a time.

    Returns:
        The files of the table and the figures.

    Raises:
        ModelError: The runs in the folder were made with other settings.
    """
    folder = RunFolder(path, RunsCsv(), "--output")
    folder.require_settings(shared_settings())
    jobs = [
        Job(setting, i, method)
        for setting in settings
        for i in range(instances)
        for method in Method
    ]
    stored = folder.load()
    missing = [job for job in jobs if job not in stored]
    if missing:
        run_jobs(run, missing, folder.add, total=len(jobs), processes=processes)
    runs = folder.load()
    written = path / "table.md"
    written.write_text(table(runs), encoding="utf-8")
    return [written, *draw(runs, path)]


def shared_settings() -> dict[str, Any]:
    """Everything that the numbers of all runs depend on."""
    return {
        "steps": STEPS,
        "beta": BETA,
        "noise of the noisy setting": NOISE,
        "solver": repr(SOLVER),
        "versions": versions(),
    }

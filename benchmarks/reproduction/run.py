"""Running the experiment: in parallel, with a progress bar, resumable."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.jobs import run_jobs
from benchmarks.reproduction.experiment import Job, Method, Setting, run
from benchmarks.reproduction.report import draw, table
from benchmarks.reproduction.storage import Folder


def reproduce(
    path: Path, instances: int, settings: Sequence[Setting], processes: int
) -> list[Path]:
    """Make every run that is not there yet, then the table and the figures.

    Args:
        path: Folder of the runs; what it holds is kept and not computed again.
        instances: How many instances per setting, numbered from 0.
        settings: Which settings.
        processes: How many runs at a time.

    Returns:
        The files written last: table and figures.
    """
    folder = Folder(path)
    folder.open()
    jobs = [
        Job(setting, i, method)
        for setting in settings
        for i in range(instances)
        for method in Method
    ]
    done = folder.load()
    missing = [job for job in jobs if job not in done]
    if missing:
        run_jobs(run, missing, folder.add, total=len(jobs), processes=processes)
    folder.tidy()
    runs = folder.load()
    written = path / "table.md"
    written.write_text(table(runs), encoding="utf-8")
    return [written, *draw(runs, path)]

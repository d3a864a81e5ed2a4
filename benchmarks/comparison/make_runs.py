"""Make the runs of a comparison that are missing."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.comparison.plan import Job, Plan
from benchmarks.comparison.run import Run, Task, make_run
from benchmarks.parallel_jobs import run_jobs
from benchmarks.run_folder import RunFolder, differences
from grisaille import ModelError

Folder = RunFolder[Job, Run]


def make_missing_runs(
    folder: Folder, plan: Plan, *, processes: int, retry: bool = False, replace: bool = False
) -> int:
    """Make every run of a plan that the folder does not hold yet.

    Args:
        folder: The folder; the runs that it holds are kept.
        plan: The runs to make.
        processes: How many runs at a time.
        retry: Whether runs that failed are made again.
        replace: Whether runs with other settings are made again.

    Returns:
        How many runs were made.

    Raises:
        ModelError: The folder holds runs with other settings, and `replace` is false.
    """
    missing = missing_jobs(folder, plan, retry=retry, replace=replace)
    if not missing:
        return 0
    tasks = [
        Task.of(plan.settings[job], plan.problems[job.problem], plan.strategies[job.strategy])
        for job in missing
    ]

    def keep(_task: Task, run: Run) -> None:
        folder.add(run.job, run)

    run_jobs(make_run, tasks, keep, total=len(plan.settings), processes=processes)
    return len(missing)


def missing_jobs(folder: Folder, plan: Plan, *, retry: bool, replace: bool) -> list[Job]:
    """The jobs of a plan that the folder holds no run of; see `make_missing_runs`."""
    stored = folder.load()
    changed = {
        job: stored[job].settings
        for job, settings in plan.settings.items()
        if job in stored and stored[job].settings != settings
    }
    if changed and not replace:
        job, before = next(iter(changed.items()))
        raise ModelError(
            f"{len(changed)} of the runs in {str(folder.path)!r} were made in another way, such "
            f"as {job} ({differences(before, plan.settings[job])}): use another --folder, or pass "
            "--replace to make them again"
        )
    return [
        job
        for job in plan.settings
        if job not in stored or job in changed or (retry and stored[job].failed)
    ]


def runs_of(runs: Iterable[Run], problems: Iterable[str], strategies: Iterable[str]) -> list[Run]:
    """The runs of some strategies on some problems."""
    return [run for run in runs if run.job.problem in problems and run.job.strategy in strategies]

"""A whole comparison: make the runs that are missing."""

from __future__ import annotations

from benchmarks.comparison.plan import Job, Plan
from benchmarks.comparison.run import Run, Task, make_run
from benchmarks.comparison.storage import Folder
from benchmarks.jobs import run_jobs


def compare(
    folder: Folder,
    plan: Plan,
    *,
    processes: int,
    command: str,
    retry: bool = False,
    replace: bool = False,
) -> int:
    """Make every run of a plan that is not there yet.

    Args:
        folder: Where runs are; what it holds is kept.
        plan: What is to be run.
        processes: How many runs at a time.
        command: What a user typed, stored with each run.
        retry: Whether runs that failed are made again.
        replace: Whether runs that were made in another way are made again.

    Returns:
        How many runs were made.
    """
    missing = folder.missing(plan.settings, retry=retry, replace=replace)
    if not missing:
        return 0
    tasks = [_task(plan, job) for job in missing]

    def keep(_task: Task, run: Run) -> None:
        folder.add(run, command)

    run_jobs(make_run, tasks, keep, total=len(plan.settings), processes=processes)
    return len(missing)


def _task(plan: Plan, job: Job) -> Task:
    return Task.of(plan.settings[job], plan.problems[job.problem], plan.strategies[job.strategy])

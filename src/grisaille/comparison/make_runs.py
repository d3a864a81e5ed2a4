"""Make the runs of a comparison that are missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import as_completed

from grisaille.comparison.plan import Job, Plan
from grisaille.comparison.run import Run, Task, failed_run, make_run, make_sent_run
from grisaille.comparison.run_folder import RunFolder, differences
from grisaille.comparison.run_progress import run_progress
from grisaille.errors import ModelError
from grisaille.execution.child_pool import ChildPool

Folder = RunFolder[Job, Run]


def make_missing_runs(
    folder: Folder,
    plan: Plan,
    *,
    workers: int | None,
    retry: bool = False,
    replace: bool = False,
    progress: bool = True,
) -> int:
    """Make every run of a plan that the folder does not hold yet.

    Args:
        folder: The folder; the runs that it holds are kept.
        plan: The runs to make.
        workers: How many runs at a time, in child processes; None for this process.
        retry: Whether runs that failed are made again.
        replace: Whether runs with other settings are made again.
        progress: Whether to show how many runs are done.

    Returns:
        How many runs were made.

    Raises:
        ModelError: The folder holds runs with other settings, and `replace` is false.
        EvaluationError: A problem or a strategy cannot be sent to a child process.
    """
    missing = missing_jobs(folder, plan, retry=retry, replace=replace)
    if not missing:
        return 0
    made = _made_here(plan, missing) if workers is None else _made_by(workers, plan, missing)
    done = len(plan.settings) - len(missing)
    with run_progress(len(plan.settings), progress) as show:
        show(done)
        for number, run in enumerate(made, 1):
            folder.add(run.job, run)
            show(done + number)
    return len(missing)


def _made_here(plan: Plan, jobs: Sequence[Job]) -> Iterator[Run]:
    for job in jobs:
        maker, factory = plan.problems[job.problem], plan.strategies[job.strategy]
        yield make_run(plan.settings[job], maker, factory)


def _made_by(workers: int, plan: Plan, jobs: Sequence[Job]) -> Iterator[Run]:
    """Runs as child processes have made them, the first one first; Ctrl-C ends them at once."""
    tasks = {
        job: Task.of(plan.settings[job], plan.problems[job.problem], plan.strategies[job.strategy])
        for job in jobs
    }
    with ChildPool(workers) as pool:
        futures = {pool.submit(make_sent_run, (task,), None): job for job, task in tasks.items()}
        for future in as_completed(futures):
            try:
                yield future.result()
            except Exception as error:  # the process died, or could not read what it was sent
                job = futures[future]
                yield failed_run(plan.settings[job], plan.problems[job.problem], error)


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
        again = "--replace" if folder.option.startswith("--") else "replace=True"
        raise ModelError(
            f"{len(changed)} of the runs in {str(folder.path)!r} were made in another way, such "
            f"as {job} ({differences(before, plan.settings[job])}): use another "
            f"{folder.option}, or pass {again} to make them again"
        )
    return [
        job
        for job in plan.settings
        if job not in stored or job in changed or (retry and stored[job].failed)
    ]


def runs_of(runs: Iterable[Run], problems: Iterable[str], strategies: Iterable[str]) -> list[Run]:
    """The runs of some strategies on some problems."""
    return [run for run in runs if run.job.problem in problems and run.job.strategy in strategies]

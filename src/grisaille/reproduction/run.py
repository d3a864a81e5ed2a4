"""Running the experiment: in parallel, with a progress bar, resumable."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Protocol

from grisaille.reproduction.experiment import Job, Method, Setting, run
from grisaille.reproduction.report import draw, table
from grisaille.reproduction.storage import Folder


class _Tick(Protocol):
    def __call__(self, done: int) -> None: ...


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
        _run_all(folder, missing, len(jobs), processes)
    folder.tidy()
    runs = folder.load()
    written = path / "table.md"
    written.write_text(table(runs), encoding="utf-8")
    return [written, *draw(runs, path)]


def _run_all(folder: Folder, jobs: list[Job], total: int, processes: int) -> None:
    # Started afresh: a forked PyTorch may wait for threads that are not there.
    context = get_context("spawn")
    stop = context.Event()
    ready = (os.getpid(), stop)
    with (
        _progress(total) as tick,
        ProcessPoolExecutor(processes, context, initializer=_get_ready, initargs=ready) as pool,
    ):
        tick(total - len(jobs))
        futures = {pool.submit(run, job): job for job in jobs}
        try:
            for count, future in enumerate(as_completed(futures), 1):
                folder.add(futures[future], future.result())
                tick(total - len(jobs) + count)
        except BaseException:
            stop.set()  # nobody wants to wait for runs that will be made again
            raise


def _get_ready(parent: int, stop: Event) -> None:
    """Let a worker end at once when it is told to, or when its parent was killed.

    Ctrl-C is the parent's business: a worker that heard it too would print its own traceback.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent and not stop.wait(1.0):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _progress(total: int) -> Iterator[_Tick]:
    """A bar in a terminal, a line now and then elsewhere."""
    if not sys.stdout.isatty():
        shown = -20

        def tell(done: int) -> None:
            nonlocal shown
            if done - shown >= min(20, total // 10) or done == total:
                shown = done
                print(f"{done} of {total} runs", flush=True)

        yield tell
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    with Progress(
        "runs", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(elapsed_when_finished=True)
    ) as view:
        task = view.add_task("runs", total=total)
        yield lambda done: view.update(task, completed=done)

"""Run many independent jobs in fresh processes, with a progress bar; Ctrl-C ends them at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from typing import TypeVar

from grisaille import EvaluationError
from grisaille.lab.comparison.comparison import run_progress

Job = TypeVar("Job")
Value = TypeVar("Value")


def run_jobs(
    function: Callable[[Job], Value],
    jobs: Sequence[Job],
    keep: Callable[[Job, Value], None] = lambda _job, _value: None,
    *,
    processes: int,
    total: int | None = None,
) -> list[Value]:
    """Run every job in a pool of processes.

    Args:
        function: Runs one job; another process must be able to import it.
        jobs: The jobs, in the order in which they start.
        keep: Called in this process with each job and its result as soon as the job is done.
        processes: How many jobs run at a time.
        total: How many jobs the progress bar shows, those done earlier included; default: all
            of `jobs`.

    Returns:
        The results, in the order of `jobs`.

    Raises:
        EvaluationError: A process died, for instance for lack of memory. Results that were kept
            stay.
    """
    total = len(jobs) if total is None else total
    # Started afresh: a forked PyTorch may wait for threads that do not exist in the child.
    context = get_context("spawn")
    stop = context.Event()
    with (
        run_progress(total) as show,
        ProcessPoolExecutor(
            processes, context, initializer=_prepare_worker, initargs=(os.getpid(), stop)
        ) as pool,
    ):
        show(total - len(jobs))
        futures = {pool.submit(function, job): job for job in jobs}
        try:
            for count, future in enumerate(as_completed(futures), 1):
                keep(futures[future], future.result())
                show(total - len(jobs) + count)
        except BrokenProcessPool as error:
            raise EvaluationError(
                "a process that made runs died, perhaps for lack of memory: start again to go on "
                "with what is missing, with fewer --processes if it happens again"
            ) from error
        except BaseException:
            stop.set()  # unfinished runs are lost anyway, so nobody should wait for them
            raise
        return [future.result() for future in futures]


def _prepare_worker(parent: int, stop: Event) -> None:
    """Make a worker exit at once when `stop` is set or when its parent was killed.

    A worker ignores Ctrl-C, which the parent handles: otherwise it would print its own traceback.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent and not stop.wait(1.0):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

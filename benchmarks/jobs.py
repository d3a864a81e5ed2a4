"""Many independent jobs in fresh processes, with a progress bar; Ctrl-C ends them at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from typing import Protocol, TypeVar

from grisaille.errors import EvaluationError

Job = TypeVar("Job")
Value = TypeVar("Value")


class _Tick(Protocol):
    def __call__(self, done: int) -> None: ...


def run_jobs(
    function: Callable[[Job], Value],
    jobs: Sequence[Job],
    keep: Callable[[Job, Value], None],
    *,
    total: int,
    processes: int,
) -> None:
    """Make every job, and keep each result as soon as it is there.

    Args:
        function: Makes one job; another process must be able to import it.
        jobs: What is to be made, in this order.
        keep: Called here with each job and its result.
        total: How many jobs there are with those made earlier, for the progress bar.
        processes: How many at a time.

    Raises:
        EvaluationError: A process died, out of memory for instance; what was kept stays.
    """
    # Started afresh: a forked PyTorch may wait for threads that are not there.
    context = get_context("spawn")
    stop = context.Event()
    ready = (os.getpid(), stop)
    with (
        _progress(total) as tick,
        ProcessPoolExecutor(processes, context, initializer=_get_ready, initargs=ready) as pool,
    ):
        tick(total - len(jobs))
        futures = {pool.submit(function, job): job for job in jobs}
        try:
            for count, future in enumerate(as_completed(futures), 1):
                keep(futures[future], future.result())
                tick(total - len(jobs) + count)
        except BrokenProcessPool as error:
            raise EvaluationError(
                "a process that made runs died, perhaps for lack of memory: start again to go on "
                "with what is missing, with fewer --processes if it happens again"
            ) from error
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

"""Evaluators: this process, child processes, or an executor of the user."""

from __future__ import annotations

import queue
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from grisaille.checks import has_method
from grisaille.errors import ModelError, shortened
from grisaille.interrupts import interruptible
from grisaille.language.black_box import BlackBox
from grisaille.study.evaluation.dask_client import DaskClient
from grisaille.study.evaluation.remote_call import RemoteCall, submitted

if TYPE_CHECKING:
    from grisaille.study.evaluation.child_pool import ChildPool


class Evaluators(Protocol):
    """Makes evaluations, up to `slots` at once."""

    slots: int
    """How many evaluations can be pending at once."""

    def submit(self, box: BlackBox, arguments: Sequence[Any]) -> Future[Any]:
        """Start an evaluation; the future holds what the function returns."""
        ...

    def cancel(self) -> None:
        """Stop pending evaluations at once, as far as possible."""
        ...

    def complaint(self) -> str:
        """Why pending evaluations may never end; empty if nothing is known to be wrong."""
        ...


@contextmanager
def evaluators_for(executor: Any, workers: int | None) -> Iterator[Evaluators]:
    """The evaluators that a run uses.

    Args:
        executor: Anything with `submit`; None for this process, or for child processes.
        workers: How many evaluations at once; None for one, or as many as an executor has workers.
    """
    if executor is not None:
        is_dask = has_method(executor, "nthreads")
        yield DaskClient(executor, workers) if is_dask else _UserExecutor(executor, workers)
        return
    evaluators = _ThisProcess() if workers is None else _ChildProcesses(workers)
    try:
        yield evaluators
    finally:
        evaluators.close()


def check_executor(executor: object) -> None:
    """Raise ModelError unless an executor is None or has `submit`."""
    if executor is not None and not has_method(executor, "submit"):
        raise ModelError(
            f"executor={shortened(executor)}: pass an object with submit, such as a "
            "concurrent.futures.ProcessPoolExecutor() or a dask.distributed.Client()"
        )


# What a run asks of the job that an executor returns; it is cancelled only if it can be.
_NEEDED = ("result", "add_done_callback")


class _ThisProcess:
    """This process, one evaluation after another; a box with a timeout runs in a child process."""

    slots = 1

    def __init__(self) -> None:
        self._pool: ChildPool | None = None

    def submit(self, box: BlackBox, arguments: Sequence[Any]) -> Future[Any]:
        assert box.fn is not None
        future: Future[Any] = Future()
        try:
            if box.timeout is not None:
                from grisaille.study.evaluation.child_pool import ChildPool

                self._pool = self._pool or ChildPool(1)
                value = _waited_for(self._pool.submit(box.fn, arguments, box.timeout))
            else:
                value = interruptible(partial(box.fn, *arguments))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # sys.exit() in a function ends the evaluation, not more
            future.set_exception(error)
        else:
            future.set_result(value)
        return future

    def cancel(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel=True)

    def complaint(self) -> str:
        return ""

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()


class _ChildProcesses:
    """Child processes, which are replaced when they die."""

    def __init__(self, workers: int) -> None:
        from grisaille.study.evaluation.child_pool import ChildPool

        self.slots = workers
        self._pool = ChildPool(workers)

    def submit(self, box: BlackBox, arguments: Sequence[Any]) -> Future[Any]:
        assert box.fn is not None
        return self._pool.submit(box.fn, arguments, box.timeout)

    def cancel(self) -> None:
        self._pool.shutdown(wait=False, cancel=True)

    def complaint(self) -> str:
        return ""

    def close(self) -> None:
        self._pool.shutdown()


class _UserExecutor:
    """An executor of the user, who also shuts it down."""

    def __init__(self, executor: Any, workers: int | None) -> None:
        self._executor = executor
        self.slots = workers or _workers_of(executor)

    def submit(self, box: BlackBox, arguments: Sequence[Any]) -> Future[Any]:
        call = RemoteCall.of(box, arguments)
        future: Future[Any] = submitted(box, partial(self._executor.submit, call))
        lacking = [name for name in _NEEDED if not has_method(future, name)]
        if lacking:
            raise ModelError(
                f"executor={shortened(self._executor)}: its submit returned {shortened(future)}, "
                f"which has no {lacking[0]}(): let it return a concurrent.futures.Future"
            )
        return future

    def cancel(self) -> None:
        pass

    def complaint(self) -> str:
        return ""


def _waited_for(future: Future[Any]) -> Any:
    """The value of a future; waiting for it can be interrupted."""
    # Not in `result`, whose lock the pool's thread needs to set it.
    done: queue.SimpleQueue[object] = queue.SimpleQueue()
    future.add_done_callback(done.put)
    interruptible(done.get)
    return future.result()


def _workers_of(executor: Any) -> int:
    """How many workers an executor has."""
    known = getattr(executor, "_max_workers", None)  # concurrent.futures, loky
    if isinstance(known, int):
        return known
    raise ModelError(
        f"executor={shortened(executor)} does not tell how many workers it has: pass workers= too"
    )

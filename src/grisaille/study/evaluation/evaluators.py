"""Evaluators: this process, child processes, an executor of the user, or a Dask cluster."""

from __future__ import annotations

import pickle
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, Self

from grisaille.checks import has_method
from grisaille.errors import EvaluationError, ModelError, raised, shortened
from grisaille.interrupts import interruptible
from grisaille.language.black_box import BlackBox

if TYPE_CHECKING:
    from grisaille.study.evaluation.child_process import ChildPool


class RemoteCall:
    """A function with its arguments, ready to be called in another process.

    It is pickled with cloudpickle, which includes lambdas, closures and decorated functions.
    Executors with threads call it without pickling.
    """

    def __init__(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], timeout: float | None
    ) -> None:
        self._function = function
        self._arguments = arguments
        self._timeout = timeout

    @classmethod
    def of(cls, box: BlackBox, arguments: Sequence[Any]) -> Self:
        """The call of a black box that has a function."""
        assert box.fn is not None
        return cls(box.fn, tuple(arguments), box.timeout)

    def __call__(self) -> Any:
        """Call the function; in a child process if it has a timeout."""
        if self._timeout is None:
            return self._function(*self._arguments)
        from grisaille.study.evaluation.child_process import isolated

        return isolated(self._function, self._arguments, self._timeout)

    def __reduce__(self) -> tuple[Any, ...]:
        import cloudpickle  # type: ignore[import-untyped]

        return _unpacked, (cloudpickle.dumps((self._function, self._arguments)), self._timeout)


def submitted(box: BlackBox, submit: Callable[[], Any]) -> Any:
    """The future of a call that an executor takes.

    Raises:
        EvaluationError: It does not take it.
    """
    try:
        return interruptible(submit)
    except Exception as error:
        raise EvaluationError(
            f"the executor took no evaluation of black box {box.name!r}, it raised "
            f"{raised(error)}; if it is shut down, or its scheduler or its workers are gone, call "
            "run again with a new one: a study goes on where it was"
        ) from error


def _unpacked(payload: bytes, timeout: float | None) -> RemoteCall:
    function, arguments = pickle.loads(payload)
    return RemoteCall(function, arguments, timeout)


# --- evaluators -----------------------------------------------------------------------------------


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
                from grisaille.study.evaluation.child_process import ChildPool

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
        from grisaille.study.evaluation.child_process import ChildPool

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


# --- dask -----------------------------------------------------------------------------------------

# How long the scheduler may take to answer, in seconds.
_PATIENCE = 10.0
# Why Dask cancels all evaluations, whatever their inputs are.
_CONNECTION_LOST = ("scheduler-connection-lost", "scheduler-restart")


class NotEvaluatedError(Exception):
    """An evaluation was not made, for a reason that says nothing about its inputs."""


class DaskClient:
    """A Dask client of the user, who also closes it.

    Args:
        client: The client.
        workers: How many evaluations at once; None for as many as the workers have threads.

    Raises:
        EvaluationError: The scheduler does not answer.
    """

    def __init__(self, client: Any, workers: int | None) -> None:
        self._client = client
        where = getattr(client.scheduler, "address", "of a closed client")
        self._scheduler = f"the Dask scheduler {where}"
        self._does_not_answer = f"{self._scheduler} does not answer"
        # Dask forgets an evaluation whose future nobody has.
        self._pending: dict[Future[Any], Any] = {}
        if workers is None:
            try:
                workers = max(self._threads(), 1)
            except Exception as error:
                raise EvaluationError(
                    f"{self._does_not_answer} ({raised(error)}): start it, and pass a new client"
                ) from error
        self.slots = workers

    def submit(self, box: BlackBox, arguments: Sequence[Any]) -> Future[Any]:
        """Start an evaluation; the future has its answer as soon as a worker has it.

        A future of Dask only knows on which worker its answer is. Fetching it may take long, and
        fails if that worker is lost.
        """
        # By default Dask evaluates equal calls only once.
        call = RemoteCall.of(box, arguments)
        remote = submitted(box, partial(self._client.submit, call, pure=False))
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()  # `cancel` of this class cancels it
        self._pending[future] = remote
        future.add_done_callback(self._pending.pop)

        def fetch() -> None:
            try:
                answer = remote.result()
            except CancelledError as error:
                future.set_exception(self._explained(error))
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(answer)

        def fetch_soon(_: Any) -> None:
            # Dask has one thread for this, and one answer must not wait for another.
            threading.Thread(target=fetch, name="grisaille-dask", daemon=True).start()

        remote.add_done_callback(fetch_soon)
        return future

    def cancel(self) -> None:
        """Cancel pending evaluations; those that run go on to their end."""
        self._client.cancel(list(self._pending.values()))

    def complaint(self) -> str:
        """Why pending evaluations may never end; empty if nothing is known to be wrong."""
        try:
            threads = self._threads()
        except Exception:
            return (
                f"{self._does_not_answer}. Start or restart it at the same address, or press "
                "Ctrl-C: the study goes on with a new client"
            )
        if threads == 0:
            return f"{self._scheduler} has no workers. Start some: they take over what is pending"
        return ""

    def _threads(self) -> int:
        """How many threads all workers have."""
        ask = partial(self._client.nthreads, callback_timeout=_PATIENCE)
        return sum(interruptible(ask).values())

    def _explained(self, error: CancelledError) -> Exception:
        reason = getattr(error, "reason", None)
        if reason in _CONNECTION_LOST or self._client.status != "running":
            return NotEvaluatedError(f"the connection to {self._scheduler} was lost")
        return error

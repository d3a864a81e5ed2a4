"""Hands: what evaluations are sent to, whoever makes them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from grisaille.errors import ModelError
from grisaille.language.black_box import BlackBox

if TYPE_CHECKING:
    from grisaille.execution.child_pool import ChildPool


class Hands(Protocol):
    """Makes evaluations, some at once."""

    slots: int
    """How many at once."""

    def submit(self, box: BlackBox, arguments: Sequence[Any]) -> Future[Any]:
        """Begin an evaluation; its future holds what the function returned."""
        ...

    def cancel(self) -> None:
        """Stop what is under way as far as possible, at once."""
        ...


@contextmanager
def hands_for(executor: Any, workers: int | None) -> Iterator[Hands]:
    """This process, child processes, or a user's executor.

    Args:
        executor: Anything with `submit`; None for this process, or for child processes.
        workers: How many evaluations at once; None for one, or as many as an executor has workers.
    """
    if executor is not None:
        yield _Executor(executor, workers)
        return
    hands = _Here() if workers is None else _Children(workers)
    try:
        yield hands
    finally:
        hands.close()


class _Here:
    """This process, one evaluation after the other; those with a timeout in a child process."""

    slots = 1

    def __init__(self) -> None:
        self._pool: ChildPool | None = None

    def submit(self, box: BlackBox, arguments: Sequence[Any]) -> Future[Any]:
        assert box.fn is not None
        future: Future[Any] = Future()
        try:
            if box.timeout is not None:
                from grisaille.execution.child_pool import ChildPool

                self._pool = self._pool or ChildPool(1)
                value = self._pool.submit(box.fn, arguments, box.timeout).result()
            else:
                value = box.fn(*arguments)
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

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()


class _Children:
    """Child processes, which are replaced when they die."""

    def __init__(self, workers: int) -> None:
        from grisaille.execution.child_pool import ChildPool

        self.slots = workers
        self._pool = ChildPool(workers)

    def submit(self, box: BlackBox, arguments: Sequence[Any]) -> Future[Any]:
        assert box.fn is not None
        return self._pool.submit(box.fn, arguments, box.timeout)

    def cancel(self) -> None:
        self._pool.shutdown(wait=False, cancel=True)

    def close(self) -> None:
        self._pool.shutdown()


class _Executor:
    """A user's executor: it belongs to them, so it is left as it is."""

    def __init__(self, executor: Any, workers: int | None) -> None:
        if isinstance(executor, type) or not callable(getattr(executor, "submit", None)):
            raise ModelError(
                f"executor={executor!r}: pass an object with submit, such as a "
                "concurrent.futures.ProcessPoolExecutor() or a dask.distributed.Client()"
            )
        self._executor = executor
        self.slots = workers or _count(executor)
        # Dask takes equal calls for one and the same, unless it is told otherwise.
        module = type(executor).__module__.split(".")[0]
        self._options = {"pure": False} if module == "distributed" else {}

    def submit(self, box: BlackBox, arguments: Sequence[Any]) -> Future[Any]:
        assert box.fn is not None
        errand = Errand(box.fn, tuple(arguments), box.timeout)
        future: Future[Any] = self._executor.submit(errand, **self._options)
        return future

    def cancel(self) -> None:
        pass


class Errand:
    """A function with its arguments, which can be sent to wherever it is called.

    When it has to travel, cloudpickle packs it: lambdas, closures and what a decorator hides go
    along. Executors with threads call it as it is.
    """

    def __init__(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], timeout: float | None
    ) -> None:
        self._function = function
        self._arguments = arguments
        self._timeout = timeout

    def __call__(self) -> Any:
        """Call the function; in a child process if it must end in time."""
        if self._timeout is None:
            return self._function(*self._arguments)
        from grisaille.execution.isolation import isolated

        return isolated(self._function, self._arguments, self._timeout)

    def __reduce__(self) -> tuple[Any, ...]:
        import cloudpickle  # type: ignore[import-untyped]

        return _unpacked, (cloudpickle.dumps((self._function, self._arguments)), self._timeout)


def _unpacked(payload: bytes, timeout: float | None) -> Errand:
    function, arguments = pickle.loads(payload)
    return Errand(function, arguments, timeout)


def _count(executor: Any) -> int:
    """How many workers an executor has."""
    known = getattr(executor, "_max_workers", None)  # concurrent.futures, loky
    if isinstance(known, int):
        return known
    if hasattr(executor, "nthreads"):  # Dask: each worker's threads
        return int(max(sum(executor.nthreads().values()), 1))
    raise ModelError(
        f"executor={executor!r} does not tell how many workers it has: pass workers= too"
    )

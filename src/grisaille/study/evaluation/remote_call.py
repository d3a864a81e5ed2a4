"""A call of a black box's function that travels to another process."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any, Self

from grisaille.errors import EvaluationError, raised
from grisaille.interrupts import interruptible
from grisaille.language.black_box import BlackBox


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

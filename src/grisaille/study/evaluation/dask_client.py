"""Evaluations on a Dask cluster, whose workers and scheduler may be lost."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import Any

from grisaille.errors import EvaluationError, raised
from grisaille.interrupts import interruptible
from grisaille.language.black_box import BlackBox
from grisaille.study.evaluation.remote_call import RemoteCall, submitted

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

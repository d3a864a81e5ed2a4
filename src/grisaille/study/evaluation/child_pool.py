"""Evaluating functions in child processes that are kept from one evaluation to the next."""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any, NamedTuple, Self

from grisaille.checks import check_count
from grisaille.errors import EvaluationError, ProtocolError
from grisaille.study.evaluation.child_process import CHILD, Call, Child


class ChildPool:
    """Evaluates functions in up to `workers` child processes at once, as `isolated` does in one.

    A child starts when it is first needed and then stays, so that modules are imported once. It
    keeps what a function leaves behind, until the pool is shut down or the child dies:

    - Its modules, with what they keep in their globals. A function found by import is that of the
      file as it was when the child first imported it.
    - The function itself, with its closure and its globals, if it travels by value (a lambda, a
      closure, a function of a script): the child recognizes it by the bytes of its pickle, so a
      cache that it fills in its globals stays full. If what it refers to changes here, the child
      gets the new function. The last 64 functions are kept.
    - Files, threads and processes that it left open or running.

    Children share nothing, and any of them may make an evaluation. Working
    directory, environment and `sys.path` are those of this process when the child was started.

    An evaluation that takes too long is killed with its child and all the child started, and so is
    one that dies; the next evaluation gets a new child, and the others are not affected. All
    children end when this process does, however it ends. Needs Unix.

    Args:
        workers: How many children there are at most.

    Raises:
        ModelError: There would be no worker.
    """

    def __init__(self, workers: int) -> None:
        check_count("", "workers", workers)
        self._workers = workers
        self._changed = threading.Condition()  # guards all that follows
        self._tasks: deque[_Task] = deque()
        self._busy = 0
        self._threads: list[threading.Thread] = []
        self._children: set[Child] = set()
        self._closed = False
        self._cancelled = False
        self._owner = os.getpid()
        atexit.register(self._at_exit)

    def submit(
        self, function: Callable[..., Any], arguments: Sequence[Any], timeout: float | None
    ) -> Future[Any]:
        """Evaluate `function(*arguments)` when a worker is free.

        Function and arguments are pickled now: changing them later has no effect.

        Args:
            function: Anything cloudpickle can send: lambdas, closures and functions of a script.
            arguments: Its positional arguments.
            timeout: Seconds after which it is killed, counted from the call of the function:
                waiting for a worker, the start of a child and the import of the function's module
                do not count. None for no limit.

        Returns:
            The future of its value, or of the exceptions that `isolated` raises.

        Raises:
            ModelError: The timeout is no time.
            ProtocolError: The pool is shut down.
        """
        future: Future[Any] = Future()
        try:
            task = _Task(Call.of(function, arguments, timeout), future)
        except EvaluationError as error:
            future.set_exception(error)
            return future
        with self._changed:
            if self._closed:
                raise ProtocolError("the pool is shut down: make a new one")
            self._tasks.append(task)
            # A free worker has a running child: no other is started.
            wanted = self._busy + len(self._tasks)
            if len(self._threads) < min(wanted, self._workers):
                # Daemons, because at exit Python waits for other threads before it calls us.
                thread = threading.Thread(target=self._work, name="grisaille-pool", daemon=True)
                thread.start()
                self._threads.append(thread)
            self._changed.notify()
        return future

    def shutdown(self, wait: bool = True, cancel: bool = False) -> None:
        """Accept no more; the children end, and what they left running is killed.

        Args:
            wait: Return when all is done.
            cancel: Kill all children now. Pending evaluations fail with EvaluationError, those
                that wait are cancelled. Otherwise everything submitted is evaluated first, unless
                Python exits before.
        """
        dropped: list[_Task] = []
        with self._changed:
            self._closed = True
            if cancel:
                self._cancelled = True
                dropped.extend(self._tasks)
                self._tasks.clear()
            children = list(self._children) if cancel else []
            self._changed.notify_all()
        for process in children:
            process.kill()
        for task in dropped:
            task.future.cancel()
            task.future.set_running_or_notify_cancel()  # else concurrent.futures.wait waits on
        if wait:
            self._join(None)
            atexit.unregister(self._at_exit)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # After an exception such as Ctrl-C nobody wants to wait for hours of evaluations.
        self.shutdown(cancel=error is not None)

    def _at_exit(self) -> None:
        if os.getpid() == self._owner:  # not in a fork of this process
            self.shutdown(wait=False, cancel=True)
            self._join(CHILD.grace)  # the threads remove folders, but may wait for ever for a child

    def _join(self, seconds: float | None) -> None:
        for thread in self._threads:
            if thread is not threading.current_thread():  # which is a worker's in callbacks
                thread.join(seconds)

    def _work(self) -> None:
        """Evaluate tasks in a child of this thread, until there are no more."""
        process: Child | None = None
        while (task := self._next()) is not None:
            if not task.future.set_running_or_notify_cancel():
                self._rest()
                continue
            process = self._evaluate(task, process)
            del task  # its value may be large, and the next task may come late
        if process is not None:
            process.end()
            self._close(process)

    def _next(self) -> _Task | None:
        """The next task, when there is one; None when there will be none."""
        with self._changed:
            while not self._tasks:
                if self._closed:
                    return None
                self._changed.wait()
            self._busy += 1
            return self._tasks.popleft()

    def _rest(self) -> None:
        with self._changed:
            self._busy -= 1

    def _evaluate(self, task: _Task, process: Child | None) -> Child | None:
        """Set the future of a task; returns the child for the next task, if it is alive."""
        value, failure = None, None
        try:
            if process is not None and not process.is_alive():  # it died while it was idle
                self._close(process)
                process = None
            process = process or self._start()
            value = process.answer(task.call).opened()
        except BaseException as error:  # somebody waits for the future, whatever it is
            failure = error
        if process is not None and not process.is_alive():
            self._close(process)
            process = None
        self._rest()  # before the value is seen: the next submission finds this worker free
        if failure is None:
            task.future.set_result(value)
        else:
            task.future.set_exception(failure)
            del failure  # its traceback leads to this frame: a cycle would keep the arguments
        return process

    def _start(self) -> Child:
        process = Child()
        with self._changed:
            self._children.add(process)
            cancelled = self._cancelled
        if cancelled:  # started too late to be killed with the others
            process.kill()
        return process

    def _close(self, process: Child) -> None:
        with self._changed:
            self._children.discard(process)
        process.close()


class _Task(NamedTuple):
    call: Call
    future: Future[Any]

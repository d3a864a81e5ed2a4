"""Evaluating a function in a child process, which can be killed whatever it is doing.

These processes are our own, not those of `multiprocessing`. Spawning would import the user's script
again, forking a process with PyTorch's threads may hang, and neither can kill what an evaluation
started.

Evaluating functions in child processes that are kept from one evaluation to the next.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import math
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, Self, cast

from grisaille.checks import check_count
from grisaille.errors import EvaluationError, ModelError, ProtocolError, raised, shortened
from grisaille.study.evaluation import child_script

# --- temporary folder -----------------------------------------------------------------------------
# Temporary folders that are removed even if their process was killed: by the next one.

_PREFIX = "grisaille-"
# Each folder has a file that its process keeps locked as long as it lives. A process number would
# not do: containers that share a folder for temporary files count their processes apart.
_OWNER = ".owner"


class TemporaryFolder:
    """A new folder for temporary files; makes way for it by removing abandoned ones."""

    def __init__(self) -> None:
        _remove_abandoned(Path(tempfile.gettempdir()))
        # Under another name until it is locked: so far it looks abandoned.
        hidden = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}"))
        self._lock = os.open(hidden / _OWNER, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = str(hidden.rename(hidden.with_name(hidden.name.removeprefix("."))))

    def remove(self) -> None:
        """Remove the folder. A process that is being killed may still be writing there."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


def _remove_abandoned(place: Path) -> None:
    """Remove this user's folders whose process is gone."""
    for folder in place.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another user's, another program's, or just removed
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            lock = os.open(folder / _OWNER, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


# --- child process --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChildConstants:
    """The constants of child processes, in seconds.

    Attributes:
        heartbeat: Time between checks that the child is alive: its death may not close the socket.
            A choice of patience.
        grace: Time that a child has to end. A choice of patience.
        loading: Time that a child has to start and to load a function with a timeout. A choice of
            patience.
    """

    heartbeat: float = 0.25
    grace: float = 5.0
    loading: float = 120.0


CHILD = ChildConstants()


def isolated(function: Callable[..., Any], arguments: Sequence[Any], timeout: float | None) -> Any:
    """The value of `function(*arguments)`, evaluated in a Python process of its own.

    The process has the working directory, environment and `sys.path` of this one, and prints where
    this one prints; its standard input is empty. It ends with the evaluation, and so does every
    process that the function started, unless that made itself a process group of its own. It also
    ends if this process dies. Needs Unix.

    Args:
        function: Anything cloudpickle can send: lambdas, closures and functions of a script too.
        arguments: Its positional arguments.
        timeout: Seconds after which it is killed, counted from the call of the function: the start
            of the process and the import of the function's module are not included. None to wait
            for ever.

    Raises:
        EvaluationError: Time was up, the process died, or something could not be sent. The text
            goes after the name of what was evaluated: "took longer than 5 s (timeout=5)".
        Exception: Whatever the function raised, with its traceback as a note.
    """
    call = Call.of(function, arguments, timeout)
    process = Child()
    try:
        answer = process.answer(call)
        process.end()
    finally:
        process.close()
    return answer.opened()


@dataclass(frozen=True, slots=True)
class Call:
    """A function and its arguments, pickled.

    Attributes:
        digest: By which a child recognizes the function.
        function: Its pickle.
        arguments: The pickle of the tuple of its arguments.
        timeout: Seconds that the function may take; None for no limit.
    """

    digest: bytes
    function: bytes
    arguments: bytes
    timeout: float | None

    @classmethod
    def of(
        cls, function: Callable[..., Any], arguments: Sequence[Any], timeout: float | None
    ) -> Self:
        """Pack a call.

        Raises:
            ModelError: The timeout is no time.
            EvaluationError: The function or an argument cannot be pickled.
        """
        import cloudpickle  # type: ignore[import-untyped]

        if timeout is not None and not timeout > 0:  # NaN too
            raise ModelError(
                f"timeout={shortened(timeout)}: pass a number of seconds above 0, or None"
            )
        try:
            packed = cloudpickle.dumps(function)
            packed_arguments = cloudpickle.dumps(tuple(arguments))
        except Exception as error:
            raise EvaluationError(
                f"cannot be sent to a child process ({raised(error)}): open files, "
                "connections and locks inside the function, or evaluate it in this process, "
                "without a timeout"
            ) from error
        return cls(hashlib.sha256(packed).digest(), packed, packed_arguments, timeout)


class Answer(NamedTuple):
    """A message of a child: its kind and its content, as `child_script` defines them."""

    kind: bytes
    body: memoryview

    def opened(self) -> Any:
        """The function's value; raises what the function raised."""
        if self.kind == child_script.REFUSED:
            raise EvaluationError(str(self.body, "utf-8"))
        if self.kind == child_script.RAISED:
            raise _exception(*pickle.loads(self.body))
        try:
            return pickle.loads(self.body)
        except Exception as error:
            raise EvaluationError(
                f"returned something that cannot be loaded here ({raised(error)}): return numbers"
            ) from error


class Child:
    """A process that evaluates functions, one after another, and is killed with all it started.

    It belongs to one thread; only `kill` may be called from others.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._killed = False
        # A killed process cannot clean up: its temporary files are in a folder that we remove.
        self._folder = TemporaryFolder()
        self._channel, end = socket.socketpair()
        try:
            # The file and not -m: it is found even if this process found Grisaille through a
            # sys.path of its own, and no file in the working directory can hide a standard module.
            # Nothing is ever sent to standard input: it closes with us, and that ends the child.
            self._process = subprocess.Popen(
                [sys.executable, child_script.__file__, str(end.fileno())],
                stdin=subprocess.PIPE,
                bufsize=0,
                pass_fds=(end.fileno(),),
                start_new_session=True,
            )
        except BaseException:
            self._channel.close()
            self._folder.remove()
            raise
        finally:
            end.close()
        self._greeting = _framed(pickle.dumps((sys.path, self._folder.path)))

    def answer(self, call: Call) -> Answer:
        """Let the child make a call; the child is killed if that takes too long.

        Raises:
            EvaluationError: Time was up, or the child died.
        """
        limit = math.inf if call.timeout is None else max(CHILD.loading, call.timeout)
        complaint = (
            f"was still not loaded in a child process after {limit:g} s: import less in its "
            "module, or raise timeout"
        )
        deadline = time.monotonic() + limit
        try:
            self._send(self._greeting + _framed(call.digest, call.arguments), deadline)
            self._greeting = b""
            while True:
                answer = self._receive(deadline)
                if answer.kind == child_script.NEEDED:
                    self._send(_framed(call.function), deadline)
                elif answer.kind != child_script.CALLED:
                    return answer
                elif call.timeout is not None:
                    deadline = time.monotonic() + call.timeout
                    complaint = f"took longer than {call.timeout:g} s (timeout={call.timeout:g})"
        except _TimeIsUpError:
            self.kill()
            raise EvaluationError(complaint) from None
        except _DiedError:
            if self._killed:
                raise EvaluationError("was stopped before it ended") from None
            raise EvaluationError(f"its process {_end(self._process.wait())}") from None

    def is_alive(self) -> bool:
        """Whether it can evaluate."""
        return not self._killed and self._process.poll() is None

    def kill(self) -> None:
        """Kill it and all it started, from any thread; a pending evaluation ends."""
        with self._lock:  # only once: later the number may belong to another process
            if not self._killed:
                self._killed = True
                _kill_group(self._process.pid)

    def end(self) -> None:
        """Let it end normally, so that exit handlers run; waits for `GRACE` at most."""
        with suppress(OSError):  # it died
            self._channel.shutdown(socket.SHUT_WR)
        with suppress(_TimeIsUpError):
            self._read(memoryview(bytearray(1)), time.monotonic() + CHILD.grace)

    def close(self) -> None:
        """Kill what is left of it and remove its files."""
        self.kill()
        self._process.wait()
        self._channel.close()
        cast(IO[bytes], self._process.stdin).close()
        self._folder.remove()

    def _send(self, data: bytes, deadline: float) -> None:
        """Send all, or return if the child dies: there may still be something to read."""
        unsent = memoryview(data)
        while unsent:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise _TimeIsUpError
            self._channel.settimeout(min(remaining, CHILD.heartbeat))
            try:
                unsent = unsent[self._channel.send(unsent) :]
            except TimeoutError:
                if not self.is_alive():
                    return
            except (BrokenPipeError, ConnectionResetError):
                return

    def _receive(self, deadline: float) -> Answer:
        kind, length = child_script.ANSWER.unpack(self._exactly(child_script.ANSWER.size, deadline))
        return Answer(kind, self._exactly(length, deadline))

    def _exactly(self, length: int, deadline: float) -> memoryview:
        received = memoryview(bytearray(length))
        missing = received
        while missing:
            count = self._read(missing, deadline)
            if count == 0:
                raise _DiedError
            missing = missing[count:]
        return received

    def _read(self, buffer: memoryview, deadline: float) -> int:
        """Fill some of the buffer; 0 if the child is dead and there is nothing left to read."""
        while (remaining := deadline - time.monotonic()) > 0:
            # Checked before we read: the last message of a dead child can then be read.
            dead = self._process.poll() is not None
            self._channel.settimeout(0 if dead else min(remaining, CHILD.heartbeat))
            try:
                count = self._channel.recv_into(buffer)
            except ConnectionResetError:
                count = 0
            except (TimeoutError, BlockingIOError):
                if dead:
                    return 0
                continue
            if count or dead:
                return count
            # The socket closes just before the process ends, or long before if the child closed it.
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(None if remaining == math.inf else remaining)
        raise _TimeIsUpError


class _TimeIsUpError(Exception):
    pass


class _DiedError(Exception):
    pass


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a group, and all that is left of its group."""
    _kill_group(process.pid)
    process.wait()


def _kill_group(number: int) -> None:
    # It raises if all are gone already; for zombies macOS reports a missing permission.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(number, signal.SIGKILL)


def signal_name(number: int) -> str:
    """A signal's name: SIGSEGV."""
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have none
        return str(number)


def _framed(*messages: bytes) -> bytes:
    """Messages in the format that the child reads."""
    return b"".join(
        part for body in messages for part in (child_script.LENGTH.pack(len(body)), body)
    )


def _end(code: int) -> str:
    if code < 0:
        return f"died with signal {signal_name(-code)}"
    return f"exited with code {code} without an answer"


def _exception(pickled: bytes | None, kind: str, text: str, story: str) -> Exception:
    """The function's own exception, or an EvaluationError if it could not be pickled."""
    error: Exception = EvaluationError(f"raised {kind}: {text}")
    if pickled is not None:
        # Some exceptions can be pickled but not loaded: their constructor needs more arguments.
        with suppress(Exception):
            error = pickle.loads(pickled)
    error.add_note(f"In the child process:\n{story.rstrip()}")
    return error


# --- child pool -----------------------------------------------------------------------------------


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

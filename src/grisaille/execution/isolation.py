"""Evaluating a function in a child process, which can be killed whatever it is doing."""

from __future__ import annotations

import math
import os
import pickle
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import IO, Any, cast

from grisaille.errors import EvaluationError, ModelError
from grisaille.execution import child

HEARTBEAT = 0.25
"""Seconds between looks at whether the child lives, for when its death does not close the pipe."""

GRACE = 5.0
"""Seconds that a child which has answered may take to end in order."""

CHUNK = 1 << 20


def isolated(function: Callable[..., Any], arguments: Sequence[Any], timeout: float | None) -> Any:
    """The value of `function(*arguments)`, evaluated in a Python process of its own.

    The process has the working directory, environment and `sys.path` of this one, and prints where
    this one prints; its standard input is empty. It ends with the evaluation, and so does every
    process that the function started, unless that made itself a process group of its own. It also
    ends if this process dies. Needs Unix.

    Args:
        function: Anything cloudpickle can send: lambdas, closures and functions of a script too.
        arguments: Its positional arguments.
        timeout: Seconds after which it is killed, the start of the process and its imports
            included; None to wait for ever.

    Raises:
        EvaluationError: Time was up, the process died, or something could not be sent. The text
            goes after the name of what was evaluated: "took longer than 5 s (timeout=5)".
        Exception: Whatever the function raised, with its traceback as a note.
    """
    if timeout is not None and not timeout > 0:  # NaN too
        raise ModelError(f"timeout={timeout!r}: pass a number of seconds above 0, or None")
    payload = _payload(function, arguments)
    answer_pipe, answer_end = os.pipe()
    try:
        try:
            # The file and not -m: it is found even if this process found Grisaille through a
            # sys.path of its own, and no file in the working directory can hide a standard module.
            process = subprocess.Popen(
                [sys.executable, child.__file__, str(answer_end)],
                stdin=subprocess.PIPE,
                bufsize=0,
                pass_fds=(answer_end,),
                start_new_session=True,
            )
        finally:
            os.close(answer_end)
        with process:
            try:
                answer = _converse(process, payload, answer_pipe, timeout)
            finally:
                kill_group(process)
    finally:
        os.close(answer_pipe)
    if answer is None:
        raise EvaluationError(f"its process {_end(process.returncode)}")
    return _opened(*answer)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a group, and all that is left of its group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # all gone; macOS says the latter of zombies
        pass
    process.wait()


def signal_name(number: int) -> str:
    """A signal's name: SIGSEGV."""
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have none
        return str(number)


def _payload(function: Callable[..., Any], arguments: Sequence[Any]) -> bytes:
    import cloudpickle  # type: ignore[import-untyped]

    try:
        body = cloudpickle.dumps((function, tuple(arguments)))
    except Exception as error:
        raise EvaluationError(
            f"cannot be sent to a child process ({type(error).__name__}: {error}): open files, "
            "connections and locks inside the function, or evaluate it in this process, without a "
            "timeout"
        ) from error
    path = pickle.dumps(sys.path)
    return b"".join((child.LENGTH.pack(len(path)), path, child.LENGTH.pack(len(body)), body))


def _converse(
    process: subprocess.Popen[bytes], payload: bytes, answer_pipe: int, timeout: float | None
) -> tuple[bytes, memoryview] | None:
    """Send the payload and receive kind and content of the answer; None if the child dies first.

    Both pipes are served at once: either side may be writing more than a pipe holds. The pipe of
    the payload is not closed afterwards, because for the child that means that its parent died.
    """
    deadline = math.inf if timeout is None else time.monotonic() + timeout
    payload_pipe = cast(IO[bytes], process.stdin).fileno()
    os.set_blocking(payload_pipe, False)
    unsent = memoryview(payload)
    received = bytearray()
    answered = False
    with selectors.DefaultSelector() as selector:
        selector.register(payload_pipe, selectors.EVENT_WRITE)
        selector.register(answer_pipe, selectors.EVENT_READ)
        while (remaining := deadline - time.monotonic()) > 0:
            ready = {key.fd for key, _ in selector.select(min(remaining, HEARTBEAT))}
            if not ready and process.poll() is not None:
                break
            if payload_pipe in ready:
                try:
                    unsent = unsent[os.write(payload_pipe, unsent[:CHUNK]) :]
                except BrokenPipeError:  # it died: what it managed to say is still to be read
                    unsent = unsent[:0]
                if not unsent:
                    selector.unregister(payload_pipe)
            if answer_pipe in ready:
                chunk = os.read(answer_pipe, CHUNK)
                received += chunk
                if not chunk and (answered or _ends(process, remaining)):
                    break
                if not answered and _is_whole(received):
                    answered = True
                    deadline = time.monotonic() + GRACE
        else:
            if not answered:
                raise EvaluationError(f"took longer than {timeout:g} s (timeout={timeout:g})")
    if not answered:
        return None
    kind, _ = child.ANSWER.unpack_from(received)
    return kind, memoryview(received)[child.ANSWER.size :]


def _is_whole(received: bytearray) -> bool:
    if len(received) < child.ANSWER.size:
        return False
    return len(received) == child.ANSWER.size + int(child.ANSWER.unpack_from(received)[1])


def _ends(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether it ends in time: its pipe closes just before, or long before if it closed it."""
    try:
        process.wait(None if seconds == math.inf else seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(code: int) -> str:
    if code < 0:
        return f"died with signal {signal_name(-code)}"
    return f"exited with code {code} without an answer"


def _opened(kind: bytes, body: memoryview) -> Any:
    if kind == child.REFUSED:
        raise EvaluationError(str(body, "utf-8"))
    if kind == child.RAISED:
        raise _exception(*pickle.loads(body))
    try:
        return pickle.loads(body)
    except Exception as error:
        raise EvaluationError(
            f"returned something that cannot be loaded here ({type(error).__name__}: {error}): "
            "return numbers"
        ) from error


def _exception(pickled: bytes | None, kind: str, text: str, story: str) -> Exception:
    """The function's own exception, or an EvaluationError if it could not travel."""
    error: Any = None
    if pickled is not None:
        try:
            error = pickle.loads(pickled)
        except Exception:
            pass  # constructors with other arguments than args: common, and only seen on loading
    if not isinstance(error, Exception):
        error = EvaluationError(f"raised {kind}: {text}")
    error.add_note(f"In the child process:\n{story.rstrip()}")
    return error

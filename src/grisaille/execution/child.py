"""The process in which `isolated` evaluates one function; run as a script.

It imports nothing but the standard library until the function itself asks for more: every
evaluation pays for what is imported here.
"""

from __future__ import annotations

import faulthandler
import fcntl
import os
import pickle
import select
import signal
import struct
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO

LENGTH = struct.Struct(">Q")
"""What goes before each message to the child: its number of bytes."""

ANSWER = struct.Struct(">cQ")
"""What goes before the answer: its kind, and its number of bytes."""

VALUE = b"v"
"""The answer is the pickled value."""

RAISED = b"r"
"""The answer is the pickled (exception's pickle or None, its type and text, its traceback)."""

REFUSED = b"x"
"""The answer is a sentence: the function or its value did not survive the journey."""

GROUP_VARIABLE = "GRISAILLE_ISOLATED_GROUP"
"""Environment variable with the number of the process group that will be killed as a whole."""


def main() -> None:
    """Read a function from standard input, evaluate it, send the answer to the given pipe."""
    faulthandler.enable()  # a crash in C code then shows the Python lines that led to it
    answer_pipe = int(sys.argv[1])
    os.set_inheritable(answer_pipe, False)
    # The pipe of the payload stays open as the lifeline; the function sees an empty input instead.
    lifeline = os.dup(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    with open(lifeline, "rb", closefd=False) as stream:
        sys.path[:] = pickle.loads(_receive(stream))
        payload = _receive(stream)
    os.environ[GROUP_VARIABLE] = str(os.getpgrp())
    if sys.platform == "linux":
        die_by_signal(lifeline)
    else:
        die_by_thread(lifeline)
    kind, body = _evaluate(payload)
    with open(answer_pipe, "wb", closefd=False) as stream:
        stream.write(ANSWER.pack(kind, len(body)))
        stream.write(body)
    # Left to end as any program does, so that exit handlers run and temporary folders go.


def in_isolated_group() -> bool:
    """Whether `isolated` kills the process group that this process belongs to."""
    return os.environ.get(GROUP_VARIABLE) == str(os.getpgrp())


def die_by_signal(lifeline: int) -> None:
    """Have the kernel kill this process group when the other end of the pipe closes (Linux).

    The end closes with the parent, however that died. Unlike a thread this reaches code that never
    gives the interpreter back, and unlike PR_SET_PDEATHSIG it reaches the processes that the
    function started, and does not mistake the end of the parent's thread for that of the parent.
    """
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
    flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | fcntl.FASYNC)
    # The signal tells of a change, so the parent may have died before there was one to tell.
    closed = select.poll()
    closed.register(lifeline, select.POLLIN)
    if closed.poll(0):
        os.killpg(0, signal.SIGKILL)


def die_by_thread(lifeline: int) -> None:
    """Kill this process group when the other end of the pipe closes (any Unix)."""

    def watch() -> None:
        os.read(lifeline, 1)  # nothing is ever sent: it returns when the pipe closes
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def _receive(stream: BinaryIO) -> bytes:
    (length,) = LENGTH.unpack(_exactly(stream, LENGTH.size))
    return _exactly(stream, length)


def _exactly(stream: BinaryIO, length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:  # the parent died while it was writing: nobody waits for an answer
        sys.exit(1)
    return data


def _evaluate(payload: bytes) -> tuple[bytes, bytes]:
    """Kind and content of the answer."""
    try:
        function, arguments = pickle.loads(payload)
    except Exception as error:
        return REFUSED, (
            f"cannot be loaded in a child process ({type(error).__name__}: {error}): its module "
            "must be importable there and what it refers to must be picklable, or evaluate it in "
            "this process, without a timeout"
        ).encode(errors="replace")
    del payload  # as large as the arguments
    try:
        value = function(*arguments)
    except Exception as error:
        return RAISED, _packed(error)
    try:
        return VALUE, _dumps()(value)
    except Exception as error:
        return REFUSED, (
            f"returned a {type(value).__name__} that cannot be sent back from its process "
            f"({type(error).__name__}: {error}): return numbers"
        ).encode(errors="replace")


def _packed(error: Exception) -> bytes:
    import traceback

    pickled = None
    try:
        pickled = _dumps()(error)
    except Exception:
        pass  # its type and text go instead
    try:
        text = str(error)
    except Exception:
        text = "(no text: its __str__ raises)"
    inside = error.__traceback__ and error.__traceback__.tb_next  # from the function on
    story = "".join(traceback.format_exception(type(error), error, inside))
    return pickle.dumps((pickled, type(error).__name__, text, story))


def _dumps() -> Callable[[Any], bytes]:
    # Plain pickle cannot send what a user's script defines: here, __main__ is this file.
    from cloudpickle import dumps  # type: ignore[import-untyped]

    return dumps  # type: ignore[no-any-return]


if __name__ == "__main__":
    main()

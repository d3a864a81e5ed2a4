"""The process in which functions are evaluated, one after another; run as a script.

It imports nothing but the standard library until a function asks for more: every start pays for
what is imported here.
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
from contextlib import suppress
from typing import Any, BinaryIO

LENGTH = struct.Struct(">Q")
"""What goes before each message to the child: its number of bytes."""

ANSWER = struct.Struct(">cQ")
"""What goes before each message from the child: its kind, and its number of bytes."""

NEEDED = b"n"
"""The child has not seen this function, or has dropped it: the parent is to send it."""

CALLED = b"c"
"""Function and arguments are loaded, and the function is called now: its time begins."""

VALUE = b"v"
"""The answer is the pickled value."""

RAISED = b"r"
"""The answer is the pickled (exception's pickle or None, its type and text, its traceback)."""

REFUSED = b"x"
"""The answer is a sentence: the function or its value did not survive the journey."""

FUNCTIONS = 64
"""How many functions the child keeps: they may have a data set each."""

GROUP_VARIABLE = "GRISAILLE_ISOLATED_GROUP"
"""Environment variable: the number of the process group that will be killed as a whole, a colon,
and the folder that will be removed with it."""


def main() -> None:
    """Answer the requests that come through the given socket, until it is closed.

    A request is two messages, the digest of a function and the pickled arguments; the pickled
    function follows if it is needed.
    """
    faulthandler.enable()  # a crash in C code then shows the Python lines that led to it
    channel = int(sys.argv[1])
    os.set_inheritable(channel, False)
    # Standard input came as the lifeline; the function sees an empty input instead.
    lifeline = os.dup(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if sys.platform == "linux":
        die_by_signal(lifeline)
    else:
        die_by_thread(lifeline)
    functions: dict[bytes, Callable[..., Any]] = {}  # the one used last comes last
    with (
        open(channel, "rb", closefd=False) as requests,
        open(channel, "wb", closefd=False) as answers,
    ):
        sys.path[:], folder = pickle.loads(_receive(requests))
        os.environ[GROUP_VARIABLE] = f"{os.getpgrp()}:{folder}"
        while digest := _receive(requests):
            _send(answers, *_answer(digest, functions, requests, answers))
    # Left to end as any program does, so that exit handlers run and temporary folders go.


def isolated_folder() -> str | None:
    """The folder that goes with this process group, if it is one that `isolated` will kill."""
    group, _, folder = os.environ.get(GROUP_VARIABLE, "").partition(":")
    return folder if group == str(os.getpgrp()) else None  # a group made since is on its own


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
    """The next message; empty if there will be none, because the parent wants no more or died."""
    header = stream.read(LENGTH.size)
    if len(header) < LENGTH.size:
        return b""
    (length,) = LENGTH.unpack(header)
    return stream.read(length)


def _send(stream: BinaryIO, kind: bytes, body: bytes = b"") -> None:
    stream.write(ANSWER.pack(kind, len(body)))
    stream.write(body)
    stream.flush()


def _answer(
    digest: bytes,
    functions: dict[bytes, Callable[..., Any]],
    requests: BinaryIO,
    answers: BinaryIO,
) -> tuple[bytes, bytes]:
    """Kind and content of the answer."""
    packed_arguments = _receive(requests)
    try:
        function = functions.pop(digest, None)
        if function is None:
            _send(answers, NEEDED)
            function = pickle.loads(_receive(requests))
        functions[digest] = function
        if len(functions) > FUNCTIONS:
            del functions[next(iter(functions))]
        arguments = pickle.loads(packed_arguments)
    except Exception as error:
        return REFUSED, (
            f"cannot be loaded in a child process ({type(error).__name__}: {error}): its module "
            "must be importable there and what it refers to must be picklable, or evaluate it in "
            "this process, without a timeout"
        ).encode(errors="replace")
    del packed_arguments  # as large as the arguments
    _send(answers, CALLED)
    return _evaluate(function, arguments)


def _evaluate(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bytes, bytes]:
    try:
        value = function(*arguments)
    except Exception as error:
        return RAISED, _packed(error)
    finally:
        # Seen when it was printed, and not lost if this process is killed later.
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
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
    with suppress(Exception):  # then its type and text must do
        pickled = _dumps()(error)
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

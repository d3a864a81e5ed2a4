"""The process in which functions are evaluated, one after another; run as a script.

It imports only the standard library until a function needs more, so that it starts quickly.
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
"""The child does not have this function: the parent must send it."""

CALLED = b"c"
"""Function and arguments are loaded, and the function is called now: its time begins."""

VALUE = b"v"
"""The answer is the pickled value."""

RAISED = b"r"
"""The answer is the pickled (exception's pickle or None, its type and text, its traceback)."""

REFUSED = b"x"
"""The answer is a sentence: the function or its value could not be sent."""

FUNCTIONS = 64
"""How many functions the child keeps: each may have a data set."""

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
    # The process ends normally, so that exit handlers run and temporary folders are removed.


def isolated_folder() -> str | None:
    """The temporary folder of this process group, if `isolated` will kill the group."""
    group, _, folder = os.environ.get(GROUP_VARIABLE, "").partition(":")
    return folder if group == str(os.getpgrp()) else None  # a group of its own is not killed


def die_by_signal(lifeline: int) -> None:
    """Have the kernel kill this process group when the other end of the pipe closes (Linux)."""
    kill_when_closed(lifeline, os.getpgrp())
    # The signal reports a change only: the parent may have died before.
    closed = select.poll()
    closed.register(lifeline, select.POLLIN)
    if closed.poll(0):
        os.killpg(0, signal.SIGKILL)


def kill_when_closed(lifeline: int, group: int) -> None:
    """Have the kernel kill a process group when the other end of the pipe closes (Linux).

    The pipe closes when the parent dies, for whatever reason. Unlike a thread, this also stops code
    that never releases the interpreter. Unlike PR_SET_PDEATHSIG, it also reaches the processes that
    the group's leader started, and does not react to the end of a thread of the parent.
    """
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, -group)
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
    flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | fcntl.FASYNC)


def die_by_thread(lifeline: int) -> None:
    """Kill this process group when the other end of the pipe closes (any Unix)."""

    def watch() -> None:
        os.read(lifeline, 1)  # nothing is ever sent, so it returns when the pipe closes
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def _receive(stream: BinaryIO) -> bytes:
    """The next message; empty if there is none, because the parent has finished or died."""
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
        # Output appears at once, and is not lost if this process is killed later.
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
    with suppress(Exception):  # otherwise its type and text must be enough
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

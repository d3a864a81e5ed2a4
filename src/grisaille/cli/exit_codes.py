"""How a command ends: exit codes, errors as sentences, and the signal to terminate."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from grisaille.errors import GrisailleError, ModelError, ProtocolError, raised, text_of
from grisaille.storage.address import masked_addresses

DONE = 0
NOTHING = 1
MISTAKE = 2
FAILURE = 3
UNWRITTEN = 4
INTERRUPTED = 130
TERMINATED = 143


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a run as Ctrl-C does: its queries are given back."""


def report(error: Exception) -> int:
    """Print what went wrong, and what a run had found by then; returns the exit code."""
    text = text_of(error) if isinstance(error, GrisailleError) else raised(error)
    # The address of a database may stand where a study or a file was meant.
    print(f"grisaille: {masked_addresses(text)}", file=sys.stderr)
    result = getattr(error, "result", None)
    if result is not None and result.nit:
        print(f"\nWhat was evaluated before:\n{result}", file=sys.stderr)
    return MISTAKE if isinstance(error, ModelError | ProtocolError) else FAILURE


@contextmanager
def handling_termination() -> Iterator[list[int]]:
    """A context in which SIGTERM raises `Terminated`; gives the list of received signals."""
    received: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        raise Terminated

    if threading.current_thread() is not threading.main_thread():  # only that one gets signals
        yield received
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield received
    finally:
        signal.signal(signal.SIGTERM, before)

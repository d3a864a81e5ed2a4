"""How a command ends: exit codes, errors as sentences, and the signal to terminate."""

from __future__ import annotations

import re
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from grisaille.errors import (
    GrisailleError,
    GrisailleWarning,
    ModelError,
    ProtocolError,
    printable,
    raised,
    text_of,
)
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


def report(error: Exception, study: str | None = None) -> int:
    """Print what went wrong, and what a run had found by then; returns the exit code."""
    text = text_of(error) if isinstance(error, GrisailleError) else raised(error)
    say(text, study)
    result = getattr(error, "result", None)
    if result is not None and result.nit:
        print(f"\nWhat was evaluated before:\n{result}", file=sys.stderr)
    return MISTAKE if isinstance(error, ModelError | ProtocolError) else FAILURE


def say(text: str, study: str | None = None) -> None:
    """Print a sentence on standard error, in the words of the command line."""
    name = "STUDY" if study is None else shlex.quote(study)
    text = re.sub(
        r"study\.correct\('([^']+)', \.\.\.\)", rf"grisaille correct {name} \1 VALUE", text
    )
    text = text.replace("study.answers()", f"grisaille answers {name}")
    # The address of a database may stand where a study or a file was meant.
    print(f"grisaille: {masked_addresses(text)}", file=sys.stderr)


@contextmanager
def warnings_as_sentences(study: str | None) -> Iterator[None]:
    """A context in which remarks about what looks like a mistake are printed as errors are."""

    def show(message: Warning | str, category: type[Warning], *more: Any, **named: Any) -> None:
        if issubclass(category, GrisailleWarning):
            say(printable(str(message)), study)
        else:
            usual(message, category, *more, **named)

    with warnings.catch_warnings():
        warnings.simplefilter("always", GrisailleWarning)
        usual = warnings.showwarning
        warnings.showwarning = show  # as Python's documentation has it
        yield


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

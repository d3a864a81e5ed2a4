"""The end of a command: exit codes, errors as sentences, signals, closed streams."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TextIO

from grisaille.errors import (
    GrisailleError,
    GrisailleWarning,
    ModelError,
    ProtocolError,
    printable,
    raised,
    text_of,
)
from grisaille.study.log.address import masked_addresses

# --- exit codes -----------------------------------------------------------------------------------
# The end of a command: exit codes, errors as sentences, and the signal to terminate.

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


# --- standard streams -----------------------------------------------------------------------------
# Standard output and standard error that never end a command.


class LastingStream:
    """A stream that drops what cannot be written: a reader has gone, or a disk is full.

    A command must go on all the same: runs have evaluations to make, and `tell` has answers to
    record. Black boxes that print go on, too.

    Attributes:
        error: The first error in writing; None if there was none.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.error: Exception | None = None

    def write(self, text: str) -> int:
        """Write, if that is still possible."""
        if self.error is None:
            try:
                self._stream.write(text)
            except UnicodeEncodeError:
                known = self._stream.encoding
                self._stream.write(text.encode(known, "backslashreplace").decode(known))
            except (OSError, ValueError) as error:  # the second if it is closed
                self._give_up(error)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write, if that is still possible."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Write what is buffered, if that is still possible."""
        if self.error is None:
            try:
                self._stream.flush()
            except (OSError, ValueError) as error:
                self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self.error = error
        # What is in the buffer must go somewhere when Python ends, and children inherit it.
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def lasting_streams() -> Iterator[LastingStream]:
    """A context in which both streams are lasting; gives standard output."""
    before = sys.stdout, sys.stderr
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        # A stream that was closed before Python began is None.
        output, errors = (LastingStream(stream or nowhere) for stream in before)
        sys.stdout, sys.stderr = output, errors
        try:
            yield output
        finally:
            output.flush()
            errors.flush()
            sys.stdout, sys.stderr = before

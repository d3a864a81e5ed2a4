"""Standard output and standard error that never end a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO


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

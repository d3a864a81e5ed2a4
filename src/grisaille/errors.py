"""The exceptions: one root, and one class per kind of remedy; and how messages repeat things."""

from __future__ import annotations

import os
import sys
import traceback
import unicodedata
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grisaille.study.result import Result

_OUR_FILES = str(Path(__file__).parent) + os.sep
_MOST_OF_A_VALUE = 200
_MOST_OF_A_TEXT = 4000
# Kinds of characters that a terminal obeys instead of showing them: controls, marks that change the
# direction of writing, and halves of characters, which no terminal can show at all.
_OBEYED = ("Cc", "Cf", "Cs")


class GrisailleError(Exception):
    """Root of every error that Grisaille raises on purpose.

    Attributes:
        result: Everything evaluated before the error, when a study was running; else None. Every
            other exception that ends a run has this attribute, too.
    """

    result: Result | None = None


class ModelError(GrisailleError, ValueError):
    """The problem is ill-formed: change how it is written."""


class NoSuchEntryError(ModelError, IndexError):
    """An expression has no entry of this index; Python expects an IndexError of sequences."""


class ProtocolError(GrisailleError, RuntimeError):
    """Calls came out of order, or a call needs something that is missing."""


class AssumptionError(GrisailleError):
    """The data contradict what was declared: a norm bound, an output range, a kernel."""


class EvaluationError(GrisailleError):
    """A black box raised, or returned something that is not its declared output."""


class StorageError(GrisailleError):
    """The storage of a study (a disk, file or server) cannot be read or written."""


class GrisailleWarning(UserWarning):
    """Something that is recorded and counts, but looks like a mistake: the text says what to do."""


def counted(number: int, noun: str) -> str:
    """A number with its noun, for messages: "1 output", "2 outputs"."""
    return f"{number} {noun}{'s' * (number != 1)}"


def shortened(value: object) -> str:
    """A value as Python would write it, on one line of a readable length, for messages."""
    try:
        text = repr(value)
    except Exception:  # a class of the user's own
        text = f"<{type(value).__name__}>"
    return printable(_cut(" ".join(map(str.strip, text.splitlines())), _MOST_OF_A_VALUE))


def text_of(error: BaseException) -> str:
    """The text of an exception, of a readable length, even if its `__str__` raises."""
    try:
        text = str(error)
    except Exception:
        text = "(no text: its __str__ raises)"
    return printable(_cut(text, _MOST_OF_A_TEXT))


def raised(error: BaseException) -> str:
    """An exception for messages: its type, and its text if it has one."""
    text = text_of(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def place_of(error: BaseException) -> str:
    """Where an exception was raised, such as " (own.py, line 12)"; empty if that is not known.

    It is a line of the user, if there is one: this library may have raised what that line caused.
    """
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return ""
    last = next((f for f in reversed(frames) if not _is_ours(f.filename)), frames[-1])
    return f" ({printable(Path(last.filename).name)}, line {last.lineno})"


def warn(text: str) -> None:
    """Warn with a `GrisailleWarning` that names the line of the user that caused it."""
    frame, level = sys._getframe(1), 2
    while _is_ours(frame.f_code.co_filename) and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, GrisailleWarning, stacklevel=level)


def _is_ours(file: str) -> bool:
    return file.startswith(_OUR_FILES)


def cut(text: str, most: int = _MOST_OF_A_VALUE) -> str:
    """A text of a readable length, its control characters shown."""
    return printable(_cut(text, most))


def printable(text: str) -> str:
    r"""A text whose control characters are shown, such as `\x1b`; line ends and tabs stay."""
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character) not in _OBEYED
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"

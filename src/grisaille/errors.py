"""The exceptions: one root, and one class per kind of remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grisaille.study.result import Result


class GrisailleError(Exception):
    """Root of every error that Grisaille raises on purpose.

    Attributes:
        result: Everything evaluated before the error, when a study was running; else None.
    """

    result: Result | None = None


class ModelError(GrisailleError, ValueError):
    """The problem is ill-formed: change how it is written."""


class ProtocolError(GrisailleError, RuntimeError):
    """Calls came out of order, or a call needs something that is missing."""


class AssumptionError(GrisailleError):
    """The data contradict what was declared: a norm bound, an output range, a kernel."""


class EvaluationError(GrisailleError):
    """A black box raised, or returned something that is not its declared output."""


class StorageError(GrisailleError):
    """The storage of a study (a disk, file or server) cannot be read or written."""


def counted(number: int, noun: str) -> str:
    """A number with its noun, for messages: "1 output", "2 outputs"."""
    return f"{number} {noun}{'s' * (number != 1)}"

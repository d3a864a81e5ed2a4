"""What a wrong input led to."""

from __future__ import annotations

import io
import sys
import traceback
import unicodedata
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

from benchmarks.wrong_inputs.language_places import (
    box_places,
    causal_places,
    problem_places,
    variable_places,
)
from benchmarks.wrong_inputs.method_places import constructor_places, theory_places
from benchmarks.wrong_inputs.place import Place
from benchmarks.wrong_inputs.study_places import (
    compare_places,
    result_places,
    solve_places,
    study_places,
)
from benchmarks.wrong_inputs.wrong_values import VALUES, WrongValue
from grisaille.errors import GrisailleError, shortened

REFUSED = "refused"
RAW = "raw error"
ACCEPTED = "accepted"
UNCLEAR = "unclear message"
HANG = "hang"

MOST_CHARACTERS = 1000
"""The length up to which a message is readable."""


@dataclass(frozen=True)
class Outcome:
    """How a call ended: one of the constants above, and the message or the traceback."""

    kind: str
    text: str = ""


@dataclass(frozen=True)
class WrongCall:
    """A wrong value at a place."""

    place: Place
    value: WrongValue

    @property
    def name(self) -> str:
        """The place and the value."""
        return f"{self.place.name} <- {self.value.name}"


def places() -> list[Place]:
    """All places, in a fixed order."""
    return [
        *variable_places(),
        *box_places(),
        *problem_places(),
        *causal_places(),
        *constructor_places(),
        *theory_places(),
        *solve_places(),
        *study_places(),
        *result_places(),
        *compare_places(),
    ]


def wrong_calls() -> list[WrongCall]:
    """Every value at every place where it is wrong."""
    return [
        WrongCall(place, value)
        for place in places()
        for value in VALUES
        if value.kind not in place.right
    ]


def outcome(call: WrongCall) -> Outcome:
    """Make a call with a wrong value.

    It is refused well if the error is one of Grisaille's, and its message is readable and names
    the argument or repeats the value.
    """
    value = call.value.make()
    try:
        with (
            redirect_stdout(io.StringIO()),
            redirect_stderr(io.StringIO()),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("error")
            call.place.call(value)
    except GrisailleError as error:
        return _judged(str(error), value, call.place.words)
    except Exception:
        return Outcome(RAW, traceback.format_exc(limit=-6))
    return Outcome(ACCEPTED)


def _judged(message: str, value: Any, words: tuple[str, ...]) -> Outcome:
    repeated, lower = shortened(value)[:20], message.lower()
    if complaint := complaint_about(message):
        return Outcome(UNCLEAR, complaint)
    if repeated not in message and not any(word.lower() in lower for word in words):
        return Outcome(UNCLEAR, f"names neither {words} nor {repeated}: {message}")
    return Outcome(REFUSED, message)


def complaint_about(message: str, most: int = MOST_CHARACTERS) -> str:
    """Why a message is not readable; empty if it is."""
    if len(message) > most:
        return f"{len(message)} characters: {message[:300]}"
    if any(unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t" for c in message):
        return f"control characters: {message!r}"
    return ""


def main() -> None:  # for a look at single places while working on them
    wanted = sys.argv[1]
    for call in wrong_calls():
        if wanted in call.name:
            print(f"{call.name}: {outcome(call)}")


if __name__ == "__main__":
    main()

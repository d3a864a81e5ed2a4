"""How messages repeat what users bring."""

from __future__ import annotations

import numpy as np
import pytest

from grisaille.errors import printable, raised, shortened, text_of


class SilentError(Exception):
    """An exception that cannot be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a line\n\tand another, 10 °C", "a line\n\tand another, 10 °C"),
        ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
        ("99 %\r100 %", "99 %\\r100 %"),
        ("\x9b2J", "\\x9b2J"),
        ("\u202eexe.txt", "\\u202eexe.txt"),
        ("\udc80", "\\udc80"),
    ],
)
def test_what_a_terminal_would_obey_is_shown(text, shown):
    assert printable(text) == shown
    assert printable(shown) == shown


def test_a_value_is_cut_to_a_line_of_readable_length():
    assert shortened([1, 2]) == "[1, 2]"
    assert shortened(np.array([[1, 2], [3, 4]])) == "array([[1, 2], [3, 4]])"
    assert len(shortened(list(range(10_000)))) == 200
    assert shortened("x" * 10_000).endswith("…")
    assert shortened(SilentError()) == "<SilentError>"


def test_an_exception_is_told_by_its_type_and_its_text():
    assert raised(ValueError("too hot")) == "ValueError: too hot"
    assert raised(AssertionError()) == "AssertionError"
    assert raised(SilentError()) == "SilentError: (no text: its __str__ raises)"
    assert text_of(ValueError("\x1b[31mred")) == "\\x1b[31mred"
    assert len(text_of(ValueError("x" * 10**6))) == 4000

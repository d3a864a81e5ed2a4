"""Docstrings as they are written in the source, turned into reStructuredText."""

from __future__ import annotations

import re

_CODE = re.compile(r"(`[^`]+`)")


def as_restructured_text(lines: list[str]) -> list[str]:
    """Escape what reStructuredText would read as marks: bars, and letters right after code.

    Code stays as it is. It may go on in the next line, so all lines are looked at together.
    """
    parts = _CODE.split("\n".join(lines))  # code is at the odd places
    for place in range(0, len(parts), 2):
        text = parts[place].replace("|", r"\|")
        follows_code = place > 0 and text[:1].isalnum()
        parts[place] = rf"\ {text}" if follows_code else text
    return "".join(parts).split("\n")

"""Pages whose Python code is run when the site is built, and shown with what it printed.

In the repository such a page has ```python blocks, and each is followed by a ```text block if it
prints something. So the page can be read where nothing is run, and tests/test_pages.py compares.
"""

from __future__ import annotations

import re

_MARK = "<!-- executed -->"
_HEADER = """---
file_format: mystnb
kernelspec:
  name: python3
---
"""
_BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```[ \t]*\n(?:\s*\n```text\n.*?^```[ \t]*\n)?",
    re.DOTALL | re.MULTILINE,
)
_LEFT_OUT = re.compile(r"^# (?:\w+)\.py\n")


def is_executed(text: str) -> bool:
    """Whether the page says that it is executed."""
    return _MARK in text


def as_notebook(text: str) -> str:
    """The page as a notebook; what its blocks printed before is left out, and will be made anew."""

    def cell(match: re.Match[str]) -> str:
        if _LEFT_OUT.match(match["code"]):  # the content of a file, which nothing runs here
            return match[0]
        return f"```{{code-cell}} python3\n{match['code']}```\n"

    return _HEADER + _BLOCK.sub(cell, text.replace(_MARK, ""))

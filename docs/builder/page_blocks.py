"""The steps of a page that is written to be followed: code, files, commands, and what they print.

A page has these blocks, in the order in which a reader meets them:

- ```python: code to run. A ```text block right after it is what it prints.
- ```python that begins with a comment like `# oven.py`: a file of that name.
- ```console: commands after `$ `, each with what it prints. `$ cat FILE` at the beginning of a
  block shows a file that people wrote or filled in; elsewhere, one that a command wrote.

Other blocks are not run. ```shell-session has commands that cannot be, such as those of two shells.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MARK = "<!-- executed -->"
_BLOCK = re.compile(
    r"^```(?P<kind>python|console)\n(?P<body>.*?)^```[ \t]*\n"
    r"(?P<output>(?P<gap>\s*)^```text\n(?P<printed>.*?)^```[ \t]*\n)?",
    re.DOTALL | re.MULTILINE,
)
_FILE = re.compile(r"# (?P<name>\w+\.py)\n")
_COMMAND = re.compile(r"^\$ (?P<command>.*)\n(?P<printed>(?:(?!\$ ).*\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """One thing that a reader does, and what the page says is printed then.

    Attributes:
        kind: "run" for Python code, "write" for a file, "command" for a shell.
        text: The code, the content or the command.
        name: The file to write.
        printed: What the page shows; None if it shows nothing.
        span: Where in the page that output stands, or would stand.
    """

    kind: str
    text: str
    name: str = ""
    printed: str | None = None
    span: tuple[int, int] = (0, 0)


def is_executed(page: str) -> bool:
    """Whether the page says that its code is run when the site is built."""
    return MARK in page


def steps_of(page: str) -> list[Step]:
    """The steps of a page, in order."""
    steps: list[Step] = []
    for block in _BLOCK.finditer(page):
        if block["kind"] == "console":
            steps += _commands(block)
        elif named := _FILE.match(block["body"]):
            steps.append(Step("write", block["body"], name=named["name"]))
        else:
            end = block.end("body") + len("```\n")
            span = block.span("output") if block["output"] else (end, end)
            steps.append(Step("run", block["body"], printed=block["printed"], span=span))
    return steps


def _commands(block: re.Match[str]) -> list[Step]:
    """The commands of a ```console block."""
    steps: list[Step] = []
    offset = block.start("body")
    for found in _COMMAND.finditer(block["body"]):
        command, printed = found["command"], found["printed"]
        start, end = found.span("printed")
        if command.startswith("cat ") and not steps:
            steps.append(Step("write", printed, name=command.removeprefix("cat ")))
        else:
            place = (offset + start, offset + end)
            steps.append(Step("command", command, printed=printed, span=place))
    return steps


def as_notebook(page: str) -> str:
    """The page as a notebook, without what its code printed: that is made anew.

    Files and commands stay as they are.
    """

    def cell(block: re.Match[str]) -> str:
        if block["kind"] == "console" or _FILE.match(block["body"]):
            return block[0]
        return f"```{{code-cell}} python3\n{block['body']}```\n"

    return _HEADER + _BLOCK.sub(cell, page.replace(MARK, ""))


_HEADER = """---
file_format: mystnb
kernelspec:
  name: python3
---
"""

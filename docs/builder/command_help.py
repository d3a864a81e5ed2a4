"""The texts of `--help`, as a page."""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path
from unittest import mock

from grisaille.views.cli import main

_INTRODUCTION = """# Every command

The texts of `grisaille --help` and `grisaille COMMAND --help`.
[The command line](../../command_line.md) shows them at work.
"""
_NEXT = """## What to read next

[The command line](../../command_line.md) has a session for each of these commands.
"""


def write(file: Path) -> None:
    """Write the page."""
    parts = [_INTRODUCTION, _block(help_of())]
    for command in commands():
        parts.append(f"## {command}\n\n{_block(help_of(command))}")
    file.write_text("\n\n".join([*parts, _NEXT]), encoding="utf-8")


def commands() -> list[str]:
    """The names of all commands, in the order of `grisaille --help`."""
    return re.findall(r"^    (\w+) ", help_of().partition("exit codes:")[0], flags=re.MULTILINE)


def help_of(*command: str) -> str:
    """What `grisaille COMMAND --help` prints, 100 columns wide."""
    printed = io.StringIO()
    size = mock.patch.dict(os.environ, {"COLUMNS": "100"})
    with size, contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main([*command, "--help"])
    return printed.getvalue()


def _block(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"

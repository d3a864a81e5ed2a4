"""The command that draws a problem: `diagram`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from grisaille.cli.arguments import add_shared
from grisaille.cli.exit_codes import DONE
from grisaille.cli.problem_file import load

if TYPE_CHECKING:
    from grisaille.cli.arguments import Commands


def add_commands(commands: Commands) -> None:
    """Add `diagram`."""
    diagram = commands.add_parser("diagram", help="draw the problem that a Python file defines")
    add_shared(diagram, "file")
    diagram.add_argument("--format", choices=("text", "mermaid", "dot"), default="text")
    diagram.set_defaults(run=_diagram)


def _diagram(options: argparse.Namespace) -> int:
    print(load(options.file).problem.diagram(options.format))
    return DONE

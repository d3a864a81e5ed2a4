"""Commands that draw: `diagram` and `reproduce`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grisaille.cli.arguments import add_problem
from grisaille.cli.ending import DONE
from grisaille.cli.files import load

if TYPE_CHECKING:
    from grisaille.cli.arguments import Commands


def add_commands(commands: Commands) -> None:
    """Add `diagram` and `reproduce`."""
    diagram = commands.add_parser("diagram", help="draw the problem that a Python file defines")
    add_problem(diagram)
    diagram.add_argument("--format", choices=("text", "mermaid", "dot"), default="text")
    diagram.set_defaults(run=_diagram)

    reproduce = commands.add_parser(
        "reproduce", help="run the paper's experiment again, and draw its figures beside ours"
    )
    reproduce.add_argument(
        "--output", type=Path, default=Path("reproduction"), help="folder; default: %(default)s"
    )
    reproduce.add_argument("--instances", type=int, default=100, help="default: %(default)s")
    reproduce.add_argument(
        "--setting",
        choices=("exact", "noisy", "learned"),
        action="append",
        help="exact (the default): true kernel, no noise; noisy: noise 0.05; learned: learned "
        "kernel; may be given several times",
    )
    reproduce.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, help="default: %(default)s"
    )
    reproduce.set_defaults(run=_reproduce)


def _diagram(options: argparse.Namespace) -> int:
    print(load(options.file).problem.diagram(options.format))
    return DONE


def _reproduce(options: argparse.Namespace) -> int:
    from grisaille.errors import ModelError
    from grisaille.reproduction.experiment import Setting
    from grisaille.reproduction.run import reproduce

    for name in ("instances", "processes"):
        if getattr(options, name) < 1:
            raise ModelError(f"--{name} {getattr(options, name)}: at least 1")
    settings = [Setting(s) for s in options.setting or [Setting.EXACT]]
    try:
        files = reproduce(options.output, options.instances, settings, options.processes)
    except KeyboardInterrupt:
        print(f"What was run is in {options.output}: start again to go on.", file=sys.stderr)
        raise
    print(f"\n{files[0].read_text(encoding='utf-8')}")
    print("Written: " + ", ".join(str(file) for file in files))
    return DONE

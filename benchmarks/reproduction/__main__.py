"""The paper's experiment again: `make reproduce`, or `python -m benchmarks.reproduction --help`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks.command_line import main_of
from benchmarks.reproduction.experiment import Setting
from benchmarks.reproduction.make_runs import reproduce
from grisaille.views.cli.arguments import count
from grisaille.views.cli.exit_codes import DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reproduction",
        description="Run the paper's experiment again, and draw its figures beside ours.",
    )
    parser.add_argument(
        "--output", type=Path, default=Path("reproduction"), help="folder; default: %(default)s"
    )
    parser.add_argument(
        "--instances", type=count, default=100, metavar="N", help="default: %(default)s"
    )
    parser.add_argument(
        "--setting",
        choices=[str(setting) for setting in Setting],
        action="append",
        help="exact (the default): true kernel, no noise; noisy: noise 0.05; learned: learned "
        "kernel; may be given several times",
    )
    parser.add_argument(
        "--processes", type=count, default=os.cpu_count() or 1, metavar="N", help="runs at a time"
    )
    return parser


def _reproduce(options: argparse.Namespace) -> int:
    settings = [Setting(s) for s in options.setting or [Setting.EXACT]]
    try:
        files = reproduce(options.output, options.instances, settings, options.processes)
    except KeyboardInterrupt:
        print(f"What was run is in {options.output}: start again to go on.", file=sys.stderr)
        raise
    print(f"\n{files[0].read_text(encoding='utf-8')}")
    print("Written: " + ", ".join(str(file) for file in files))
    return DONE


main = main_of(_parser, _reproduce)

if __name__ == "__main__":
    sys.exit(main())

"""How a benchmark's command ends: errors are sentences, and Ctrl-C has its own exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from grisaille import GrisailleError
from grisaille.views.cli.exit_codes import DONE, INTERRUPTED, TERMINATED, Terminated, report


def main_of(
    parser: Callable[[], argparse.ArgumentParser], run: Callable[[argparse.Namespace], int]
) -> Callable[..., int]:
    """Make the function that reads a command line, runs the command and returns the exit code.

    Args:
        parser: Makes the parser of the arguments.
        run: Runs the command with the parsed arguments; returns the exit code.
    """

    def main(arguments: list[str] | None = None) -> int:
        try:
            options = parser().parse_args(arguments)
        except SystemExit as stop:  # argparse has printed the help, or what is wrong
            return int(stop.code or 0)
        try:
            code = run(options)
            sys.stdout.flush()
            return code
        except GrisailleError as error:
            return report(error)
        except BrokenPipeError:  # the program that reads the output has read enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return DONE
        except KeyboardInterrupt as stop:
            terminated = isinstance(stop, Terminated)
            print("terminated" if terminated else "interrupted", file=sys.stderr)
            return TERMINATED if terminated else INTERRUPTED

    return main

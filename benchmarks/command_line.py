"""How benchmarks that are commands end: errors are sentences, and Ctrl-C has its exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from grisaille.cli.exit_codes import INTERRUPTED, TERMINATED, Terminated, report
from grisaille.errors import GrisailleError

Main = Callable[[list[str] | None], int]


def main_of(
    parser: Callable[[], argparse.ArgumentParser], run: Callable[[argparse.Namespace], int]
) -> Callable[..., int]:
    """The function that reads a command line, runs it and returns the exit code.

    Args:
        parser: Makes the parser of the arguments.
        run: Does what they say; returns the exit code.
    """

    def main(arguments: list[str] | None = None) -> int:
        try:
            return run(parser().parse_args(arguments))
        except GrisailleError as error:
            return report(error)
        except KeyboardInterrupt as stop:
            terminated = isinstance(stop, Terminated)
            print("terminated" if terminated else "interrupted", file=sys.stderr)
            return TERMINATED if terminated else INTERRUPTED

    return main

"""The parser of the command line, and its exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from typing import NoReturn

from grisaille.cli import ask_and_tell, diagram, export_and_delete, solve, status_and_show
from grisaille.cli.exit_codes import INTERRUPTED, TERMINATED, Terminated, report
from grisaille.errors import GrisailleError
from grisaille.storage.address import masked_addresses

_EXIT_CODES = """\
exit codes:
  0    done, and feasible where that is asked
  1    done, but nothing feasible was found, or nothing is left to ask
  2    a mistake in the call or in the problem
  3    a black box or the storage failed
  130  interrupted (Ctrl-C)
  143  terminated (SIGTERM)

Errors are sentences on standard error. Where JSON is printed, standard output holds nothing else.
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code, as `--help` lists them."""
    options = _parser().parse_args(arguments)
    path = list(sys.path)
    try:
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except GrisailleError as error:
        return report(error)
    except BrokenPipeError:  # the reader has closed its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as stop:
        terminated = isinstance(stop, Terminated)
        print(f"grisaille: {'terminated' if terminated else 'interrupted'}", file=sys.stderr)
        return TERMINATED if terminated else INTERRUPTED
    finally:
        sys.path[:] = path  # loading a problem's file adds its folder


class _Parser(argparse.ArgumentParser):
    """A parser whose messages repeat no password."""

    def error(self, message: str) -> NoReturn:
        super().error(masked_addresses(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="grisaille",
        description="Bayesian optimization of expensive nested grey-box functions.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    parser.set_defaults(run=lambda options: _version() if options.version else _help(parser))
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for group in (solve, status_and_show, ask_and_tell, export_and_delete, diagram):
        group.add_commands(commands)
    return parser


def _help(parser: argparse.ArgumentParser) -> int:
    parser.print_help()
    return 0


def _version() -> int:
    from grisaille import __version__

    print(f"grisaille {__version__}")
    return 0

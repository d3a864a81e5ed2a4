"""The parser of the command line, and its exit codes."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from grisaille.errors import GrisailleError, cut, printable, raised
from grisaille.study.log.address import masked_addresses
from grisaille.views.cli import ask_and_tell, compare, dashboard, open_studies, solve, stored
from grisaille.views.cli.exit_codes import (
    INTERRUPTED,
    TERMINATED,
    UNWRITTEN,
    Terminated,
    lasting_streams,
    report,
    warnings_as_sentences,
)

_MOST_OF_A_MESSAGE = 600

_EXIT_CODES = """\
exit codes:
  0    done, and feasible where that is asked
  1    done, but nothing feasible was found, or nothing is left to ask
  2    a mistake in the call or in the problem
  3    a black box, the storage or something else failed
  4    done, but the output could not be written
  130  interrupted (Ctrl-C)
  143  terminated (SIGTERM)

Errors are sentences on standard error. Where JSON is printed, standard output holds nothing else.
"""


# In the order of `grisaille --help`.
_ADD: tuple[Callable[[Any], None], ...] = (
    solve.add_commands,
    stored.add_commands,
    ask_and_tell.add_commands,
    ask_and_tell.add_corrections,
    stored.add_export_and_delete,
    dashboard.add_commands,
    stored.add_check,
    open_studies.add_diagram,
    compare.add_commands,
)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code, as `--help` lists them."""
    with lasting_streams() as output:
        code = _code(arguments)
        output.flush()
        if output.error is not None:
            why = raised(output.error)
            print(f"grisaille: standard output cannot be written ({why})", file=sys.stderr)
            code = code or UNWRITTEN
        return code


def _code(arguments: list[str] | None) -> int:
    """Run a command; returns its exit code."""
    options = _parser().parse_args(arguments)
    path = list(sys.path)
    study: str | None = getattr(options, "study", None)
    try:
        with warnings_as_sentences(study):
            return int(options.run(options))
    except Exception as error:
        # The user's own, such as that of an own strategy, or a mistake of ours.
        if not isinstance(error, GrisailleError) or type(error) is GrisailleError:
            print(printable("".join(traceback.format_exception(error))), file=sys.stderr)
        return report(error, study)
    except KeyboardInterrupt as stop:
        terminated = isinstance(stop, Terminated)
        print(f"grisaille: {'terminated' if terminated else 'interrupted'}", file=sys.stderr)
        return TERMINATED if terminated else INTERRUPTED
    finally:
        sys.path[:] = path  # loading a problem's file adds its folder


class _Parser(argparse.ArgumentParser):
    """A parser whose messages repeat no password."""

    def error(self, message: str) -> NoReturn:
        super().error(masked_addresses(cut(message, _MOST_OF_A_MESSAGE)))


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
    for add in _ADD:
        add(commands)
    return parser


def _help(parser: argparse.ArgumentParser) -> int:
    parser.print_help()
    return 0


def _version() -> int:
    from grisaille import __version__

    print(f"grisaille {__version__}")
    return 0

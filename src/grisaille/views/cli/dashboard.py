"""Commands that show studies to people: `dashboard` and `report`."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from grisaille.errors import ModelError
from grisaille.views.cli.arguments import (
    STORAGE,
    STUDY_WITH_FILE,
    add_shared,
    default_storage,
    port,
)
from grisaille.views.cli.exit_codes import DONE
from grisaille.views.cli.open_studies import load, make_study, open_study

if TYPE_CHECKING:
    from grisaille.study.study import Study
    from grisaille.views.cli.arguments import Commands

_TOKEN_VARIABLE = "GRISAILLE_DASHBOARD_TOKEN"


def add_commands(commands: Commands) -> None:
    """Add `dashboard` and `report`."""
    page = commands.add_parser(
        "dashboard", help="a live page over all studies of a storage, in the browser"
    )
    page.add_argument("--storage", default=default_storage(), **STORAGE)
    page.add_argument(
        "--file",
        type=Path,
        metavar="FILE",
        help="the Python file that defines the problems of studies for which you passed none "
        "before on this machine; it is run",
    )
    page.add_argument("--host", default="127.0.0.1", help="default: this machine only")
    page.add_argument("--port", type=port, metavar="N", help="default: the first free from 8642 on")
    page.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help=f"a file with the token, which only you can read; default: the token in the "
        f"environment variable {_TOKEN_VARIABLE}, or else one that is kept for you on this machine",
    )
    page.add_argument("--token", type=_shown_token, help=argparse.SUPPRESS)
    page.add_argument("--read-only", action="store_true", help="nobody can answer in the page")
    page.add_argument("--no-browser", action="store_true", help="do not open a browser")
    page.set_defaults(run=_dashboard)

    report = commands.add_parser("report", help="write a study as one HTML file to read and send")
    add_shared(report, *STUDY_WITH_FILE)
    report.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="default: the study's name and .html"
    )
    report.set_defaults(run=_report)


def _dashboard(options: argparse.Namespace) -> int:
    from grisaille.views.page.guard import Rules
    from grisaille.views.page.serving import Server, free_socket
    from grisaille.views.page.studies import StoredStudies

    with closing(StoredStudies(options.storage, lambda name: _opened(options, name))) as studies:
        studies.names()  # a storage that cannot be read is said now, and not in the browser
        token, where = _token(options.token_file)
        rules = Rules(token, options.host, options.read_only)
        server = Server(studies, rules, free_socket(options.host, options.port))
        print(f"Studies of {studies.where}: {server.invitation()}")
        print(
            f"This address lets in one browser, once. Others ask for the token, which is {where}."
        )
        print("Ctrl-C stops the server.", flush=True)
        if not rules.is_local:
            print(
                "grisaille: others can reach this page: whoever has the token can read and answer, "
                "and what is sent is not encrypted",
                file=sys.stderr,
            )
        if not options.no_browser:
            server.open_browser()
        server.run()
        return DONE


def _token(file: Path | None) -> tuple[str, str]:
    """The token, and where it is in words."""
    from grisaille.views.page.serving import checked_token, read_token, stored_token, token_place

    if file is not None:
        return read_token(file), f"in {file}"
    if _TOKEN_VARIABLE in os.environ:
        return checked_token(os.environ[_TOKEN_VARIABLE], _TOKEN_VARIABLE), f"in {_TOKEN_VARIABLE}"
    token = stored_token()
    with suppress(ModelError, RuntimeError):
        if read_token(token_place()) == token:
            return token, f"in {token_place()}"
    return token, "not stored, because your configuration folder cannot be written to"


def _shown_token(text: str) -> str:
    raise argparse.ArgumentTypeError(
        "other users see the arguments of a command: write the token to a file that only you can "
        f"read, and pass --token-file FILE, or set {_TOKEN_VARIABLE}"
    )


def _opened(options: argparse.Namespace, name: str) -> Study:
    """A study with its problem, from the file that is remembered for it, else from `--file`."""
    from grisaille.views.cli.open_studies import remembered

    known = remembered(options.storage, name) is not None
    if not known and options.file is None:  # said at once: to read a long log takes a while
        raise ModelError(
            f"the file that defines the problem of study {name!r} is not known on this machine: "
            "start the page with --file and a file that you trust"
        )
    file = None if known else options.file
    return open_study(argparse.Namespace(study=name, storage=options.storage, file=file))


def _report(options: argparse.Namespace) -> int:
    from grisaille.study.stored_studies import read_study
    from grisaille.views.report import stored_report, write_text

    stored = read_study(options.storage, options.study)
    # A file that was named is wanted; one that is remembered may be gone.
    named = None if options.file is None else load(options.file)
    text = stored_report(
        stored, lambda: open_study(options) if named is None else make_study(named, options)
    )
    path = options.output or Path(f"{options.study}.html".replace("/", "_"))
    write_text(path, text)
    print(f"Written: {path}")
    return DONE

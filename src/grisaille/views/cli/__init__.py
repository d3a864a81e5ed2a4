"""The command line: thin, and quick to answer `--help`."""

from grisaille.views.cli.main import main

__all__ = ["main"]

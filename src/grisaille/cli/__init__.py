"""The command line: thin, and quick to answer `--help`."""

from grisaille.cli.main import main

__all__ = ["main"]

"""How a benchmark's command ends."""

from __future__ import annotations

import argparse

import pytest
from benchmarks.command_line import main_of

import grisaille as gs
from grisaille.views.cli.exit_codes import Terminated

pytestmark = pytest.mark.slow


def main_that(run):
    return main_of(lambda: argparse.ArgumentParser(prog="tested"), run)


def raises(error):
    def run(_options):
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (gs.ModelError("name a folder"), 2, "name a folder"),
        (gs.EvaluationError("a process died"), 3, "a process died"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (Terminated(), 143, "terminated"),
    ],
)
def test_errors_are_sentences_with_an_exit_code(error, code, message, capsys):
    assert main_that(raises(error))([]) == code
    assert message in capsys.readouterr().err


def test_help_and_mistakes_have_their_exit_codes(capsys):
    main = main_that(lambda _options: 0)
    assert main([]) == 0
    assert main(["--help"]) == 0
    assert "usage: tested" in capsys.readouterr().out
    assert main(["--unknown"]) == 2
    assert "unrecognized arguments: --unknown" in capsys.readouterr().err

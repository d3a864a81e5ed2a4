"""The view of a running study."""

from __future__ import annotations

import io
import sys

import pytest

import grisaille as gs
from grisaille import problems

pytestmark = pytest.mark.slow


QUICK = gs.Optimistic(solver=gs.MultiStart(starts=4, samples=128, iterations=20))


def test_plain_lines_are_printed_where_there_is_no_terminal(capsys):
    problems.bazaraa().problem.solve(3, strategy=QUICK)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[0].split()[:3] == ["trial", "kind", "best"]
    assert lines[1].split()[:2] == ["1", "initial"]


def test_silence_on_request(capsys):
    problems.bazaraa().problem.solve(3, strategy=QUICK, progress=False)
    assert capsys.readouterr().out == ""


def test_the_live_table_survives_a_box_that_prints(capsys):
    x = gs.Variable("x", lower=0, upper=1)

    def chatty(x: float) -> float:
        print("simulating")
        return x

    gs.Problem(minimize=gs.BlackBox(chatty, noise=0)(x)).solve(3, strategy=QUICK, progress=True)
    out = capsys.readouterr().out
    assert out.count("simulating") == 3
    assert "recommended" in out


class ClosedPipe(io.StringIO):
    """A stream whose reader goes away after some lines."""

    def __init__(self, lines: int, terminal: bool, number: int) -> None:
        super().__init__()
        self._lines = lines
        self._terminal = terminal
        self._number = number

    def fileno(self) -> int:
        return self._number

    def isatty(self) -> bool:
        return self._terminal

    def write(self, text: str) -> int:
        self._lines -= text.count("\n")
        if self._lines < 0:
            raise BrokenPipeError(32, "Broken pipe")
        return super().write(text)


def failing(reason: str) -> gs.Problem:
    """A problem whose black box fails at times, in these words."""
    x = gs.Variable("x", lower=0, upper=1)
    calls = iter(range(100))

    def mesh(x: float) -> float:
        if next(calls) % 3 == 1:
            raise ValueError(reason)
        return x

    return gs.Problem(minimize=gs.BlackBox(mesh, name="mesh[/b]", noise=0)(x))


@pytest.mark.parametrize("progress", [True, None])
@pytest.mark.parametrize("reason", ["cannot read [/data/mesh.inp]", "[bold", ":boom: [link=x]"])
def test_words_of_a_black_box_are_shown_as_they_are(capsys, progress, reason):
    study = gs.Study(failing(reason), strategy=QUICK, retries=0)
    result = study.run(4, progress=progress)
    assert result.status == gs.Status.MAX_TRIALS
    assert "switched off" not in result.message
    shown = " ".join(capsys.readouterr().out.split())
    assert reason in shown
    assert "mesh[/b]" in shown


@pytest.mark.parametrize("progress", [True, None])
def test_a_terminal_does_not_obey_the_words_of_a_black_box(capsys, progress):
    study = gs.Study(failing("\x1b]0;stolen\x07\x1b[2J"), strategy=QUICK, retries=0)
    result = study.run(4, progress=progress)
    for shown in (capsys.readouterr().out, str(result)):
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "\\x1b]0;stolen\\x07\\x1b[2J" in shown


@pytest.mark.parametrize("lines", [0, 2])
@pytest.mark.parametrize("terminal", [True, False])
def test_a_view_that_fails_is_switched_off_and_the_run_goes_on(
    monkeypatch, tmp_path, lines, terminal
):
    monkeypatch.setenv("TERM", "xterm")
    with (tmp_path / "descriptor").open("w") as file:  # Rich puts the null device in its place
        before = ClosedPipe(lines, terminal, file.fileno())
        monkeypatch.setattr(sys, "stdout", before)
        result = problems.bazaraa().problem.solve(4, strategy=QUICK)
    assert sys.stdout is before  # the live table has given it back
    assert result.nit == 4
    assert result.status == gs.Status.MAX_TRIALS
    assert result.message.startswith("all trials were made; ")
    assert "; the view was switched off: " in result.message
    assert result.message.count("switched off") == 1


def test_a_run_without_standard_output_shows_nothing_and_goes_on(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    result = problems.bazaraa().problem.solve(3, strategy=QUICK)
    assert result.nit == 3
    assert result.message.startswith("all trials were made")


def test_ctrl_c_in_the_view_is_passed_on(monkeypatch):
    class Interrupted(io.StringIO):
        def write(self, text: str) -> int:
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdout", Interrupted())
    result = problems.bazaraa().problem.solve(3, strategy=QUICK)
    assert result.status == gs.Status.INTERRUPTED
    assert result.nit == 1

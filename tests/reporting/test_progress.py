"""The view of a running study."""

from __future__ import annotations

import grisaille as gs
from grisaille import problems

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
